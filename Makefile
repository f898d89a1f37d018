# `make demo` shows the product on this machine, `make test` checks it. Each sets up what it needs.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TIMED := $(addprefix tests/,e2e/timed robustness/timed unit/drivers unit/timetable unit/workers)

.PHONY: help demo test check lint types layers unit sla coexist soak gpu format model clean

help: ## Show the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-8s %s\n", $$1, $$2}'

$(READY): pyproject.toml tools/setup_environment.py
	@$(PYTHON) tools/setup_environment.py $(VENV)

model: $(READY) ## Fetch the default model, if absent
	@$(BIN)/tokenpace model pull smollm2-135m

demo: model ## Serve a real model, send load, judge an SLA, write an HTML report
	@$(BIN)/python tools/demo.py

test: check ## Set everything up and pass every check

check: model lint layers ## ruff, ruff format, import-linter, then mypy --strict beside pytest
	@$(MAKE) --no-print-directory -j2 types unit

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

unit: $(READY) ## pytest: what looks at times by itself, the rest at once
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder tests/model tests $(TIMED:%=--ignore=%)
	$(BIN)/python -m pytest $(TIMED)

sla: model ## SLA tests against the real model served here
	$(BIN)/python -m pytest -m sla tests/sla

coexist: $(READY) ## The pytest plugin beside the usual ones, in an environment of its own
	@$(BIN)/python tools/coexist.py

soak: model ## The long tests
	$(BIN)/python -m pytest -m soak

gpu: $(READY) ## Tests that need a CUDA device
	$(BIN)/python -m pytest -m gpu

format: $(READY) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
