from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._base.arrays import Array, Items, count, host, require_equal_lengths
from .._base.errors import warn
from .._base.parameters import parameters
from ..estimators.pairs import group_labels, rows_of
from ..estimators.probabilities import Probabilities, names_classes
from ..estimators.ridge import RidgeEstimator
from ..spaces import LabelSets
from .certificate import (
    jackknife_certificate,
    loss_certificate,
    note_if_too_few_groups,
    pool_certificate,
)
from .covariances import CovarianceScale, covariance_scale
from .forms import contain, in_output_form, size
from .lists import CandidateScore, ListScore, label_positions
from .parameters import check_parameters, score_for_kind
from .quantiles import QuantileScale
from .radii import JackknifeRadii, Radii, ShiftedRadii, category_radii, left_out_points
from .risk import as_loss, controlled_radius, loss_steps, risk_at
from .row_weights import column_quantiles, fewest_groups, row_weights
from .scales import (
    PosteriorScale,
    ResidualScale,
    left_out_errors,
    left_out_residuals,
    residual_scale,
)
from .scores import AroundScore, BandScore, EllipsoidScore, QuantileScore
from .shapes import Bands
from .views import (
    RankedView,
    checked_outputs,
    extra_arguments,
    fit_model,
    rows_of_extras,
    view_of,
)


