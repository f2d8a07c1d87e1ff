"""The posterior variance of a saved model: spectra of its inputs, and none of its outputs."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, Items, host, like
from ..solvers.densities import unit_variance
from ..solvers.low_rank_inputs import LowRankInputs
from .posterior import Posterior, check_asked, summed


@dataclass(frozen=True)
class SavedVariance:
    """What `points.variance` needs, kept by ``save(model, path, variance=True)``.

    Attributes
    ----------
    spectra, scales, shares
        For each part of the output directions the inputs in their eigenbasis, the eigenvalues of
        the operator, and what a constant weighs.
    order
        Where the directions of the parts stand; None for one part.
    to_outputs
        The square of what each direction adds to each place of an output; None where outputs are
        not linear in the points.
    refusal
        Why there is no total variance; empty where there is one.
    alpha, noise, noises
        The ridge, the common noise, and one for each direction where it is known.
    shape
        That of an output.
    X
        The inputs that are asked about; none in a file.
    """

    spectra: list[Any]
    scales: list[Any]
    shares: list[float]
    order: np.ndarray | None
    to_outputs: np.ndarray | None
    refusal: str
    alpha: float
    noise: float
    noises: np.ndarray | None
    shape: tuple[int, ...]
    X: Items = ()

    @classmethod
    def of(cls, posterior: Posterior) -> SavedVariance:
        """Read off a fitted model."""
        parts = posterior.parts
        inputs = [part.inputs for part in parts.parts]
        stream = hasattr(posterior.factorization, "moments")
        return cls(
            [SavedRanks.of(one) if isinstance(one, LowRankInputs) else one for one in inputs],
            [part.b for part in parts.parts],
            [one.share for one in inputs],
            parts.order,
            posterior._to_outputs() ** 2 if posterior.linear else None,
            _why_not(posterior._check_total),
            posterior.fitted.alpha,
            posterior.noise,
            None if stream else posterior.noises,
            posterior.shape,
        )

    def variance(
        self, kind: str = "outputs", observed: bool = False, noise: str = "evidence"
    ) -> Array:
        """The variance of g(x), or with `observed` that of a new output at x."""
        check_asked(kind, noise)
        if kind == "outputs" and self.to_outputs is None:
            raise ValueError('outputs are not linear in the points: use kind="directions".')
        if kind == "total" and self.refusal:
            raise ValueError(self.refusal)
        if noise == "left out" and self.noises is None:
            raise ValueError('noise="left out" needs all pairs, and a stream keeps a sample.')
        V = self._unit() + float(observed)
        V = V * (self.noise if noise == "evidence" else like(self.noises, V))
        return summed(V, kind, self.to_outputs, self.shape)

    def _unit(self) -> np.ndarray:
        parts = zip(self.spectra, self.scales, self.shares, strict=True)
        found = [host(unit_variance(one, b, share, self.X, self.alpha)) for one, b, share in parts]
        V = np.concatenate(found, axis=1)
        return V if self.order is None else V[:, self.order]

    def sample(self, n: int, random_state: Any = None) -> Any:
        """Refused: draws need the training outputs."""
        raise ValueError("a saved model gives variances but no draws: draw before it is saved.")


@dataclass(frozen=True)
class SavedRanks:
    """Inputs of low rank in the eigenbasis of their moment, as `LowRankInputs` without rows."""

    map: Any
    mean: Any
    P: Any
    s: Any

    @classmethod
    def of(cls, inputs: LowRankInputs) -> SavedRanks:
        """Without what is as long as the training data."""
        return cls(inputs.at.map, inputs.mean, inputs.P, inputs.s)

    project, both = LowRankInputs.project, LowRankInputs.both
    at = property(lambda self: self)


def keeping_variance(model: Any) -> Any:
    """A copy of a fitted model that is saved with its posterior variance."""
    from .ridge import RidgeEstimator

    if not isinstance(model, RidgeEstimator) or "fitted_" not in vars(model):
        raise TypeError(
            "variance=True is for a KernelDependency or KernelDependencyCV that was fitted here, "
            f"not for {type(model).__name__}: save it without."
        )
    kept = copy.copy(model)
    kept.variance_ = SavedVariance.of(Posterior(model.fitted_, (), model.flat_))
    return kept


def _why_not(check: Any) -> str:
    try:
        check()
    except ValueError as error:
        return str(error)
    return ""
