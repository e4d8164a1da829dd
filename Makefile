# make run and make test do all the set-up on Debian and Ubuntu with Python 3.11+; a second call does none.

VENV := .venv
BIN := $(VENV)/bin
SETUP := installers/linux/setup.sh

.PHONY: run test check bench screenshots clean

run: $(VENV)/.system-run $(VENV)/.packages-run
	@exec $(BIN)/hearth

PYTEST := $(BIN)/python -m tests.virtual_screen $(BIN)/python -m pytest

# All of them. Those of swarms wait for other processes half of the time: the longest, which compares two swarms, runs
# beside the tests of one process; then the others, two files at a time.
ADVERSITY := tests/swarm/test_adversity.py
test: $(VENV)/.system-test $(VENV)/.packages-test
ifdef ARGS
	@exec $(PYTEST) $(ARGS)
else
	@mkdir -p build; $(PYTEST) $(ADVERSITY) >build/adversity.txt 2>&1 & adversity=$$!; failed=0; \
	$(PYTEST) tests/desktop tests/unit || failed=1; wait $$adversity || failed=1; cat build/adversity.txt; \
	$(PYTEST) -n 2 --dist loadfile tests/swarm --ignore=$(ADVERSITY) || failed=1; exit $$failed
endif

check: $(VENV)/.system-test $(VENV)/.packages-test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(VENV)/.system-test $(VENV)/.packages-test
	@exec $(BIN)/python -m tests.bench alone $(ARGS)

screenshots: $(VENV)/.system-test $(VENV)/.packages-test
	@exec $(BIN)/python -m tests.virtual_screen $(BIN)/python -m tests.screenshots

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Stamps: a step that failed, or that could not be finished for want of rights, leaves none.
$(VENV)/.system-%: $(SETUP)
	@$(SETUP) system $*

$(VENV)/.packages-%: pyproject.toml constraints.txt $(SETUP) | $(VENV)/.system-%
	@$(SETUP) packages $*
