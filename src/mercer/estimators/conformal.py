from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from .._arrays import Items, count, host
from .._from_file import FromFile
from .._parameters import field, parameters
from .any_model import checked_outputs
from .calibration import fit_jackknife, fit_split, jackknife_sets
from .fitted import Fitted
from .guarantees import check
from .list_summaries import as_loss, may_stand, risk_at, steps
from .pairs import group_labels, refuse_unequal
from .prediction_sets import contain, radii_at, size
from .set_shapes import BandShape


@parameters
class ConformalSets(FromFile, BaseEstimator):
    """For each input the set of outputs that contains the truth with a stated probability.

    Parameters
    ----------
    model
        A `KernelDependency` or `KernelDependencyCV`; or, with calibration="split", anything that
        predicts: a `Pipeline` or a search around one of these, a `SequenceTransducer`, any
        regressor or classifier of scikit-learn's kind. It is cloned and fitted.
    coverage
        The probability asked for.
    calibration
        "split" holds some of the data out and is proven to reach `coverage`. "jackknife+" learns
        from all of it and calibrates on left-out predictions, which the closed form gives for
        every group; what is met is about `coverage`, what is proven is 1 - 2 (1 - coverage) where
        everything was given before the data were seen, and else nothing.
    kind
        "candidates" for a list of outputs; "ball" and "band" for vectors and curves, around the
        prediction; "auto" is "ball" where the output kernel gives the prediction directly.
    candidates
        The pool of outputs that may be in a set. None for all outputs where these are few
        (rankings of up to 6 labels, label sets of up to 10), else for the training outputs.
    held_out
        The share of the groups that "split" keeps for calibration. None is a quarter, or more
        where a quarter is few, up to half: K groups settle the coverage to within 1 / (K + 1),
        which is to be at most a fifth of what may be missed.
    random_state
        Which ones.
    scale
        "auto" for bands that are wide at the places where residuals are large, "flat" for the same
        width at every place. Two more adapt to the input: "posterior" has radii in proportion to
        the posterior standard deviation of an output, "residual" in proportion to what a ridge
        model of left-out residuals expects, and bands that follow places as far as that makes them
        narrow. By jackknife+ "posterior" is proven where all was given; "residual" is not.
    by
        What sets are calibrated apart by (Mondrian sets): a function that returns a category for
        each input, or "class", where lists are to hold each single output of the pool as often as
        is asked for. The level then holds within each category. For calibration="split".
    shift
        A function that returns for each input how much likelier it is among the inputs to come
        than among those learnt from; None where these are alike. For calibration="split".
    loss
        None: a set that lacks the truth is a miss. Or, for lists, "f1", "hamming", "edit" (edits
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
        The coverage that was asked for at `fit`.
    empirical_coverage_
        The share of the calibration outputs that the sets made of them hold.
    outside_
        The share of the calibration outputs that are not in the pool of candidates.

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

    model: Any
    coverage: float = 0.9
    calibration: str = "split"
    kind: str = "auto"
    candidates: Items | None = None
    held_out: float | None = None
    random_state: Any = 0
    scale: str = "auto"
    by: Any = None
    shift: Any = None
    loss: Any = None

    radius_: float = field(init=False)
    jackknife_: Fitted | None = field(init=False)

    # -- fit ----------------------------------------------------------------------------------

    def fit(self, X: Items, y: Items, groups: Items | None = None) -> ConformalSets:
        """Learn and calibrate.

        Parameters
        ----------
        X, y
            Pairs, as the model takes them.
        groups
            A label for each pair: a new input is then one of a group not seen.
        """
        check(self)
        if y is None or count(X) != count(y):
            got = "none" if y is None else count(y)
            raise ValueError(
                f"X and y must have the same length: got {count(X)} inputs and {got} outputs."
            )
        labels = group_labels(groups, count(X))
        fresh = clone(self)
        fresh.level_ = float(self.coverage)
        (fit_split if self.calibration == "split" else fit_jackknife)(fresh, X, y, labels)
        self.__dict__.update(fresh.__dict__ | self.get_params(deep=False))
        return self

    def _scale_at(self, X: Items) -> np.ndarray | None:
        """What radii are multiplied by; None for the same at every input."""
        if self.scale == "posterior":
            kind = "outputs" if isinstance(self.shape_, BandShape) else "total"
            return np.sqrt(host(self.view_.embed(X).variance(kind, observed=True)))
        return None if self.scaling_ is None else self.scaling_.at(X)

    def _kept(self, groups: int) -> int:
        """How many groups are kept for calibration."""
        if self.held_out is not None:
            return max(1, round(self.held_out * groups))
        fine = round(5.0 / (1.0 - self.coverage)) - 1
        return max(round(groups / 4), min(fine, groups // 2))

    def _outputs(self, y: Items) -> Items:
        return checked_outputs(self.view_, y)

    # -- predict ------------------------------------------------------------------------------

    def predict(self, X: Items) -> Sequence:
        """One set for each input: a list of outputs, nearest first, a `Ball` or a `Band`.

        Bands come as `Bands`, whose `lower` and `upper` are arrays.
        """
        check_is_fitted(self, "shape_")
        if self.jackknife_ is None:
            points = self.view_.embed(X)
            return self.shape_.sets(points, radii_at(self, X), self._scale_at(X))
        return jackknife_sets(self, X)

    def covers(self, X: Items, y: Items) -> np.ndarray:
        """Whether the set of each input holds its output."""
        check_is_fitted(self, "shape_")
        y = self._outputs(y)
        refuse_unequal(X, y)
        space = self.view_.output_kernel_.space
        return contain(self.predict(X), self.view_._flattened(y), space)

    def losses(self, X: Items, y: Items) -> np.ndarray:
        """The loss of the best output in the list of each input, where there is a `loss`."""
        check_is_fitted(self, "shape_")
        if self.loss is None or self.jackknife_ is not None:
            return 1.0 - self.covers(X, y)
        found = steps(self.shape_, self.view_.embed(X), self._outputs(y), as_loss(self.loss))
        return risk_at(found, self.radius_)

    def sizes(self, X: Items) -> np.ndarray:
        """The number of outputs in each set, the radius of each ball, the mean width of a band."""
        return np.array([size(s) for s in self.predict(X)])

    def label_probabilities(self, X: Items) -> np.ndarray:
        """How likely each label is in the true label set, one row an input, one column a label.

        Calibrated on the pairs that settle the sets, as `predict_proba` of models is on left-out
        points; the labels are ``labels_.classes_``.
        """
        check_is_fitted(self, "shape_")
        if vars(self).get("labels_") is None:
            raise ValueError("label probabilities are for lists of label sets (Labels).")
        return self.labels_.predict(self.view_.embed(X))

    def positions(self, X: Items) -> np.ndarray:
        """Where each label may stand: a boolean array (inputs, labels, positions), for rankings.

        The true positions of all labels are in it as often as the true ranking is in the list.
        """
        return may_stand(self.predict(X), self.view_.output_kernel_.space)
