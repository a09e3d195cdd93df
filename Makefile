PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# one BLAS thread: small matrices are slower with more, much slower on shared machines
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test lint docs tutorials agreement bench audit clean

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

# the pages that the tutorials quote are made by their scripts; a site must build before it lands
docs: $(VENV)/installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

tutorials: $(VENV)/installed
	for t in morphometrics covariances directions choosing; do $(BIN)/python docs/tutorials/$$t.py || exit 1; done

test: lint docs
	$(BIN)/python -m pytest -n 2 --dist worksteal --quiet

# Fréchet means against geomstats and pyRiemann, which the script installs in .venv-peers
agreement: $(VENV)/installed
	$(BIN)/python -m benchmarks.agreement

# times and memory, ours and the peers', into bench-output; ARGS="--quick", "--only means,draws"
bench: $(VENV)/installed
	$(BIN)/python -m benchmarks.bench $(ARGS)

# attacks at full strength, some hours; atheris does not exist for every Python, and the rest goes on without it
audit: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[fuzz]' \
	  || echo "atheris cannot be installed here: the random engine goes on alone"
	$(BIN)/python -m sfumato.audit --out audit-report

clean:
	rm -rf $(VENV) .venv-peers demo-output bench-output audit-report
