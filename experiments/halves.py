"""Complete digits: methods and decoders compared on upper and lower halves of images."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import KernelDependencyCV
from mercer.decoders import Candidates, Decoder, FixedPoint
from mercer.features import FeatureMap, KernelPCA
from mercer.kernels import RBF
from mercer.metrics import rbf_loss
from mercer.operators import ConditionalCovariance, Covariance, Identity, Operator

Split = tuple[Any, Any]
ALPHAS = np.logspace(-6, 1, 15)
EPSILONS = (1e-2, 1e-1, 1.0)
DECODERS: dict[str, Decoder] = {"candidates": Candidates(), "fixed point": FixedPoint()}


@dataclass(frozen=True)
class Method:
    """A variant of kernel dependency estimation: its operators and output features."""

    name: str
    operators: tuple[Operator, ...] = (Identity(),)
    output_features: FeatureMap | None = None
    intercept: bool = False

    def chosen(self, scales: Sequence[float], output_scale: float) -> KernelDependencyCV:
        """Return an unfitted model that chooses kernel, operator and ridge by leave-one-out."""
        kernels = [RBF(scale) * operator for scale in scales for operator in self.operators]
        return KernelDependencyCV(
            kernels,
            RBF(output_scale),
            alphas=ALPHAS,
            output_features=self.output_features,
            fit_intercept=self.intercept,
        )


OPERATORS = (
    Method("identity"),
    Method("covariance", (Covariance(),)),
    Method("conditional covariance", tuple(ConditionalCovariance(e) for e in EPSILONS)),
)


def weston_method(rank: int, center: bool) -> Method:
    """Return the method of Weston et al. 2003: ridge on leading components of the outputs.

    Leave-one-out has a closed form for both sides centred or neither: centred components come
    with an intercept.
    """
    name = f"Weston {rank}{' centred' * center}"
    return Method(name, output_features=KernelPCA(rank, center), intercept=center)


@dataclass
class Result:
    """Losses, choices and first predictions of one method with one decoder."""

    method: str
    decoder: str
    losses: list[float] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)
    seconds: float = 0.0
    pictures: Any = None


def compare(
    splits: Sequence[Split],
    X: np.ndarray,
    Y: np.ndarray,
    methods: Sequence[Method],
    scales: Sequence[float],
    output_scale: float,
    shown: int = 8,
) -> Iterator[list[Result]]:
    """Yield all results so far, after each method is fitted on each split."""
    results = {(m.name, d): Result(m.name, d) for m in methods for d in DECODERS}
    for train, test in splits:
        for method in methods:
            start = time.perf_counter()
            model = method.chosen(scales, output_scale).fit(X[train], Y[train])
            fitted = time.perf_counter() - start
            for name, decoder in DECODERS.items():
                start, result = time.perf_counter(), results[method.name, name]
                model.decoder_ = decoder.fit(model.output_kernel_, Y[train])
                predicted = model.predict(X[test])
                result.seconds += fitted + time.perf_counter() - start
                result.losses.append(rbf_loss(Y[test], predicted, output_scale))
                result.chosen.append(describe_choice(model))
                result.pictures = predicted[:shown]
            yield list(results.values())


def describe_choice(model: KernelDependencyCV) -> str:
    """Return the parameters that leave-one-out chose, as a short text."""
    parts = [f"ℓ {model.kernel_.scalar.length_scale:g}", f"α {model.alpha_:.0e}"]
    epsilon = model.kernel_.operator.get_params().get("epsilon")
    return ", ".join(parts if epsilon is None else [*parts, f"ε {epsilon:g}"])
