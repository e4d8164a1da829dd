# make run and make test do all the set-up on Debian and Ubuntu with Python 3.11+; a second call does none.

VENV := .venv
BIN := $(VENV)/bin
SETUP := installers/linux/setup.sh

# Hundreds of processes are started in the tests; each would compile the program for itself.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-scenarios test-long check bench figures screenshots package test-package clean

run: $(VENV)/.system-run $(VENV)/.packages-run
	@exec $(BIN)/hearth

PYTEST := $(BIN)/python -m tests.virtual_screen $(BIN)/python -m pytest

# By eight processes on two cores, as most of their time the tests wait for windows and other processes; one without work
# takes the next file, in the order of tests/conftest.py. Compute gives way to everything else, so it would starve beside
# the others; all are as humble.
# They are found once beforehand, which compiles them: in a fresh clone each of the eight would do so for itself.
together = nice -n 19 $(BIN)/python -m pytest --collect-only -qq $(1) >/dev/null; \
	exec nice -n 19 $(PYTEST) --tb short -n 8 --dist loadfile --no-loadscope-reorder $(1)
# ARGS are pytest's own, for some tests in one process.
test: $(VENV)/.system-test $(VENV)/.packages-test
	@$(if $(ARGS),exec $(PYTEST) $(ARGS),$(call together,tests/swarm tests/desktop tests/unit))

# Real workers that are killed, frozen, cut off or short of space, and the whole app by keyboard, by its accessibility tree
# and at each scale: as long again.
test-scenarios: $(VENV)/.system-test $(VENV)/.packages-test
	@$(call together,tests/scenarios)

# Comparisons of whole swarms over many steps: about an hour.
test-long: $(VENV)/.system-test $(VENV)/.packages-test
	@exec $(PYTEST) -s tests/long

check: $(VENV)/.system-test $(VENV)/.packages-test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m installers.advisories

bench: $(VENV)/.system-test $(VENV)/.packages-test
	@exec $(BIN)/python -m tests.bench alone $(ARGS)

# Those of the help page, one after the other on a machine at rest: about half an hour, and an hour more with AGAINST, the
# Python of hivemind's environment. Options such as --quick go into ARGS.
FIGURES := alone yield desktop idle ledger scaling latency_throughput
figures: $(VENV)/.system-test $(VENV)/.packages-test
	@for name in $(FIGURES); do $(BIN)/python -m tests.bench $$name --keep $(ARGS) >/dev/null || exit; done
	@for name in network moe; do \
	$(BIN)/python -m tests.bench $$name --keep $(if $(AGAINST),--against $(AGAINST)) $(ARGS) >/dev/null || exit; done

# Writes dist/hearth_VERSION_amd64.deb and a .tar.zst with the same content; on Windows an installer, on macOS a disk image.
# Some minutes, and 1 GB the first time.
# FEED names a release feed that has the bundle as its newest release, URL where it will be: for updates and GPU packs.
PACKAGE := build/venv/bin/python -m installers
ifneq ($(filter Windows_NT Darwin,$(OS) $(shell uname -s)),)
package:
	@$(if $(filter Windows_NT,$(OS)),python,python3) -m installers.package
else
package: build/venv/.system-package build/venv/.packages-package
	@$(PACKAGE).bundle.build build/bundle
	@$(PACKAGE).linux.package build/bundle dist $(FEED) $(URL)
endif

# Installs the .deb in a clean Debian 12 of its own (debootstrap, as root), uses and removes it; compares bundle and sources.
test-package: $(VENV)/.system-test $(VENV)/.packages-test
	@exec $(PYTEST) -s tests/package $(ARGS)

screenshots: $(VENV)/.system-test $(VENV)/.packages-test
	@exec $(BIN)/python -m tests.virtual_screen $(BIN)/python -m tests.screenshots

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Stamps: a step that failed, or that could not be finished for want of rights, leaves none.
$(VENV)/.system-%: $(SETUP)
	@$(SETUP) system $*

build/venv/.system-package: $(SETUP)
	@$(SETUP) system package

build/venv/.packages-package: pyproject.toml constraints.txt installers/requirements.txt $(SETUP) | build/venv/.system-package
	@$(SETUP) packages package

$(VENV)/.packages-%: pyproject.toml constraints.txt $(SETUP) | $(VENV)/.system-%
	@$(SETUP) packages $*
