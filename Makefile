PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# one BLAS thread: small matrices are slower with more, much slower on shared machines
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test lint agreement clean

# reinstall only when what is to be installed changes
$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(VENV)/installed
	$(BIN)/python -m sfumato.demo --out demo-output

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest

# Fréchet means against geomstats and pyRiemann, which the script installs in .venv-peers
agreement: $(VENV)/installed
	$(BIN)/python benchmarks/agreement.py

clean:
	rm -rf $(VENV) .venv-peers demo-output
