# The two commands: `make demo` and `make test`. Each sets everything up by itself.
# Three tiers of tests: `make test` in minutes, `make test-all` is what CI runs, `make test-deep` takes hours.
# It also asks the system for SYSTEM_PACKAGES; tests that need one which cannot be had are skipped and say so.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SYSTEM_PACKAGES := postgresql chromium chromium-driver

.PHONY: demo test test-all test-deep test-postgres rivals compare docs check format clean
.DEFAULT_GOAL := demo

# What the demo needs, and nothing else.
$(VENV)/.library: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "privfit needs Python 3.11 or newer; set one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up $(VENV) (once; about a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# The tools of a developer as well.
$(VENV)/.installed: $(VENV)/.library
	@echo "Installing the development tools (once; about a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,docs,report,export,postgres]"
	@touch $@

demo: $(VENV)/.library
	@$(BIN)/privfit demo

test: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

test-all: $(VENV)/.installed
	@tools/system_packages.sh $(SYSTEM_PACKAGES) || true
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term:skip-covered

# Long fuzzing, planted bugs, crashes, large tables; goes on where it stopped. DEEP="-k NAME" or DEEP=--again.
test-deep: $(VENV)/.installed
	@tools/system_packages.sh postgresql || true
	@$(BIN)/python tests/deep/run.py $(DEEP)

# Ledgers in files and on a real server, which has to be there: without one these tests fail and say how.
test-postgres: $(VENV)/.installed
	@tools/system_packages.sh postgresql || true
	PRIVFIT_NEEDS_POSTGRES=1 $(BIN)/python -m pytest tests/contracts/test_store_contract.py \
	  tests/accounting/test_lasting.py tests/accounting/test_crashes.py

# Other libraries to compare with, each in an environment under .rivals/; only benchmarks use them.
rivals: $(VENV)/.library
	@PYTHONPATH=benchmarks $(BIN)/python -m rivals

# privfit beside these: every fit is a row of benchmarks/compare.csv, of which docs/comparison.md is made. Takes
# hours and goes on where it stopped. COMPARE="--again privfit" runs our rows again.
compare: $(VENV)/.library rivals
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 PYTHONPATH=benchmarks \
	  $(BIN)/python -m comparison $(COMPARE)

# What the documentation site is made with.
$(VENV)/.docs: $(VENV)/.library
	@echo "Installing what the documentation is made with (once; about a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	@touch $@

docs: $(VENV)/.docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The documentation is in site/; open site/index.html"

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
	rm -rf $(VENV) .rivals site .pytest_cache .mypy_cache .ruff_cache .hypothesis .deep .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
