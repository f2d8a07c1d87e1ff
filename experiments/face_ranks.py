"""Error and seconds against rank and against the number of examples: the paper's Figure 2."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer import KernelDependency
from mercer._base.errors import require
from mercer.features import IncompleteCholesky
from mercer.operators import ConditionalCovariance, Identity

from .face_models import with_chosen_parameters

RANKS = (5, 10, 20, 30, 50, 100, 200, 400)
PEOPLE = 30
"""People on whom kernel and ridge are chosen; the fits are then on all."""
LOW_RANK, CORTES = "conditional covariance", "Cortes 2005 (identity)"


@dataclass(frozen=True)
class Run:
    """The error and the seconds of one fit of a method, at a rank or number of examples."""

    method: str
    size: int | None
    error: float
    seconds: float


def sweep(
    X: np.ndarray,
    Y: np.ndarray,
    people: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    seed: int,
) -> Iterator[Run]:
    """Yield a run of both methods at each size on one split of the people."""
    rng = np.random.default_rng(seed)
    training_people = np.unique(people[train])
    sample = train[np.isin(people[train], rng.permutation(training_people)[:PEOPLE])]
    covariance, identity = (
        with_chosen_parameters(operator)(X[sample], Y[sample], people[sample], (0, 0))
        for operator in (ConditionalCovariance(), Identity())
    )
    sizes = [rank for rank in RANKS if rank < len(train)]
    for size in [*sizes, None]:
        low = {} if size is None else {"rank": size}
        yield _fit_once(LOW_RANK, covariance, X, Y, train, test, size, **low)
    order = rng.permutation(train)
    for size in [*sizes, None]:
        yield _fit_once(CORTES, identity, X, Y, order[:size], test, size)


def _fit_once(
    method: str, choice: Any, X: Any, Y: Any, train: Any, test: Any, size: int | None, **low: int
) -> Run:
    """Fit a method with chosen kernel and ridge, and return its error and seconds."""
    start = time.perf_counter()
    model = KernelDependency(choice.kernel_, alpha=choice.alpha_, fit_intercept=True)
    if low:
        model.set_params(features=IncompleteCholesky(**low))
        model.set_params(output_features=IncompleteCholesky(**low))
    model.fit(X[train], Y[train])
    seconds = time.perf_counter() - start
    return Run(method, size, float(((model.predict(X[test]) - Y[test]) ** 2).mean()), seconds)


def draw(path: Path, runs: list[Run], rows: int) -> None:
    """Plot mean squared error and seconds to fit against size, averaged over the splits."""
    require("matplotlib", "plots")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(1, 2)
    for (method, sizes), colour in zip(
        _runs_by_method(runs), ("tab:blue", "tab:orange"), strict=True
    ):
        label = "rank m = m₁ = m₂" if method == LOW_RANK else "n examples"
        for axis, what in zip(axes, ("error", "seconds"), strict=True):
            whole = [np.mean([getattr(run, what) for run in sizes[None]])]
            size = [s for s in sizes if s is not None]
            mean = [np.mean([getattr(run, what) for run in sizes[s]]) for s in size]
            axis.plot(size, mean, "o-", color=colour, label=f"{method}: {label}", markersize=4)
            axis.plot([rows], whole, "s", color=colour, markersize=7)
            if what == "error":
                axis.axhline(whole[0], color=colour, linewidth=0.7, linestyle=":")
    for axis, title in zip(axes, ("mean squared error", "seconds to fit"), strict=True):
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xticks(RANKS, labels=RANKS)
        axis.minorticks_off()
        axis.set_xlabel("m or n (squares: exact, all examples)")
        axis.set_title(title, fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
    low, high = axes[0].get_ylim()
    steps = [k * 10.0**e for e in range(-5, 1) for k in (1, 1.5, 2, 3, 4, 6)]
    ticks = [step for step in steps if low < step < high]
    axes[0].set_yticks(ticks, labels=[f"{t:.3g}" for t in ticks])
    axes[0].legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=130)


def name_of_run(run: Run) -> str:
    """Return the method of a run and its size, as text."""
    if run.method == LOW_RANK:
        return f"{LOW_RANK}, {'exact' if run.size is None else f'rank {run.size}'}"
    return CORTES if run.size is None else f"{CORTES}, {run.size} examples"


def sentences_on_claims(runs: list[Run]) -> Iterator[str]:
    """Yield sentences on whether the paper's claim about rank 30 holds in these runs."""

    def errors(method: str, size: int | None) -> np.ndarray:
        """Return the errors of a method at one size, one for each split."""
        return np.array([run.error for run in runs if (run.method, run.size) == (method, size)])

    exact, cortes = errors(LOW_RANK, None), errors(CORTES, None)
    low, more = errors(LOW_RANK, 30), errors(LOW_RANK, 100)
    if len(low):
        better = int((low < cortes).sum())
        yield (
            f"The paper's claim that rank 30 has a smaller error than Cortes on all examples "
            f"{'holds' if better == len(low) else 'does not hold'} here: {low.mean():.4g} against "
            f"{cortes.mean():.4g}, smaller in {better} of {len(low)} splits."
        )
    if len(more):
        off = more / exact - 1.0
        yield (
            f"Rank 100 is {off.mean():+.1%} from the exact error of {exact.mean():.4g} "
            f"({off.max():+.1%} in the worst split)."
        )


def _runs_by_method(runs: list[Run]) -> list[tuple[str, dict[int | None, list[Run]]]]:
    """Return the runs of each method, grouped by size."""
    runs_by_method: dict[str, dict[int | None, list[Run]]] = {}
    for run in runs:
        runs_by_method.setdefault(run.method, {}).setdefault(run.size, []).append(run)
    return list(runs_by_method.items())
