"""What does a fit over a stream cost compared with the bare loop of kernel blocks and products?

    python benchmarks/stream.py                      # n = 10⁴, 10⁵, 10⁶: some minutes, two cores
    python benchmarks/stream.py --sizes 2000 8000 --rank 64

Pairs are made block by block and never held: peak memory is that of the moments. The bare loop is
plain numpy on the same blocks: a block of RBF values against the landmarks, its square, and its
product with the outputs. Both make the data anew for every reading; the fit reads it twice.
"""

from __future__ import annotations

import argparse

import numpy as np
from _measure import best_times, peak_mib, record, size
from rich.console import Console
from rich.progress import track
from rich.table import Table

from mercer import KernelDependency
from mercer.features import Nystroem
from mercer.kernels import RBF
from mercer.sources import Stream

BLOCK = 8192
SLICE = 1024
"""Rows of the bare loop's kernel block: in cache, it runs fastest."""


def pairs(n: int, inputs: int, outputs: int):
    """A function that makes the same blocks of n pairs whenever it is called."""
    A = np.random.default_rng(0).normal(size=(inputs, outputs)) / np.sqrt(inputs)

    def blocks():
        for start in range(0, n, BLOCK):
            rng = np.random.default_rng(start)
            X = rng.random(size=(min(BLOCK, n - start), inputs))
            yield X, np.abs(X @ A)

    return blocks


def bare(blocks, Z: np.ndarray, length_scale: float, outputs: int) -> None:
    """The floor: kernel block, its square, its product with the outputs."""
    S, T = np.zeros((len(Z), len(Z))), np.zeros((outputs, len(Z)))
    zz = (Z * Z).sum(axis=1)
    for X, Y in blocks():
        for start in range(0, len(X), SLICE):
            x, y = X[start : start + SLICE], Y[start : start + SLICE]
            K = x @ Z.T
            K *= -2.0
            K += (x * x).sum(axis=1)[:, None]
            K += zz
            K *= -0.5 / length_scale**2
            np.exp(K, out=K)
            S += K.T @ K
            T += y.T @ K


def measured(n: int, args: argparse.Namespace) -> dict[str, float]:
    length_scale = np.sqrt(args.inputs / 12.0)  # that of the data: uniform numbers
    blocks = pairs(n, args.inputs, args.outputs)
    Z = np.random.default_rng(1).random(size=(args.rank, args.inputs))
    model = KernelDependency(RBF(length_scale), alpha=1.0, features=Nystroem(landmarks=Z))
    repeats = args.repeats if n <= 10**5 else 1
    return best_times(
        {
            "bare": lambda: bare(blocks, Z, length_scale, args.outputs),
            "fit": lambda: model.fit(Stream(blocks, sample=64)),
        },
        repeats,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=size([10**4, 10**5, 10**6], [10**4, 3 * 10**4])
    )
    parser.add_argument("--inputs", type=int, default=64)
    parser.add_argument("--outputs", type=int, default=128)
    parser.add_argument("--rank", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=3, help="for sizes up to 100,000")
    args = parser.parse_args()
    measured(min(args.sizes), args)  # libraries loaded, memory touched
    table = Table(
        title=f"a stream of {args.inputs} inputs, {args.outputs} outputs, rank {args.rank}"
    )
    for column in ("n", "bare loop: s", "fit: s", "ratio", "peak MiB"):
        table.add_column(column, justify="right")
    fits = []
    for n in track(args.sizes, description="streams"):
        times = measured(n, args)
        fits.append(times["fit"])
        ratio = times["fit"] / times["bare"]
        record(f"stream, n = {n:,}: fit over the bare loop", ratio, "at most 1.5")
        table.add_row(
            f"{n:,}",
            f"{times['bare']:.2f}",
            f"{times['fit']:.2f}",
            f"{ratio:.2f}",
            f"{peak_mib():.0f}",
        )
    slope = np.polyfit(np.log(args.sizes), np.log(fits), 1)[0] if len(fits) > 1 else np.nan
    Console().print(
        table,
        f"log-log slope of the fit's time against n: {slope:.2f}",
        "wanted: ratio ≤ 1.5 and peak < 2,048 MiB at n = 1,000,000; slope from 0.9 to 1.1",
        sep="\n",
    )


if __name__ == "__main__":
    main()
