from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array, Items, count
from .._plan import SPECTRAL_SQUARES, Problem, require_exact
from ..decoders import Decoder, natural
from ..embedding import Embedding
from ..features import Coordinates, FeatureMap
from ..kernels import Kernel
from ..losses import Loss, checked_loss, tau_risk
from ..operators import OperatorKernel, as_operator_kernel
from ..solvers import Spectral
from ..streams import PairSource, Sample, Stream
from .base import (
    all_or_none,
    decodable,
    input_default,
    on_device,
    output_default,
    positive_alpha,
    problem,
    warn_if_constant,
)
from .choice import Pairs, Told, Trial, by_scalar, calibrated, check_combination
from .identity import IdentityEquation, reduces
from .low_rank import SpannedEquation, spans
from .refits import FOLDS, RefitEquation
from .regression import Equation, Sides, group_labels
from .stream_choice import StreamChoice, StreamTrial, held_out
from .streamed import Gathered, separated
from .streaming import StreamLearner
from .unlabelled import Given, informed, refuse_in_streams
from .waves import coupled_equation

CRITERIA = ("loo", "gcv")
ALPHAS = tuple(np.logspace(-6, 1, 15))


class KernelDependencyCV(StreamLearner):
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
    loss
        None for the square, a robust loss of `mercer.losses`, or a list of these to choose from.
    cv
        The number of folds where an operator is learnt or a loss is robust (see Notes).
    verbose
        Whether a bar shows how many of the choices were tried.

    Attributes
    ----------
    kernel_, output_kernel_, alpha_
        What was chosen.
    loo_risk_, loo_score_
        Its leave-one-out risk (mean squared distance in feature space), and its score; of a
        stream, over the pairs of its sample. Where a loss is robust, so is the risk: no distance
        counts as more than three medians (`mercer.losses.tau_risk`).
    loss_
        The loss chosen, its threshold settled; None for the square.
    cv_results_
        A dictionary of columns, one entry a trial; with `validation` at fit, its risks are those
        of the pairs held out.

    Notes
    -----
    The operator B and the kernels' own parameters ("median") are held fixed when examples are
    left out. Against refits that make B anew the risk was 0 to 3.5 % too low for `Covariance`,
    0.6 % too low to 9.8 % too high for `ConditionalCovariance`, and up to 8 % too low for
    `Covariance(2.0)`, which can reorder operators. The score of what was chosen is optimistic, the
    more so the more choices there were. For a `LearnedOperator`, and for outputs as a
    robust loss leaves them, it would be far too kind: where one of these is among the choices,
    *every* choice is judged by refitting on `cv` folds (groups kept whole), and "left out" means
    left out with its fold.

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
        loss: Loss | Sequence[Loss | None] | None = None,
        cv: int = FOLDS,
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
        self.loss = loss
        self.cv = cv
        self.device = device
        self.verbose = verbose

    def fit(
        self,
        X: Items,
        y: Items = None,
        groups: Items | None = None,
        validation: Any = None,
        unlabelled: Items | None = None,
    ) -> KernelDependencyCV:
        """Choose and learn.

        Parameters
        ----------
        X, y
            As in `KernelDependency`. Of a stream, the pairs of its sample are left out.
        groups
            A label for each pair: pairs of one label (a subject, a speaker) are left out together.
        validation
            Pairs to choose by instead, (X, y) or a stream: they are read once, and the risk of
            every choice on them follows from their moments.
        unlabelled
            Further inputs, for kernels that learn from them (`LaplacianRegularized`).
        """
        return self._fit_afresh(X, y, groups=groups, validation=validation, unlabelled=unlabelled)

    # -- choosing -----------------------------------------------------------------------------

    def _fit(
        self,
        X: Items,
        y: Items,
        groups: Items | None,
        validation: Any = None,
        unlabelled: Items | None = None,
    ) -> None:
        self.loss_: Loss | None = None
        kernels, outputs = self._kernels(), self._output_kernels()
        stream = self._as_stream(X, y, groups)
        if stream is None and validation is not None:
            stream = Stream([(X, y)])
        if stream is None:
            X, y, groups, unlabelled = Given(X, y, groups, unlabelled).parted()
        self._check_choices(kernels, outputs, groups)
        if stream is not None:
            refuse_in_streams(kernels, self._losses(), unlabelled)
            self._fit_stream(stream, validation)
            stream.finish()
            return
        kernels = informed(kernels, unlabelled)
        first = on_device(clone(kernels[0].inputs), self.device)
        first_output = on_device(clone(outputs[0]), self.device)
        checked, y = self._check_pairs(first, first_output, X, y)
        if self.features is None:
            require_exact(count(y), SPECTRAL_SQUARES)
        pairs = Pairs(checked, y, group_labels(groups, count(y)), X)
        best, rows = self._best(self._trials(kernels, outputs, pairs))
        self._adopt(best, rows, pairs)

    def _fit_stream(self, stream: PairSource, validation: Any) -> None:
        """Choose over a stream: by pairs held out, or by those of its sample, left out."""
        outputs = self._output_kernels()
        if self.criterion == "gcv" or len(outputs) > 1:
            raise ValueError('on a stream give one output kernel, and criterion="loo".')
        if validation is not None and self.scoring is not None:
            raise ValueError(
                "validation= is judged by its moments alone, which know the risk but no scoring: "
                "leave one of the two out (without validation, scoring judges the sample)."
            )
        if self.features is not None and self.features.operator_valued:
            raise ValueError(f"features={self.features} are chosen over pairs held whole only.")
        scalars = by_scalar([separated(kernel) for kernel in self._kernels()])
        kernels, operators = zip(*scalars, strict=True)
        gathered = Gathered.of(stream, self._parts(kernels, outputs[0]))
        self._adopt_stream(gathered)
        choice = StreamChoice(
            gathered,
            operators,
            self._alphas(),
            self.fit_intercept,
            None if validation is None else held_out(validation, gathered),
            self.decoder_,
            None if self.scoring is None else lambda found: self._scored(found, gathered.sample),
        )
        best, rows = self._best(choice.trials())
        self.points_ = best.equation.point_map(Spectral().solve(best.spectra, best.alpha))
        self.kernel_, self.alpha_, self.input_kernel_ = best.kernel, best.alpha, best.kernel.scalar
        loo, self.loo_points_ = best.left_out()
        self.decoder_ = calibrated(self.decoder_, self.loo_points_, self.outputs_)
        self.loo_risk_, self.loo_score_ = loo.risk(loo.residuals(best.alpha)), best.score
        self.cv_results_ = {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def _best(self, trials: Iterator[Any]) -> tuple[Any, list[dict]]:
        """The best trial, the first of equals, and a row of the report for each."""
        best, rows = None, []
        for trial in self._steps(trials, "trial"):
            rows.append(trial.row())
            if best is None or not self._worth(trial) <= self._worth(best):
                best = trial
        assert best is not None
        if np.isnan(self._worth(best)):
            raise ValueError("scoring gave NaN for every choice: check the metric and its inputs.")
        return best, rows

    def _most_steps(self) -> int:
        try:
            kernels = len(self._kernels()) * len(self._output_kernels())
            return kernels * len(self._losses()) * int(np.size(self.alphas))
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
        waves = self.features is not None and self.features.operator_valued
        for kernel in [kernel for kernel in kernels if waves or not kernel.separable]:
            sides = Sides(kernel.inputs, output_kernel, pairs.X, pairs.y, *parts)
            own = kernel.own_coordinates
            if own not in shared:
                shared[own] = sides.output_coordinates(kernel)
            yield coupled_equation(sides, kernel, shared[own])
        separable = [kernel.separated() for kernel in kernels if kernel.separable and not waves]
        # One choice that no closed form can judge, and all are judged by refits, on equal terms.
        robust = self._losses() != [None]
        refit = robust or any(kernel.operator.learnt for kernel in separable)
        for scalar, operators in by_scalar(separable):
            kernel = on_device(clone(scalar), self.device)
            kernel.fit(kernel.check(pairs.X, "X"))
            sides = Sides(kernel, output_kernel, pairs.X, pairs.y, *parts)
            if not refit and spans(sides, operators):
                yield SpannedEquation(sides, operators[0], sides.input_coordinates())
                continue
            for operator in operators:
                own = operator.own_coordinates
                if own not in shared:
                    shared[own] = sides.output_coordinates(operator)
            if not refit and reduces(sides, operators, pairs.labels, self._alphas()):
                yield IdentityEquation(
                    sides, operators[0], kernel.checked_gram(pairs.X), shared[False]
                )
                continue
            U = sides.input_coordinates()
            for operator, loss in product(operators, self._losses()):
                given = (sides, operator, U, shared[operator.own_coordinates], loss, pairs.labels)
                yield RefitEquation(*given, self.cv) if refit else Equation(*given[:4])

    def _alphas(self) -> list[float]:
        return [positive_alpha(alpha) for alpha in np.ravel(self.alphas)]

    def _path(self, equation: Equation, decoder: Decoder, pairs: Pairs) -> Iterator[Trial]:
        path = equation.path(self._alphas(), pairs.labels, self.criterion == "gcv")
        robust = self._losses() != [None]
        for equation, loo, alpha, residuals in path:
            risk = tau_risk(residuals) if robust else loo.risk(residuals)
            trial = Trial(equation, loo, decoder, alpha, risk, np.nan)
            if self.scoring is not None:
                points = equation.left_out_points(loo, residuals, pairs.labels, pairs.given)
                predictions = calibrated(decoder, points, pairs.y).decode(points)
                trial = replace(trial, score=self._scored(predictions, equation.sides))
            yield trial

    def _scored(self, predictions: Items, sides: Sides | Sample) -> float:
        from sklearn.metrics import check_scoring  # slow to import, not always needed

        told = Told(self._flattened(predictions))
        scorer = check_scoring(told, scoring=self.scoring)
        return float(scorer(told, sides.X, self._flattened(sides.y)))

    def _worth(self, trial: Trial | StreamTrial) -> float:
        return -trial.risk if self.scoring is None else trial.score

    def _adopt(self, best: Trial, rows: list[dict], pairs: Pairs) -> None:
        equation = best.equation.settled(best.alpha)
        self.points_ = equation.solve(best.alpha)
        self.kernel_, self.alpha_ = equation.operator_kernel, best.alpha
        self.loss_ = equation.loss
        self.input_kernel_ = equation.sides.kernel
        self.output_kernel_ = equation.sides.output_kernel
        self.outputs_ = equation.sides.y
        self.loo_risk_, self.loo_score_ = best.risk, best.score
        residuals = best.loo.residuals(best.alpha)
        self.loo_points_ = best.equation.left_out_points(
            best.loo, residuals, pairs.labels, pairs.given
        )
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

    def _losses(self) -> list[Loss | None]:
        given: Any = self.loss if isinstance(self.loss, list | tuple) else [self.loss]
        if not given:
            raise ValueError("loss=[] leaves nothing to choose from: give at least one, or None.")
        return [checked_loss(loss) for loss in given]

    def _scalar_kernels(self) -> list[Kernel]:
        return [kernel.inputs for kernel in self._kernels()]

    def _problem(self, n: int, p: int, q: int) -> Problem:
        return problem(self._kernels(), self._output_kernels()[0], n, p, q, choice=True)

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
        waves = self.features is not None and self.features.operator_valued
        check_combination(kernels, self._losses(), self.criterion, waves)
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
