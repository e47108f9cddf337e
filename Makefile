# Begin with `make demo` or `make test`. Both first install everything that they need.
# There are three tiers of tests: `make test` takes minutes, CI runs `make test-all`, `make test-deep` takes hours.
# `make test-all` also installs SYSTEM_PACKAGES. If one cannot be installed, tests that need it are skipped.
PYTHON ?= python3
# LOCKED=1 installs the exact versions of requirements-lock.txt, whose files must have the hashes that it names.
LOCKED ?=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALL_LOCKED := $(PIP) --require-hashes --requirement requirements-lock.txt && $(PIP) --no-deps --editable .
SYSTEM_PACKAGES := postgresql chromium chromium-driver

.PHONY: demo test test-all coverage test-deep test-postgres test-duckdb test-spark test-pythons rivals compare bench docs pictures check \
  format clean lock audit-dependencies
.DEFAULT_GOAL := demo

# The dependencies of the demo.
$(VENV)/.library: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "privfit needs Python 3.11 or newer; set one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up $(VENV) (once; about a minute)"
	@$(PYTHON) -m venv $(VENV)
	@if [ -n "$(LOCKED)" ]; then $(INSTALL_LOCKED); else $(PIP) --editable .; fi
	@touch $@

# The same with the tools of developers.
$(VENV)/.installed: $(VENV)/.library
	@echo "Installing the development tools (once; about a minute)"
	@if [ -n "$(LOCKED)" ]; then $(INSTALL_LOCKED); else $(PIP) --editable ".[dev,docs,report,export,postgres]"; fi
	@touch $@

demo: $(VENV)/.library
	@$(BIN)/privfit demo

test: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

test-all: $(VENV)/.installed
	@tools/system_packages.sh $(SYSTEM_PACKAGES) || true
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Show which lines the quick tests run. With tracing they take one and a half times as long.
coverage: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" --cov --cov-report=term:skip-covered

# Long fuzzing, planted bugs, crashes, large tables. It continues where it was stopped. DEEP="-k NAME" or
# --again.
test-deep: $(VENV)/.installed
	@tools/system_packages.sh postgresql || true
	@$(BIN)/python tests/deep/run.py $(DEEP)

# Test ledgers in files and on a real server. Without PostgreSQL these tests fail and say how to install it.
test-postgres: $(VENV)/.installed
	@tools/system_packages.sh postgresql || true
	PRIVFIT_NEEDS_POSTGRES=1 $(BIN)/python -m pytest tests/contracts/test_store_contract.py \
	  tests/accounting/test_lasting.py tests/accounting/test_crashes.py

# Test queries over SQLite and PostgreSQL. Their extensions of DuckDB are on PyPI, for some of its versions.
DUCKDB := .venv-duckdb
DUCKDB_VERSION := 1.5.5
$(DUCKDB)/.installed: pyproject.toml
	@echo "Setting up $(DUCKDB) (once; about a minute)"
	@$(PYTHON) -m venv $(DUCKDB)
	@$(DUCKDB)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[postgres]" \
	  "pytest>=8" "hypothesis>=6.100" "pandas>=2.2" "duckdb==$(DUCKDB_VERSION)" \
	  "duckdb-extensions==$(DUCKDB_VERSION)" "duckdb-extension-sqlite-scanner==$(DUCKDB_VERSION)" \
	  "duckdb-extension-postgres-scanner==$(DUCKDB_VERSION)"
	@$(DUCKDB)/bin/python -c "from duckdb_extensions import import_extension as i; \
	  i('sqlite_scanner'); i('postgres_scanner')"
	@touch $@

test-duckdb: $(DUCKDB)/.installed
	@tools/system_packages.sh postgresql || true
	$(DUCKDB)/bin/python -m pytest tests/estimators/test_sources_of_fits.py -k query

