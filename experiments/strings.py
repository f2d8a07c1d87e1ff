"""SequenceTransducer on inflection, names, CMUdict and simulated tasks.

    python -m experiments.strings --jobs 16 --sizes 100 300 1000 0 --out DIR

One line for each task, number of training pairs (0: all) and draw: exact matches on the test pairs
(dev, the test names, test words drawn first, new simulated pairs), the calibration error of the
probabilities, processor time of the fit, milliseconds for one prediction on one core, and the size
of the model file. `strings.json` in the folder has all of it, `strings.md` the means over draws.
Nothing is chosen on test pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config

from mercer import SequenceTransducer, save
from mercer.datasets import load_cmudict, load_inflection, load_transliteration
from mercer.metrics import exact_match

from .simulated_strings import FARTHER, TASKS

LANGUAGES = ("german", "turkish")
DRAWS = {100: 5, 300: 3, 1000: 2}
"""Random draws of training pairs, for each number of pairs; one for the others."""
LARGE = 5000
"""Training pairs of names and of CMUdict."""
SIMULATED, TESTED = 300, 500
"""Training and test pairs of a simulated task."""
BINS = 10
Split = tuple[Any, Any, Any, Any, Any, Any]
"""Inputs, contexts and outputs to learn from, and those to test on."""


def load_inflection_split(language: str, size: int, draw: int) -> Split:
    """Load words and tags: `size` random training pairs (0: all), and the dev pairs as test."""
    X, tags, y = load_inflection(language, "train")
    rows = np.random.default_rng(draw).permutation(len(X))[: size or len(X)]
    return X[rows], tags[rows], y[rows], *load_inflection(language, "dev")


def load_name_split(size: int) -> Split:
    """Load Arabic names and Latin spellings, with `size` training pairs."""
    X, y, X_test, y_test = load_transliteration()
    rows = np.random.default_rng(0).permutation(len(X))[:size]
    return X[rows], None, y[rows], X_test, None, y_test


def load_word_split(size: int) -> Split:
    """Load English words and their phones, with `size` training pairs."""
    X, y = load_cmudict()
    drawn = np.random.default_rng(0).permutation(len(X))
    train, test = drawn[2000 : 2000 + size], drawn[:2000]
    return X[train], None, y[train], X[test], None, y[test]


def simulate_split(task: str, draw: int, farther: bool = False) -> Split:
    """Simulate a task; its test pairs are harder than the training pairs if `farther`."""
    rng = np.random.default_rng(draw)
    X, y = TASKS[task](SIMULATED, rng)
    X_test, y_test = (FARTHER if farther else TASKS)[task](TESTED, rng)
    return X, None, y, X_test, None, y_test


def load_split(task: str, size: int, draw: int) -> Split:
    """Return the training and test pairs of a task, loaded or simulated."""
    if task in LANGUAGES:
        return load_inflection_split(task, size, draw)
    if task in ("Arabic names", "CMUdict"):
        return (load_name_split if task == "Arabic names" else load_word_split)(size)
    return simulate_split(task.removesuffix(", farther"), draw, task.endswith(", farther"))


def calibration_error(probability: np.ndarray, right: np.ndarray) -> float:
    """Return the mean difference between probability and accuracy, over bins of equal size."""
    bins = np.array_split(np.argsort(probability), BINS)
    gaps = [abs(probability[rows].mean() - right[rows].mean()) for rows in bins if len(rows)]
    return float(np.mean(gaps))


def milliseconds(model: SequenceTransducer, X: Any, context: Any) -> float:
    """Return the processor time per prediction, for inputs one after the other."""
    some = range(min(50, len(X)))
    model.predict(X[:1], context=None if context is None else context[:1])
    start = time.process_time()
    for i in some:
        model.predict(X[i : i + 1], context=None if context is None else context[i : i + 1])
    return 1000.0 * (time.process_time() - start) / len(some)


def megabytes(model: SequenceTransducer) -> float:
    """Return the size of the saved model in megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mercer"
        save(model, path)
        return path.stat().st_size / 1e6


