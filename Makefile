# A fresh clone needs python3 (3.10 to 3.13) and make; everything else goes into .venv.
#   make PYTHON=python3.12 setup     picks the interpreter

SUPPORTED := import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 14))
PYTHON ?= $(firstword $(foreach python,python3 python3.13 python3.12 python3.11 python3.10,\
	$(shell $(python) -c '$(SUPPORTED)' 2>/dev/null && echo $(python))))
BIN := .venv/bin
# Processes that run tests, a file at a time: a crash in one takes no other down. More than
# two cores can serve, because tests of nodes wait for other programs.
WORKERS ?= 3
EXTRAS := plot,mcap,mjcf,symbolic,codegen,study,viewer,docs,test
# Fails where messages with arrays cannot be sent: those built with NumPy 1 refuse a newer one.
MESSAGES := from rclpy.type_support import check_for_type_support as check; \
	from sensor_msgs.msg import Imu; check(Imu)
KERNELS := $(wildcard closed_chain_dynamics/kernels/*.py)
# Only errors: warnings about the places pip looks in say nothing about this package.
# Bytecode is written when a module is first imported, whatever the environment says: of all that
# is installed a small part ever is, and compiling the rest takes as long as installing it.
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup test demo bench docs lint clean browser fuzz soak audit

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-6s  %s\n", $$1, $$2}' Makefile

setup: .venv/warm  ## make .venv with everything for demo and tests, compile the kernels

test: setup browser  ## run all tests
	@echo 'Testing.'
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --durations 15 $(ARGS)

demo: setup  ## the figure on the swing: ROS 2 nodes, torque control, a view in the browser
	@$(BIN)/closed-chain up swing --demo $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)

docs: setup  ## build the documentation into build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --config-file docs/mkdocs.yml
	@echo 'Open build/site/index.html.'

bench: setup  ## measure the speed, side by side with other engines
	@echo 'Measuring.'
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m closed_chain_dynamics.cli bench $(ARGS)
	@$(BIN)/python benchmarks/torque_node.py $(filter --json,$(ARGS))

fuzz: setup  ## corrupt the inputs of every reader and look for faults; SECONDS=60
	@echo 'Fuzzing.'
	@$(BIN)/python benchmarks/fuzz.py $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)

soak: setup  ## half an hour of the demonstration while everything goes wrong; MINUTES=30
	@echo 'Soaking.'
	@$(BIN)/python benchmarks/soak.py $(if $(MINUTES),--minutes $(MINUTES)) $(ARGS)

audit: .venv/installed  ## look for known weaknesses in what is installed; asks pypi.org
	@echo 'Asking for known weaknesses of what is installed in .venv.'
	@.venv/audit/bin/python -c 'import pip_audit' 2> /dev/null || { $(BIN)/python -m venv .venv/audit \
		&& .venv/audit/bin/python -m pip install -qq --disable-pip-version-check pip-audit; } \
		|| { echo 'pip-audit cannot be installed: it needs a package index.' >&2; exit 1; }
	@.venv/audit/bin/python benchmarks/audit.py \
		"$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"

lint: .venv/installed  ## check the style of the code, and which room imports which
	@echo 'Checking style.'
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo --no-cache

clean:  ## remove .venv and everything that was built
	@echo 'Removing .venv and build products.'
	@rm -rf .venv build dist install log *.egg-info .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The tests of the view press buttons in a real browser; without one they are skipped.
browser:
	@if ! { command -v chromium || command -v chromium-browser \
			|| command -v google-chrome; } > /dev/null \
			&& [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		echo 'Installing Chromium for the tests of the view.'; \
		{ apt-get install -y -qq chromium || { apt-get update -qq \
			&& apt-get install -y -qq chromium; }; } > /dev/null 2>&1 \
			|| echo 'It cannot be had here: these tests will be skipped.'; fi

# The stamps: a target is made again only when something it stands for has changed.

.venv/created:
	@if [ -z '$(PYTHON)' ] || ! $(PYTHON) -c '$(SUPPORTED)'; then \
		echo 'No Python 3.10 to 3.13 found; name one: make PYTHON=/path/to/python3.12 setup' >&2; \
		exit 1; fi
	@echo "Making the virtual environment .venv with $$($(PYTHON) --version)."
	@$(PYTHON) -m venv --clear .venv || { \
		echo 'Python could not make a virtual environment; on Debian: apt install python3-venv' >&2; \
		exit 1; }
	@touch $@

# With ROS 2 sourced its own packages are used; else rclpy and messages come as Python packages.
# uv fetches many packages at a time and keeps them unpacked, but does not read where pip is told
# to look for packages; then pip does it. That of an old Python looks for versions for ever.
.venv/installed: .venv/created setup.py setup.cfg pyproject.toml
	@echo 'Installing the package and what demo and tests need into .venv (up to two minutes).'
	@$(PIP) --upgrade pip
	@if $(BIN)/python -c 'import rclpy, tf2_msgs' 2>/dev/null; then \
		echo 'ROS 2 is there: using it.'; extras='$(EXTRAS)'; \
	else extras='$(EXTRAS),ros,generate'; fi; \
	{ $(PIP) --only-binary=:all: uv \
		&& $(BIN)/uv pip install -q --python $(BIN)/python -e ".[$$extras]"; } \
	|| { echo 'uv does not get everything here: pip does, which takes a few minutes more.'; \
		$(PIP) --prefer-binary -e ".[$$extras]"; }
	@$(BIN)/python -c '$(MESSAGES)' 2> /dev/null || { \
		echo 'Messages of this ROS were built with NumPy 1: installing that.'; \
		$(BIN)/uv pip install -q --python $(BIN)/python 'numpy<2' || $(PIP) 'numpy<2'; }
	@touch $@

# Interfaces are built while the kernels are compiled, from both ends by two processes.
.venv/warm: .venv/installed $(KERNELS)
	@echo 'Compiling the kernels, and interfaces of ROS that are missing (about a minute).'
	@$(BIN)/python -m closed_chain_dynamics.ros.interface_setup & messages=$$!; \
		$(BIN)/python -c 'import closed_chain_dynamics as ccd; ccd.warm_up()' & first=$$!; \
		$(BIN)/python -c 'import closed_chain_dynamics as ccd; ccd.warm_up(backwards=True)' \
			2> /dev/null; wait $$first && wait $$messages
	@touch $@
