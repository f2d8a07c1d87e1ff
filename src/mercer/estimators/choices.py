"""What `KernelDependencyCV` chooses from: its lists of parts, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Items
from .._same import fingerprint
from ..decoders import Decoder
from ..kernels import RBF, Kernel
from ..kernels.base import as_output_kernel
from ..losses import Loss, checked_loss
from ..operators import OperatorKernel, as_operator_kernel
from ..problem import Want, positive_alpha
from ..solvers.route import check_name
from .choice import AUTO, CRITERIA, LIKELIHOODS, check_combination, judges

RELATIVE = tuple(np.logspace(-8, 2, 21))
"""The ridges of alphas="auto", in units of the data."""


@dataclass(frozen=True)
class Choices:
    """The kernels, output kernels, decoders, losses and ridges that a model names."""

    kernels: list[OperatorKernel]
    outputs: list[Kernel]
    decoders: list[Decoder | None]
    losses: list[Loss | None]
    alphas: Sequence[float]

    @classmethod
    def of(cls, model: Any) -> Choices:
        """Those of a `KernelDependencyCV`; each list has at least one entry."""
        outputs = [as_output_kernel(kernel) for kernel in listed(model, "output_kernel")]
        if len(outputs) > 1 and not all(judges(model.scoring, kernel) for kernel in outputs):
            raise ValueError(
                "several output kernels cannot be compared by risk, which is measured in a "
                "different space for each: give scoring=, a metric of the decoded outputs."
            )
        decoders = listed(model, "decoder")
        if len(decoders) > 1 and model.scoring is None:
            raise ValueError(
                "several decoders cannot be compared by risk, which is measured before decoding: "
                'give scoring=, a metric of the decoded outputs, or "auto".'
            )
        losses = [checked_loss(loss) for loss in listed(model, "loss")]
        return cls(kernels_of(model), outputs, decoders, losses, ridges_of(model))

    @property
    def robust(self) -> bool:
        """Whether a loss is not the square."""
        return any(loss is not None for loss in self.losses)

    def check(self, model: Any, groups: Items | None) -> None:
        """Refuse choices that cannot be compared, or not by the criterion asked for."""
        coupled = [kernel for kernel in self.kernels if not (kernel.separable or kernel.movable)]
        if model.device is not None and coupled:
            raise ValueError(f"device={model.device!r} is for kernel * operator, got {coupled[0]}.")
        check_name(model.solver)
        if model.search not in ("grid", "gradient"):
            raise ValueError(f'search must be "grid" or "gradient", got {model.search!r}.')
        scalars = [kernel.inputs for kernel in self.kernels]
        if len({kernel.pairwise for kernel in scalars}) > 1:
            raise ValueError(
                'Cannot choose between "precomputed" and kernels that compute: the same X cannot '
                "be both. Use Precomputed(gram) with indices as X."
            )
        if model.criterion not in CRITERIA:
            raise ValueError(f"criterion must be one of {CRITERIA}, got {model.criterion!r}.")
        scored = model.scoring not in (None, AUTO)
        if model.criterion != "loo" and (groups is not None or scored):
            raise ValueError(
                f'criterion="{model.criterion}" knows neither groups nor scoring: use "loo".'
            )
        operator_features = model.features is not None and model.features.operator_valued
        check_combination(self.kernels, self.losses, model.criterion, operator_features)
        given = [*scalars, *self.outputs, model.output_features]
        centred = [part for part in given if part is not None and part.centered]
        if centred and not model.fit_intercept:
            raise ValueError(
                f"{centred[0]} centres one side alone, for which leave-one-out has no closed "
                "form: use fit_intercept=True, which centres both."
            )

    def want(self, model: Any, kernels: list[OperatorKernel]) -> Want:
        """What every trial is asked for; one that no closed form can judge decides for all."""
        learnt = any(k.separable and k.separated().operator.learnt for k in kernels)
        return Want(
            self.alphas,
            left_out=True,
            judge="refit" if learnt or self.robust else "closed",
            folds=model.cv,
            solver=model.solver,
            relative=isinstance(model.alphas, str),
            moves=model.criterion in LIKELIHOODS,
        )


def listed(model: Any, name: str) -> list:
    """A parameter that may be a list to choose from, as a list."""
    given = getattr(model, name)
    given = list(given) if isinstance(given, list | tuple) else [given]
    if not given:
        kind = name.replace("_", " ")
        raise ValueError(f"{name}=[] leaves nothing to choose from: give at least one {kind}.")
    return given


def kernels_of(model: Any) -> list[OperatorKernel]:
    """The kernels that a model names; None is a scale for each feature where they are learnt."""
    default = RBF("ard") if model.search == "gradient" else None
    return [as_operator_kernel(default if k is None else k) for k in listed(model, "kernel")]


def ridges_of(model: Any) -> Sequence[float]:
    """The ridges that a model names, in units of the data for "auto"."""
    if isinstance(model.alphas, str):
        if model.alphas != "auto":
            raise ValueError(f'alphas must be numbers or "auto", got {model.alphas!r}.')
        return RELATIVE
    if np.size(model.alphas) == 0:
        raise ValueError("alphas is empty: give at least one ridge.")
    return [positive_alpha(alpha) for alpha in np.ravel(model.alphas)]


def by_scalar(kernels: Sequence[OperatorKernel]) -> list[list[OperatorKernel]]:
    """Kernels gathered by scalar kernel, which is factored once; coupled kernels by themselves."""
    gathered: dict[str, list[OperatorKernel]] = {}
    for i, kernel in enumerate(kernels):
        key = fingerprint(kernel.separated().scalar) if kernel.separable else f"coupled {i}"
        gathered.setdefault(key, []).append(kernel)
    return list(gathered.values())