# Test fits on DataFrames of Spark, classic and Connect, in a separate environment; print the time of a pass.
SPARK := .venv-spark
$(SPARK)/.installed: pyproject.toml
	@echo "Setting up $(SPARK) (once; about two minutes)"
	@$(PYTHON) -m venv $(SPARK)
	@$(SPARK)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[spark]" \
	  "pytest>=8" "hypothesis>=6.100"
	@touch $@

test-spark: $(SPARK)/.installed
	@command -v java >/dev/null || tools/system_packages.sh openjdk-17-jre-headless || true
	$(SPARK)/bin/python -m pytest tests/spark

# Run `make test` with every installed Python, each in a separate environment.
PYTHONS ?= 3.11 3.12 3.13 3.14
test-pythons:
	@for version in $(PYTHONS); do \
	  if python$$version -c pass 2>/dev/null; then \
	    echo "Python $$version"; $(MAKE) --no-print-directory test PYTHON=python$$version VENV=.venv-$$version || exit 1; \
	  else echo "Python $$version is not installed here; skipped"; fi; \
	done

# Install other libraries for comparison, each in an environment under .rivals/; only benchmarks use them.
rivals: $(VENV)/.library
	@PYTHONPATH=benchmarks $(BIN)/python -m rivals

# Compare privfit with these libraries. Every fit is a row of benchmarks/compare.csv, from which
# docs/comparison.md is made. It takes hours, and continues where it was stopped. COMPARE="--again privfit"
# runs privfit's rows again.
compare: $(VENV)/.library rivals
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 PYTHONPATH=benchmarks \
	  $(BIN)/python -m comparison $(COMPARE)

# Measure the time and memory of fits on this machine, which should be idle. Every number is a row of
# benchmarks/performance.csv, from which docs/performance.md is made. It takes an hour, and continues where it
# was stopped. BENCH="--again fits" measures again.
bench: $(VENV)/.installed
	@PYTHONPATH=benchmarks $(BIN)/python -m performance $(BENCH)

# The tools that build the documentation site.
$(VENV)/.docs: $(VENV)/.library
	@echo "Installing what the documentation is made with (once; about a minute)"
	@$(PIP) --editable ".[docs]"
	@touch $@

docs: $(VENV)/.docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The documentation is in site/; open site/index.html"

# Make the pictures of the user guide: charts of seeded fits, and a screenshot of the demo's page by chromium.
pictures: $(VENV)/.installed
	@PYTHONPATH=benchmarks $(BIN)/python tools/pictures.py
	@$(BIN)/python tools/screenshot.py

# Write requirements-lock.txt again, without hosts of package indexes.
LOCK_EXTRAS := dev docs report export postgres duckdb dask
lock: $(VENV)/.library
	@$(PYTHON) -m venv .lock && .lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	@.lock/bin/uv pip compile --quiet pyproject.toml --universal --python-version 3.11.5 --upgrade --generate-hashes \
	  $(addprefix --extra ,$(LOCK_EXTRAS)) --no-emit-index-url --no-emit-find-links --no-annotate \
	  --custom-compile-command "make lock" --output-file requirements-lock.txt

# Look up known vulnerabilities of the locked versions. This asks a database on the network, so it is not a
# part of `make check`. Without --strict, versions that were not looked up would pass.
audit-dependencies:
	@$(PYTHON) -m venv .audit && .audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit \
	  || { echo "pip-audit could not be installed; this needs the network"; exit 1; }
	@.audit/bin/pip-audit --strict --requirement requirements-lock.txt --require-hashes --disable-pip \
	  || { echo "Not every locked version passed: the lines above name a vulnerability, or a version that the" \
	    "database could not be asked about; this needs the network"; exit 1; }

check: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python tests/markdown_lines.py

clean:
	rm -rf $(VENV) .venv-3.* $(SPARK) $(DUCKDB) .lock .audit .rivals site .pytest_cache .mypy_cache .ruff_cache .hypothesis .deep .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
