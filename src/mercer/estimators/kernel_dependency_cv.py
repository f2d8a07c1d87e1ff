from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array, Items, count
from .._memory import require_exact
from ..decoders import Decoder, natural
from ..embedding import Embedding
from ..features import Coordinates, FeatureMap
from ..kernels import Kernel
from ..operators import OperatorKernel, as_operator_kernel
from .base import (
    StructuredEstimator,
    all_or_none,
    decodable,
    input_default,
    on_device,
    output_default,
    positive_alpha,
    warn_if_constant,
)
from .choice import Pairs, Told, Trial, by_scalar, calibrated
from .coupled import CoupledEquation
from .identity import IdentityEquation, reduces
from .regression import SPECTRAL_SQUARES, Equation, Sides, group_labels

CRITERIA = ("loo", "gcv")
ALPHAS = tuple(np.logspace(-6, 1, 15))


class KernelDependencyCV(StructuredEstimator):
    """`KernelDependency` that chooses its parameters by closed-form leave-one-out.

    One eigendecomposition for each distinct scalar kernel (and for each dense operator) gives the
    left-out prediction of every training example for every alpha; with `groups` at fit, of every
    group.

    Parameters
    ----------
    kernel
        An operator-valued kernel or a list of them; None is ``RBF("median")``.
    output_kernel
        A kernel on outputs. A list of them is chosen from by `scoring` only: the risk in feature
        space always prefers the wider kernel.
    alphas
        The ridges to choose from.
    scoring
        None for the risk in feature space, or any scorer of scikit-learn's (a name, or what
        `make_scorer` gives; greater is better), computed on *decoded* left-out predictions.
    criterion
        "loo", or "gcv" for generalised cross-validation (risk only, without groups).
    decoder, features, output_features, fit_intercept, device
        As in `KernelDependency`.
    verbose
        Whether a bar shows how many of the choices were tried.

    Attributes
    ----------
    kernel_, output_kernel_, alpha_
        What was chosen.
    loo_risk_, loo_score_
        Its leave-one-out risk (mean squared distance in feature space), and its score.
    cv_results_
        A dictionary of columns, one entry a trial.

    Notes
    -----
    The operator B and the kernels' own parameters ("median") are held fixed when examples are
    left out. For the covariance operators the estimate is therefore a few per cent optimistic; it
    ranks alphas and operators well all the same.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependencyCV
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Covariance, Identity
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> Y = np.hstack([np.sin(6 * X), np.cos(6 * X)])
    >>> kernels = [RBF(s) * op for s in (0.1, 0.3) for op in (Identity(), Covariance())]
    >>> best = KernelDependencyCV(kernels, alphas=[1e-6, 1e-3, 1.0]).fit(X, Y)
    >>> best.kernel_.scalar, best.alpha_
    (RBF(length_scale=0.3), 1e-06)
    """

    def __init__(
        self,
        kernel: Any = None,
        output_kernel: Any = None,
        alphas: Sequence[float] | Array = ALPHAS,
        scoring: Any = None,
        criterion: str = "loo",
        decoder: Decoder | None = None,
        features: FeatureMap | None = None,
        output_features: FeatureMap | None = None,
        fit_intercept: bool = False,
        device: str | None = None,
        verbose: bool = False,
    ):
        self.kernel = kernel
        self.output_kernel = output_kernel
        self.alphas = alphas
        self.scoring = scoring
        self.criterion = criterion
        self.decoder = decoder
        self.features = features
        self.output_features = output_features
        self.fit_intercept = fit_intercept
        self.device = device
        self.verbose = verbose

    def fit(self, X: Items, y: Items, groups: Items | None = None) -> KernelDependencyCV:
        """Choose and learn.

        Parameters
        ----------
        X, y
            As in `KernelDependency`.
        groups
            A label for each pair: pairs of one label (a subject, a speaker) are left out together.
        """
        return self._fit_afresh(X, y, groups=groups)

    # -- choosing -----------------------------------------------------------------------------

    def _fit(self, X: Items, y: Items, groups: Items | None) -> None:
        kernels, outputs = self._kernels(), self._output_kernels()
        self._check_choices(kernels, outputs, groups)
        first = on_device(clone(kernels[0].inputs), self.device)
        first_output = on_device(clone(outputs[0]), self.device)
        checked, y = self._check_pairs(first, first_output, X, y)
        if self.features is None:
            require_exact(count(y), SPECTRAL_SQUARES)
        pairs = Pairs(checked, y, group_labels(groups, count(y)), X)
        best, rows = None, []
        for trial in self._steps(self._trials(kernels, outputs, pairs), "trial"):
            rows.append(trial.row())
            if best is None or not self._worth(trial) <= self._worth(best):
                best = trial
        assert best is not None
        if np.isnan(self._worth(best)):
            raise ValueError("scoring gave NaN for every choice: check the metric and its inputs.")
        self._adopt(best, rows, pairs)

    def _most_steps(self) -> int:
        try:
            return len(self._kernels()) * len(self._output_kernels()) * int(np.size(self.alphas))
        except (TypeError, ValueError):
            return 0  # they make no sense: the fit says why

    def _trials(self, kernels: list, outputs: list, pairs: Pairs) -> Iterator[Trial]:
        for output in outputs:
            output_kernel = on_device(clone(output), self.device).fit(pairs.y)
            warn_if_constant(output_kernel, pairs.y)
            decoder = natural(output) if self.decoder is None else clone(self.decoder)
            decoder = decoder.fit(decodable(output_kernel), pairs.y)
            for equation in self._equations(kernels, output_kernel, pairs):
                yield from self._path(equation, decoder, pairs)

    def _equations(
        self, kernels: list[OperatorKernel], output_kernel: Kernel, pairs: Pairs
    ) -> Iterator[Equation]:
        shared: dict[bool, Coordinates] = {}  # output coordinates serve every input kernel
        parts = (self.features, self.output_features, self.fit_intercept)
        for kernel in [kernel for kernel in kernels if not kernel.separable]:
            sides = Sides(kernel.inputs, output_kernel, pairs.X, pairs.y, *parts)
            own = kernel.own_coordinates
            if own not in shared:
                shared[own] = sides.output_coordinates(kernel)
            yield CoupledEquation(sides, kernel, shared[own])
        separable = [kernel.separated() for kernel in kernels if kernel.separable]
        for scalar, operators in by_scalar(separable):
            kernel = on_device(clone(scalar), self.device)
            kernel.fit(kernel.check(pairs.X, "X"))
            sides = Sides(kernel, output_kernel, pairs.X, pairs.y, *parts)
            for operator in operators:
                own = operator.own_coordinates
                if own not in shared:
                    shared[own] = sides.output_coordinates(operator)
            if reduces(sides, operators, pairs.labels, self._alphas()):
                yield IdentityEquation(
                    sides, operators[0], kernel.checked_gram(pairs.X), shared[False]
                )
                continue
            U = sides.input_coordinates()
            for operator in operators:
                yield Equation(sides, operator, U, shared[operator.own_coordinates])

    def _alphas(self) -> list[float]:
        return [positive_alpha(alpha) for alpha in np.ravel(self.alphas)]

    def _path(self, equation: Equation, decoder: Decoder, pairs: Pairs) -> Iterator[Trial]:
        alphas = self._alphas()
        loo = equation.leave_one_out(pairs.labels)
        gcv = self.criterion == "gcv"
        path = map(loo.averaged_residuals, alphas) if gcv else loo.path(alphas)
        for alpha, residuals in zip(alphas, path, strict=True):
            trial = Trial(equation, loo, decoder, alpha, loo.risk(residuals), np.nan)
            if self.scoring is not None:
                points = equation.left_out_points(loo, residuals, pairs.labels, pairs.given)
                predictions = calibrated(decoder, points, pairs.y).decode(points)
                trial = replace(trial, score=self._scored(predictions, equation.sides))
            yield trial

    def _scored(self, predictions: Items, sides: Sides) -> float:
        from sklearn.metrics import check_scoring  # slow to import, not always needed

        told = Told(self._flattened(predictions))
        scorer = check_scoring(told, scoring=self.scoring)
        return float(scorer(told, sides.X, self._flattened(sides.y)))

    def _worth(self, trial: Trial) -> float:
        return -trial.risk if self.scoring is None else trial.score

    def _adopt(self, best: Trial, rows: list[dict], pairs: Pairs) -> None:
        equation = best.equation
        self.points_ = equation.solve(best.alpha)
        self.kernel_, self.alpha_ = best.kernel, best.alpha
        self.input_kernel_ = equation.sides.kernel
        self.output_kernel_ = equation.sides.output_kernel
        self.outputs_ = equation.sides.y
        self.loo_risk_, self.loo_score_ = best.risk, best.score
        residuals = best.loo.residuals(best.alpha)
        self.loo_points_ = equation.left_out_points(best.loo, residuals, pairs.labels, pairs.given)
        self.decoder_ = calibrated(best.decoder, self.loo_points_, self.outputs_)
        self.cv_results_ = {name: np.array([row[name] for row in rows]) for name in rows[0]}

    # -- what was left out --------------------------------------------------------------------

    def loo_embed(self) -> Embedding:
        """The left-out point of every training example, under the parameters chosen."""
        check_is_fitted(self)
        return self.loo_points_

    def loo_predict(self) -> Items:
        """The decoded left-out prediction of every training example (or of its group)."""
        check_is_fitted(self)
        return self._flattened(self.decoder_.decode(self.loo_points_))

    # -- checking -----------------------------------------------------------------------------

    def _kernels(self) -> list[OperatorKernel]:
        given = self.kernel if isinstance(self.kernel, list | tuple) else [self.kernel]
        if not given:
            raise ValueError("kernel=[] leaves nothing to choose from: give at least one kernel.")
        return [as_operator_kernel(input_default(k)) for k in given]

    def _output_kernels(self) -> list[Kernel]:
        several = isinstance(self.output_kernel, list | tuple)
        given = self.output_kernel if several else [self.output_kernel]
        if not given:
            raise ValueError("output_kernel=[] leaves nothing to choose from: give one.")
        if len(given) > 1 and self.scoring is None:
            raise ValueError(
                "several output kernels cannot be compared by risk, which is measured in a "
                "different space for each: give scoring=, a metric of the decoded outputs."
            )
        return [output_default(k) for k in given]

    def _scalar_kernels(self) -> list[Kernel]:
        return [kernel.inputs for kernel in self._kernels()]

    def _check_choices(self, kernels: list, outputs: list, groups: Items | None) -> None:
        coupled = [kernel for kernel in kernels if not kernel.separable]
        if self.device is not None and coupled:
            raise ValueError(f"device={self.device!r} is for kernel * operator, got {coupled[0]}.")
        scalars = [kernel.inputs for kernel in kernels]
        all_or_none(scalars)
        if self.criterion not in CRITERIA:
            raise ValueError(f"criterion must be one of {CRITERIA}, got {self.criterion!r}.")
        if self.criterion == "gcv" and (groups is not None or self.scoring is not None):
            raise ValueError('criterion="gcv" knows neither groups nor scoring: use "loo".')
        if np.size(self.alphas) == 0:
            raise ValueError("alphas is empty: give at least one ridge.")
        centred = [scalar for scalar in scalars if scalar.centered] + [
            part for part in [*outputs, self.output_features] if part is not None and part.centered
        ]
        if centred and not self.fit_intercept:
            raise ValueError(
                f"{centred[0]} centres one side alone, for which leave-one-out has no closed "
                "form: use fit_intercept=True, which centres both."
            )
