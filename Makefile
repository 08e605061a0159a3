# Needs Python 3.11 or newer, git and make. Everything is installed into .venv; `make clean` removes it.
PYTHON ?= python3
BIN := .venv/bin
MEASURED ?= h200

.PHONY: help demo test validate lint speed clean
.DEFAULT_GOAL := help

help:
	@echo "make demo      the wave cliff: 1792 against 1793 on an A100, with the picture (out/wave-cliff.png)"
	@echo "make test      the tests"
	@echo "make validate  every measured case: tables of errors, then the same bars as the tests"
	@echo "make lint      ruff and mypy"
	@echo "make speed     how fast the simulator is, against the noted ratios"

demo: .venv/run
	mkdir -p out
	cd out && ../$(BIN)/gpusim demo

test: .venv/test
	$(BIN)/python -m pytest

validate: .venv/test
	$(BIN)/gpusim validate $(MEASURED) --rank --worst 10
	$(BIN)/python -m pytest -m full

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/mypy

speed: .venv/test
	$(BIN)/python -m tests.speed.bench

clean:
	rm -rf .venv out

# One stamp for each set of dependencies. The install is editable: changed code needs no new one.
.venv/bin/python:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'gpusim needs Python 3.11 or newer: make PYTHON=python3.12 ...')"
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

.venv/run: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/test .venv/dev: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$(@F)]"
	@touch $@
