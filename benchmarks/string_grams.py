"""How much faster than a loop over pairs are the Gram matrices of 5,000 names?

And is the spectrum kernel within twice the bare product of its sparse features?
"""

import time
from collections import Counter

import numpy as np
from _measure import best_times, record, report, size
from rich.console import Console
from rich.table import Table

from mercer.datasets import load_transliteration
from mercer.kernels import Positions, Spectrum, Subsequences, WeightedDegree

NAMES, SOME = size(5000, 1500), 60
X, _, _, _ = load_transliteration()
names = X[np.random.default_rng(0).permutation(len(X))[:NAMES]]


def spectrum(s, t, n=3):
    a, b = (Counter(w[i : i + n] for i in range(len(w) - n + 1)) for w in (s, t))
    return sum(count * b[u] for u, count in a.items())


def blended(s, t):
    return sum(spectrum(s, t, m) for m in (1, 2, 3))


def soft(s, t, width=3):
    total = 0.0
    for m in (1, 2, 3):
        for i in range(len(s) - m + 1):
            for j in range(len(t) - m + 1):
                if s[i : i + m] == t[j : j + m]:
                    front, back = abs(i - j), abs(len(s) - i - len(t) + j)
                    total += (max(0, 1 - front / width) + max(0, 1 - back / width)) / 2
    return total


def weighted_degree(s, t, degree=3, shifts=2):
    total = 0.0
    for d in range(1, degree + 1):
        beta = 2 * (degree - d + 1) / (degree * (degree + 1))
        for i in range(len(s) - d + 1):
            for j in range(max(0, i - shifts), min(i + shifts, len(t) - d) + 1):
                if s[i : i + d] == t[j : j + d]:
                    total += beta * (1.0 if i == j else 0.5 / (abs(i - j) + 1))
    return total


def subsequences(s, t, n=3, decay=0.5):
    before = [[1.0] * (len(t) + 1) for _ in range(len(s) + 1)]
    for _ in range(1, n + 1):
        level, now = 0.0, [[0.0] * (len(t) + 1) for _ in range(len(s) + 1)]
        for i in range(1, len(s) + 1):
            along = 0.0
            for j in range(1, len(t) + 1):
                along *= decay
                if s[i - 1] == t[j - 1]:
                    along += decay**2 * before[i - 1][j - 1]
                    level += decay**2 * before[i - 1][j - 1]
                now[i][j] = decay * now[i - 1][j] + along
        before = now
    return level


def positions(s, t):
    return sum(a == b for a, b in zip(s, t, strict=False))


KERNELS = {
    "Spectrum(3)": (Spectrum(3), spectrum),
    "Spectrum(3, blended)": (Spectrum(3, blended=True), blended),
    "Spectrum(3, blended, width=3)": (Spectrum(3, blended=True, width=3), soft),
    "WeightedDegree(3, shifts=2)": (WeightedDegree(3, 2), weighted_degree),
    "Subsequences(3, 0.5)": (Subsequences(3, 0.5), subsequences),
    "Positions()": (Positions(), positions),
}

table = Table(title=f"Gram matrix of {NAMES} names")
for column in ("kernel", "seconds", "loop over pairs (scaled)", "times faster"):
    table.add_column(column, justify="left" if column == "kernel" else "right")
for name, (kernel, pair) in KERNELS.items():
    few = names[:SOME]
    start = time.perf_counter()
    naive = np.zeros((SOME, SOME))
    for i in range(SOME):
        for j in range(i, SOME):
            naive[i, j] = naive[j, i] = pair(few[i], few[j])
    scaled = (time.perf_counter() - start) * (NAMES * (NAMES + 1)) / (SOME * (SOME + 1))
    assert np.allclose(kernel(few), naive)  # compiles, too
    seconds = best_times({name: lambda kernel=kernel: kernel(names)})[name]
    table.add_row(name, f"{seconds:.3f}", f"{scaled:.0f}", f"{scaled / seconds:.0f}")
    record(
        f"Gram of {NAMES:,} names: loop over pairs over {name}", scaled / seconds, "at least 100"
    )
Console().print(table, "wanted: at least 100 times")

for kernel in (Spectrum(2), Spectrum(3), Spectrum(3, blended=True)):
    F = kernel.fit(names).features.rows(names)
    times = best_times(
        {
            "the kernel, from strings": lambda kernel=kernel: kernel(names),
            "F @ F.T as a matrix": lambda F=F: (F @ F.T).toarray(),
            "F @ F.T, left sparse": lambda F=F: F @ F.T,
        }
    )
    report(f"{kernel} of {NAMES} names", times, "F @ F.T as a matrix", "the kernel at most 2")
