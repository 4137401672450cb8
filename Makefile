# Every target sets up what it needs: a virtual environment with the pinned versions of requirements.txt.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-all test-fast attack lint format setup bench results clean

demo: .venv/ready
	$(BIN)/crug demo --out demo

test: .venv/ready
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --durations=20 -m "not long"

test-all: .venv/ready
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --durations=20

test-fast: .venv/ready
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow and not long"

attack: .venv/ready
	$(BIN)/python tests/attack --write

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/ready
	$(BIN)/python -c "import torch" 2>/dev/null || $(BIN)/pip install -q -r requirements-bench.txt
	$(BIN)/python benchmarks/speed.py

results: .venv/ready
	$(BIN)/crug record --page docs/results.md --page README.md

setup: .venv/ready

.venv/ready: requirements.txt pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'crug needs Python 3.11 or newer: make PYTHON=python3.11')"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

clean:
	rm -rf .venv demo
