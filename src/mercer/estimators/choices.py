"""Choices of parameters: lists of parameters, factored problems, and trials of combinations."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arrays import Items
from .._base.parameters import one_of
from ..decoders import Decoder
from ..embedding import Embedding
from ..kernels import RBF, Kernel
from ..kernels.base import as_output_kernel
from ..operators import OperatorKernel, as_operator_kernel
from ..problem import Want, positive_alpha
from ..solvers import Factorization
from ..spaces import LabelSets, Rankings

Candidate = tuple[Factorization, list[Decoder], Sequence[float] | None]
"""A factored ridge problem, the decoders to try with it, and the risk at each ridge if known."""
AUTO_SCORING = "auto"
"""The default of `scoring`: the metric of label sets and rankings, the risk of other outputs."""
LIKELIHOODS = ("evidence", "density")
CRITERIA = ("loo", "gcv", *LIKELIHOODS)
RELATIVE = tuple(np.logspace(-8, 2, 21))
"""The ridges of alphas="auto", in units of the data."""


def random_rows(labels: np.ndarray, size: int, seed: int = 0) -> np.ndarray:
    """Draw about `size` rows at random, in whole groups, and return them in order."""
    drawn = np.random.RandomState(seed).permutation(int(labels.max()) + 1)
    sizes = np.cumsum(np.bincount(labels)[drawn])
    kept = drawn[: max(2, int(np.searchsorted(sizes, size, side="right")))]
    return np.flatnonzero(np.isin(labels, kept))


def calibrated(decoder: Decoder, points: Embedding, y: Items) -> Decoder:
    """Return a copy of the decoder calibrated on left-out points of y, if it needs calibration."""
    return copy.copy(decoder).calibrate(points, y) if decoder.calibrates else decoder


@dataclass(frozen=True)
class Choices:
    """The kernels, output kernels and decoders to choose from, and what to compute.

    `want` has the ridges, and what each solver has to compute.
    """

    kernels: list[OperatorKernel]
    output_kernels: list[Kernel]
    decoders: list[Decoder | None]
    want: Want

    @classmethod
    def of(cls, model: Any) -> Choices:
        """Return the choices of a `KernelDependencyCV` as lists of at least one entry."""
        outputs = [as_output_kernel(kernel) for kernel in parameter_list(model, "output_kernel")]
        if len(outputs) > 1 and not all(
            scores_decoded(model.scoring, kernel) for kernel in outputs
        ):
            raise ValueError(
                "several output kernels cannot be compared by risk, which is measured in a "
                "different space for each: give scoring=, a metric of the decoded outputs."
            )
        decoders = parameter_list(model, "decoder")
        if len(decoders) > 1 and model.scoring is None:
            raise ValueError(
                "several decoders cannot be compared by risk, which is measured before decoding: "
                'give scoring=, a metric of the decoded outputs, or "auto".'
            )
        default = RBF("ard") if model.search == "gradient" else None
        kernels = [
            as_operator_kernel(default if k is None else k) for k in parameter_list(model, "kernel")
        ]
        want = Want(
            ridges_of(model),
            left_out=True,
            solver=model.solver,
            relative=isinstance(model.alphas, str),
            moves=model.criterion in LIKELIHOODS,
        )
        return cls(kernels, outputs, decoders, want)

    def check(self, model: Any, groups: Items | None) -> None:
        """Raise an error if the choices cannot be compared by the criterion of the model."""
        if model.search not in ("grid", "gradient"):
            raise ValueError(f'search must be "grid" or "gradient", got {model.search!r}.')
        scalars = [kernel.inputs for kernel in self.kernels]
        if len({kernel.pairwise for kernel in scalars}) > 1:
            raise ValueError(
                'Cannot choose between "precomputed" and kernels that compute: the same X cannot '
                "be both. Use Precomputed(gram) with indices as X."
            )
        one_of(model.criterion, "criterion", CRITERIA)
        scored = model.scoring not in (None, AUTO_SCORING)
        if model.criterion != "loo" and (groups is not None or scored):
            raise ValueError(
                f'criterion="{model.criterion}" knows neither groups nor scoring: use "loo".'
            )
        by_ridge = [kernel for kernel in self.kernels if kernel.depends_on_ridge]
        if by_ridge and model.criterion != "loo":
            raise ValueError(
                f'criterion="{model.criterion}" is not for {by_ridge[0]}, whose operator depends '
                'on the ridge: use "loo".'
            )
        features = model.output_features
        if features is not None and features.centered and not model.fit_intercept:
            raise ValueError(
                f"{features} centres the outputs alone, for which leave-one-out has no closed "
                "form: use fit_intercept=True, which centres both."
            )


def scores_decoded(scoring: Any, kernel: Kernel, decoders: int = 1) -> bool:
    """Return whether a search scores decoded predictions; if not, it compares squared errors.

    With scoring="auto", only label sets and rankings are decoded: for other outputs the squared
    error in feature space is as informative. To choose between decoders, all outputs are decoded.
    """
    if scoring != AUTO_SCORING:
        return scoring is not None
    return decoders > 1 or isinstance(kernel.space, LabelSets | Rankings)


def parameter_list(model: Any, name: str) -> list:
    """Return a parameter of the model as a list; a single value becomes a list of one."""
    given = model.get_params(deep=False)[name]
    given = list(given) if isinstance(given, list | tuple) else [given]
    if not given:
        kind = name.replace("_", " ")
        raise ValueError(f"{name}=[] leaves nothing to choose from: give at least one {kind}.")
    return given


def ridges_of(model: Any) -> Sequence[float]:
    """Return the ridges `alphas` of a model; for "auto", relative to the scale of the data."""
    if isinstance(model.alphas, str):
        if model.alphas != "auto":
            raise ValueError(f'alphas must be numbers or "auto", got {model.alphas!r}.')
        return RELATIVE
    if np.size(model.alphas) == 0:
        raise ValueError("alphas is empty: give at least one ridge.")
    return [positive_alpha(alpha) for alpha in np.ravel(model.alphas)]


def absolute_ridges(factorization: Factorization, want: Want) -> list[float]:
    """Return the ridges to try; relative ones are multiplied by `factorization.scale`."""
    unit = factorization.scale if want.relative else 1.0
    return [float(alpha) * unit for alpha in want.alphas]
