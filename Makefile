# Two commands for everyone: `make run` and `make test`. `make help` lists the rest.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
NODE := $(shell command -v node 2>/dev/null)
CLIENT := src/findspot/surfaces/web/built/index.html
CLIENT_SOURCES := $(shell find web/src web/index.html web/vite.config.ts -type f -not -name '*.test.*' -not -name '*.stories.*')
C_CODE := $(wildcard src/findspot/native/*.[ch])
NATIVE := hatch_build.py $(C_CODE)
NO_NODE := Node.js 20.19 or newer is not installed
BIN := .venv/bin
UV := $(BIN)/uv pip --quiet
FLOWS := $(addprefix tests/,store indexing search agents retrieval replacing content http)
COMPILE := $(BIN)/uv pip compile -q $(ARGS) --universal --generate-hashes --no-emit-index-url --no-annotate \
  --custom-compile-command "make lock"

.PHONY: help run install install-litellm test check format torture bench bench-relevance bench-passages bench-retrieval bench-speed bench-workspace bench-fairness bench-workers bench-agents bench-agents-load bench-redaction bench-replace bench-scale scenarios docs lock clean profile bench-peers bench-capacity install-turbopuffer test-shared

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

run: install ## install into .venv, build the web client if Node.js is there, then serve on 127.0.0.1:8321
ifdef NODE
	@$(MAKE) -s web || echo "The web client could not be built. The API works without it."
else
	@test -f $(CLIENT) || echo "Without the web client: $(NO_NODE)."
endif
	@exec $(BIN)/findspot serve

install: .venv/.installed ## only install; puts `findspot` into .venv/bin

install-litellm: .venv/.installed ## install the extra `litellm` as well, for FINDSPOT_EMBEDDER=litellm/…
	@$(UV) install --compile-bytecode -c requirements/dev.txt --no-build-isolation -e '.[litellm]'

install-turbopuffer: .venv/.installed ## install the extra `turbopuffer` as well, for FINDSPOT_ENGINE=turbopuffer
	@$(UV) install --compile-bytecode -c requirements/dev.txt --no-build-isolation -e '.[turbopuffer]'

# A test that fails beside others runs once more by itself. The output shows both runs; one that fails twice fails all.
test: .venv/.installed-dev ## every test, on SQLite and on a real PostgreSQL, and of the web client in Chromium
	$(BIN)/pytest -n 3 --dist worksteal $(ARGS) \
	  || { [ $$? = 1 ] && $(BIN)/pytest --last-failed --last-failed-no-failures none; }
	@$(MAKE) --no-print-directory test-web

test-shared: .venv/.installed-dev ## the flows on PostgreSQL and a stand-in of turbopuffer: with one process, then with two
	$(BIN)/pytest -n 3 --dist worksteal --engine turbopuffer -k postgres $(FLOWS) $(ARGS)
	$(BIN)/pytest -n 3 --dist worksteal --processes 2 $(FLOWS) $(ARGS)

check: .venv/.installed-dev ## format, lint, strict types, direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(C_CODE)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	@$(MAKE) --no-print-directory check-web

format: .venv/.installed-dev ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(C_CODE)

.PHONY: web check-web test-web storybook screens bench-web
ifdef NODE
web: $(CLIENT) ## build the web client

check-web: .venv/.installed-dev web/node_modules/.installed-dev # format, lint, types, and the API client's agreement with the API
	cd web && npx biome check . --error-on-warnings && npx tsc --noEmit
	web/check-api.sh

test-web: .venv/.installed-dev web/node_modules/.installed-dev $(CLIENT) ## the tests of the web client
	web/test.sh

screens: .venv/.installed-dev web/node_modules/.installed-dev $(CLIENT) ## renew the pictures of the web client in docs/screens
	cd web && SCREENS=write npx vitest run --project e2e screens

bench-web: .venv/.installed-dev web/node_modules/.installed-dev $(CLIENT) ## measure the web client in Chromium
	cd web && npx vitest run --project speed

storybook: web/node_modules/.installed-dev ## show every component and screen of the web client on port 6006
	cd web && npx storybook dev -p 6006 --no-open
else
web:
	@echo "$(NO_NODE): the web client cannot be built."; exit 1

check-web test-web:
	@echo "SKIPPED $@: $(NO_NODE)."
endif

torture: .venv/.installed-dev ## the kill and fault tests at full count
	FINDSPOT_TORTURE=50 $(BIN)/pytest -m torture $(ARGS)

bench: .venv/.installed-dev ## run the benchmarks and write docs/bench/
	$(BIN)/python -m bench

bench-relevance: .venv/.installed-dev ## measure whether search finds the answers; ARGS="--data DIR"
	$(BIN)/python -m bench.relevance $(ARGS)

bench-passages: .venv/.installed-dev ## measure what joined blocks, titles and headings gain; ARGS="--data DIR"
	$(BIN)/python -m bench.passages $(ARGS)

bench-speed: .venv/.installed-dev ## measure speed at several sizes; ARGS="--data DIR --sizes 10000"
	$(BIN)/python -m bench.speed $(ARGS)

bench-peers: .venv/.installed-dev .venv-peers/.installed ## compare with other products; ARGS="--data DIR --chunks 10000 --products lance --folder DIR"
	$(BIN)/python -m bench.peers $(ARGS)

bench-capacity: .venv/.installed-dev ## measure 4.8 million chunks in one project; ARGS="--chunks 1000000 --data DIR --folder DIR"
	$(BIN)/python -m bench.capacity $(ARGS)

bench-retrieval: .venv/.installed-dev ## compare retrieval with hybrid search on 100 long documents; ARGS="--data DIR"
	$(BIN)/python -m bench.retrieval $(ARGS)

bench-workspace: .venv/.installed-dev ## measure searches of 1,000 documents over HTTP; ARGS="--chunks 10000 --documents 100 --hits 2000"
	$(BIN)/python -m bench.workspace --write $(ARGS)

bench-fairness: .venv/.installed-dev ## measure searches, saves and health checks under load; ARGS="--chunks 5000 --seconds 6"
	$(BIN)/python -m bench.fairness --write $(ARGS)

bench-workers: .venv/.installed-dev ## measure searches per second with one API process and with two; ARGS="--chunks 5000 --seconds 5"
	$(BIN)/python -m bench.workers --write $(ARGS)

bench-agents-load: .venv/.installed-dev ## measure fifty agents that search at once, with two API processes; ARGS="--chunks 5000 --seconds 5"
	$(BIN)/python -m bench.agents_load --write $(ARGS)

bench-redaction: .venv/.installed-dev ## measure what redaction finds, what it spares and what it costs; ARGS="--data DIR"
	$(BIN)/python -m bench.redaction --write $(ARGS)

bench-replace: .venv/.installed-dev ## measure a replace over 1,000 documents while others use the server; ARGS="--documents 300"
	$(BIN)/python -m bench.replacing --write $(ARGS)

bench-agents: .venv/.installed-dev ## let an agent without a model solve 50 tasks on real tables; ARGS="--data DIR"
	$(BIN)/python -m bench.tasks $(ARGS)

profile: .venv/.installed-dev ## measure the processor time of requests by stage, with a flame graph; ARGS="--chunks 50000"
	$(BIN)/python -m bench.profile $(ARGS)

bench-scale: .venv/.installed-dev ## compute docs/scale.md: from one machine to a billion chunks
	$(BIN)/python -m bench.scale --write

scenarios: .venv/.installed-dev ## list the requirements and their tests
	@$(BIN)/python -m tests.scenarios $(ARGS)

docs: .venv/.installed-dev ## write the generated reference pages
	$(BIN)/python -m findspot.surfaces.cli.reference docs

lock: .venv/.python ## pin dependencies with hashes; ARGS=--upgrade takes the newest versions
	$(COMPILE) --group uv -o requirements/uv.txt
	$(COMPILE) pyproject.toml --group build -o requirements/run.txt
	$(COMPILE) pyproject.toml -c requirements/run.txt --extra turbopuffer --group build -o requirements/image.txt
	$(COMPILE) pyproject.toml -c requirements/run.txt --extra langchain --extra litellm --extra llamaindex --extra turbopuffer --group dev -o requirements/dev.txt

clean: ## remove .venv and caches; your data in .findspot stays
	rm -rf .venv .venv-peers web/node_modules src/findspot/surfaces/web/built .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/.python: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Findspot needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up .venv (once, about a minute)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

.venv/.installed: .venv/.python requirements/run.txt pyproject.toml $(NATIVE)
	@$(UV) install --compile-bytecode --require-hashes -r requirements/run.txt
	@$(UV) install --no-deps --no-build-isolation -e .
	@touch $@

.venv/.installed-dev: .venv/.python requirements/dev.txt pyproject.toml $(NATIVE)
	@$(UV) install --compile-bytecode --require-hashes -r requirements/dev.txt
	@$(UV) install --no-deps --no-build-isolation -e .
	@touch $@ .venv/.installed

$(CLIENT): web/node_modules/.installed $(CLIENT_SOURCES)
	@cd web && npx vite build --logLevel warn

web/node_modules/.installed: web/package-lock.json
	@test -e web/node_modules/.installed-dev && cd web && npm ci --no-progress --loglevel error \
	  || { echo "Installing what builds the web client (once)"; cd web && npm ci --omit=dev --no-progress --loglevel error; }
	@touch $@

web/node_modules/.installed-dev: web/package-lock.json
	@cd web && npm ci --no-progress --loglevel error
	@touch $@ web/node_modules/.installed

# A separate environment, so that the dependencies of other products do not change the versions that Findspot uses.
.venv-peers/.installed: .venv/.python pyproject.toml
	@echo "Setting up .venv-peers"
	@$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .venv-peers
	@$(UV) install --python .venv-peers/bin/python --group bench
	@touch $@
