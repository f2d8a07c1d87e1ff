"""``mercer compile``: compile the loops for strings and rankings before the first fit."""

from __future__ import annotations

from collections.abc import Callable

import click

from .terminal import report_errors


def _compile_transducers() -> None:
    """Compile the loops of `SequenceTransducer` by fits on six pairs."""
    from ...sequences import SequenceTransducer

    X = ["ab", "ba", "aab", "bba", "abab", "b"]
    y, labels = [x.upper() for x in X], ["one", "two"] * 3
    SequenceTransducer().fit(X, y).predict(X, lexicon=y)
    SequenceTransducer().fit(X, y, context=labels).predict(X, context=labels)


def _compile_string_kernels() -> None:
    """Compile the loops of string kernels and of the n-gram decoder on four strings."""
    from ... import KernelDependency
    from ...decoders import NGramPath
    from ...kernels import Spectrum, Subsequences, WeightedDegree

    X, y = ["01", "10", "110", "0010"], ["ab", "ba", "bba", "aaba"]
    for kernel in (Spectrum(2), Subsequences(2), WeightedDegree(2)):
        kernel(X)
    kernel = Spectrum(2, blended=True, width=2)
    KernelDependency(kernel, kernel, decoder=NGramPath(bonus=0.1)).fit(X, y).predict(X)


def _compile_ranking_decoder() -> None:
    """Compile the loops that decode rankings, by a fit on rankings of nine labels."""
    import numpy as np

    from ... import KernelDependency
    from ...kernels import RBF, Kendall

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 1)), np.array([rng.permutation(9) for _ in range(12)])
    KernelDependency(RBF(1.0), Kendall()).fit(X, y).predict(X)


COMPILERS: dict[str, Callable[[], None]] = {
    "strings to strings": _compile_transducers,
    "string kernels": _compile_string_kernels,
    "rankings": _compile_ranking_decoder,
}
"""The functions that compile the loops of one part of the package, by the name of the part."""


@click.command("compile")
@report_errors
def compile_loops() -> None:
    """Compile the loops for strings and rankings, so that first fits start at once."""
    import time

    from ..._base.loops import notice

    notice.printed = True  # the lines below say what happens
    for name, fit in COMPILERS.items():
        start = time.perf_counter()
        fit()
        click.echo(f"{name}: {time.perf_counter() - start:.1f} s")
