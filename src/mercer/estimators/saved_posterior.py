"""The posterior variance of a saved model: spectra of its inputs, and none of its outputs."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, like
from ..solvers import Refused
from .posterior import Posterior, check_asked, summed


@dataclass(frozen=True)
class SavedVariance:
    """What `points.variance` needs, kept by ``save(model, path, variance=True)``.

    Attributes
    ----------
    unit
        The variance along the directions of the operator for unit noise.
    to_outputs
        The square of what each direction adds to each place of an output; None where outputs are
        not linear in the points.
    refusal
        Why there is no total variance; empty where there is one.
    noise, noises
        The common noise, and one for each direction; the reason where that is not known.
    shape
        That of an output.
    X
        The inputs that are asked about; none in a file.
    """

    unit: Any
    to_outputs: np.ndarray | None
    refusal: str
    noise: float
    noises: np.ndarray | str
    shape: tuple[int, ...]
    X: Items = ()

    @classmethod
    def of(cls, posterior: Posterior) -> SavedVariance:
        """Read off a fitted model."""
        fitted = posterior.fitted
        try:
            noises: np.ndarray | str = posterior.noises
        except Refused as refusal:
            noises = str(refusal)
        return cls(
            posterior.factorization.variances(fitted.alpha),
            posterior._to_outputs() ** 2 if posterior.linear else None,
            _why_not(posterior._check_total),
            posterior.factorization.noise(fitted.alpha),
            noises,
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
        if noise == "left out" and isinstance(self.noises, str):
            raise ValueError(self.noises)
        V = self.unit(self.X) + float(observed)
        V = V * (self.noise if noise == "evidence" else like(self.noises, V))
        return summed(V, kind, self.to_outputs, self.shape)

    def sample(self, n: int, random_state: Any = None) -> Any:
        """Refused: draws need the training outputs."""
        raise ValueError("a saved model gives variances but no draws: draw before it is saved.")


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
