"""Do lists of 10,000 candidates for each of 1,000 inputs pass in bounded memory and linear time?

    python benchmarks/candidate_lists.py                         # strings, some minutes
    python benchmarks/candidate_lists.py --of molecules --inputs 10 20 40   # needs rdkit

Lists are made one by one and never held. Each has two training outputs, which are left out of the
model that ranks it. Wanted: the time of a list and the peak memory do not grow with their number.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from _measure import peak_mib, record, size
from rich.console import Console
from rich.table import Table

from mercer import KernelDependency
from mercer.kernels import RBF, Fingerprint, Kernel, Normalized, Spectrum

PIECES = {
    "strings": (tuple("abcdefghijklmnop"), Normalized(Spectrum(3, blended=True))),
    "molecules": (("C", "N", "O", "C(=O)", "C(C)", "c1ccc(cc1)", "C(O)", "S"), Fingerprint()),
}
TRAINED = 300


def outputs(rng: np.random.Generator, pieces: tuple[str, ...], n: int) -> list[str]:
    """Random chains of pieces; every one is a molecule where pieces are."""
    drawn = rng.integers(len(pieces), size=(n, 8))
    return ["".join(pieces[j] for j in row) + "C" for row in drawn]


def fitted(pieces: tuple[str, ...], kernel: Kernel) -> tuple[KernelDependency, list[str]]:
    rng = np.random.default_rng(0)
    y = outputs(rng, pieces, TRAINED)
    return KernelDependency(RBF(1.0), kernel, alpha=0.1).fit(rng.normal(size=(TRAINED, 3)), y), y


def main() -> None:
    """Print seconds a list and peak memory at growing numbers of inputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", choices=PIECES, default="strings")
    parser.add_argument("--inputs", type=int, nargs="*", default=size([100, 1000], [4, 8]))
    parser.add_argument("--candidates", type=int, default=10_000)
    given = parser.parse_args()
    pieces, kernel = PIECES[given.of]
    model, trained = fitted(pieces, kernel)
    table = Table("inputs", "seconds", "ms a list", "peak MiB beyond the start", title=given.of)
    before, costs = peak_mib(), []
    for n in given.inputs:
        rng = np.random.default_rng(n)

        def lists(n: int = n, rng: np.random.Generator = rng) -> Iterator[list[str]]:
            for t in range(n):
                own = [trained[(t + j) % TRAINED] for j in range(2)]
                yield own + outputs(rng, pieces, given.candidates - 2)

        start = time.perf_counter()
        model.predict(rng.normal(size=(n, 3)), candidates=lists(), leave_out_candidates=True)
        seconds = time.perf_counter() - start
        costs.append(seconds / n)
        room = f"{peak_mib() - before:.0f}"
        table.add_row(f"{n:,}", f"{seconds:.1f}", f"{1000 * seconds / n:.0f}", room)
    Console().print(table)
    record("candidate lists: time of a list, most over fewest", costs[-1] / costs[0], "at most 1.2")


if __name__ == "__main__":
    main()
