# vedette: `make help` lists what can be done. Needs GNU make, Python >= 3.11 and a C++ compiler.

.DEFAULT_GOAL := help
.SILENT:
.PHONY: help install demo test check format docs bench clean

BIN := .venv/bin
STAMP := .venv/.installed
# The first Python that is new enough; `make PYTHON=... install` chooses another.
PYTHON ?= $(firstword $(foreach python,python3 python3.11 python3.12 python3.13,$(shell \
	$(python) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(python))))
DEMO_MODEL := qwen2.5-coder-0.5b
TEST_MODELS := smollm2-135m
# More arguments for pytest or `vedette bench batch`: make test ARGS="-k config"
ARGS ?=

help: ## this list
	sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

install: $(STAMP) ## make .venv and install; compiles llama.cpp the first time

$(STAMP): pyproject.toml
	$(if $(PYTHON),,$(error Python 3.11 or newer is needed; on Debian: apt install python3 python3-venv))
	$(PYTHON) scripts/install.py

demo: install ## events out of examples/app.log, with a 0.5B model
	$(BIN)/vedette pull $(DEMO_MODEL)
	mkdir -p out
	$(BIN)/vedette extract examples/app.log --model $(DEMO_MODEL) \
		--schema examples/event.schema.json --examples examples/event.examples.jsonl \
		--out out/events.jsonl

test: install ## run the tests
	for model in $(TEST_MODELS); do $(BIN)/vedette pull $$model || exit; done
	$(BIN)/python -m pytest $(ARGS)

check: install ## format, lint, types, layers, generated and Chinese docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/gen_docs.py --check
	$(BIN)/python scripts/check_zh.py

format: install ## format the code and mend what ruff can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: install ## write docs/cli.md, config.md and metrics.md anew
	$(BIN)/python scripts/gen_docs.py

bench: install ## measure against a llama-server
	$(BIN)/vedette pull $(DEMO_MODEL)
	$(BIN)/vedette bench batch --model $(DEMO_MODEL) --data examples/app.log \
		--schema examples/event.schema.json $(ARGS)

clean: ## remove outputs and caches; .venv and model weights stay
	rm -rf out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests scripts benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +
