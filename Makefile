# Two commands for everyone: `make run` and `make test`. `make help` lists the rest.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv pip --quiet
COMPILE := $(BIN)/uv pip compile -q $(ARGS) --universal --generate-hashes --no-emit-index-url --no-annotate \
  --custom-compile-command "make lock"

.PHONY: help run install install-litellm test check format torture bench bench-relevance bench-passages bench-speed bench-workspace bench-fairness scenarios docs lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

run: install ## install into .venv, then serve on 127.0.0.1:8321
	@exec $(BIN)/findspot serve

install: .venv/.installed ## only install; puts `findspot` into .venv/bin

install-litellm: .venv/.installed ## install the extra `litellm` as well, for FINDSPOT_EMBEDDER=litellm/…
	@$(UV) install --compile-bytecode -c requirements/dev.txt --no-build-isolation -e '.[litellm]'

test: .venv/.installed-dev ## every test, on SQLite and on a real PostgreSQL
	$(BIN)/pytest -n 3 --dist worksteal $(ARGS)

check: .venv/.installed-dev ## format, lint, strict types, direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: .venv/.installed-dev ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

torture: .venv/.installed-dev ## the kill and fault tests at full count
	FINDSPOT_TORTURE=50 $(BIN)/pytest -m torture $(ARGS)

bench: .venv/.installed-dev ## run the benchmarks and write docs/bench/
	$(BIN)/python -m bench

bench-relevance: .venv/.installed-dev ## measure whether search finds the answers; ARGS="--data DIR"
	$(BIN)/python -m bench.relevance $(ARGS)

bench-passages: .venv/.installed-dev ## measure what joined blocks, titles and headings gain; ARGS="--data DIR"
	$(BIN)/python -m bench.passages $(ARGS)

bench-speed: .venv/.installed-dev .venv-peers/.installed ## measure speed beside other products; ARGS="--data DIR --sizes 10000"
	$(BIN)/python -m bench.speed $(ARGS)

bench-workspace: .venv/.installed-dev ## measure searches of 1,000 documents over HTTP; ARGS="--chunks 10000 --documents 100 --hits 2000"
	$(BIN)/python -m bench.workspace --write $(ARGS)

bench-fairness: .venv/.installed-dev ## measure searches, saves and health checks under load; ARGS="--chunks 5000 --seconds 6"
	$(BIN)/python -m bench.fairness --write $(ARGS)

scenarios: .venv/.installed-dev ## list the requirements and their tests
	@$(BIN)/python -m tests.scenarios $(ARGS)

docs: .venv/.installed-dev ## write the generated reference pages
	$(BIN)/python -m findspot.surfaces.cli.reference docs

lock: .venv/.python ## pin dependencies with hashes; ARGS=--upgrade takes the newest versions
	$(COMPILE) --group uv -o requirements/uv.txt
	$(COMPILE) pyproject.toml --group build -o requirements/run.txt
	$(COMPILE) pyproject.toml -c requirements/run.txt --extra litellm --group dev -o requirements/dev.txt

clean: ## remove .venv and caches; your data in .findspot stays
	rm -rf .venv .venv-peers .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/.python: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Findspot needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up .venv (once, about a minute)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

.venv/.installed: .venv/.python requirements/run.txt pyproject.toml
	@$(UV) install --compile-bytecode --require-hashes -r requirements/run.txt
	@$(UV) install --no-deps --no-build-isolation -e .
	@touch $@

.venv/.installed-dev: .venv/.python requirements/dev.txt pyproject.toml
	@$(UV) install --compile-bytecode --require-hashes -r requirements/dev.txt
	@$(UV) install --no-deps --no-build-isolation -e .
	@touch $@ .venv/.installed

# A separate environment, so that the dependencies of other products do not change the versions that Findspot uses.
.venv-peers/.installed: .venv/.python pyproject.toml
	@echo "Setting up .venv-peers"
	@$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .venv-peers
	@$(UV) install --python .venv-peers/bin/python --group bench
	@touch $@
