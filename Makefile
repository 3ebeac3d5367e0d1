# Everything that a contributor or CI does, one command each. `make` alone lists them.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
# The PyTorch to install, given to pip first, so that nothing else draws in another. On a machine without a GPU the CPU build is a tenth of the
# download: name it here (make demo TORCH="torch==2.13.0 --index-url ..."), as the install page of PyTorch says.
TORCH ?= torch==2.13.0
# Arguments for the command behind a target: make test ARGS="tests/cli -x", make demo ARGS="--seed 1".
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
# Many processes with one thread each beat a few with many, here and in every worker.
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types docs bench format clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.dev  ## Create .venv with everything that tests, lint and types need

demo: $(VENV)/.demo  ## Train the bundled policy on real environments and score it on tasks it never saw (15 minutes, 2 cores)
	$(BIN)/makerspace train --preset demo $(ARGS)

test: $(VENV)/.dev  ## Run the tests, one process per core
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

lint: $(VENV)/.dev  ## Check style, format and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.dev  ## Check the library's types, strictly
	$(BIN)/pyright

docs: $(VENV)/.dev  ## Run every example of the README, the docs and the docstrings
	$(BIN)/python -m pytest tests/test_docs.py $(ARGS)

bench: $(VENV)/.bench  ## Run every benchmark and write its figures to benchmarks/results
	set -e; for script in $$(grep -l __main__ benchmarks/*.py); do \
	  echo "== $$script"; $(BIN)/python -m benchmarks.$$(basename $$script .py) --write $(ARGS); done

format: $(VENV)/.dev  ## Rewrite the code in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## Remove .venv and everything that tools left; runs/ stays
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps: an environment is made once, and made good again when pyproject.toml changes.
$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/pip
	$(BIN)/pip install --quiet $(TORCH)
	$(BIN)/pip install --quiet -e '.[cad,train]'
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.demo
	$(BIN)/pip install --quiet -e '.[cad,docker,train,dev]'
	@touch $@

$(VENV)/.bench: pyproject.toml $(VENV)/.dev
	$(BIN)/pip install --quiet -e '.[cad,docker,train,dev,bench]'
	@touch $@
