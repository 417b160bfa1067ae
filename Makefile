PYTHON ?= python3
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
DEPS := $(VENV)/.deps
READY := $(VENV)/.ready

# The tool that writes the lock files, pinned so that everyone's come out alike.
UV := uv==0.13.7
COMPILE := pip compile pyproject.toml --quiet --universal --python-version 3.11 --upgrade \
	--generate-hashes --no-header --no-emit-index-url --no-emit-find-links
# What benchmarks need on top of the others, at versions that go with them.
BENCH := pip compile --group bench --constraints requirements/dev.lock --quiet --universal \
	--python-version 3.11 --upgrade --generate-hashes --no-header --no-annotate \
	--no-emit-index-url --no-emit-find-links
# What `make bench` does; all of it unless told: make bench PARTS="papers document"
PARTS ?= papers queue spark peers plots document

# Delta Lake, and the newest Spark that it is made for: older than ours, so beside it.
DELTA := build/delta
DELTA_VERSIONS := delta-spark==4.3.1 "pyspark[connect]==4.1.1"

# A test that hangs ends its process and fails, with the place where it stood.
HANGING := -o faulthandler_timeout=400 -o faulthandler_exit_on_timeout=true

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help java demo test test-long test-memory test-kill test-cluster test-kafka test-delta bench bench-quick bench-spark bench-peers bench-ready docs lint format lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) java ## Find fires: an hour in this process, a day with Spark, killed and resumed
	@$(BIN)/python examples/fire/demo.py
	@echo
	@$(BIN)/python examples/fire/day.py

test: $(READY) java ## Run all tests, doctests and documentation examples
	@$(BIN)/python -m cepheid.kernel.ready
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not slow and not spark" $(HANGING)
	@$(BIN)/pytest -n 0 -m "spark and not slow" $(HANGING)

test-long: $(READY) ## Run the property tests with 20000 examples each; goes on where it ended
	@$(BIN)/python -m cepheid.kernel.ready
	@CEPHEID_NOTED=1 CEPHEID_EXAMPLES=20000 $(BIN)/pytest -n $(WORKERS) --dist worksteal -m "property" \
		--maxfail=5 $(LONG) || { found=$$?; [ $$found -eq 5 ] && echo "All properties have passed on this code."; }

test-memory: $(READY) ## Run the properties of the kernel with memory that moves, and places that are checked
	@rm -rf $(CURDIR)/.venv/moving
	@NUMBA_CACHE_DIR=$(CURDIR)/.venv/moving CEPHEID_MOVING_MEMORY=1 NUMBA_BOUNDSCHECK=1 \
		$(BIN)/pytest -n $(WORKERS) tests/test_kernel*.py tests/test_engine*.py tests/test_stories.py tests/test_limits.py

test-kill: $(READY) java ## Kill drivers and workers of streams, 20 times and more; damage checkpoints
	@$(BIN)/python -m cepheid.kernel.ready
	@$(BIN)/pytest -n0 tests/test_exactly_once.py tests/test_damage.py

test-cluster: $(READY) java ## Run the tests of Spark on Spark Connect and on executors of their own
	@$(BIN)/python -m cepheid.kernel.ready
	@CEPHEID_SPARK=connect $(BIN)/pytest -n0 tests/test_spark.py
	@CEPHEID_SPARK=cluster $(BIN)/pytest -n0 tests/test_spark.py
	@$(BIN)/pytest -n0 -m slow tests/test_connect.py

test-kafka: $(READY) java ## Run jobs against a broker of Kafka; needs Maven
	@$(BIN)/python -m cepheid.kernel.ready
	@$(BIN)/pytest -n0 -rs tests/test_kafka.py

test-delta: $(READY) java ## Run jobs over tables of Delta Lake, with a Spark that it is made for; needs Maven
	@$(BIN)/python -m cepheid.kernel.ready
	@$(PYTHON) -m venv $(DELTA)
	@$(DELTA)/bin/python -m pip install --quiet --disable-pip-version-check \
		--require-hashes -r requirements/run.lock
	@$(DELTA)/bin/python -m pip install --quiet --disable-pip-version-check \
		$(DELTA_VERSIONS) "pandas>=2.2,<3" "protobuf>=6" "pyyaml>=6.0" hatchling
	@$(DELTA)/bin/python -m pip install --quiet --disable-pip-version-check \
		--no-deps --no-build-isolation -e .
	@CEPHEID_DELTA_PYTHON=$(CURDIR)/$(DELTA)/bin/python $(BIN)/pytest -n0 -rs tests/test_delta.py

bench: bench-ready ## Measure everything and write docs/benchmarks.md; PARTS="papers plots" for some
	@$(BIN)/python -m bench.all --parts $(PARTS)

bench-quick: bench-ready ## The same once, small, in five minutes: prints, and writes nothing
	@$(BIN)/python -m bench.all --quick --parts $(PARTS)

bench-spark: $(READY) ## Measure the pipeline on Spark beside Spark without it
	@$(BIN)/python -m bench.spark

bench-peers: bench-ready java ## Measure beside Esper, Flink, Siddhi and a relational join; needs Maven
	@$(BIN)/python -m bench.peers

bench-ready: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--require-hashes -r requirements/bench.lock
	@$(BIN)/python -m cepheid.kernel.ready

docs: $(READY) ## Build the site of docs/ into build/site
	@$(BIN)/mkdocs build --strict --quiet
	@echo "Built build/site/index.html"

lint: $(READY) ## Check format, lint and types
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/mypy

format: $(READY) ## Format the code and apply the linter's safe fixes
	@$(BIN)/ruff check --fix-only
	@$(BIN)/ruff format

lock: ## Write requirements/*.lock anew, at the latest versions
	@echo "Locking dependencies into requirements/"
	@set -e; tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	$(PYTHON) -m venv "$$tmp"; \
	"$$tmp/bin/pip" install --quiet --disable-pip-version-check "$(UV)"; \
	"$$tmp/bin/uv" $(COMPILE) --output-file requirements/run.lock >/dev/null; \
	"$$tmp/bin/uv" $(COMPILE) --extra spark --group dev --output-file requirements/dev.lock >/dev/null; \
	"$$tmp/bin/uv" $(BENCH) --output-file requirements/bench.lock >/dev/null

clean: ## Remove the environment, caches and build output
	@rm -rf $(VENV) build dist bench/out .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Spark runs on Java; without one, say so before anything else.
java: $(READY)
	@$(BIN)/python -m cepheid.spark.java

# The locked packages: made from nothing whenever the lock changes.
$(DEPS): requirements/run.lock requirements/dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Cepheid needs Python 3.11 or later; '$(PYTHON)' is" \
			"$$($(PYTHON) --version 2>/dev/null || echo 'not installed')."; \
		echo "Install Python 3.11+, or name one: make PYTHON=python3.12"; \
		exit 1; } >&2
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "'$(PYTHON)' cannot make virtual environments."; \
		echo "Install its venv module (on Debian and Ubuntu: apt install python3-venv)."; \
		exit 1; } >&2
	@echo "Making $(VENV) from requirements/dev.lock"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--require-hashes -r requirements/dev.lock
	@touch $@

# The package itself, editable: built with the locked hatchling, so nothing else is fetched.
$(READY): $(DEPS) pyproject.toml
	@echo "Installing cepheid into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--no-deps --no-build-isolation -e .
	@touch $@