def fit_and_measure(task: str, size: int, draw: int, tested: int) -> dict[str, Any]:
    """Fit a transducer to a task, and return its accuracy, calibration error and times."""
    X, tags, y, *test = load_split(task, size, draw)
    X_test, tags_test, y_test = (None if part is None else part[:tested] for part in test)
    start = time.process_time()
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        model = SequenceTransducer(unalignable="skip").fit(X, y, context=tags)
    seconds = time.process_time() - start
    rows = model.predict_proba(X_test, 1, context=tags_test)
    predicted = np.array([row[0][0] for row in rows], dtype=object)
    right = exact_match(y_test, predicted, average=False)
    return {
        "task": task,
        "pairs": len(X),
        "draw": draw,
        "exact match": float(right.mean()),
        "calibration error": calibration_error(np.array([row[0][1] for row in rows]), right),
        "fit, s": seconds,
        "ms a prediction": milliseconds(model, X_test, tags_test),
        "ms in one batch": milliseconds_in_batch(model, X_test, tags_test),
        "MB": megabytes(model),
        "warnings": [str(each.message) for each in noted],
    }


def milliseconds_in_batch(model: SequenceTransducer, X: Any, context: Any) -> float:
    """Return the processor time per prediction, for all inputs at once."""
    start = time.process_time()
    model.predict(X, context=context)
    return 1000.0 * (time.process_time() - start) / len(X)


def runs(sizes: list[int], tasks: list[str]) -> list[tuple[str, int, int]]:
    """Return (task, number of pairs, draw) of each fit, the longest fits first."""
    runs_of_tasks = [
        (language, size, draw)
        for language in LANGUAGES
        for size in sorted(sizes, key=lambda size: -(size or 10**9))
        for draw in range(DRAWS.get(size, 1))
    ]
    runs_of_tasks.sort(key=lambda run: -(run[1] or 10**9))
    runs_of_tasks += [("Arabic names", LARGE, 0), ("CMUdict", LARGE, 0)]
    simulated_tasks = [*TASKS, *(f"{task}, farther" for task in FARTHER)]
    runs_of_tasks += [(task, SIMULATED, draw) for task in simulated_tasks for draw in range(3)]
    return [run for run in runs_of_tasks if not tasks or run[0] in tasks]


def table_of_means(rows: list[dict[str, Any]]) -> str:
    """Return a Markdown table of means over the draws."""
    columns = [name for name, value in rows[0].items() if isinstance(value, float)]
    lines = [
        f"| task | pairs | draws | {' | '.join(columns)} |",
        f"|---|{'--:|' * (len(columns) + 2)}",
    ]
    for task, pairs in dict.fromkeys((row["task"], row["pairs"]) for row in rows):
        same = [row for row in rows if (row["task"], row["pairs"]) == (task, pairs)]
        values = [f"{np.mean([row[name] for row in same]):.3f}" for name in columns]
        lines.append(f"| {task} | {pairs} | {len(same)} | {' | '.join(values)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the fits, print a line for each, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--sizes", type=int, nargs="*", default=[100, 300, 1000, 0])
    parser.add_argument("--tasks", nargs="*", default=[], help="only these; all by default")
    parser.add_argument("--tested", type=int, default=10_000, help="test pairs, at most")
    parser.add_argument("--out", type=Path, default=Path("out/strings"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    with parallel_config("loky", inner_max_num_threads=1):
        fits = [
            delayed(fit_and_measure)(*run, arguments.tested)
            for run in runs(arguments.sizes, arguments.tasks)
        ]
        for row in Parallel(arguments.jobs, return_as="generator_unordered")(fits):
            rows.append(row)
            print(json.dumps(row), flush=True)
            (arguments.out / "strings.json").write_text(json.dumps(rows, indent=1))
    rows.sort(key=lambda row: (row["task"], row["pairs"], row["draw"]))
    (arguments.out / "strings.md").write_text(table_of_means(rows))
    print(table_of_means(rows))


if __name__ == "__main__":
    main()
