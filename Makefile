# Everything a person or a machine does with this repository. `make` alone lists it.

# The first Python of 3.11 or later that starts; name another with PYTHON=...
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)

VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
INSTALLED := $(VENV)/.installed
# what `make run` needs, and what tests and builds need beside it
RUNTIME_EXTRAS := aws,serve,multimodal,engine,local
EXTRAS := $(RUNTIME_EXTRAS),fast,hub,video,dialects,dev
# without bytecode: what is never imported need not be compiled, which takes longer than to install it
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --no-compile --constraint requirements.lock

SHARED ?= ../shared
CORPUS ?= $(wildcard $(SHARED)/corpus/*.jsonl.gz)
ENGINE_CORPUS := $(SHARED)/corpus/engine-%
PARITY := $(SHARED)/tools/parity.py
DEVIATIONS := $(wildcard layers/preprocessing/deviations.txt)
# $(call replay,MODULE,FILES): MODULE's server against recordings
replay = $(if $(2),$(BIN)/python $(PARITY) --serve "$(BIN)/python -m $(1) serve" --models $(SHARED)/models \
  $(DEVIATIONS:%=--deviations %) $(2))

CLIENT_SETS := all llama-index
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal --durations=10

SAM_VERSION := 1.170.0
CHECKOV_VERSION := 3.3.30
SAM ?= $(or $(shell command -v sam 2>/dev/null),.cache/sam/bin/sam)

.DEFAULT_GOAL := help
.PHONY: help setup run test test-all test-clients lint fmt parity differential openapi bench bench-check bench-all soak build deploy rehearse audit site wheel lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(INSTALLED) ## make .venv with the locked dependencies

$(RUNTIME): pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed (PYTHON=/path/to/python)" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing what serving and the engine need: 0.3 GB to download, 1.1 GB in $(VENV)"
	@# PyPI's torch for Linux brings gigabytes for GPUs; where pip is told of no other source, PyTorch's has it for CPUs
	@test "$$(uname -s)" != Linux || $(BIN)/python -m pip config list | grep -qE 'index|find-links' || \
	  $(INSTALL) --retries 1 --no-deps --index-url https://download.pytorch.org/whl/cpu "$$(grep '^torch==' requirements.lock)" || \
	  echo "PyTorch's index is out of reach: torch comes from the usual one, and is larger"
	@$(INSTALL) --editable '.[$(RUNTIME_EXTRAS)]'
	@# xgrammar (structured outputs of the engine) without its triton: a GPU compiler of half a gigabyte, never called on CPUs
	@$(INSTALL) --quiet --no-deps xgrammar apache-tvm-ffi
	@touch $@

$(INSTALLED): $(RUNTIME)
	@echo "installing what tests and builds need: 0.2 GB to download, 0.5 GB in $(VENV)"
	@$(INSTALL) --editable '.[$(EXTRAS)]'
	@# SAM's transform, for checks of what is deployed; it asks for an older pydantic than ours, and does with this one
	@$(INSTALL) --quiet --no-deps aws-sam-translator
	@touch $@

run: $(RUNTIME) ## pack the default model, start engine and gateway, ask one real chat (MODEL=, PORT=, FLAGS="…")
	@exec $(BIN)/python -m infra.local run $(PORT:%=--port %) $(ENGINE_PORT:%=--engine-port %) $(MODEL) $(FLAGS)

test: lint ## lint, types and the quick tests: minutes
	$(PYTEST) -m "not long"

test-all: lint ## lint, types and every test
	$(PYTEST)

test-clients: $(INSTALLED) $(CLIENT_SETS:%=.cache/clients/%/.installed) ## the SDKs and agents of tests/clients against `make run`'s gateway
	for set in $(CLIENT_SETS); do .cache/clients/$$set/bin/python -m pytest -c tests/clients/pytest.ini --rootdir . \
	  --confcutdir tests/clients tests/clients || exit 1; done

# clients bring versions of their own, which neither the project's nor each other's allow
.cache/clients/%/.installed: tests/clients/%.txt
	$(PYTHON) -m venv .cache/clients/$*
	.cache/clients/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps -r $<
	@touch $@

lint: $(INSTALLED) ## ruff, mypy, the template, and the rules of the house: imports, sizes, cited sections
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/cfn-lint template.yaml infra/generate/service.yaml
	$(BIN)/python -m pytest --quiet tests/test_architecture.py tests/test_wire_document.py

fmt: $(INSTALLED) ## format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

parity: $(INSTALLED) ## replay the recordings of the reference (CORPUS=..., from SHARED=../shared)
	@test -f $(PARITY) || { echo "no recordings at $(SHARED)" >&2; exit 1; }
	$(call replay,infra.local,$(filter-out $(ENGINE_CORPUS),$(CORPUS)))
	$(call replay,infra.generate,$(filter $(ENGINE_CORPUS),$(CORPUS)))

differential: $(INSTALLED) ## compare with an installed reference at random (REFERENCE=DIR, COUNT=exchanges a model, SEED=)
	@test -n "$(REFERENCE)" || { echo "no reference: REFERENCE=DIR (docs/reference.md says how to make one)" >&2; exit 1; }
	$(BIN)/python -m tests.reference --reference $(REFERENCE) $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

openapi: $(INSTALLED) ## write the API's description to docs/openapi.json
	$(BIN)/python -m renderlayer.http.openapi > docs/openapi.json

bench: build ## one table of ratios to peers measured in turns, into docs/performance.md with its plot, and that of routing (REFERENCE=DIR)
	$(BIN)/python -m tests.bench.report $(if $(REFERENCE),--reference $(REFERENCE))
	$(BIN)/python -m tests.bench.routing --write

bench-check: build ## the same, compared with the committed ratios: fails where one is 20 % worse
	$(BIN)/python -m tests.bench.report --check $(if $(REFERENCE),--reference $(REFERENCE))

bench-all: build ## every figure alone: sizes, cold start, requests, streams, photos, references, batches
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.photos
	$(BIN)/python -m tests.bench.references
	$(BIN)/python -m tests.bench.batch
	$(if $(REFERENCE),$(BIN)/python -m tests.bench.beside $(REFERENCE))

soak: $(INSTALLED) ## 50,000 mixed requests by 200 clients on a server, and what became of its memory (REQUESTS=..., CLIENTS=...)
	$(BIN)/python -m tests.hostile.soak $(or $(REQUESTS),50000) $(or $(CLIENTS),200)

# $(call sam_build,FOLDER): build functions and layers into it; MODEL is a variable of the shell
define sam_build
SAM_CLI_TELEMETRY=0 $(SAM) build --build-dir $(1) --parameter-overrides \
  Multimodal=true $(if $(ARCHITECTURE),Architecture=$(ARCHITECTURE))
@$(BIN)/python layers/sizes.py $(1)
endef

build: $(INSTALLED) $(SAM) ## build functions and layers for AWS (MODEL=..., ARCHITECTURE=x86_64|arm64, VIDEO=1)
	MODEL="$${MODEL:-$$($(BIN)/python -m infra.generate fetch)}" $(call sam_build,.aws-sam/build)

deploy: $(SAM) ## deploy what was built as a new release (STACK=..., PARAMETERS="EngineUrl=... ...")
	SAM_CLI_TELEMETRY=0 $(SAM) deploy --template .aws-sam/build/template.yaml --no-confirm-changeset \
	  $(if $(STACK),--stack-name $(STACK)) \
	  --parameter-overrides Release=$$(date +%s) $(if $(ARCHITECTURE),Architecture=$(ARCHITECTURE)) $(PARAMETERS)

rehearse: $(INSTALLED) $(SAM) ## build the default model, deploy it to an emulated AWS, use it from outside (PORT=4566, ENGINE_PORT=4567)
	MODEL="$$($(BIN)/python -m infra.generate fetch)" $(call sam_build,.cache/rehearsal/build)
	SAM=$(SAM) $(BIN)/python -m infra.rehearsal $(if $(PORT),--port $(PORT)) $(if $(ENGINE_PORT),--engine-port $(ENGINE_PORT))

audit: .cache/checkov/bin/checkov ## checkov on both stacks; .checkov.yaml lists what is accepted, and why
	.cache/checkov/bin/checkov --config-file .checkov.yaml

.cache/checkov/bin/checkov:
	@echo "installing checkov $(CHECKOV_VERSION) into .cache/checkov (minutes, once)"
	@$(PYTHON) -m venv .cache/checkov
	@.cache/checkov/bin/python -m pip install --quiet --disable-pip-version-check checkov==$(CHECKOV_VERSION)

.cache/sam/bin/sam:
	@echo "installing the AWS SAM CLI $(SAM_VERSION) into .cache/sam (a minute, once)"
	@$(PYTHON) -m venv .cache/sam
	@.cache/sam/bin/python -m pip install --quiet --disable-pip-version-check aws-sam-cli==$(SAM_VERSION)

wheel: $(INSTALLED) ## the package as a wheel in dist/
	$(BIN)/python -m pip wheel --disable-pip-version-check --no-deps --wheel-dir dist .

site: $(INSTALLED) ## the pages as a site in .cache/site, and their flows as pictures (open .cache/site/index.html)
	$(BIN)/python -m infra.site.flows
	$(BIN)/mkdocs build --quiet
	@echo "open .cache/site/index.html"

lock: $(INSTALLED) ## write what .venv holds into requirements.lock
	$(BIN)/python -m pip freeze --exclude-editable | sed -E 's/^(torch==[0-9.]+)\+.*/\1/' > requirements.lock

clean: ## remove what the other targets made
	rm -rf $(VENV) .aws-sam .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
