"""Large simulated tables: 10,000 to 100,000 rows of numbers, and 50,000 texts with tags."""

from __future__ import annotations

import numpy as np

from .auto_sets import DataSet

LARGE = {
    "numbers_10000": 10_000,
    "numbers_20000": 20_000,
    "numbers_100000": 100_000,
    "texts_50000": 50_000,
}
"""The number of training rows of each table."""
TEST = 2000


def large(name: str) -> DataSet:
    """Simulate the large table of the given name; texts are in one column."""
    n, random = LARGE[name] + TEST, np.random.default_rng(0)
    if name.startswith("numbers"):
        X = random.normal(size=(n, 20))
        Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] * X[:, 3], np.abs(X[:, 4])])
        return DataSet(X, Y + 0.3 * random.normal(size=Y.shape), "numbers", test=n - TEST)
    titles, Y = _texts(random, n)
    return DataSet(np.array(titles, dtype=object)[:, None], Y, "labels", test=n - TEST)


def _texts(random: np.random.Generator, n: int) -> tuple[list[str], np.ndarray]:
    """Simulate n texts of about twenty words, and their tags as 0/1 rows of 60 columns."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(random.choice(letters, random.integers(3, 10))) for _ in range(8000)])
    weight = 1.0 / np.arange(1, 8001)
    topics, weight = random.integers(0, 8000, size=(60, 25)), weight / weight.sum()
    titles, Y = [], np.zeros((n, 60), dtype=int)
    for row in Y:
        tags = random.choice(60, size=random.integers(1, 4), replace=False)
        row[tags] = 1
        drawn = [words[random.choice(8000, size=random.integers(5, 15), p=weight)]]
        drawn += [words[random.choice(topics[tag], size=3)] for tag in tags]
        titles.append(" ".join(random.permutation(np.concatenate(drawn))))
    return titles, Y
