"""AutoDependency, an older version of it, and tuned models of scikit-learn on many sets.

``python -m experiments.auto_compare --jobs 16 --out results.jsonl [--old FOLDER] [--sets a,b]
[--methods x,y] [--minutes 9]`` runs each set and method in a process of its own, the longest first,
and appends a line of JSON to the file as soon as one ends. It prints a table of errors, processor
time and memory, and every set on which AutoDependency is more than two paired standard errors
behind the best. `--old` is the ``src`` folder of the older version. What is in the file already is
not run again, and what would end after so many minutes is stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from mercer.metrics import kendall_tau, sample_f1

from .auto_peers import predict_by_regressor, predict_label_sets, predict_text_tags
from .auto_sets import CURVES, LABEL_SETS, MULTI_TARGET, RANKINGS, DataSet, load
from .auto_simulated import SIMULATED, simulated
from .auto_tables import LARGE, large

NEW, OLD = "new", "old"
PEERS = {
    "ridge": "RidgeCV", "extra trees": "ExtraTrees", "forest": "random forest",
    "boosting": "boosting", "kernel ridge": "kernel ridge",
}  # fmt: skip
METHODS = (OLD, NEW, *PEERS)
SETS = (*LARGE, *LABEL_SETS[::-1], *MULTI_TARGET, *CURVES, *RANKINGS, *SIMULATED)
LARGE_PEERS = {
    "numbers_10000": ("ridge", "boosting", "extra trees", "forest"),
    "numbers_20000": ("ridge", "boosting"),
    "numbers_100000": ("ridge", "boosting"),
    "texts_50000": ("ridge",),
}
"""Peers that are run on large tables; forests are not tuned there."""
MANY = 10_000
"""Rows from which on forests are not tuned."""
TARGETS = 20
"""Outputs beyond which boosting, which fits each by itself, is not run."""
FOLDS = 3
"""Folds of five that open sets without a published split are scored on."""


def load_set(name: str) -> DataSet:
    """Return the data set of the given name, real or simulated."""
    if name in LARGE:
        return large(name)
    return simulated(name) if name in SIMULATED else load(name)


def row_losses(data: DataSet, test: np.ndarray, values: Any, spread: np.ndarray) -> np.ndarray:
    """Return the loss of each test row: squares relative to `spread`, or one minus the metric."""
    truth = data.Y[test]
    if data.kind == "labels":
        return 1.0 - np.asarray(sample_f1(truth, values, average=False))
    if data.kind == "rankings":
        return 1.0 - np.asarray(kendall_tau(truth, values, average=False))
    error = ((truth - np.asarray(values).reshape(truth.shape)) ** 2).reshape(len(test), -1)
    if data.kind == "curves":
        return error.mean(axis=1) / spread.mean()
    return (error / spread).mean(axis=1)


def run_one(name: str, method: str) -> dict[str, Any]:
    """Fit and score one method on all splits of a data set, and return the results."""
    data, losses = load_set(name), []
    splits = list(data.splits(1))[: 1 if data.test is not None else FOLDS]
    start = time.process_time()
    for train, test in splits:
        spread = data.Y[train].reshape(len(train), -1).astype(float).var(axis=0)
        values = _predict(data, method, train, test)
        losses.append(row_losses(data, test, values, np.where(spread > 0, spread, 1.0)))
    seconds = (time.process_time() - start) / len(splits)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows = np.concatenate(losses)
    return {
        "set": name, "method": method, "error": float(rows.mean()), "seconds": round(seconds, 2),
        "GiB": round(memory, 2), "losses": [round(float(v), 6) for v in rows],
    }  # fmt: skip


def _predict(data: DataSet, method: str, train: np.ndarray, test: np.ndarray) -> Any:
    """Return what a method predicts for the test rows after it is fitted to the training rows."""
    X, Y, new = data.X[train], data.Y[train], data.X[test]
    groups = None if data.groups is None else data.groups[train]
    if method in (NEW, OLD):
        from mercer import AutoDependency

        return AutoDependency(random_state=0).fit(X, Y, groups=groups).predict(new)
    X, new = X.reshape(len(X), -1), new.reshape(len(new), -1)
    if X.dtype == object:
        return predict_text_tags(X[:, 0], Y, new[:, 0])
    if data.kind == "labels":
        return predict_label_sets(PEERS[method], X, Y, new)
    flat = Y.reshape(len(Y), -1).astype(float)
    tune = len(X) < MANY or method not in ("extra trees", "forest")
    values = predict_by_regressor(PEERS[method], X, flat, new, groups, tune=tune)
    if data.kind == "rankings":
        return values.argsort(axis=1, kind="stable").argsort(axis=1)
    return values


def is_feasible(name: str, method: str) -> bool:
    """Return whether a method is run on a data set, which it is not where it takes hours."""
    if method in (NEW, OLD):
        return True
    if name in LARGE:
        return method in LARGE_PEERS[name]
    if method == "boosting":
        return int(np.prod(load_set(name).Y.shape[1:])) <= TARGETS
    return method != "kernel ridge" or name != "bibtex"


def estimated_work(name: str) -> float:
    """Return a number that grows with the time that the fits on a data set take."""
    if name in LARGE:
        return 1e6 * LARGE[name] ** 2
    data = load_set(name)
    rows, fits = (len(data.X), FOLDS) if data.test is None else (data.test, 1)
    return float(rows) ** 2 * data.X[0].size * data.Y[0].size * fits


def report(rows: list[dict[str, Any]]) -> str:
    """Return a table of errors, time and memory, and the sets where AutoDependency is behind."""
    by_set: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        by_set.setdefault(row["set"], {})[row["method"]] = row
    columns = [*METHODS, "seconds (old)", "GiB (old)"]
    head = [f"| set | {' | '.join(columns)} |", "|---" + "|--:" * len(columns) + "|"]
    table = [_table_row(name, by_set[name]) for name in SETS if name in by_set]
    behind = [line for name in by_set if (line := _sentence_if_behind(name, by_set[name]))]
    both = [by for by in by_set.values() if {NEW, OLD} <= set(by)]
    total = {m: round(sum(by[m]["seconds"] for by in both), 1) for m in (OLD, NEW)}
    return "\n".join([
        *head, *table, f"processor seconds of {len(both)} sets, one fit each: {total}",
        f"more than two paired standard errors behind the best ({len(behind)}):", *behind,
    ])  # fmt: skip


def _table_row(name: str, by: dict[str, dict[str, Any]]) -> str:
    """Return the row of the table for one data set, with the smallest error in bold."""
    least = min(row["error"] for row in by.values())
    shown = {m: f"{row['error']:.4f}".lstrip("0") for m, row in by.items()}
    errors = [
        f"**{shown[m]}**" if m in by and by[m]["error"] == least else shown.get(m, "")
        for m in METHODS
    ]
    measured = [
        f"{by[NEW][key] if NEW in by else ''} ({by[OLD][key] if OLD in by else ''})"
        for key in ("seconds", "GiB")
    ]
    return f"| {' | '.join([name, *errors, *measured])} |"


def _sentence_if_behind(name: str, by: dict[str, dict[str, Any]]) -> str:
    """Return a line if another method is better by two paired standard errors, else ""."""
    best = min(by, key=lambda method: by[method]["error"])
    if NEW not in by or best == NEW:
        return ""
    gap = np.array(by[NEW]["losses"]) - np.array(by[best]["losses"])
    error = gap.std(ddof=1) / np.sqrt(len(gap))
    line = f"  {name}: {gap.mean():.4f} ± {error:.4f} behind {best}"
    return line if gap.mean() > 2.0 * error else ""


def _run_in_process(
    name: str, method: str, old: Path | None, seconds: float
) -> dict[str, Any] | None:
    """Return the results of `run_one` in a new process; None if it fails or takes too long."""
    if seconds <= 0.0:
        return None
    paths = [str(old)] if method == OLD else []
    paths += [os.environ.get("PYTHONPATH", "")]
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    environment = os.environ | threads | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", "experiments.auto_compare", "--one", name, method]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        print(f"stopped: {name}, {method}", flush=True)
        return None
    if done.returncode:
        print(f"failed: {name}, {method}: {done.stderr[-300:]}", flush=True)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Run the fits that the results file lacks, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("auto_compare.jsonl"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=9.4)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--old", type=Path, default=None)
    parser.add_argument("--one", nargs=2, default=None)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(run_one(*arguments.one)))
        return
    end = time.monotonic() + 60.0 * arguments.minutes
    out: Path = arguments.out
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    finished = {(row["set"], row["method"]) for row in rows}
    methods = [m for m in arguments.methods.split(",") if m != OLD or arguments.old is not None]
    names = sorted(arguments.sets.split(","), key=estimated_work, reverse=True)
    remaining = [(name, method) for name in names for method in methods
              if (name, method) not in finished and is_feasible(name, method)]  # fmt: skip

    def run(task: tuple[str, str]) -> None:
        """Run one task, and append its results to the file."""
        row = _run_in_process(*task, arguments.old, end - time.monotonic())
        if row is not None:
            rows.append(row)
            with out.open("a") as file:
                file.write(json.dumps(row) + "\n")

    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(run, remaining))
    print(report(rows))


if __name__ == "__main__":
    main()
