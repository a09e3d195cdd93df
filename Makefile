PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
REFEREE := .venv-referee
PYTEST := -n 2 --dist worksteal --quiet -m 'not browser'
# one BLAS thread: small matrices are slower with more, much slower on shared machines
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test test-browser test-r test-oldest test-processors lint docs tutorials agreement referee bench audit audit-quick clean

# reinstall only when what is to be installed changes
$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

$(OLDEST)/installed: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --upgrade pip
	$(OLDEST)/bin/python -m pip install --quiet --constraint constraints-oldest.txt --editable '.[test]'
	touch $@

# dp-accounting needs an older attrs than our other tools
$(REFEREE)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(REFEREE)
	$(REFEREE)/bin/python -m pip install --quiet --upgrade pip
	grep --invert-match '^attrs==' constraints.txt > $(REFEREE)/constraints.txt
	$(REFEREE)/bin/python -m pip install --quiet --constraint $(REFEREE)/constraints.txt --editable '.[opendp]' \
	  dp-accounting==0.6.0
	touch $@

demo: $(VENV)/installed
	$(BIN)/python -m sfumato demo --out demo-output

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# a site must build before it lands; notebooks are run by it
docs: $(VENV)/installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# what pages show: quotes of commands, which the scripts put into the tutorials, and pictures; two minutes
tutorials: demo
	cp demo-output/demo.png docs/trilobites.png
	for t in morphometrics atlas covariances directions choosing sites; do $(BIN)/python docs/tutorials/$$t.py || exit 1; done
	$(BIN)/python docs/gallery.py
	$(BIN)/python docs/glossary.py

# first what audits, reads bits or solves, as an older processor would run it; then everything (test-processors: all of it on each)
BY_KERNEL := tests/audit/test_audit.py tests/audit/test_charts.py tests/attacks/test_bits.py tests/release/test_release.py \
  tests/laws/sampling/test_precise.py tests/means/test_frechet.py
test: lint docs
	$(BIN)/python tests/processors.py --only older $(PYTEST) $(BY_KERNEL)
	$(BIN)/python -m pytest $(PYTEST)

# the studio's page in Chromium and in Firefox, and axe-core's checks, with what they see in studio-output: two minutes. What is
# missing is fetched from Debian and npm; where neither browser can be had, nothing is run
TOOLS := chromium:chromium chromedriver:chromium-driver firefox-esr:firefox-esr npm:npm pdftoppm:poppler-utils
AXE := axe-core@4.14.0
test-browser: $(VENV)/installed
	missing=$$(for one in $(TOOLS); do command -v $${one%:*} > /dev/null || echo $${one#*:}; done); \
	  [ -z "$$missing" ] || (apt-get update && apt-get install --yes --no-install-recommends $$missing) \
	  || echo "Debian's packages cannot be had here:" $$missing
	npm install --no-save --prefix .axe $(AXE) || echo "npm cannot give $(AXE) here: its checks are left out"
	if (command -v chromium && command -v chromedriver) || command -v firefox-esr; \
	  then $(BIN)/python -m pytest $(PYTEST) -m browser tests; \
	  else echo "There is no browser here, and none can be had: the page was not walked"; fi

# the package for R by R CMD check, with its vignette, and the page about R, in r-output: a minute. What is missing is fetched
# from Debian; where it cannot be had, nothing is run
R_NEEDS := r-base-core r-cran-reticulate r-cran-knitr r-cran-markdown
R_READY := Rscript -e 'for (one in c("reticulate", "knitr", "markdown")) loadNamespace(one)' > /dev/null 2>&1
test-r: $(VENV)/installed
	$(R_READY) || (apt-get update && apt-get install --yes --no-install-recommends $(R_NEEDS)) \
	  || echo "Debian's packages cannot be had here: $(R_NEEDS)"
	rm -rf r-output && mkdir -p r-output/library
	if $(R_READY); then cd r-output && export RETICULATE_PYTHON=$(abspath $(BIN)/python) _R_CHECK_FORCE_SUGGESTS_=false \
	  && R CMD build ../r && R CMD check --no-manual sfumato_*.tar.gz && R CMD INSTALL --library=library sfumato_*.tar.gz \
	  && R_LIBS=library Rscript ../docs/r.R; \
	  else echo "There is no R with reticulate and knitr here, and none can be had: the package for R was not checked"; fi

# everything, once for each choice of kernels that this processor can run
test-processors: $(VENV)/installed
	$(BIN)/python tests/processors.py $(PYTEST)

# everything, with the oldest versions that we take beside geomstats, pyRiemann and MNE; these may use what Python has
# deprecated since, and leave files open; Numba keeps what it compiles apart
test-oldest: $(OLDEST)/installed
	NUMBA_CACHE_DIR=$(OLDEST)/numba $(OLDEST)/bin/python -m pytest $(PYTEST) \
	  -W ignore::DeprecationWarning -W ignore::ResourceWarning

# Fréchet means against geomstats and pyRiemann
agreement: $(VENV)/installed
	$(BIN)/python -m benchmarks.agreement

# kinds of privacy and how they add up, against dp-accounting and OpenDP: half a minute
referee: $(REFEREE)/installed
	$(REFEREE)/bin/python -m benchmarks.referee

# times and memory, ours and the peers', into bench-output; ARGS="--quick", "--only means,draws"
bench: $(VENV)/installed
	$(BIN)/python -m benchmarks.bench $(ARGS)

# attacks at full strength, about an hour on two free cores; what was stopped goes on where it was, and rows of other code are
# dropped. atheris does not exist for every Python, and the rest goes on without it
audit: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[fuzz]' \
	  || echo "atheris cannot be installed here: the random engine goes on alone"
	$(BIN)/python -m attacks
	$(BIN)/python -m attacks.published

# a small part of every attack, into audit-quick: a quarter of an hour
audit-quick: $(VENV)/installed
	$(BIN)/python -m attacks --quick --out audit-quick

clean:
	rm -rf $(VENV) $(OLDEST) $(REFEREE) .axe demo-output demo-wings bench-output audit-quick studio-output r-output
