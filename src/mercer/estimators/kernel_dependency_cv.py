from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Array, Items, count, take
from .._plan import Sizes
from .._same import fingerprint
from ..decoders import Decoder
from ..embedding import Embedding
from ..features import FeatureMap
from ..kernels import RBF, Kernel
from ..kernels.base import as_output_kernel
from ..kernels.on_device import on_device
from ..losses import Loss, checked_loss, tau_risk
from ..operators import OperatorKernel, as_operator_kernel
from ..problem import Data, Problem, Side, Want, positive_alpha
from ..solvers import Cache, Factorization, LeftOut, factor
from ..solvers.left_out_weights import weighed
from ..solvers.refit import FOLDS
from ..solvers.route import check_name
from ..sources import Gathering, Source, Stream
from .choice import (
    AUTO,
    Told,
    Trial,
    calibrated,
    check_combination,
    judges,
    own_score,
    some_rows,
)
from .default_kernels import default_kernels
from .doubts import warn_at_edges, warn_of_data
from .gathered import Gathered, held_out, left_out_risks, separated
from .nested import nested_score
from .pairs import informed, parted, refuse_in_streams
from .refuse_symmetries import check_symmetries
from .ridge import RidgeEstimator, planned_sizes

CHOSEN_ON = 1000
"""Pairs that a kernel is chosen on where none is given, at most."""
LIKELIHOODS = ("evidence", "density")
CRITERIA = ("loo", "gcv", *LIKELIHOODS)
PLAIN = 0.03
"""Of the default kernels, the linear ones are taken where another is better by this share at most:
the least risk of many is so by luck in part."""
RELATIVE = tuple(np.logspace(-8, 2, 21))
"""The ridges of alphas="auto", in units of the data."""


