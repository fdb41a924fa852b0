# Each target works on a fresh clone with Python 3.10 or newer alone: it sets up .venv first, and only once.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$p && break; done)
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
RECORDINGS := examples/two-tools.traces.jsonl examples/subagent.traces.jsonl

.PHONY: help setup demo test check lint types contract bench clean

help:  ## this list
	@grep -hE '^[a-z]+:.*##' Makefile | sed -E 's/:[^#]*## */\t/' | expand -t 12

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "otel_turns needs Python 3.10 or newer; set PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.core

setup: $(VENV)/.dev  ## an environment with everything that development needs

demo: $(VENV)/.core  ## the Turns in two recordings of a real agent
	@echo '$$ otel-turns convert $(RECORDINGS)'
	@$(BIN)/otel-turns convert $(RECORDINGS)
	@echo
	@echo '$$ otel-turns show $(RECORDINGS)'
	@$(BIN)/otel-turns show $(RECORDINGS)

test: $(VENV)/.dev  ## the tests
	$(BIN)/python -m pytest -q -n 2

lint: $(VENV)/.dev  ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev  ## types, strict
	$(BIN)/pyright

contract: $(VENV)/.dev  ## the one-way flow of imports
	$(BIN)/lint-imports --no-cache

check: lint types contract  ## style, types, imports, and the tests with branch coverage
	$(BIN)/python -m pytest -q -n 2 --cov --cov-report=term

bench: $(VENV)/.dev  ## the cost of the work, as ratios to a floor measured in the same run
	$(BIN)/python -m tests.bench

clean:  ## remove what the other targets made
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .coverage .coverage.* htmlcov node_modules
