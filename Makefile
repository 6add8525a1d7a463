# Needs Python 3.11 or newer, pip and make. Each target installs what it needs into .venv once; later runs need no network.
#
#   make demo     a protected table from invented records, in demo/
#   make test     lint, types, layers, tests, coverage
#   make test-quick  the tests that need no process and no network, in three minutes at most
#   make lint     the first three only
#   make docs     the documentation, in site/
#   make bench    the measurements of benchmarks/, NAME=... for one of them
#   make clean    remove what the targets made, .venv included
#
# Where Java 17 or newer is on the path, the tests of Spark run as well (the extra `spark` is installed, 450 MB); elsewhere they are skipped.

comma := ,
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
JAVA := $(shell java -version 2>&1 | grep -E -m 1 -o 'version "(1[7-9]|[2-9][0-9])')
TEST := $(VENV)/.test$(if $(JAVA),-spark)
TEST_EXTRAS := test$(if $(JAVA),$(comma)spark)
FULLY_COVERED := src/statveil/risk/*,src/statveil/audit/*,src/statveil/publish/audited.py,src/statveil/publish/release.py
# Counting lines doubles the time of a test, so they are counted in those that are about these sources.
COUNTED := tests/risk tests/audit tests/publish tests/tables/test_linked.py tests/protect/infeasible/test_repair_of_tables.py \
  tests/jobs/test_attack_targets.py tests/jobs/tables/test_protect_linked_tables.py tests/jobs/tables/test_protect_zeros.py \
  tests/server/test_attack_target.py tests/server/cube/test_prepare.py

.PHONY: demo test test-quick lint docs bench clean
.DELETE_ON_ERROR:

demo: $(VENV)/.plain
	$(BIN)/statveil demo --out demo --force

test: lint
	$(BIN)/pytest -q -n 2 --dist loadfile $(addprefix --ignore=,$(COUNTED))
	$(BIN)/pytest -q -n 2 --dist loadfile --cov=statveil --cov-report= $(COUNTED)
	$(BIN)/coverage report --include='$(FULLY_COVERED)' --show-missing --skip-covered --fail-under=100

test-quick: $(TEST)
	$(BIN)/pytest -q -n 2 --dist loadfile -m "not slow"

lint: $(TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.docs
	$(BIN)/zensical build --clean

# Some measurements take hours, and some ask for words: they are run one by one.
bench: $(TEST)
	@if test -n '$(NAME)'; then $(BIN)/python benchmarks/$(NAME).py $(ARGS); else \
	  echo "Name one: make bench NAME=cube ARGS='b --keys 1'"; \
	  for file in benchmarks/*.py; do printf '%-18s %s\n' $$(basename $$file .py) "$$(sed -n '1s/"""//gp' $$file)"; done; fi

clean:
	rm -rf $(VENV) demo site .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp tells that an installation is complete, and is renewed when pyproject.toml changes.
$(VENV)/.created:
	@test -n '$(PYTHON)' || { echo 'make: Python 3.11 or newer is needed; name it with make PYTHON=/path/to/python'; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.plain: pyproject.toml | $(VENV)/.created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	$(BIN)/python -c 'from statveil.protect.warm_up import make_all_ready as ready; ready()'
	@touch $@

$(TEST): pyproject.toml | $(VENV)/.created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(TEST_EXTRAS)]'
	$(BIN)/python -c 'from statveil.protect.warm_up import make_all_ready as ready; ready()'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/.created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@
