# make demo     set everything up and walk the whole pipeline on two small repositories
# make test     set everything up and run the test suite, with the real services
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
# the checkout's root is never an import path: Label Studio's own top-level package is called core
export PYTHONSAFEPATH := 1

PYTHON ?= python3
CACHE := $(or $(BENCHWRIGHT_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/benchwright)
BIN := .venv/bin
WITH_ENGINE := .ci/engine ensure && . "$(CACHE)/engine/env" &&
WITH_FORMATS := .ci/formats && . "$(CACHE)/formats/env" &&
WITH_PACKAGES := .ci/packages docker-registry mmdebstrap chromium fonts-dejavu-core &&
STAGES := annotation core curation export validators

.PHONY: help setup demo test test-fast test-long check docs bench lock engine-stop clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: .venv/ready ## make .venv from the lock file

.venv/ready: requirements.lock pyproject.toml .ci/venv
	@PYTHON=$(PYTHON) .ci/venv

demo: setup ## the whole pipeline on two small repositories (KEEP=1 leaves Label Studio running)
	@$(WITH_ENGINE) $(BIN)/benchwright demo $(if $(KEEP),--keep)

test: setup ## all tests but the long ones, with the real services
	@$(WITH_ENGINE) $(WITH_FORMATS) $(WITH_PACKAGES) $(BIN)/pytest -m "not long" $(ARGS)

test-fast: setup ## under a minute: no network, no services
	@$(BIN)/pytest -n auto -m "not integration and not long" $(ARGS)

test-long: setup ## exhaustive walks and large loads
	@$(WITH_ENGINE) $(WITH_FORMATS) $(WITH_PACKAGES) .ci/packages postgresql && $(BIN)/pytest -m "long" $(ARGS)

check: setup ## formatting, lint, types, generated documents
	@$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	mkdir -p .typing/benchwright
	for stage in $(STAGES); do ln -sfn "../../$$stage" ".typing/benchwright/$$stage"; done
	MYPYPATH=.typing $(BIN)/mypy --namespace-packages --explicit-package-bases -p benchwright
	$(BIN)/python .ci/docs.py --check

docs: setup ## write docs/cli.md and docs/rules.md from the program itself
	@$(BIN)/python .ci/docs.py

bench: setup ## benchmarks: each prints its ratio to a named baseline
	@$(WITH_ENGINE) for script in tests/benchmarks/*.py; do echo "== $$script"; $(BIN)/python "$$script"; done

lock: setup ## resolve requirements.lock anew
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --extra dev -o requirements.lock pyproject.toml
	# what Label Studio's own environment is installed from
	echo "label-studio==$$($(BIN)/python -c 'from benchwright.annotation.install import VERSION; print(VERSION)')" | \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header -o annotation/data/label-studio.lock -
	# what a release hands to those who score with it: the same versions, without any extra
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --no-annotate -c requirements.lock -o export/data/evaluator.lock pyproject.toml
	# beside it the tools that exports are tried with: Harbor needs a newer Python, inspect_ai other versions
	echo harbor | $(BIN)/uv pip compile --quiet --universal --python-version 3.12 --generate-hashes \
	  --no-emit-index-url --no-header -o .ci/harbor.lock -
	printf 'inspect-ai\nsetuptools>=77\n' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header -o .ci/inspect.lock pyproject.toml -
	echo trl | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header -c requirements.lock --override <(echo "torch ; sys_platform == 'none'") -o .ci/trl.lock -

engine-stop: ## stop and remove the Docker engine that our own targets started
	@.ci/engine stop

clean: ## remove .venv and what the targets left in the checkout
	@rm -rf .venv .typing .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info demo-workspace
