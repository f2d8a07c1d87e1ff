"""Seconds and memory of `AutoDependency` by the number of rows: numbers, and texts to tags.

``python benchmarks/auto_time.py [--rows 1000,10000] [--texts 50000] [--limit SECONDS]``, each size
in a process of its own.
"""

from __future__ import annotations

import argparse
import resource
import time
from multiprocessing import get_context
from typing import Any

import numpy as np

from mercer import AutoDependency


def numbers(n: int) -> dict[str, Any]:
    """Twenty columns and three outputs that depend on some of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20))
    Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] * X[:, 3], np.abs(X[:, 4])])
    return {"X": X, "y": Y + 0.3 * rng.normal(size=Y.shape)}


def texts(n: int) -> dict[str, Any]:
    """Some twenty words with one to three of sixty tags, each of which favours 25 words."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(rng.choice(letters, rng.integers(3, 10))) for _ in range(8000)])
    share = 1.0 / np.arange(1, 8001)
    topics, share = rng.integers(0, 8000, size=(60, 25)), share / share.sum()
    titles, tags = [], []
    for _ in range(n):
        own = rng.choice(60, size=rng.integers(1, 4), replace=False)
        picked = [words[rng.choice(8000, size=rng.integers(5, 15), p=share)]]
        picked += [words[rng.choice(topics[tag], size=3)] for tag in own]
        titles.append(" ".join(rng.permutation(np.concatenate(picked))))
        tags.append([f"tag {tag}" for tag in own])
    return {"X": {"title": titles, "tags": tags}}


def fitted(kind: str, n: int, limit: float | None) -> str:
    """Fit once; what it took and reached."""
    data = texts(n) if kind == "texts" else numbers(n)
    start, busy = time.perf_counter(), time.process_time()
    output = "tags" if kind == "texts" else None
    model = AutoDependency(output=output, time_limit=limit, random_state=0).fit(**data)
    wall, cpu = time.perf_counter() - start, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"{n} {kind}: {wall:.0f} s ({cpu:.0f} s of processors), {peak:.1f} GiB, left-out score "
        f"{model.loo_score_:.3f}, best baseline {max(model.baselines_.values(), default=0):.3f}"
    )


def main() -> None:
    """One line for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="1000,10000")
    parser.add_argument("--texts", default="")
    parser.add_argument("--limit", type=float, default=None)
    given = parser.parse_args()
    sizes = [("rows", n) for n in given.rows.split(",") if n]
    sizes += [("texts", n) for n in given.texts.split(",") if n]
    for kind, n in sizes:
        with get_context("spawn").Pool(1) as pool:
            print(pool.apply(fitted, (kind, int(n), given.limit)), flush=True)


if __name__ == "__main__":
    main()
