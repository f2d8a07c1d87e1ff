from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Array, Items, count, host, take
from .._base.errors import warn
from .._base.folds import fold_numbers, fold_rows
from .._base.parameters import is_integer, parameters, same
from ..decoders import Decoder
from ..decoders.natural import fitted_decoder
from ..features import FeatureMap
from ..kernels import Kernel
from ..operators import OperatorKernel, as_operator_kernel
from ..operators.separable import group_by_scalar_kernel
from ..problem import Problem, Side
from ..solvers import BlockConjugateGradient, Cache, Factorization, factor
from ..sources import Stream
from .base import on_fresh_state
from .choices import AUTO_SCORING, Candidate, Choices, random_rows, scores_decoded
from .default_kernels import default_kernels, varies_smoothly
from .learn_metric import choose_for
from .pairs import TrainingPairs, group_labels, rows_of
from .ridge import RidgeEstimator
from .scoring import decoded_score
from .selection import Selection, notes_on_data, warn_at_edges

CHOSEN_ON = 1000
"""Pairs that a kernel is chosen on where none is given, at most."""


@parameters
class KernelDependencyCV(RidgeEstimator):
    r"""`KernelDependency` that chooses its parameters by leave-one-out in closed form.

    One eigendecomposition for each distinct scalar kernel (and for each dense operator) gives the
    left-out prediction of every training example for every alpha; with `groups` at fit, of every
    group.

    Parameters
    ----------
    kernel : OperatorKernel, Kernel or list of these, default=None
        The kernels to choose from. None is a list that depends on the kind of inputs, in units of
        their spread (see Notes); with more than 1,000 pairs it is chosen on 1,000 of them.
    output_kernel : Kernel or list of Kernel, default=None
        The kernel on outputs; None is `Linear`. Several are compared by `scoring` only: the risk
        in feature space always prefers the wider kernel.
    alphas : sequence of float or "auto", default="auto"
        The ridges to choose from, absolute numbers; or "auto", 21 of them from 1e-8 to 100 in units
        of the data, :math:`(\operatorname{tr} K_x / n) \operatorname{tr}(B S_{vv}) /
        \operatorname{tr} S_{vv}`: changing the units of inputs or outputs then changes no choice.
    scoring : str, callable or None, default="auto"
        None for the risk in feature space; any scorer of scikit-learn (a name, or what
        `make_scorer` returns; greater is better), computed on *decoded* left-out predictions; or
        "auto": Kendall's tau for rankings, the metric that `Threshold` maximises (F1) for label
        sets, and the risk for all other outputs.
    criterion : {"loo", "gcv", "evidence", "density"}, default="loo"
        "loo", "gcv" for generalised cross-validation, "evidence" for the marginal likelihood
        of a Gaussian process whose scale is profiled out, or "density" for the density of every
        output given all others, with one noise for each direction of the operator: use it with
        ``variance(noise="left out")``. The last three support neither scoring nor groups, the
        last two need finite features of the outputs.
    decoder : Decoder or list of Decoder, default=None
        As in `KernelDependency`. Several are compared by `scoring`, or by the metric of the
        outputs' space.
    features, output_features : FeatureMap, default=None
        As in `KernelDependency`.
    fit_intercept : bool, default=True
        As in `KernelDependency`.
    verbose : bool, default=False
        Whether a bar shows how many of the choices were tried.
    solver : str or BlockConjugateGradient, default="auto"
        As in `KernelDependency`.
    nested : int, default=None
        The number of folds for an unbiased score: on each, the whole choice is repeated without
        the fold, which costs one fit. None for no such score.
    search : {"grid", "gradient"}, default="grid"
        "grid" for the given kernels. With "gradient" the continuous parameters of each scalar
        kernel are first learnt as by `mercer.tune`, with the identity as operator (the penalised
        evidence; with groups or outputs of infinitely many features, the left-out error), and the
        choice is between the results. ``kernel=None`` is then ``RBF("ard")``.
    restarts : int, default=0
        The number of further searches by gradient, from random parameters.

    Attributes
    ----------
    kernel_, output_kernel_, alpha_
        What was chosen; `alpha_` is always absolute.
    loo_risk_, loo_score_
        Its leave-one-out risk (mean squared distance in feature space), and its score, both
        optimistic if there was a choice, because they were used for it. For a stream the risk is
        over all pairs, in one more reading, and the score over the sample; for a generator, which
        cannot be read again, and with `validation`, both are over the sample.
    nested_risk_, nested_score_
        With `nested`, risk and score of predictions for folds (groups kept whole) that had no part
        in choice, calibration and fit.
    cv_results_
        A dictionary of columns, one entry a trial; with `validation` at fit, its risks are those
        of the pairs held out.

    Notes
    -----
    The operator B, landmarks and the kernels' own parameters ("median") are held fixed when
    examples are left out. Against refits that make B anew the risk was 0 to 3.5 % too low for
    `Covariance`, 0.6 % too low to 9.8 % too high for `ConditionalCovariance`, and up to 8 % too
    low for `Covariance(2.0)`, which can reorder operators. The score of what was chosen is
    optimistic, the more so the more choices there were.

    The kernels that stand for None are, on vectors, `Linear`, and `RBF`, `Laplacian` and `Matern`
    with length scales from 0.4 to 12 times the distance of standardised rows; of curves also
    `Linear` and `RBF` with one unit for all values, without and with their slopes; on texts pieces
    of words, and words; on graphs `WeisfeilerLehman` and `ShortestPath`. A linear one is taken
    unless another has a risk that is smaller by 3 % (of curves 10 %), or by more than the standard
    error of the difference.

    Inputs that are curves or fields, at least 200 of them, get a metric too, if outputs have finite
    features and are compared by risk: kernel, metric, length scale and ridge are those of
    `mercer.learn_metric`, chosen on held-out pairs, and `learnt_` describes the choice. With up to
    1,000 pairs, `loo_risk_` is then the left-out risk in the fixed metric. With more pairs it is
    the risk on the held-out pairs, `loo_score_` is NaN, and the model is fitted to all pairs by one
    Cholesky factor; left-out predictions compute the spectrum when they are requested.

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

    kernel: OperatorKernel | Kernel | str | Sequence[OperatorKernel | Kernel | str] | None = None
    output_kernel: Kernel | str | Sequence[Kernel | str] | None = None
    alphas: Sequence[float] | Array | str = "auto"
    scoring: str | Callable[..., float] | None = AUTO_SCORING
    criterion: str = "loo"
    decoder: Decoder | Sequence[Decoder | None] | None = None
    features: FeatureMap | None = None
    output_features: FeatureMap | None = None
    fit_intercept: bool = True
    verbose: bool = False
    solver: str | BlockConjugateGradient = "auto"
    nested: int | None = None
    search: str = "grid"
    restarts: int = 0

    chooses = True

    @on_fresh_state
    def fit(
        self,
        X: Items,
        y: Items = None,
        groups: Items | None = None,
        validation: Items | Stream | None = None,
        sample_weight: Array | None = None,
    ) -> KernelDependencyCV:
        """Choose the parameters with the best left-out predictions, and fit the model with them.

        Parameters
        ----------
        X, y
            As in `KernelDependency`. A stream is read once more, to leave every pair out. A
            generator cannot be read again: only the pairs of its sample are left out.
        groups
            A label for each pair: pairs of one label (a subject, a speaker) are left out together.
        validation
            Pairs to choose the parameters by, in place of left-out pairs: (X, y) or a stream. They
            are read once; the risk of every choice on them is computed from their moments.
        sample_weight
            The weight of each pair in the fit and in the risk; zero leaves a pair out. For pairs
            given in blocks: one array for all pairs, or the weights inside each block.
        """
        choices = self._choices()
        choices.check(self, groups)
        plain = type(X) is np.ndarray and validation is None
        source = None if plain else self._as_source(X, y, groups, sample_weight, validation)
        if source is not None:
            self._fit_stream(choices, source, validation)
        else:
            choices, pairs = self._prepare(choices, X, y, groups, sample_weight)
            selected = self._select(self._candidates(choices, pairs), choices)
            self._store(*selected, choices.want)
        if validation is not None:  # the choice was made by the risks of other pairs
            self.loo_risk_ = self.fitted_.left_out().risk(self.fitted_.problem.weights)
        if self.nested is not None:
            found = self._nested_score(X, y, groups, sample_weight)
            self.nested_risk_, self.nested_score_ = found
        return self

    def _choices(self) -> Choices:
        """Return the lists of parameters to choose from."""
        return Choices.of(self)

    @property
    def _uses_default_kernels(self) -> bool:
        """Whether no kernel was given, so that one of the default kernels is chosen."""
        return self.kernel is None and self.search == "grid"

    def _prepare(
        self, choices: Choices, X: Items, y: Items, groups: Items | None, weights: Any
    ) -> tuple[Choices, TrainingPairs]:
        """Return checked pairs, and the choices with default or learnt kernels filled in."""
        if self._uses_default_kernels:
            kernels = [as_operator_kernel(kernel) for kernel in default_kernels(X)]
            choices = replace(choices, kernels=kernels)
        scalars, output_kernel = [k.inputs for k in choices.kernels], choices.output_kernels[0]
        pairs = self._checked_pairs(scalars, output_kernel, X, y, groups, weights)
        if self._uses_default_kernels and self._learns_metric(choices, pairs):
            choices = self._with_learnt_metric(choices, pairs)
        elif self._uses_default_kernels and count(pairs.y) > CHOSEN_ON:
            choices = replace(
                choices, kernels=[self._choose_kernel_on_subset(choices.kernels, pairs)]
            )
        if self.search == "gradient":
            choices = replace(choices, kernels=self._learnt_kernels(choices, pairs))
        return choices, pairs

    def _candidates(self, choices: Choices, pairs: TrainingPairs) -> Iterator[Candidate]:
        """Yield the factored ridge problem of each choice, with the decoders to try."""
        want = choices.want
        for output in choices.output_kernels:
            side, cache = pairs.fit_side(output, pairs.y, self.output_features), Cache()
            decoders = [
                fitted_decoder(given, side.kernel, side.items, pairs.weights)
                for given in choices.decoders
            ]
            left_out = want.left_out or any(decoder.calibrates for decoder in decoders)
            for problem in self._problems(choices, side, pairs):
                factorization = factor(problem, replace(want, left_out=left_out), cache)
                yield factorization, decoders, None

    def _problems(self, choices: Choices, outputs: Side, pairs: TrainingPairs) -> Iterator[Problem]:
        """Yield the ridge problem of each kernel; equal scalar kernels are fitted once."""
        for group in group_by_scalar_kernel(choices.kernels):
            inputs = None
            for kernel in group:
                problem = self._problem(kernel, outputs, pairs, inputs)
                inputs = problem.inputs
                yield problem

    def _learns_metric(self, choices: Choices, pairs: TrainingPairs) -> bool:
        """Return whether a metric of curves or fields is learnt, and the rest chosen with it."""
        output = choices.output_kernels[0]
        scored = scores_decoded(self.scoring, output, len(choices.decoders))
        by_risk = self.criterion == "loo" and not scored and self.features is None
        finite = output.features is not None or self.output_features is not None
        return by_risk and finite and len(choices.output_kernels) == 1 and varies_smoothly(pairs.X)

    def _with_learnt_metric(self, choices: Choices, pairs: TrainingPairs) -> Choices:
        """Return choices of one kernel, in a learnt metric, and of one ridge if none was given."""
        kernel = as_operator_kernel("rbf")
        side = pairs.fit_side(choices.output_kernels[0], pairs.y, self.output_features)
        self.learnt_ = choose_for(self._problem(kernel, side, pairs))
        want = choices.want
        if want.relative:
            alphas, left_out = [self.learnt_.alpha], count(pairs.y) <= CHOSEN_ON
            want = replace(want, alphas=alphas, relative=False, left_out=left_out)
        return replace(choices, kernels=[as_operator_kernel(self.learnt_.kernel)], want=want)

    def _learnt_kernels(self, choices: Choices, pairs: TrainingPairs) -> list[OperatorKernel]:
        """Return the kernels to choose from with learnt parameters, once for each output kernel."""
        from .tune import learnt_kernels

        kernels: list[OperatorKernel] = []
        for output in choices.output_kernels:
            side = pairs.fit_side(output, pairs.y, self.output_features)
            criterion = "auto" if self.criterion == "loo" else "evidence"
            problems = self._problems(choices, side, pairs)
            kernels += learnt_kernels(problems, criterion, self.restarts)
        return kernels

    def _choose_kernel_on_subset(
        self, kernels: list[OperatorKernel], pairs: TrainingPairs
    ) -> OperatorKernel:
        """Return the kernel with the best left-out predictions of a random subset of pairs."""
        labels = np.arange(count(pairs.y)) if pairs.labels is None else pairs.labels
        rows = random_rows(labels, CHOSEN_ON)
        some = clone(self).set_params(kernel=kernels, nested=None, verbose=False)
        weights = None if pairs.weights is None else pairs.weights[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all pairs says the same
            some.fit(take(pairs.X, rows), take(pairs.y, rows), labels[rows], None, weights)
        return next(kernel for kernel in kernels if same(kernel, some.kernel_))

    def _select(
        self, candidates: Iterable[Candidate], choices: Choices
    ) -> tuple[Factorization, Decoder, float]:
        """Return the choice with the best left-out predictions, and store the scores of all."""
        if not choices.want.left_out:
            return self._store_held_out_choice(*next(iter(candidates))[:2])
        best, rows = Selection(self, choices).best(candidates)
        self.alpha_, self.loo_risk_ = best.row["alpha"], best.row["risk"]
        self.loo_score_ = best.row["score"]
        self.cv_results_ = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        problem = best.factorization.problem
        if problem.gathered is None:
            warn_at_edges(rows, best.row, [] if self._uses_default_kernels else choices.kernels)
            for note in notes_on_data(problem):
                warn(note)
        return best.factorization, best.decoder, best.row["alpha"]

    def _store_held_out_choice(
        self, factorization: Factorization, decoders: list[Decoder]
    ) -> tuple[Factorization, Decoder, float]:
        """Return the choice that was made on held-out pairs, and store its error on them."""
        self.alpha_, self.loo_risk_, self.loo_score_ = self.learnt_.alpha, self.learnt_.risk, np.nan
        row = {"kernel": str(factorization.problem.kernel), "alpha": self.alpha_}
        self.cv_results_ = {name: np.array([value]) for name, value in row.items()}
        self.cv_results_["risk"] = np.array([self.loo_risk_])
        return factorization, decoders[0], self.alpha_

    def _nested_score(
        self, X: Items, y: Items, groups: Items | None, weights: Any
    ) -> tuple[float, float]:
        """Return risk and score on `nested` folds, with the choice made within each training part.

        They are the mean squared distance in feature space, and the mean of `scoring` over the
        folds, each fold by its size; NaN without scoring. Pairs of one group are in one fold.
        """
        folds: Any = self.nested
        labels = group_labels(groups, count(y))
        number = int(labels.max()) + 1
        if not is_integer(folds) or not 2 <= folds <= number:
            raise ValueError(f"nested must be a number of folds from 2 to {number}, got {folds!r}.")
        w = None if weights is None else np.asarray(weights, dtype=float)
        decoders = len(self._choices().decoders)
        found = []
        for rest, rows in fold_rows(fold_numbers(labels, folds)):
            inner = clone(self).set_params(nested=None, verbose=False)
            own = None if groups is None else labels[rest]
            seen, new = (None, None) if w is None else (w[rest], w[rows])
            inner.fit(rows_of(X, rest), rows_of(y, rest), groups=own, sample_weight=seen)
            X_new, y_new, kernel = rows_of(X, rows), rows_of(y, rows), inner.output_kernel_
            errors, score = host(inner.embed(X_new).sqdistances_to(y_new)), np.nan
            if scores_decoded(self.scoring, kernel, decoders):
                predicted = inner.predict(X_new)
                score = decoded_score(self.scoring, kernel, y_new, predicted, X_new, new)
            size = len(rows) if new is None else new.sum()
            found.append((float(np.average(errors, weights=new)), score, size))
        risks, scores, sizes = zip(*found, strict=True)
        return float(np.average(risks, weights=sizes)), float(np.average(scores, weights=sizes))

    def _most_steps(self) -> int:
        """Return the number of combinations of parameters; 0 if the parameters are invalid."""
        try:
            choices = self._choices()
            kernels = len(choices.kernels) * len(choices.output_kernels)
            return kernels * len(choices.want.alphas)
        except (TypeError, ValueError):
            return 0  # the fit reports invalid parameters

    @property
    def selected(self) -> str | None:
        """A sentence on what was selected by the data; None if there was only one choice."""
        if self.search == "gradient":
            return "the parameters of the kernel were learnt by gradient"
        if self.kernel is None:
            return "the kernel was chosen among the defaults"
        choices = self._most_steps()
        return f"kernel, operator or ridge was chosen among {choices}" if choices > 1 else None

    def _refuse_in_streams(self, choices: Choices, validation: Any) -> None:
        """Raise an error for choices that cannot be made on a stream."""
        super()._refuse_in_streams(choices, validation)
        if self.nested is not None:
            raise ValueError("nested= is for pairs in memory, not for streams or validation=.")
        several = len(choices.output_kernels) > 1 or len(choices.decoders) > 1
        if several or self.criterion not in ("loo", "evidence"):
            raise ValueError(
                'on a stream give one output kernel and decoder, and criterion="loo" or "evidence".'
            )
        if validation is not None and self.scoring not in (None, AUTO_SCORING):
            raise ValueError(
                "validation= is compared by its moments, which give the risk but no score: "
                "leave one of the two out (without validation, the sample is scored)."
            )
