# Every target installs what it needs: `make demo` and `make test` work on a fresh clone with Python 3.11 or newer.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test test-slow check bench docs clean

demo: $(INSTALLED)
	$(BIN)/python examples/demo.py

test: $(INSTALLED)
	$(BIN)/python tests/run_in_parallel.py

test-slow: $(INSTALLED)
	$(BIN)/python -m pytest -m slow

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src

bench: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python benchmarks/run.py

docs: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html in a browser; no server needed"

$(INSTALLED): pyproject.toml constraints.txt
	@echo "installing into .venv (once)"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

clean:
	rm -rf .venv demo site dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
