"""How far is every route from the dense reference, over random problems?

Draws a route, a length scale, a ridge, inputs that occur twice, sample weights, groups and an
intercept, and compares every quantity that the route offers with the dense reference of
``tests/laws``. Half of the weights are integers: the reference then repeats each example as often
as its weight says. Prints for each route the worst error, and the worst error in units of the
rounding that the condition number allows. Conjugate gradients stop at a residual of 1e-10 and
leverages at 1e-6, whatever the condition number is.

    python benchmarks/random_routes.py [configurations] [seed]
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from laws.dense import Repeated
from laws.routes import ROUTES, Condition, N, Posed
from laws.test_every_route import QUANTITIES, name_of

EPS = np.finfo(float).eps
JITTERED = 1e5
"""`Shared` kernels invert the Gram matrix of their landmarks, of a condition up to 1e10."""


def drawn(rng: np.random.Generator, name: str) -> tuple[Posed, float]:
    """A random problem of a route, and the condition number of its system."""
    route = ROUTES[name]
    weighted, grouped, intercept = (bool(x) for x in rng.integers(2, size=3))
    twice = bool(rng.integers(2)) and "windows" not in name
    data = {"scale": 10 ** rng.uniform(-1, 1), "alpha": 10 ** rng.uniform(-8 if twice else -6, 1)}
    data["twice"] = twice
    repeated = weighted and bool(rng.integers(2))
    if weighted:
        spread = np.exp(rng.normal(size=N) * rng.choice([0.5, 3.0]))
        data["weights"] = rng.integers(1, 4, size=N) + 0.0 if repeated else spread
    if grouped and route.grouped:
        data["groups"] = np.unique(rng.integers(5, size=N), return_inverse=True)[1]
    condition = Condition(intercept, weighted)
    ridges = [data["alpha"], 3 * data["alpha"]][: len(route.want.alphas)]
    route = replace(route, want=replace(route.want, alphas=ridges))
    at = route.posed(condition, **data)
    roots = np.sqrt(np.repeat(at.dense.w, at.dense.q))
    largest = np.linalg.eigvalsh(roots[:, None] * at.dense.G * roots)[-1]
    number = 1.0 + largest / at.dense.alpha
    if repeated:
        at.reference = Repeated(at.dense, at.dense.alpha)
    return at, number * (JITTERED if "windows" in name else 1.0)


def size(at: Posed, quantity: str) -> float:
    """The natural size of a quantity: predictions may vanish where a kernel is narrow."""
    if quantity in ("solution", "left out", "moves", "without", "gcv"):
        return float(np.abs(at.V @ at.V.T).max())
    if quantity == "variance":
        return float(np.abs(at.dense.prior).max() / at.dense.alpha)
    return float(at.V.size)


def error(compare: Callable, at: Posed) -> float:
    """The largest difference from the reference, over the size of the quantity."""
    found, wanted = compare(at.factorization, at)
    largest = max(float(np.abs(wanted).max()), size(at, name_of(compare)))
    return float(np.abs(found - wanted).max()) / largest


def search(configurations: int, seed: int) -> dict[str, list[tuple[float, float, str]]]:
    """The error, the same over the rounding of the condition number, and the quantity."""
    rng, found = np.random.default_rng(seed), defaultdict(list)
    names = list(ROUTES)
    for i in range(configurations):
        name = names[i % len(names)]
        at, number = drawn(rng, name)
        refused = ROUTES[name].refuses
        for compare in QUANTITIES:
            if name_of(compare) not in refused:
                gap = error(compare, at)
                found[name].append((gap, gap / (EPS * number), name_of(compare)))
    return found


def main() -> None:
    configurations, seed = (int(x) for x in (sys.argv[1:] + ["1000", "0"][len(sys.argv) - 1 :]))
    warnings.simplefilter("ignore")
    found = search(configurations, seed)
    print(f"{'route':26s} {'quantities':>10s} {'error':>9s} {'error / (eps cond)':>19s}  worst in")
    for name, errors in found.items():
        worst = max(errors, key=lambda row: row[1])
        largest = max(error for error, *_ in errors)
        print(f"{name:26s} {len(errors):10d} {largest:9.1e} {worst[1]:19.1f}  {worst[2]}")
    every = max((row for errors in found.values() for row in errors), key=lambda row: row[1])
    print(f"{configurations} configurations, seed {seed}: worst error / (eps cond) {every[1]:.1f}")


if __name__ == "__main__":
    main()
