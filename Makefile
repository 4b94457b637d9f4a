# Everything sets itself up in .venv with nothing but Python >= 3.11 and make.
#   make run    open StormClaw here          make test   format, lint, types, contracts, tests
#   make bench  figures and their ratios     make lock   pin the dependencies anew (needs uv)
#   make test-backends   the real claude and codex CLIs (needs npm), cut off from any network

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: run test test-backends check bench format snapshots screenshot lock clean
.DELETE_ON_ERROR:

run: $(VENV)/.run
	@$(BIN)/stormclaw $(ARGS)

test: check
	$(BIN)/python tests/twice.py -n auto --dist worksteal
	@echo "tests/backends, the real CLIs, was skipped: make test-backends runs it"

# `make test` skips these and says so.
test-backends: $(VENV)/.dev
	@$(MAKE) --no-print-directory $(VENV)/backends/.made || echo "the CLIs could not be installed" >&2
	@for alone in "unshare --net" "unshare --map-root-user --net" ""; do \
	  $$alone true 2>/dev/null && break; done; \
	  $$alone $(BIN)/python -m pytest tests/backends -rs -n auto

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks $(ARGS)

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

snapshots: $(VENV)/.dev
	$(BIN)/python -m pytest tests/ui -k snapshot --snapshot-update

screenshot: $(VENV)/.dev
	$(BIN)/python docs/screenshot.py

lock:
	requirements/lock.sh

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "StormClaw needs Python 3.11 or newer; try: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { rm -rf $(VENV); \
	  $(PYTHON) -m pip install --quiet --user virtualenv && $(PYTHON) -m virtualenv -q $(VENV); } || \
	  { echo "Python cannot make a virtual environment; install its venv module" >&2; exit 1; }
	@touch $@

$(VENV)/.run: $(VENV)/.made requirements/run.lock pyproject.toml
	@echo "setting up (once) ..."
	@$(PIP) --require-hashes -r requirements/run.lock -r requirements/build.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.lock requirements/llama.lock
	@$(PIP) --require-hashes -r requirements/dev.lock
	@$(PIP) --no-deps --require-hashes -r requirements/llama.lock
	@touch $@

# The lock keeps every hash and names no registry: npm asks the one it is configured with.
$(VENV)/backends/.made: requirements/backends/package.json requirements/backends/package-lock.json
	@mkdir -p $(@D) && cp requirements/backends/package*.json $(@D)
	@cd $(@D) && npm ci --ignore-scripts --omit-lockfile-registry-resolved --no-audit --no-fund
	@cd $(@D) && node node_modules/@anthropic-ai/claude-code/install.cjs
	@touch $@