class KernelDependencyCV(RidgeEstimator):
    """`KernelDependency` that chooses its parameters by closed-form leave-one-out.

    One eigendecomposition for each distinct scalar kernel (and for each dense operator) gives the
    left-out prediction of every training example for every alpha; with `groups` at fit, of every
    group.

    Parameters
    ----------
    kernel
        An operator-valued kernel or a list of them. None for a list by what the inputs are, in
        units of their spread (see Notes); chosen on 1,000 pairs where there are more.
    output_kernel
        A kernel on outputs. A list of them is chosen from by `scoring` only: the risk in feature
        space always prefers the wider kernel.
    alphas
        The ridges to choose from, absolute numbers; or "auto", 21 of them from 1e-8 to 100 in
        units of the data, (tr K_x / n) · tr(B S_vv) / tr S_vv: changing the units of inputs or
        outputs then changes no choice.
    scoring
        None for the risk in feature space; any scorer of scikit-learn's (a name, or what
        `make_scorer` gives; greater is better), computed on *decoded* left-out predictions; or
        "auto": Kendall's tau of rankings, what `Threshold` maximises (F1) of label sets, the risk
        of all else.
    criterion
        "loo", "gcv" for generalised cross-validation, "evidence" for the marginal likelihood
        of a Gaussian process whose scale is profiled out, or "density" for the density of every
        output given all others, each direction of the operator with a noise of its own: choose by
        it where ``variance(noise="left out")`` is asked for. The last three know neither scoring
        nor groups, the last two need finite features of the outputs.
    decoder
        As in `KernelDependency`, or a list to choose from: by `scoring`, or by the metric of the
        outputs' space.
    features, output_features, fit_intercept, device, solver
        As in `KernelDependency`.
    loss
        None for the square, a robust loss of `mercer.losses`, or a list of these to choose from.
    cv
        The number of folds where an operator is learnt or a loss is robust (see Notes).
    verbose
        Whether a bar shows how many of the choices were tried.
    nested
        The number of folds for an honest score: on each, the whole choice is made again without
        the fold. None for no such score, which costs that many fits more.
    symmetries
        As in `KernelDependency`.
    search
        "grid" for the kernels as given, or "gradient": the continuous parameters of each kernel
        are first learnt as by `mercer.tune` (the penalised evidence; with groups or outputs of
        infinitely many features, the left-out error), and the choice is between those.
        ``kernel=None`` is then ``RBF("ard")``.
    restarts
        How many further searches by gradient start at random places.

    Attributes
    ----------
    kernel_, output_kernel_, alpha_
        What was chosen; `alpha_` is always absolute.
    loo_risk_, loo_score_
        Its leave-one-out risk (mean squared distance in feature space), and its score, both
        optimistic where there was a choice, since they made it. Of pairs that come in blocks the
        risk is over all of them, in one more reading, and the score over their sample; of a
        generator, which cannot be read again, and beside `validation`, both are over the sample.
        Where a loss is robust, so is the risk: no distance counts as more than three medians
        (`mercer.losses.tau_risk`).
    nested_risk_, nested_score_
        With `nested`, risk and score of predictions for folds (groups kept whole) that had no part
        in choice, calibration and fit.
    loss_
        The loss chosen, its threshold settled; None for the square.
    cv_results_
        A dictionary of columns, one entry a trial; with `validation` at fit, its risks are those
        of the pairs held out.

    Notes
    -----
    The operator B, landmarks and the kernels' own parameters ("median") are held fixed when
    examples are left out. Against refits that make B anew the risk was 0 to 3.5 % too low for
    `Covariance`, 0.6 % too low to 9.8 % too high for `ConditionalCovariance`, and up to 8 % too
    low for `Covariance(2.0)`, which can reorder operators. The score of what was chosen is
    optimistic, the more so the more choices there were. For a `LearnedOperator`, and for outputs
    as a robust loss leaves them, it would be far too kind: where one of these is among the
    choices, *every* choice is judged by refitting on `cv` folds (groups kept whole), and "left
    out" means left out with its fold.

    The kernels that stand for None are, on vectors, `Linear`, and `RBF`, `Laplacian` and `Matern`
    with length scales from 0.4 to 12 times the distance of standardised rows; of curves also
    `Linear` and `RBF` with one unit for all values; on texts pieces of words, and words; on graphs
    `WeisfeilerLehman` and `ShortestPath`. A linear one is taken unless another has a risk that is
    smaller by 3 %.

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
        alphas: Sequence[float] | Array | str = "auto",
        scoring: Any = AUTO,
        criterion: str = "loo",
        decoder: Decoder | Sequence[Decoder | None] | None = None,
        features: FeatureMap | None = None,
        output_features: FeatureMap | None = None,
        fit_intercept: bool = True,
        loss: Loss | Sequence[Loss | None] | None = None,
        cv: int = FOLDS,
        device: str | None = None,
        verbose: bool = False,
        solver: Any = "auto",
        nested: int | None = None,
        symmetries: Any = None,
        search: str = "grid",
        restarts: int = 0,
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
        self.solver = solver
        self.nested = nested
        self.symmetries = symmetries
        self.search = search
        self.restarts = restarts

    def fit(
        self,
        X: Items,
        y: Items = None,
        groups: Items | None = None,
        validation: Any = None,
        unlabelled: Items | None = None,
        sample_weight: Any = None,
    ) -> KernelDependencyCV:
        """Choose and learn.

        Parameters
        ----------
        X, y
            As in `KernelDependency`. Pairs that come in blocks are read once more, to leave every
            one of them out; of a generator, which cannot be read again, those of its sample are.
        groups
            A label for each pair: pairs of one label (a subject, a speaker) are left out together.
        validation
            Pairs to choose by instead, (X, y) or a stream: they are read once, and the risk of
            every choice on them follows from their moments.
        unlabelled
            Further inputs, for kernels that learn from them (`LaplacianRegularized`).
        sample_weight
            How much each pair counts, in the fit and in the risk; zero leaves a pair out. Of
            pairs in blocks an array over all of them, or in the blocks.
        """
        return self._fit_afresh(
            X,
            y,
            groups=groups,
            validation=validation,
            unlabelled=unlabelled,
            sample_weight=sample_weight,
        )

    # -- choosing -----------------------------------------------------------------------------

    def _fit(
        self,
        X: Items,
        y: Items,
        groups: Items | None,
        validation: Any,
        unlabelled: Items | None,
        sample_weight: Any,
    ) -> None:
        kernels, outputs = self._kernels(), self._output_kernels()
        self._decoders()
        source = self._as_source(X, y, groups, sample_weight)
        if source is None and validation is not None:
            source = Stream([(X, y) if sample_weight is None else (X, y, sample_weight)])
        self._check_choices(kernels, outputs, groups)
        if source is not None:
            refuse_in_streams(kernels, self._losses(), unlabelled)
            if self.nested is not None:
                raise ValueError("nested= is for pairs held whole, not for streams or validation=.")
            with source.running():
                self._fit_source(source, validation)
            return
        X, y, groups, unlabelled, sample_weight = parted(X, y, groups, unlabelled, sample_weight)
        open_choice = self.kernel is None and self.search == "grid"
        if open_choice:
            kernels = [as_operator_kernel(kernel) for kernel in default_kernels(X)]
        kernels = [self._placed(kernel) for kernel in informed(kernels, unlabelled)]
        outputs = [on_device(output, self.device) for output in outputs]
        scalars = [self._checking(kernel) for kernel in kernels]
        data = self._data(X, y, groups, sample_weight, scalars, outputs[0])
        kernels = self._shortlisted(kernels, data) if open_choice else kernels
        want = self._want(kernels)
        if self.search == "gradient":
            kernels = self._learnt_kernels(kernels, outputs, data)
        best, rows = self._best(self._trials(kernels, outputs, data, want))
        check_symmetries(best.factorization, best.alpha, want)
        self._adopt(best.problem, want, best.alpha, best.factorization)
        self._report(best, rows)
        warn_at_edges(rows, best.row(), scales=not open_choice)
        warn_of_data(best.problem)
        if self.nested is not None:
            self.nested_risk_, self.nested_score_ = nested_score(
                self, X, y, groups, sample_weight, self.nested
            )

    def _learnt_kernels(
        self, kernels: list[OperatorKernel], outputs: list[Kernel], data: Data
    ) -> list[OperatorKernel]:
        """The kernels at parameters learnt by gradient, for each output kernel."""
        from .tune import learnt_kernel

        criterion = "auto" if self.criterion == "loo" else "evidence"
        return [
            learnt_kernel(problem, criterion, self.restarts)
            for output in outputs
            for problem in self._problems(
                kernels, data.side(output, data.y, self.output_features), data
            )
        ]

    def _want(self, kernels: list[OperatorKernel]) -> Want:
        """What every trial is asked for; one that no closed form can judge decides for all."""
        learnt = any(k.separable and k.separated().operator.learnt for k in kernels)
        relative = isinstance(self.alphas, str)
        return Want(
            RELATIVE if relative else self._alphas(),
            left_out=True,
            judge="refit" if learnt or self._losses() != [None] else "closed",
            folds=self.cv,
            solver=self.solver,
            relative=relative,
            moves=self.criterion in LIKELIHOODS,
        )

    def _alphas(self) -> list[float]:
        if isinstance(self.alphas, str):
            if self.alphas != "auto":
                raise ValueError(f'alphas must be numbers or "auto", got {self.alphas!r}.')
            return list(RELATIVE)
        return [positive_alpha(alpha) for alpha in np.ravel(self.alphas)]

    def _trials(
        self, kernels: list[OperatorKernel], outputs: list[Kernel], data: Data, want: Want
    ) -> Iterator[Trial]:
        """Every kernel, output kernel, loss and ridge."""
        for output in outputs:
            side = data.side(output, data.y, self.output_features)
            decoders = self._fitted_decoders(side.kernel, side.items)
            cache = Cache()
            for problem in self._problems(kernels, side, data):
                yield from self._path(factor(problem, want, cache), decoders, want)

    def _shortlisted(self, kernels: list[OperatorKernel], data: Data) -> list[OperatorKernel]:
        """Of many pairs the default kernel that suits some of them best."""
        if len(kernels) < 2 or count(data.y) <= CHOSEN_ON:
            return kernels
        labels = np.arange(count(data.y)) if data.labels is None else data.labels
        rows = some_rows(labels, CHOSEN_ON)
        some = clone(self).set_params(kernel=kernels, nested=None, verbose=False)
        weights = None if data.weights is None else data.weights[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all pairs says the same
            some.fit(take(data.X, rows), take(data.y, rows), labels[rows], None, None, weights)
        return [next(k for k in kernels if str(k) == str(some.kernel_))]

    def _problems(
        self, kernels: list[OperatorKernel], outputs: Side, data: Data
    ) -> Iterator[Problem]:
        """The problems of all kernels; those of one scalar kernel share its factorisation."""
        for group in by_scalar(kernels):
            inputs = None
            for kernel, loss in product(group, self._losses()):
                problem = self._problem(kernel, outputs, data, loss, inputs)
                inputs = problem.inputs
                yield problem

    def _path(
        self,
        factorization: Factorization,
        decoders: list[Decoder],
        want: Want,
        risks: np.ndarray | None = None,
    ) -> Iterator[Trial]:
        """The trials of one problem: every ridge and decoder; risks may be known already."""
        problem, alphas = factorization.problem, _ridges(factorization, want)
        kernels = str(problem.kernel), str(problem.outputs.kernel)
        named = [(decoder, (*kernels, str(decoder))) for decoder in decoders]
        scored = self._scores(problem)
        if risks is not None and not scored:
            for alpha, risk in zip(alphas, risks, strict=True):
                likely = self._likelihood(factorization, alpha)
                yield Trial(problem, factorization, *named[0], alpha, float(risk), np.nan, likely)
            return
        for i, left_out in enumerate(factorization.left_out(alphas, self.criterion == "gcv")):
            risk = self._risk(left_out, problem) if risks is None else float(risks[i])
            likely = self._likelihood(factorization, left_out.alpha)
            points = weighed(left_out.embed(), problem, left_out.alpha) if scored else None
            for decoder, names in named:
                score = np.nan if points is None else self._scored(decoder, points, problem)
                yield Trial(
                    problem, factorization, decoder, names, left_out.alpha, risk, score, likely
                )

    def _likelihood(self, factorization: Factorization, alpha: float) -> float:
        """The evidence or density where a choice is made by it, else NaN."""
        if self.criterion not in LIKELIHOODS:
            return np.nan
        return getattr(factorization, self.criterion)(alpha)

    def _scores(self, problem: Problem) -> bool:
        """Whether decoded predictions are scored; of blocks, the risk judges by itself."""
        if self.scoring == AUTO and (problem.gathered is not None or self.criterion != "loo"):
            return False
        return judges(self.scoring, problem.outputs.kernel, len(self._decoders()))

    def _risk(self, left_out: LeftOut, problem: Problem) -> float:
        robust = any(loss is not None for loss in self._losses())
        return tau_risk(left_out.sqlengths) if robust else left_out.risk(problem.weights)

    def _scored(self, decoder: Decoder, points: Embedding, problem: Problem) -> float:
        outputs = problem.outputs
        if self.scoring == AUTO:
            return own_score(decoder, points, outputs.kernel, outputs.items, problem.weights)
        from sklearn.metrics import check_scoring  # slow to import, not always needed

        predictions = calibrated(decoder, points, outputs.items).decode(points)
        told = Told(self._flattened(predictions))
        scorer = check_scoring(told, scoring=self.scoring)
        truth = self._flattened(problem.outputs.items)
        if problem.weights is None:
            return float(scorer(told, problem.inputs.items, truth))
        return float(scorer(told, problem.inputs.items, truth, sample_weight=problem.weights))

    def _best(self, trials: Iterator[Trial]) -> tuple[Trial, list[dict]]:
        """The best trial, the first of equals, and a row of the report for each."""
        best, plain, rows = None, None, []
        for trial in self._steps(trials, "trial"):
            rows.append(trial.row())
            if self.kernel is None and trial.problem.inputs.kernel.features is not None:
                plain = trial if plain is None or trial.risk < plain.risk else plain
            worth = self._worth(trial)
            if best is None or worth > self._worth(best) or np.isnan(self._worth(best)[0]):
                best = trial
        assert best is not None
        if np.isnan(self._worth(best)[0]):
            raise ValueError("scoring gave NaN for every choice: check the metric and its inputs.")
        if plain is not None and np.isnan(best.score) and plain.risk < (1 + PLAIN) * best.risk:
            best = plain
        return best, rows

    def _worth(self, trial: Trial) -> tuple[float, float]:
        """What is maximised; of equal scores the smaller risk is better."""
        if self.criterion in LIKELIHOODS:
            return trial.evidence, 0.0
        scored = self.scoring not in (None, AUTO) or not np.isnan(trial.score)
        return (trial.score if scored else -trial.risk), -trial.risk

    def _report(self, best: Trial, rows: list[dict]) -> None:
        """What was chosen, by what, and the decoder calibrated on what was left out."""
        self.alpha_, self.loo_risk_, self.loo_score_ = best.alpha, best.risk, best.score
        self.decoder_ = best.decoder
        if best.decoder.calibrates:
            self.decoder_ = calibrated(best.decoder, self.loo_embed(), self.outputs_)
        self.cv_results_ = {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def _most_steps(self) -> int:
        try:
            kernels = len(self._kernels()) * len(self._output_kernels())
            return kernels * len(self._losses()) * len(self._alphas())
        except (TypeError, ValueError):
            return 0  # they make no sense: the fit says why

    # -- streams ------------------------------------------------------------------------------

    def _fit_source(self, source: Source, validation: Any) -> None:
        """Choose over a source: by pairs held out, or by all of its pairs, left out."""
        outputs = self._output_kernels()
        if (
            self.criterion not in ("loo", "evidence")
            or len(outputs) > 1
            or len(self._decoders()) > 1
        ):
            raise ValueError(
                'on a stream give one output kernel and decoder, and criterion="loo" or "evidence".'
            )
        if validation is not None and self.scoring not in (None, AUTO):
            raise ValueError(
                "validation= is judged by its moments alone, which know the risk but no scoring: "
                "leave one of the two out (without validation, scoring judges the sample)."
            )
        if self.features is not None and self.features.operator_valued:
            raise ValueError(f"features={self.features} are chosen over pairs held whole only.")
        groups = by_scalar([separated(kernel) for kernel in self._kernels()])
        scalars = [group[0].separated().scalar for group in groups]
        gathered = Gathered.of(source, self._stream_parts(scalars, outputs[0]))
        self._adopt_stream(gathered)
        others = None if validation is None else held_out(validation, gathered)
        want = self._want(self._kernels())
        best, rows = self._best(self._source_trials(source, gathered, groups, others, want))
        self._adopt(best.problem, want, best.alpha, best.factorization)
        self._report(best, rows)
        if others is not None:
            self.loo_risk_ = self.fitted_.left_out().risk(best.problem.weights)

    def _source_trials(
        self,
        source: Source,
        gathered: Gathered,
        groups: list[list[OperatorKernel]],
        others: list[Gathering] | None,
        want: Want,
    ) -> Iterator[Trial]:
        """Every kernel and ridge, judged together; a generator by its sample."""
        cache, ways = Cache(), []
        for number, group in enumerate(groups):
            problems = [gathered.problem(number, k, self.fit_intercept) for k in group]
            found: Any = [factor(problem, want, cache) for problem in problems]
            ways.append([(way, _ridges(way, want)) for way in found])
        risks = None
        if others is not None:
            beside = [(*way, o) for g, o in zip(ways, others, strict=True) for way in g]
            risks = np.array([way.held_out(o, a) for way, alphas, o in beside for a in alphas])
        elif source.repeats:
            risks = left_out_risks(source, gathered, ways)
        step = len(want.alphas)
        for i, (way, _) in enumerate(way for group in ways for way in group):
            own = None if risks is None else risks[i * step : (i + 1) * step]
            yield from self._path(way, [self.decoder_], want, own)

    # -- checking -----------------------------------------------------------------------------
    def _kernels(self) -> list[OperatorKernel]:
        given = self.kernel if isinstance(self.kernel, list | tuple) else [self.kernel]
        if not given:
            raise ValueError("kernel=[] leaves nothing to choose from: give at least one kernel.")
        if self.search == "gradient":
            given = [RBF("ard") if k is None else k for k in given]
        return [as_operator_kernel(k) for k in given]

    def _output_kernels(self) -> list[Kernel]:
        several = isinstance(self.output_kernel, list | tuple)
        given = self.output_kernel if several else [self.output_kernel]
        if not given:
            raise ValueError("output_kernel=[] leaves nothing to choose from: give one.")
        if len(given) > 1 and not all(judges(self.scoring, as_output_kernel(k)) for k in given):
            raise ValueError(
                "several output kernels cannot be compared by risk, which is measured in a "
                "different space for each: give scoring=, a metric of the decoded outputs."
            )
        return [as_output_kernel(k) for k in given]

    def _decoders(self) -> list[Decoder | None]:
        given: Any = self.decoder if isinstance(self.decoder, list | tuple) else [self.decoder]
        if not given:
            raise ValueError("decoder=[] leaves nothing to choose from: give at least one.")
        if len(given) > 1 and self.scoring is None:
            raise ValueError(
                "several decoders cannot be compared by risk, which is measured before decoding: "
                'give scoring=, a metric of the decoded outputs, or "auto".'
            )
        return list(given)

    def _fitted_decoders(self, output_kernel: Kernel, y: Items) -> list[Decoder]:
        return [self._fitted_decoder(output_kernel, y, given) for given in self._decoders()]

    def _losses(self) -> list[Loss | None]:
        given: Any = self.loss if isinstance(self.loss, list | tuple) else [self.loss]
        if not given:
            raise ValueError("loss=[] leaves nothing to choose from: give at least one, or None.")
        return [checked_loss(loss) for loss in given]

    def _scalar_kernels(self) -> list[Kernel]:
        return [kernel.inputs for kernel in self._kernels()]

    def _first_problem(self, X: Items, y: Items) -> tuple[Problem, Want]:
        outputs = self._output_kernels()
        default = self.kernel is None and self.search == "grid" and X is not None
        kernels = [as_operator_kernel(default_kernels(X)[0])] if default else self._kernels()
        scalars = [kernel.inputs for kernel in kernels]
        data = self._data(X, y, None, None, scalars, outputs[0])
        side = data.side(outputs[0], data.y, self.output_features)
        return next(self._problems(kernels, side, data)), self._want(kernels)

    def _sizes(self, n: int, p: int, q: int) -> Sizes:
        return planned_sizes(self._kernels(), self._output_kernels()[0], n, p, q, choice=True)

    def _check_choices(self, kernels: list, outputs: list, groups: Items | None) -> None:
        coupled = [kernel for kernel in kernels if not (kernel.separable or kernel.movable)]
        if self.device is not None and coupled:
            raise ValueError(f"device={self.device!r} is for kernel * operator, got {coupled[0]}.")
        check_name(self.solver)
        if self.search not in ("grid", "gradient"):
            raise ValueError(f'search must be "grid" or "gradient", got {self.search!r}.')
        scalars = [kernel.inputs for kernel in kernels]
        all_or_none(scalars)
        if self.criterion not in CRITERIA:
            raise ValueError(f"criterion must be one of {CRITERIA}, got {self.criterion!r}.")
        scored = self.scoring not in (None, AUTO)
        if self.criterion != "loo" and (groups is not None or scored):
            raise ValueError(
                f'criterion="{self.criterion}" knows neither groups nor scoring: use "loo".'
            )
        operator_features = self.features is not None and self.features.operator_valued
        check_combination(kernels, self._losses(), self.criterion, operator_features)
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


def by_scalar(kernels: Sequence[OperatorKernel]) -> list[list[OperatorKernel]]:
    """Kernels gathered by scalar kernel, which is factored once; coupled kernels by themselves."""
    gathered: dict[str, list[OperatorKernel]] = {}
    for i, kernel in enumerate(kernels):
        key = fingerprint(kernel.separated().scalar) if kernel.separable else f"coupled {i}"
        gathered.setdefault(key, []).append(kernel)
    return list(gathered.values())


def _ridges(factorization: Factorization, want: Want) -> list[float]:
    """The ridges in absolute numbers."""
    unit = factorization.scale if want.relative else 1.0
    return [float(alpha) * unit for alpha in want.alphas]


def all_or_none(kernels: list[Kernel]) -> bool:
    """Whether X is precomputed, under all kernels of a choice or under none."""
    kinds = {kernel.pairwise for kernel in kernels}
    if len(kinds) > 1:
        raise ValueError(
            'Cannot choose between "precomputed" and kernels that compute: the same X cannot be '
            "both. Use Precomputed(gram) with indices as X."
        )
    return kinds.pop()
