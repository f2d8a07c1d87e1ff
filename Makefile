# Everything runs in .venv, which the first command makes. PYTHON names the interpreter to make it of.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
PIP := pip install --quiet --disable-pip-version-check --no-compile
# Bytecode is written even where the environment forbids it: each process would compile all files
# anew. Files that nobody imports need none.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run reproduce test minimal check lint types docs bench nightly count graph words clean

run: $(STAMP)
	$(BIN)/python -m experiments digits

# make reproduce NAME=usps, NAME="dti weather" or NAME=all; OPTIONS="--quick --out DIR".
NAME ?= all
reproduce: $(STAMP)
	$(BIN)/python -m experiments $(NAME) $(OPTIONS)

test: $(STAMP)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q

# A second environment without extras. The README runs with the installed wheel, each missing extra is
# named, and the wheel has the files of src/. The end-to-end tests then run from src/, where loops are
# compiled; those of thousands of rows or pixels do the same with and without extras.
MINIMAL := .venv-minimal
minimal:
	test -x $(MINIMAL)/bin/python || $(PYTHON) -m venv $(MINIMAL)
	$(MINIMAL)/bin/python -m $(PIP) .
	$(MINIMAL)/bin/python tools/minimal.py
	$(MINIMAL)/bin/python -m $(PIP) pytest hypothesis
	PYTHONPATH=src OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(MINIMAL)/bin/python -m pytest -q \
		tests/end_to_end --ignore=tests/end_to_end/test_auto_sizes.py -k "not five_thousand"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

# All three side by side: types and lint take one core, and the tests wait for their slowest worker.
check: $(STAMP)
	$(MAKE) --no-print-directory --jobs 3 lint types test

docs: $(STAMP)
	$(BIN)/python -m $(PIP) --editable ".[docs]"
	rm -rf docs/_build/html
	MPLBACKEND=agg $(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python -m pytest -q tests/site
	@echo "open docs/_build/html/index.html"

# Ratios to peers and floors at a small size, beside those of the last run; nightly fails where one
# is 20 % worse.
bench: $(STAMP)
	$(BIN)/python benchmarks/board.py
nightly: $(STAMP)
	$(BIN)/python benchmarks/board.py --nightly
	MERCER_NIGHTLY=1 $(BIN)/python -m pytest -q tests/end_to_end -k many_rows
	MERCER_NIGHTLY=1 $(BIN)/python -m pytest -q tests/hostile/test_model_files.py -k impossible

# Lines of code (no docstrings, comments, blank lines), classes and files per folder.
count:
	$(PYTHON) tools/count.py

# Which folders import which, written into CONTRIBUTING.md.
graph:
	$(PYTHON) tools/import_graph.py

# Phrases of the old dialect in the package, the documentation and the README.
words:
	$(PYTHON) tools/words.py

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m $(PIP) --editable ".[dev]"
	touch $(STAMP)

clean:
	rm -rf .venv .venv-minimal out build dist docs/_build docs/gallery docs/reference/generated
