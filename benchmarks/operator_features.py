"""How do random operator features scale, and what do they cost in error?

A noisy gradient field in three dimensions, CurlFree(1.0), alpha = 0.1; the error is that against
the field itself on 2,000 fresh points. Exact fits by conjugate gradients hold an n × n matrix;
waves hold rank² numbers whatever n is.
"""

import sys

import numpy as np
from _measure import best_times
from rich.console import Console
from rich.progress import track
from rich.table import Table

from mercer import KernelDependency
from mercer.features import RandomOperatorFourier
from mercer.operators import CurlFree

SIZES = [int(n) for n in sys.argv[1:]] or [1000, 4000, 16000]
EXACT = 4000
"""Examples up to which the exact fit is made too."""


def field(X):
    return -X * np.exp(-0.5 * (X**2).sum(axis=1, keepdims=True))


rng = np.random.default_rng(0)
T = rng.uniform(-2, 2, size=(2000, 3))
table = Table(title="curl-free fits in three dimensions")
for column in ("n", "features", "seconds", "mean squared error"):
    table.add_column(column, justify="right")
for n in track(SIZES, "sizes"):
    X = rng.uniform(-2, 2, size=(n, 3))
    Y = field(X)
    Y += 0.1 * Y.std() * rng.normal(size=Y.shape)
    maps = {"exact": None} if n <= EXACT else {}
    maps |= {f"rank {r}": RandomOperatorFourier(r, random_state=0) for r in (250, 500, 1000)}
    for name, map in maps.items():
        solver = "cg" if map is None else "auto"
        model = KernelDependency(CurlFree(1.0), alpha=0.1, features=map, solver=solver)
        seconds = best_times({"fit": lambda m=model, X=X, Y=Y: m.fit(X, Y)}, 2)["fit"]
        error = ((model.predict(T) - field(T)) ** 2).mean()
        table.add_row(f"{n:,}", name, f"{seconds:.2f}", f"{error:.2e}")
Console().print(table)
