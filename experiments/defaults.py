"""The sets of `experiments.auto` on several cores: one JSON line for each set, split and method.

``python -m experiments.defaults --jobs 16 --minutes 9 --out DIR [--sets a,b] [--methods x,y]``
appends to DIR/defaults.jsonl what is not there yet, then prints the table.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .auto_peers import CLASSIFIERS, REGRESSORS, predict_by_regressor, predict_label_sets
from .auto_sets import CURVES, LABEL_SETS, MULTI_TARGET, RANKINGS, DataSet, load

AUTO, BARE = "AutoDependency", "KernelDependencyCV()"
SETS = (*LABEL_SETS[::-1], *MULTI_TARGET, *CURVES, *RANKINGS)
LOWER = ("aRRMSE", "relative squared error")

load_cached = cache(load)


@dataclass(frozen=True, order=True)
class Task:
    """One method on one split of one data set."""

    name: str
    method: str
    split: int

    def run(self, quick: bool = False) -> dict[str, Any]:
        """Fit the method and return its score on the test part and the seconds that it took."""
        data, start = load_cached(self.name), time.perf_counter()
        train, test = list(data.splits(self.split // 5 + 1))[self.split]
        values = _predict(data, self.method, train, test, quick)
        return {
            "set": self.name,
            "method": self.method,
            "split": self.split,
            "seconds": round(time.perf_counter() - start, 2),
            "score": data.score(train, test, values),
            "rows": data.row_scores(test, values),
        }


def _predict(
    data: DataSet, method: str, train: np.ndarray, test: np.ndarray, quick: bool
) -> np.ndarray:
    """Return what a method predicts for the test rows after it is fitted to the training rows."""
    X, Y, new = data.X[train], data.Y[train], data.X[test]
    groups = None if data.groups is None else data.groups[train]
    if method in (AUTO, BARE):
        return _fit_mercer(method, data.kind, X, Y, groups).predict(new)
    if data.kind == "labels":
        return predict_label_sets(method, X, Y, new, quick)
    values = predict_by_regressor(method, X, Y.astype(float), new, groups, quick)
    if data.kind == "rankings":
        values = values.argsort(axis=1, kind="stable").argsort(axis=1)
    return values


def _fit_mercer(
    method: str, kind: str, X: np.ndarray, Y: np.ndarray, groups: np.ndarray | None
) -> Any:
    """Return AutoDependency, or KernelDependencyCV with its defaults, fitted to the data."""
    from mercer import AutoDependency, KernelDependencyCV
    from mercer.kernels import L2, Kendall, Labels

    if method == AUTO:
        return AutoDependency(random_state=0).fit(X, Y, groups=groups)
    outputs = {"curves": L2, "labels": Labels, "rankings": Kendall}
    kernel = outputs[kind]() if kind in outputs else None
    return KernelDependencyCV(output_kernel=kernel).fit(X, Y, groups=groups)


def tasks(
    sets: Sequence[str], methods: Sequence[str] | None = None, shuffles: int = 2
) -> list[Task]:
    """Return a task for each set, method and split, with those of mercer first."""
    tasks_of_sets = []
    for name in sets:
        labels = name in LABEL_SETS
        possible = (AUTO, BARE, *(CLASSIFIERS if labels else REGRESSORS))
        splits = 1 if labels else 5 * shuffles
        chosen = [m for m in possible if methods is None or m in methods]
        tasks_of_sets += [Task(name, method, split) for method in chosen for split in range(splits)]
    return sorted(tasks_of_sets, key=lambda task: task.method not in (AUTO, BARE))


def table(rows: list[dict[str, Any]]) -> str:
    """Return a line for each set: mean scores, and the paired difference from the best peer.

    The error is paired: over splits, or over test rows where there is one split.
    """
    lines = []
    for name in dict.fromkeys(row["set"] for row in rows):
        metric, rows_by_method = load_cached(name).metric, _rows_by_method(rows, name)
        sign = -1.0 if metric in LOWER else 1.0
        means = {m: float(np.mean([r["score"] for r in f])) for m, f in rows_by_method.items()}
        text = ", ".join(f"{m} {v:.4f}" for m, v in means.items())
        peers = [m for m in rows_by_method if m not in (AUTO, BARE)]
        if AUTO in rows_by_method and peers:
            best = max(peers, key=lambda m: sign * means[m])
            ahead = _differences(rows_by_method[AUTO], rows_by_method[best]) * sign
            error = ahead.std(ddof=1) / np.sqrt(len(ahead)) if len(ahead) > 1 else np.nan
            text += f"; ahead of {best} by {ahead.mean():+.4f} ± {error:.4f}"
        seconds = np.mean([r["seconds"] for r in rows_by_method.get(AUTO, [])] or [0])
        lines.append(f"{name} ({metric}, {seconds:.0f} s a fit): {text}")
    return "\n".join(lines)


def _rows_by_method(rows: list[dict], name: str) -> dict[str, list[dict]]:
    """Return the result rows of a data set by method, ordered by split."""
    rows_by_method: dict[str, list[dict]] = {}
    for row in sorted(rows, key=lambda row: row["split"]):
        if row["set"] == name:
            rows_by_method.setdefault(row["method"], []).append(row)
    return rows_by_method


def _differences(ours: list[dict], theirs: list[dict]) -> np.ndarray:
    """Return the paired differences of scores, by test row if known, else by split."""
    if ours[0]["rows"]:
        return np.array(ours[0]["rows"]) - np.array(theirs[0]["rows"])
    other = {row["split"]: row["score"] for row in theirs}
    return np.array([r["score"] - other[r["split"]] for r in ours if r["split"] in other])


def _limit_to_one_thread() -> None:
    """Limit the numerical libraries of this process to one thread."""
    threadpool_limits(1)


def main() -> None:
    """Run the tasks that the results file lacks, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/defaults"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default=None)
    parser.add_argument("--shuffles", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "defaults.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    finished = {Task(row["set"], row["method"], row["split"]) for row in rows}
    methods = arguments.methods.split(",") if arguments.methods else None
    wanted = [
        t
        for t in tasks(arguments.sets.split(","), methods, arguments.shuffles)
        if t not in finished
    ]
    end = time.monotonic() + 60.0 * arguments.minutes
    pool = ProcessPoolExecutor(arguments.jobs, get_context("spawn"), _limit_to_one_thread)
    running: set[Future] = set()
    with path.open("a") as file:
        while (wanted and time.monotonic() < end) or running:
            while wanted and len(running) < arguments.jobs and time.monotonic() < end:
                running.add(pool.submit(Task.run, wanted.pop(0), arguments.quick))
            ended, running = wait(running, max(0.1, end - time.monotonic()), FIRST_COMPLETED)
            if not ended and time.monotonic() >= end:
                break
            for future in ended:
                try:
                    rows.append(future.result())
                except Exception as problem:
                    print(f"failed: {problem!r}", flush=True)
                    continue
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
    print(table(rows), flush=True)
    for process in list(getattr(pool, "_processes", {}).values()):
        process.terminate()


if __name__ == "__main__":
    main()
