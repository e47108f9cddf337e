# The two commands: `make demo` and `make test`. Each sets everything up by itself.
# Three tiers of tests: `make test` in minutes, `make test-all` is what CI runs, `make test-deep` takes hours.
# It also asks the system for SYSTEM_PACKAGES; tests that need one which cannot be had are skipped and say so.
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

# What the demo needs, and nothing else.
$(VENV)/.library: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "privfit needs Python 3.11 or newer; set one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up $(VENV) (once; about a minute)"
	@$(PYTHON) -m venv $(VENV)
	@if [ -n "$(LOCKED)" ]; then $(INSTALL_LOCKED); else $(PIP) --editable .; fi
	@touch $@

# The tools of a developer as well.
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

# Which lines the quick tests reach. Tracing makes them take half as long again.
coverage: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" --cov --cov-report=term:skip-covered

# Long fuzzing, planted bugs, crashes, large tables; goes on where it stopped. DEEP="-k NAME" or DEEP=--again.
test-deep: $(VENV)/.installed
	@tools/system_packages.sh postgresql || true
	@$(BIN)/python tests/deep/run.py $(DEEP)

# Ledgers in files and on a real server, which has to be there: without one these tests fail and say how.
test-postgres: $(VENV)/.installed
	@tools/system_packages.sh postgresql || true
	PRIVFIT_NEEDS_POSTGRES=1 $(BIN)/python -m pytest tests/contracts/test_store_contract.py \
	  tests/accounting/test_lasting.py tests/accounting/test_crashes.py

# Queries over SQLite and PostgreSQL. Their extensions of DuckDB are on PyPI, for some of its versions.
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

# Fits on DataFrames of Spark, classic and Connect, in an environment of its own; prints what a pass costs.
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

# `make test` with every Python that is installed here, each in an environment of its own.
PYTHONS ?= 3.11 3.12 3.13 3.14
test-pythons:
	@for version in $(PYTHONS); do \
	  if python$$version -c pass 2>/dev/null; then \
	    echo "Python $$version"; $(MAKE) --no-print-directory test PYTHON=python$$version VENV=.venv-$$version || exit 1; \
	  else echo "Python $$version is not installed here; skipped"; fi; \
	done

# Other libraries to compare with, each in an environment under .rivals/; only benchmarks use them.
rivals: $(VENV)/.library
	@PYTHONPATH=benchmarks $(BIN)/python -m rivals

# privfit beside these: every fit is a row of benchmarks/compare.csv, of which docs/comparison.md is made. Takes
# hours and goes on where it stopped. COMPARE="--again privfit" runs our rows again.
compare: $(VENV)/.library rivals
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 PYTHONPATH=benchmarks \
	  $(BIN)/python -m comparison $(COMPARE)

# What fits cost on this machine, which should be quiet: every number is a row of benchmarks/performance.csv, of
# which docs/performance.md is made. Takes an hour and goes on where it stopped. BENCH="--again fits" measures again.
bench: $(VENV)/.installed
	@PYTHONPATH=benchmarks $(BIN)/python -m performance $(BENCH)

# What the documentation site is made with.
$(VENV)/.docs: $(VENV)/.library
	@echo "Installing what the documentation is made with (once; about a minute)"
	@$(PIP) --editable ".[docs]"
	@touch $@

docs: $(VENV)/.docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The documentation is in site/; open site/index.html"

# The pictures of the user guide: charts of seeded fits, and a screenshot of the demo's page by chromium.
pictures: $(VENV)/.installed
	@PYTHONPATH=benchmarks $(BIN)/python tools/pictures.py
	@$(BIN)/python tools/screenshot.py

# Writes requirements-lock.txt anew; hosts of package indexes are left out.
LOCK_EXTRAS := dev docs report export postgres duckdb dask
lock: $(VENV)/.library
	@$(PYTHON) -m venv .lock && .lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	@.lock/bin/uv pip compile --quiet pyproject.toml --universal --python-version 3.11.5 --upgrade --generate-hashes \
	  $(addprefix --extra ,$(LOCK_EXTRAS)) --no-emit-index-url --no-emit-find-links --no-annotate \
	  --custom-compile-command "make lock" --output-file requirements-lock.txt

# Known vulnerabilities of the locked versions; asks a database on the network, so `make check` leaves it out.
# Without --strict, versions that the database was not asked about would pass.
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
