"""``mercer compile``: compile everything ahead of the first fit."""

from __future__ import annotations

from collections.abc import Callable

import click

from .terminal import one_sentence


def _fit_transducers() -> None:
    """Fit transducers on a few pairs, without and with context."""
    from ...sequences import SequenceTransducer

    X = ["ab", "ba", "aab", "bba", "abab", "b"]
    y, labels = [x.upper() for x in X], ["one", "two"] * 3
    SequenceTransducer().fit(X, y).predict(X, lexicon=y)
    SequenceTransducer().fit(X, y, context=labels).predict(X, context=labels)


def _fit_chain_model() -> None:
    """Fit a chain model on three short sequences."""
    from ...sequences import MaxMarginMarkovNetwork

    X = [[[0.0], [1.0]], [[1.0], [0.0], [1.0]], [[0.0], [0.0]]]
    MaxMarginMarkovNetwork().fit(X, [[0, 1], [1, 0, 1], [0, 0]]).predict(X)


def _evaluate_string_kernels() -> None:
    """Evaluate the string kernels, and decode strings by n-grams."""
    from ... import KernelDependency
    from ...decoders import NGramPath
    from ...kernels import Spectrum, Subsequences, WeightedDegree

    X, y = ["01", "10", "110", "0010"], ["ab", "ba", "bba", "aaba"]
    for kernel in (Spectrum(2), Subsequences(2), WeightedDegree(2)):
        kernel(X)
    kernel = Spectrum(2, blended=True, width=2)
    KernelDependency(kernel, kernel, decoder=NGramPath(bonus=0.1)).fit(X, y).predict(X)


def _decode_rankings() -> None:
    """Fit and decode rankings of nine labels."""
    import numpy as np

    from ... import KernelDependency
    from ...kernels import RBF, Kendall

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 1)), np.array([rng.permutation(9) for _ in range(12)])
    KernelDependency(RBF(1.0), Kendall()).fit(X, y).predict(X)


PARTS: dict[str, Callable[[], None]] = {
    "strings to strings": _fit_transducers,
    "chains": _fit_chain_model,
    "string kernels": _evaluate_string_kernels,
    "rankings": _decode_rankings,
}
"""Functions with small fits that compile the loops of each part, by the name of the part."""


@click.command("compile")
@one_sentence
def ahead() -> None:
    """Compile everything that a first fit compiles, once in this environment."""
    import time

    from ..._base.loops import notice

    notice.printed = True  # the lines below say what happens
    for name, fit in PARTS.items():
        start = time.perf_counter()
        fit()
        click.echo(f"{name}: {time.perf_counter() - start:.1f} s")
