# make paper   set up, then report/index.html   make test    set up, then every test
# make check   lint, types, import contract     make bench   the measured claims
# make league  every policy on every problem: league/results.json, docs/reference/league.md
# make audit   the paper again, and docs/reference/audit.md from it
# make demo    the service with simulated visitors: a page that moves
# make fuzz    30 minutes of random attempts to break it
# make docs    the documentation site: docs/_build/html/index.html
# make package wheel and sdist, installed in clean environments and tried
# make gallery real tables as worked studies: docs/gallery
PYTHON ?= python3
TEST_PROCESSES ?= auto
BIN := .venv/bin
READY := .venv/.ready
# Both names: pip reads the first for the package and, before 25.3, for its build; later pips read the second for the build.
INSTALL := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt $(PYTHON) -m pip --python $(BIN)/python install -qq

.PHONY: setup demo paper audit test check package docs format bench league gallery fuzz clean
.DELETE_ON_ERROR:

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "clusterbandits needs Python 3.11 or newer; choose one with make PYTHON=...")'
	@echo "Setting up .venv (one to two minutes, once)"
	@$(PYTHON) -m venv --clear --without-pip .venv
	@$(INSTALL) --editable '.[dev]'
	@touch $@

demo: setup
	@$(BIN)/clusterbandits serve demo

paper: setup
	@$(BIN)/clusterbandits paper

audit: paper
	cp report/audit.md docs/reference/audit.md

test: setup
	$(BIN)/pytest --numprocesses $(TEST_PROCESSES) --dist loadscope --no-loadscope-reorder

check: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Text that people read; docs/style.txt says which words it avoids. The audit is made from the sources.
STYLED := $(filter-out docs/reference/audit.md,$(wildcard *.md docs/*.md docs/*/*.md gallery/pages/*.md)) gallery/page.py src/clusterbandits

package:
	$(PYTHON) -m tests.installed

docs: $(READY)-docs
	@$(BIN)/codespell
	@$(BIN)/codespell --dictionary docs/style.txt --ignore-regex '`[^`]*`' $(STYLED)
	@$(BIN)/python docs/spelling.py
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --quiet docs docs/_build/html
	@echo "Written: docs/_build/html/index.html"

$(READY)-docs: $(READY)
	@echo "Installing what builds the documentation"
	@$(INSTALL) --editable '.[dev,docs]'
	@touch $@

format: setup
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: setup
	@$(INSTALL) --editable '.[bench]'
	$(BIN)/python -m benchmarks

league: setup
	$(BIN)/python -m league

gallery: setup
	$(BIN)/python -m gallery

fuzz: setup
	$(BIN)/python -m fuzz

clean:
	rm -rf .venv docs/_build docs/reference/api docs/reference/generated .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
