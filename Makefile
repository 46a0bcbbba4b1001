# Everything a person or a machine does with this repository. `make` alone lists it.

# The first Python of 3.11 or later that starts; name another with PYTHON=...
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
EXTRAS := aws,serve,fast,hub,multimodal,video,engine,dialects,dev

SHARED ?= ../shared
CORPUS ?= $(wildcard $(SHARED)/corpus/*.jsonl.gz)
ENGINE_CORPUS := $(SHARED)/corpus/engine-%
PARITY := $(SHARED)/tools/parity.py
DEVIATIONS := $(wildcard layers/preprocessing/deviations.txt)
# $(call replay,MODULE,FILES): MODULE's server against recordings
replay = $(if $(2),$(BIN)/python $(PARITY) --serve "$(BIN)/python -m $(1) serve" --models $(SHARED)/models \
  $(DEVIATIONS:%=--deviations %) $(2))

SAM_VERSION := 1.170.0
SAM ?= $(or $(shell command -v sam 2>/dev/null),.cache/sam/bin/sam)

.DEFAULT_GOAL := help
.PHONY: help setup run test lint fmt parity bench build lock clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(INSTALLED) ## make .venv with the locked dependencies

$(INSTALLED): pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed (PYTHON=/path/to/python)" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing the locked dependencies into $(VENV) (minutes, the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[$(EXTRAS)]'
	@# xgrammar (structured outputs of the engine) without its triton: a GPU compiler of half a gigabyte, never called on CPUs
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --no-deps xgrammar apache-tvm-ffi
	@touch $@

run: $(INSTALLED) ## pack the default model, start engine and gateway, ask one real chat; Ctrl-C stops all
	@exec $(BIN)/python -m infra.local run

test: lint ## lint, types and every test
	$(BIN)/python -m pytest -n 2

lint: $(INSTALLED) ## ruff, mypy and the template
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/cfn-lint template.yaml infra/generate/service.yaml

fmt: $(INSTALLED) ## format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

parity: $(INSTALLED) ## replay the recordings of the reference (CORPUS=..., from SHARED=../shared)
	@test -f $(PARITY) || { echo "no recordings at $(SHARED)" >&2; exit 1; }
	$(call replay,infra.local,$(filter-out $(ENGINE_CORPUS),$(CORPUS)))
	$(call replay,infra.generate,$(filter $(ENGINE_CORPUS),$(CORPUS)))

bench: $(INSTALLED) ## what it costs: cold start, requests, streams, photos, references, batches
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.photos
	$(BIN)/python -m tests.bench.references
	$(BIN)/python -m tests.bench.batch

build: $(INSTALLED) $(SAM) ## build functions and layers for AWS (MODEL=..., ARCHITECTURE=x86_64|arm64)
	MODEL="$${MODEL:-$$($(BIN)/python -m infra.generate fetch)}" SAM_CLI_TELEMETRY=0 $(SAM) build $(if $(ARCHITECTURE),\
	  --parameter-overrides Architecture=$(ARCHITECTURE))

.cache/sam/bin/sam:
	@echo "installing the AWS SAM CLI $(SAM_VERSION) into .cache/sam"
	@$(PYTHON) -m venv .cache/sam
	@.cache/sam/bin/python -m pip install --quiet --disable-pip-version-check aws-sam-cli==$(SAM_VERSION)

lock: $(INSTALLED) ## write what .venv holds into requirements.lock
	$(BIN)/python -m pip freeze --exclude-editable | sed -E 's/^(torch==[0-9.]+)\+.*/\1/' > requirements.lock

clean: ## remove what the other targets made
	rm -rf $(VENV) .aws-sam .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis build
