# Two commands on a fresh machine: `make demo` and `make test`. Everything they need is set up in .venv.
PYTHON ?= python3
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
VENV := .venv/$(VERSION)
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := pyproject.toml src/veilboost/__init__.py

.PHONY: demo test fast check size format bench requirements clean

demo: $(STAMPS)/core ## desensitise an embedded table, and show what its privacy really is
	$(BIN)/veilboost demo

test: check size ## what CI runs
	$(BIN)/python -m pytest -n auto

fast: check ## the same without the slow tests, in under a minute
	$(BIN)/python -m pytest -n auto -m "not slow"

check: $(STAMPS)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

size: $(STAMPS)/dev ## what the core install takes, which must stay under 600 MB
	@$(BIN)/python requirements/size.py 600 requirements/core.txt requirements/build.txt

format: $(STAMPS)/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMPS)/dev
	$(BIN)/veilboost bench sampling

$(STAMPS)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; \
	  sys.exit(None if (3, 11) <= v[:2] <= (3, 13) else "veilboost needs Python 3.11 to 3.13, and $(PYTHON) is %d.%d: " \
	  "name another with make PYTHON=python3.12" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/core: $(STAMPS)/python requirements/core.txt requirements/build.txt $(SOURCES)
	$(INSTALL) --no-compile --require-hashes -r requirements/build.txt -r requirements/core.txt
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(STAMPS)/dev: $(STAMPS)/core requirements/dev.txt
	$(INSTALL) --require-hashes -r requirements/dev.txt
	@touch $@

requirements: ## resolve anew; needs uv
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  --only-binary :all: -q pyproject.toml -c requirements/small.in -o requirements/core.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  -q requirements/build.in -o requirements/build.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  -q --extra dev --extra postgres --extra rivals --extra studies pyproject.toml -c requirements/core.txt -c requirements/build.txt -o requirements/dev.txt

clean:
	rm -rf .venv demo-output