@parameters
class ConformalSets(BaseEstimator):
    """Conformal prediction sets, which contain the true output with a requested probability.

    Parameters
    ----------
    model : estimator
        A `KernelDependency` or `KernelDependencyCV`; or, with calibration="split", any model that
        predicts: a `Pipeline` or a search around one of these, a `SequenceTransducer`, any
        regressor or classifier with scikit-learn's interface. It is cloned and fitted.
    coverage : float, default=0.9
        The requested probability.
    calibration : {"split", "jackknife+"}, default="split"
        "split" holds out some of the data and is proven to reach `coverage`. "jackknife+" learns
        from all of it and calibrates on left-out predictions, which are available in closed form
        for every group. It reaches about `coverage`; the proven level is 1 - 2 (1 - coverage) if
        everything was given before the data were seen, and otherwise none.
    kind : {"auto", "candidates", "ball", "ellipsoid", "band", "intervals"}, default="auto"
        "candidates" for a list of outputs; "ball", "ellipsoid" and "band" for vectors and curves,
        around the prediction; "intervals" for one interval for each value of an output; "auto" is
        "ball" if the output kernel gives the prediction directly, else "candidates".
    candidates : sequence, default=None
        The pool of outputs that may be in a set. None for all outputs where there are few
        (rankings of up to 6 labels, label sets of up to 10, given classes), else for the training
        outputs. Labels that are not given, as by ``Labels(classes=...)``, are those of the data.
    held_out : float, default=None
        The fraction of the groups that "split" keeps for calibration. None is a quarter, or more
        where a quarter is few, up to half: K groups determine the coverage to within 1 / (K + 1),
        which should be at most a fifth of 1 - coverage.
    random_state : int, RandomState or None, default=0
        The seed of the split.
    scale : {"auto", "flat", "posterior", "quantile", "residual"}, default="auto"
        "auto" for bands that are wide at locations with large residuals, "flat" for the same
        width at every location. Two more adapt to the input: the radii of "posterior" are
        proportional to the posterior standard deviation of an output, those of "residual" to the
        size of residuals that a ridge model of left-out residuals expects. With jackknife+
        "posterior" has a proven level if everything was given; "residual" has not. The shape of
        ellipsoids is the covariance of left-out residuals with "flat"; "posterior" adds the
        posterior covariance at the input; with "residual" a forest learns the covariance at each
        input; "auto" takes the smallest ellipsoids. "quantile" is for intervals: they reach from a
        lower to an upper quantile of the residuals at the input, and need not be symmetric.
    by : callable or "class", default=None
        Categories that are calibrated separately (Mondrian sets): a function that returns a
        category for each input, or "class", for lists that hold each single output of the pool
        with the requested probability. The level then holds within each category. For
        calibration="split".
    shift : callable, default=None
        A function that returns for each input how much more likely it is among new inputs than
        among the training inputs; None if both have one distribution. For calibration="split".
    loss : {"f1", "hamming", "edit"} or callable, default=None
        None counts a set without the truth as a miss. For lists, a loss by name ("edit" is edits
        over the longer length) or a function of true and predicted outputs with values from 0 to
        1: then the expected loss of the best output in a list is at most 1 - coverage (conformal
        risk control). For calibration="split".

    Attributes
    ----------
    model_
        The fitted model.
    proven_coverage_
        The level that holds for exchangeable groups whatever the data, on average over inputs.
        NaN where none can be stated; a warning says why. Where the pool of candidates may lack
        the truth it is less by a 95 % upper confidence bound on how often it does.
    level_
        The coverage requested at `fit`.
    empirical_coverage_
        The fraction of the calibration outputs that their sets hold; of intervals, the fraction of
        their values, which is what `coverage` is about.
    joint_coverage_
        The fraction of the calibration outputs whose sets hold all values; lower for intervals.
    outside_
        The fraction of the calibration outputs that are not in the pool of candidates.

    Notes
    -----
    With groups, a new example is one of a new group: rows of one group count as one together
    (hierarchical conformal prediction). The score of a candidate is how much farther it is from
    g(x) than the nearest one, d²(y) - min d²: the nearest candidate is in every set, so that none
    is empty. A ball or band by jackknife+ is one around the prediction that holds the jackknife+
    set; its radius is an upper bound by the triangle inequality, not the smallest.

    Jackknife+ is proven for models that treat examples alike and see all but one. A kernel,
    operator or ridge that was chosen, a "median" length scale, an operator made of the outputs and
    landmarks drawn from the data have seen the example that is left out, and so has the shape of
    a band that is made of left-out residuals: then `proven_coverage_` is NaN.

    References
    ----------
    Vovk, Gammerman, Shafer (2005). Tibshirani, Barber, Candès, Ramdas: Conformal prediction under
    covariate shift (2019). Barber, Candès, Ramdas, Tibshirani: Predictive inference with
    the jackknife+ (2021). Lee, Barber, Willett: Distribution-free inference with hierarchical
    data (2023).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ConformalSets, KernelDependency
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 1))
    >>> Y = np.hstack([np.sin(6 * X), np.cos(6 * X)]) + rng.normal(scale=0.1, size=(200, 2))
    >>> sets = ConformalSets(KernelDependency(alpha=0.1), coverage=0.9).fit(X, Y)
    >>> sets.proven_coverage_, len(sets.predict([[0.5]]))
    (0.9, 1)
    """

    model: BaseEstimator
    coverage: float = 0.9
    calibration: str = "split"
    kind: str = "auto"
    candidates: Items | None = None
    held_out: float | None = None
    random_state: int | np.random.RandomState | None = 0
    scale: str = "auto"
    by: Callable[[Items], Items] | str | None = None
    shift: Callable[[Items], Array] | None = None
    loss: str | Callable[[Items, Items], Array] | None = None

    # -- fit ----------------------------------------------------------------------------------

    def fit(
        self,
        X: Items,
        y: Items,
        groups: Items | None = None,
        *,
        context: Items | None = None,
        candidates: Items | None = None,
    ) -> ConformalSets:
        """Fit the model and calibrate the sets.

        Parameters
        ----------
        X, y
            Pairs, as the model takes them.
        groups
            A label for each pair; None if each pair is a group. The guarantee is for a random input
            of a new group.
        context
            What else is known of each input, for models that take a context
            (`SequenceTransducer`).
        candidates
            A list of outputs for each pair, which its set is drawn from.
        """
        check_parameters(self)
        require_equal_lengths(count(X), 0 if y is None else count(y))
        extras = extra_arguments(context, candidates, count(X))
        fresh = clone(self)
        fresh.level_ = float(self.coverage)
        fit = fresh._fit_split if self.calibration == "split" else fresh._fit_jackknife
        fit(X, y, group_labels(groups, count(X)), extras)
        self.__dict__.update(fresh.__dict__ | self.get_params(deep=False))
        return self

    # -- calibration on held-out pairs --------------------------------------------------------

    def _fit_split(self, X: Items, y: Items, labels: np.ndarray, extras: dict[str, Any]) -> None:
        """Fit the model on some of the groups, and calibrate the sets on the others."""
        held, rest = self._held_out_rows(labels)
        X_rest, y_rest = rows_of(X, rest), rows_of(y, rest)
        self._fit_model(X_rest, y_rest, labels[rest], rows_of_extras(extras, rest))
        self.score_ = score_for_kind(self.view_, self.kind, self.candidates, scale=self.scale)
        self.scale_ = self._scale(lambda: self.view_.embed(X_rest), X_rest, y_rest, labels[rest])
        X, y = rows_of(X, held), checked_outputs(self.view_, rows_of(y, held))
        points = self.view_.embed(X, **rows_of_extras(extras, held))
        labels = np.unique(labels[held], return_inverse=True)[1]
        self.labels_ = self._label_probabilities(points, y)
        if self.loss is None:
            self._choose_radii(X, y, points, labels)
        else:
            self._choose_radius_by_loss(y, points, labels)

    def _held_out_rows(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw groups at random; return the rows of these groups, and the other rows."""
        names = check_random_state(self.random_state).permutation(labels.max() + 1)
        kept = self._number_held_out(len(names))
        if len(names) - kept < 2:
            raise ValueError(
                f"{len(names)} groups are too few to hold {kept} of them out: use "
                'calibration="jackknife+".'
            )
        out = np.isin(labels, names[:kept])
        return np.flatnonzero(out), np.flatnonzero(~out)

    def _number_held_out(self, groups: int) -> int:
        """Return how many of a number of groups are held out for calibration."""
        if self.held_out is not None:
            return max(1, round(self.held_out * groups))
        fine = round(5.0 / (1.0 - self.coverage)) - 1
        return max(round(groups / 4), min(fine, groups // 2))

    def _choose_radii(self, X: Items, y: Items, points: Any, labels: np.ndarray) -> None:
        """Choose radii so that sets contain the true output with probability ≥ `level_`."""
        unit = None if self.scale_ is None else self.scale_.at(X)
        scores, level = self.score_.scores(points, y, unit), self.level_
        names = None
        self.radii_: Radii | ShiftedRadii | JackknifeRadii
        if self.shift is not None:
            self.radii_ = ShiftedRadii.of(self.shift, X, scores, labels, level)
        elif self.by is not None:
            names, self.radii_ = category_radii(self.by, self.score_, X, y, scores, labels, level)
        else:
            self.radii_ = Radii.of(scores, labels, level)
        own = self.radii_.at(X)
        if own.ndim > scores.ndim:  # a row with one for each candidate
            own = own[np.arange(len(own)), names]
        self._store_certificate(scores, own, labels, names)

    def _choose_radius_by_loss(self, y: Items, points: Any, labels: np.ndarray) -> None:
        """Choose the radius so that the best listed output has an expected loss ≤ 1 - `level_`."""
        if not isinstance(self.score_, ListScore):
            raise ValueError('loss= is for lists of outputs: use kind="candidates".')
        steps, bound = loss_steps(self.score_, points, y, as_loss(self.loss)), 1.0 - self.level_
        radius = controlled_radius(steps, row_weights(labels), bound)
        risk = float(np.mean(risk_at(steps, radius)))
        self.radii_, self.certificate_ = Radii(radius), loss_certificate(bound, risk, radius)
        self.empirical_coverage_ = self.joint_coverage_ = 1.0 - risk
        self.outside_ = 0.0
        _warn_unless_empty(self.certificate_.reason)

    # -- calibration by jackknife+ ------------------------------------------------------------

    def _fit_jackknife(
        self, X: Items, y: Items, labels: np.ndarray, extras: dict[str, Any]
    ) -> None:
        """Fit the model on all pairs, and calibrate sets on left-out predictions (jackknife+)."""
        if extras:
            raise ValueError(f'{next(iter(extras))}= needs calibration="split".')
        self._fit_model(X, y, labels, extras)
        model = self.model_
        # The model and the sets share one factorisation.
        model.fitted_ = model.fitted_.with_groups(labels, moves=True)
        points = left_out_points(model)
        self.score_ = score_for_kind(self.view_, self.kind, self.candidates, labels)
        self.labels_ = self._label_probabilities(points, model.outputs_)
        scale, fitted = self._scale(lambda: points, X, y, labels), model.fitted_
        assert not isinstance(
            scale, CovarianceScale | QuantileScale
        )  # `check_parameters` refuses it
        unit = None if scale is None else scale.at_left_out(fitted, X)
        scores = self.score_.scores(points, model.outputs_, unit)
        weights = row_weights(fitted.problem.left_out_labels)
        self.radii_ = JackknifeRadii(
            model, fitted, self.score_, scale, scores, weights, self.level_
        )
        self.scale_ = None  # the radii are in the units of the outputs
        radii = column_quantiles(scores, weights, self.level_)
        self._store_certificate(scores, radii, labels)
        unproven = [part.unproven for part in (self.score_, scale) if part is not None]
        certificate = jackknife_certificate(model, unproven, self.certificate_)
        if certificate is not self.certificate_:
            warn(certificate.reason)
        self.certificate_ = certificate

    # -- parts of both calibrations -----------------------------------------------------------

    def _fit_model(self, X: Items, y: Items, labels: np.ndarray, extras: dict[str, Any]) -> None:
        """Fit a clone of the model, and store it with its interface for sets (`view_`)."""
        left_out = self.calibration == "jackknife+"
        self.model_ = fit_model(self.model, X, y, labels, extras.get("context"), left_out)
        self.view_ = view_of(self.model_, y, "candidates" in extras)
        ranked = isinstance(self.view_, RankedView)
        if left_out and ranked:
            raise ValueError('candidates of each input need calibration="split".')
        if "candidates" in extras and not ranked:
            raise TypeError(
                "candidates= is for models that rank the candidates of each input, such as "
                f"KernelDependency; got {type(self.model).__name__}."
            )

    def _scale(
        self, points: Callable[[], Any], X: Items, y: Items, labels: np.ndarray
    ) -> PosteriorScale | ResidualScale | CovarianceScale | QuantileScale | None:
        """Return the scale of radii, a function of inputs; None if all inputs have one radius.

        Parameters
        ----------
        points
            A function that returns the training points, whose residuals give bands their shape.
        X, y, labels
            The pairs that the model was fitted on, and their groups.
        """
        view, score, name = self.view_, self.score_, self.scale
        if not isinstance(score, AroundScore) or isinstance(view, RankedView):
            if name in ("posterior", "quantile", "residual"):
                raise ValueError(f'scale="{name}" is for balls and bands, not for lists.')
            return None
        own = np.unique(labels, return_inverse=True)[1]
        if isinstance(score, EllipsoidScore):
            residuals = left_out_residuals(clone(self.model), view, score, X, y, own)
            return covariance_scale(view, name, residuals, X, own, self.level_)
        if isinstance(score, QuantileScore):
            residuals = left_out_residuals(clone(self.model), view, score, X, y, own)
            return QuantileScale.of(view, residuals, X, own, self.level_)
        if name == "posterior":
            if isinstance(view.predictor, RidgeEstimator):
                view.predictor.keep_posterior()  # or sets of loaded models would lack the variance
            return PosteriorScale(view, isinstance(score, BandScore))
        if name == "residual":
            errors = left_out_errors(clone(self.model), view, score, X, y, own)
            typical = score.typical_errors(points(), view.outputs_)
            return residual_scale(view, errors, X, own, self.level_, typical)
        shaped = name == "auto" and isinstance(score, BandScore) and score.joint
        return (
            ResidualScale(view, score.typical_errors(points(), view.outputs_)) if shaped else None
        )

    def _label_probabilities(self, points: Any, y: Items) -> Probabilities | None:
        """Calibrate probabilities of labels on points and label sets y; None for other outputs."""
        kernel = self.view_.output_kernel_
        lists = isinstance(self.score_, CandidateScore) and isinstance(kernel.space, LabelSets)
        return Probabilities(kernel).fit(points, y) if lists and names_classes(kernel) else None

    def _store_certificate(
        self, scores: np.ndarray, radii: np.ndarray, labels: np.ndarray, names: list | None = None
    ) -> None:
        """Store the proven coverage, and the fraction of calibration outputs in their sets.

        Parameters
        ----------
        scores, radii
            The scores of the calibration outputs, and the radii of their sets.
        labels, names
            The groups and, if there are any, the categories of the calibration pairs.
        """
        outside = np.isinf(scores)
        split = self.calibration == "split"
        level = self.level_ if split else max(0.0, 2.0 * self.level_ - 1.0)
        self.certificate_ = pool_certificate(self.score_, level, scores, labels)
        inside = ((scores <= radii) & ~outside).reshape(len(scores), -1)
        self.empirical_coverage_ = float(inside.mean())
        self.joint_coverage_ = float(inside.all(axis=1).mean())
        self.outside_ = float(outside.mean())
        _warn_unless_empty(note_if_too_few_groups(self.level_, fewest_groups(names, labels)))
        _warn_unless_empty(self.certificate_.reason if outside.any() else "")

    # -- attributes ---------------------------------------------------------------------------

    @property
    def proven_coverage_(self) -> float:
        """The coverage that is guaranteed for any data; NaN if there is no guarantee."""
        return self.certificate_.level

    @property
    def _by_value(self) -> bool:
        """Whether each value of an output has an interval and a coverage of its own."""
        return isinstance(self.score_, BandScore) and not self.score_.joint

    @property
    def radius_(self) -> float:
        """The radius if it is the same for all inputs, else NaN."""
        radius = self.radii_.radius if isinstance(self.radii_, Radii) else None
        return radius if isinstance(radius, float) else float("nan")

    # -- predict ------------------------------------------------------------------------------

    def predict(
        self, X: Items, *, context: Items | None = None, candidates: Items | None = None
    ) -> Sequence:
        """Return one set for each input: a list of outputs, nearest first, a `Ball` or a `Band`.

        Bands are returned as one `Bands` object, whose `lower` and `upper` are arrays.

        Parameters
        ----------
        X
            Inputs, as the model takes them.
        context, candidates
            The context and the list of candidate outputs of each input, if `fit` was given them.
        """
        check_is_fitted(self, "radii_")
        extras = extra_arguments(context, candidates, count(X))
        if isinstance(self.view_, RankedView):
            return self.score_.sets(self.view_.embed(X, **extras), self.radii_.at(X))
        if extras:
            name = next(iter(extras))
            raise ValueError(
                f"{name}= is for sets that were fitted with {name}=: pass it to fit too."
            )
        points, radii = self.view_.embed(X), self.radii_.at(X)
        if self.scale_ is None:
            found = self.score_.sets(points, radii)
        else:
            assert isinstance(self.score_, AroundScore)
            found = self.score_.sets_of_unit(points, radii, self.scale_.at(X))
        return in_output_form(found, self.view_.model)

    def predict_set(
        self, X: Items, *, context: Items | None = None, candidates: Items | None = None
    ) -> Sequence:
        """Return one prediction set for each input, like `predict`.

        Parameters
        ----------
        X, context, candidates
            As in `predict`.
        """
        return self.predict(X, context=context, candidates=candidates)

    def covers(
        self,
        X: Items,
        y: Items,
        *,
        context: Items | None = None,
        candidates: Items | None = None,
    ) -> np.ndarray:
        """Return whether the set of each input contains its true output.

        Of intervals it is returned for each value, in the shape of the outputs, because their
        coverage holds for each value; ``covers(X, y).all(axis=1)`` is the joint one, which is
        lower.

        Parameters
        ----------
        X, y
            Inputs and their true outputs.
        context, candidates
            As in `predict`.
        """
        check_is_fitted(self, "radii_")
        y = checked_outputs(self.view_, y)
        require_equal_lengths(count(X), count(y))
        found = self.predict(X, context=context, candidates=candidates)
        truth = y if isinstance(self.view_, RankedView) else self.view_.model._restored(y)
        if isinstance(found, Bands) and self._by_value:
            values = host(truth)
            return (found.lower <= values) & (values <= found.upper)
        return contain(found, truth, self.view_.output_kernel_.space)

    def losses(self, X: Items, y: Items) -> np.ndarray:
        """Return the loss of the best output in each set; without `loss`, 1 for a miss.

        Of intervals it is the fraction of the values that are missed.

        Parameters
        ----------
        X, y
            Inputs and their true outputs.
        """
        check_is_fitted(self, "radii_")
        if self.loss is None or not isinstance(self.score_, ListScore):
            missed = 1.0 - self.covers(X, y)
            return missed.reshape(len(missed), -1).mean(axis=1)
        y = checked_outputs(self.view_, y)
        steps = loss_steps(self.score_, self.view_.embed(X), y, as_loss(self.loss))
        return risk_at(steps, self.radius_)

    def sizes(self, X: Items) -> np.ndarray:
        """Return the size of each set: length of a list, radius of a ball or width of a band.

        Parameters
        ----------
        X
            Inputs, as the model takes them.
        """
        return np.array([size(s) for s in self.predict(X)])

    def label_probabilities(self, X: Items) -> np.ndarray:
        """Return the probability that each label is in the true label set, (inputs, labels).

        The probabilities are calibrated on the same pairs as the sets. The columns are the labels
        ``labels_.classes_``.

        Parameters
        ----------
        X
            Inputs, as the model takes them.
        """
        check_is_fitted(self, "radii_")
        if self.labels_ is None:
            raise ValueError("label probabilities are for lists of label sets (Labels).")
        points: Any = self.view_.embed(X)
        return self.labels_.predict(points)

    def positions(self, X: Items) -> np.ndarray:
        """Return which positions each label may have, as booleans (inputs, labels, positions).

        This is for rankings. The array contains the true positions of all labels with the same
        probability as the list contains the true ranking.

        Parameters
        ----------
        X
            Inputs, as the model takes them.
        """
        return label_positions(self.predict(X), self.view_.output_kernel_.space)


def _warn_unless_empty(note: str) -> None:
    """Issue a warning with a message; do nothing if the message is empty."""
    if note:
        warn(note)
