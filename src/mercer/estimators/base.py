"""The base of all structured estimators: validate, fit on a fresh state, predict, score."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import partial, wraps
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._base.arrays import (
    Array,
    Items,
    blocks,
    column_names,
    concatenated,
    copy_data,
    count,
    dtype_name,
    has_columns,
    is_array,
    is_foreign,
    like,
    namespace,
    refuse_masked,
    require_equal_lengths,
    sliceable,
    sliced,
    table_columns,
    take,
)
from .._base.checks import Limits, must
from .._base.errors import warn
from .._base.memory import ROWS
from .._base.parameters import integer
from .._base.progress import WATCHERS, Observed, Steps, run_observed
from .._base.reducible import Reducible
from ..decoders.base import Decoder, Ranked
from ..decoders.own_candidates import outputs_as_array
from ..embedding import Embedding, PointMap, feature_variance
from ..kernels import Kernel, as_kernel
from ..kernels.base import KERNELS
from ..spaces import Classes, Rows
from .candidate_lists import ranked_inputs, ranked_lists
from .output_space import OutputSpaceMethods
from .pairs import refuse_missing

Fit = TypeVar("Fit", bound=Callable[..., Any])


_copied: ContextVar[bool] = ContextVar("copied", default=False)
"""Whether a fit is running that has made its own copy of the data."""


def on_fresh_state(fit: Fit) -> Fit:
    """Decorate `fit` so that it runs on an unfitted copy; `self` gets its attributes at the end.

    A fit that fails leaves `self` unchanged. The arrays of the user are copied, so that what the
    model keeps cannot be changed from outside; fits inside this one do not copy them again.
    """

    @wraps(fit)
    def fitted(self: Any, X: Items, y: Items = None, *args: Any, **named: Any) -> Any:
        """Run `fit` on an unfitted copy of `self`, and take over its attributes if it succeeds."""
        fresh = copy.copy(self)
        for name in vars(self):
            if name.endswith("_"):
                delattr(fresh, name)
        data = [X, y, *args]
        if not _copied.get():
            data = [copy_data(value) for value in data]
            named = {name: copy_data(value) for name, value in named.items()}
        token = _copied.set(True)
        try:
            run = partial(fit, fresh, *data, **named)
            watched = self.verbose or WATCHERS & vars(self).keys()
            fresh._fit_with_progress(run, X, y) if watched else run()
        finally:
            _copied.reset(token)
        self.__dict__ = fresh.__dict__
        return self

    return cast(Fit, fitted)


class StructuredEstimator(
    OutputSpaceMethods,
    Observed,
    Reducible,
    MultiOutputMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Base class of models that predict points of an output feature space and decode them.

    The `fit` of a subclass, decorated by `on_fresh_state`, sets `points_` (the fitted `PointMap`),
    `input_kernel_`, `output_kernel_`, `outputs_` and `decoder_`.
    """

    points_: PointMap
    input_kernel_: Kernel
    output_kernel_: Kernel
    decoder_: Decoder
    outputs_: Items
    form_: Any = None
    output_names_: list[str] | None = None
    output_shape_: tuple[int, ...]
    n_coordinates_: int
    _steps: Steps | None = None  # shows the steps of a fit that is watched
    dropped: ClassVar[dict[str, str]] = {
        "outputs_": "the training outputs",
        "fitted_": "left-out predictions and what they are made of",
        "left_out_": "left-out predictions",
    }

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless a model that was read predicts for a known input."""
        if "points_" not in vars(self):
            return
        for name in ("input_kernel_", "output_kernel_", "decoder_"):
            must(name in vars(self), f"{name} is missing")
        known = self.points_.map.known_items
        if known is not None:
            self._predict_known(take(known, [0]))
        elif self.input_kernel_.on_vectors and "n_features_in_" in vars(self):
            with suppress(ValueError, TypeError):  # of a kernel that refuses zeros
                self._predict_known(self.input_kernel_.check(np.zeros((1, self.n_features_in_))))

    def _predict_known(self, X: Items) -> None:
        """Predict for a checked input, to find out whether the parts of the model fit together."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            points = replace(self.points_(X), inputs=X)
            with suppress(ValueError, TypeError, ImportError):  # what `predict` may say
                self._restored(self.decoder_.decode(points))

    def without_training_data(self) -> Any:
        """Return a copy that can predict, without training data where it is not needed.

        This is what is saved. Training outputs and left-out predictions are dropped, and at low
        rank the weights of predictions on the training outputs.
        """
        bare = super().without_training_data()
        if "points_" in vars(self):
            bare.points_ = self.points_.without_training_data()
        if "outputs_" in vars(self):
            bare.output_shape_ = self._output_shape()
            if self._point_frame().compact:
                bare.n_coordinates_ = self._number_of_coordinates()
        return bare

    def _output_shape(self) -> tuple[int, ...]:
        """Return the shape of one training output; () if outputs are not arrays."""
        if "output_shape_" in vars(self):
            return self.output_shape_
        return tuple(self.outputs_.shape[1:]) if is_array(self.outputs_) else ()

    # -- fit ----------------------------------------------------------------------------------

    def _most_steps(self) -> int:
        """Return the largest number of steps that a fit reports to a progress bar; 0 for none."""
        return 0

    def _fit_with_progress(self, fit: Callable[[], Any], X: Items, y: Items) -> None:
        """Run the function `fit`, and report its steps to a progress bar or to callbacks."""

        def run(steps: Any) -> None:
            """Run `fit`, which reports its steps to `steps`."""
            self._steps = steps
            fit()

        run_observed(self, self._most_steps(), run, X, y)
        self.__dict__.pop("_steps", None)  # a fit that this one calls may have replaced the state

    def _check_pairs(
        self, kernel: Kernel, output_kernel: Kernel, X: Items, y: Items, least: int = 2
    ) -> tuple[Items, Items]:
        """Check X and y, at least `least` pairs; return both, and store the container type of y."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X = self._check_inputs(kernel, X, reset=True)
        outputs = self._check_outputs(output_kernel, y)
        require_equal_lengths(count(X), count(outputs))
        if count(X) < least:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 samples, got n_samples = {count(X)}."
            )
        return X, outputs

    def _check_outputs(self, kernel: Kernel, y: Items) -> Items:
        """Check outputs y and return them as the kernel takes them; store their container type."""
        refuse_missing(y, kernel)
        outputs = kernel.as_outputs(y)
        # Plain numbers were made vectors of length one; ragged curves have no shape.
        single = kernel.space.on_vectors and tuple(outputs.shape[1:]) == (1,)
        self.flat_ = single and (y if is_foreign(y) else np.asarray(y)).ndim == 1
        self.form_ = kernel.space.form(y)
        named = kernel.on_vectors and not isinstance(y, np.ndarray)
        self.output_names_ = column_names(y) if named else None
        return outputs

    def _check_inputs(self, kernel: Kernel, X: Items, reset: bool) -> Items:
        """Return checked inputs; store feature names and number if `reset`, else compare them."""
        table = not isinstance(X, np.ndarray) and has_columns(X)
        if table:
            _refuse_repeated_names(table_columns(X))
        checked = kernel.check(X, "X")
        if kernel.space.on_vectors or kernel.space.pairwise:
            # Names of features are the table's; their number is that of the checked vectors.
            named = X if table else checked
            if reset and named is checked:  # only the number of features is stored
                self.n_features_in_ = int(checked.shape[1])
            else:
                validate_data(self, named, reset=reset, skip_check_array=True)
        return checked

    # -- predict ------------------------------------------------------------------------------

    def embed(self, X: Items) -> Embedding:
        """Return the predicted points g(x) of the output feature space, one for each input.

        Parameters
        ----------
        X
            Inputs of the kind that the model was fitted on.
        """
        check_is_fitted(self)
        checked = self._check_inputs(self.input_kernel_, X, reset=False)
        return replace(
            self.points_(checked),
            inputs=self._sliceable_inputs(X, checked),
            posterior=self._posterior(checked),
        )

    def _posterior(self, X: Items) -> Any:
        """Return the posterior distribution of the predicted points at X; None if there is none."""
        return None

    def _sliceable_inputs(self, X: Items, checked: Items) -> Items:
        """Return X as a container that decoders can slice; `checked` is X after validation."""
        return checked if isinstance(self.input_kernel_.space, Rows) else sliceable(X)

    def predict(
        self,
        X: Items,
        candidates: Iterable[Items] | None = None,
        leave_out_candidates: bool | None = None,
    ) -> Items:
        """Return the decoded output of every input.

        Parameters
        ----------
        X
            Inputs of the kind that the model was fitted on.
        candidates
            For each input a list of the outputs to choose from, or an iterator of such lists; None
            lets the decoder choose.
        leave_out_candidates
            Whether the training examples whose outputs are in a list are left out of the model
            that ranks it, in closed form, because a training output favours itself. None does so
            for lists that also hold other outputs, with a warning.
        """
        check_is_fitted(self)
        if candidates is not None:
            rows = ranked_lists(self, X, candidates, 1, leave_out_candidates)
            chosen = outputs_as_array([row[0][0] for row in rows], self.output_kernel_)
            return self._restored(chosen)
        parts = [self.decoder_.decode(points) for points in self._points_in_batches(X)]
        return self._restored(concatenated(parts))

    def predict_top(
        self,
        X: Items,
        k: int = 5,
        candidates: Iterable[Items] | None = None,
        leave_out_candidates: bool | None = None,
    ) -> list[Ranked]:
        """Return the best `k` outputs of each input with their scores, best first.

        The decoder `Search` returns probabilities, calibrated on left-out predictions.

        Parameters
        ----------
        X
            Inputs of the kind that the model was fitted on.
        k
            How many outputs are returned.
        candidates, leave_out_candidates
            As in `predict`.
        """
        k = integer(k, "k")
        check_is_fitted(self)
        if candidates is not None:
            ranked = ranked_lists(self, X, candidates, k, leave_out_candidates)
        else:
            parts = self._points_in_batches(X)
            ranked = (row for points in parts for row in self.decoder_.ranked_outputs(points, k))
        return [[(self._one_restored(output), score) for output, score in row] for row in ranked]

    def rank_inputs(
        self,
        Y: Items,
        candidates: Iterable[Items],
        k: int = 5,
        leave_out_candidates: bool | None = None,
    ) -> list[Ranked]:
        """Return for each output y the `k` inputs x of its list whose points g(x) are nearest.

        This is the inverse of `predict`: a model that predicts spectra of molecules finds molecules
        by their spectra. Inputs come with -‖g(x) - Φ(y)‖², nearest first.

        Parameters
        ----------
        Y
            Outputs of the kind that the model was fitted on.
        candidates
            A list of inputs for each of them, or an iterator of such lists.
        k
            How many inputs are returned.
        leave_out_candidates
            As in `predict`, for training examples whose inputs are in a list.
        """
        check_is_fitted(self)
        return list(ranked_inputs(self, Y, candidates, integer(k, "k"), leave_out_candidates))

    def _points_in_batches(self, X: Items) -> Iterator[Embedding]:
        """Yield predicted points of X with their inputs, for a few thousand inputs at a time."""
        checked = self._check_inputs(self.input_kernel_, X, reset=False)
        given = self._sliceable_inputs(X, checked)
        for rows in blocks(count(checked), ROWS):
            yield replace(self.points_(sliced(checked, rows)), inputs=sliced(given, rows))

    def score(self, X: Items, y: Items, sample_weight: Array | None = None) -> float:
        """Return the explained fraction of the variance of Φ(y); for vectors this is the pooled R².

        It is 1 - Σ‖g(x) - Φ(y)‖² / Σ‖Φ(y) - mean Φ‖², and comparable only between models with the
        same output kernel.

        Parameters
        ----------
        X, y
            Inputs and their outputs.
        sample_weight
            How much each pair counts, in both sums.
        """
        check_is_fitted(self)
        y = self.output_kernel_.as_outputs(y)
        X = self._check_inputs(self.input_kernel_, X, reset=False)
        require_equal_lengths(count(X), count(y))
        refuse_masked(sample_weight, "sample_weight")
        w = _check_sample_weight(sample_weight, np.empty(count(y)), ensure_non_negative=True)
        errors = 0.0
        for rows in blocks(count(X), ROWS):
            lost = self.points_(sliced(X, rows)).sqdistances_to(sliced(y, rows))
            errors += float(like(w[rows], lost) @ lost)
        variance = feature_variance(self.output_kernel_, y, w)
        if variance <= 0:
            warn("score is not defined for equal outputs: it is set to 0.")
            return 0.0
        return 1.0 - errors / variance

    def _restored(self, outputs: Array) -> Array:
        """Convert outputs to the container and shape of the y that was passed to `fit`."""
        if dtype_name(outputs) == "object":
            outputs = copy_data(outputs)  # they may be training outputs, or the given candidates
        if self.form_ is not None:
            return self.form_.restore(outputs)
        if self.flat_:
            outputs = namespace(outputs).reshape(outputs, (outputs.shape[0],))
        return outputs

    def _one_restored(self, output: Any) -> Any:
        """Convert one output to the type of the items that `predict` returns."""
        return output[0] if self.flat_ else copy_data(output)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        output = vars(self).get("output_kernel_", vars(self).get("output_kernel"))
        if isinstance(output, str) and output in KERNELS:
            output = as_kernel(output)
        if isinstance(output, Kernel) and isinstance(output.space, Classes):
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        kernels = self._input_kernels()
        if not kernels:
            return tags
        tags.input_tags.pairwise = all(k.pairwise for k in kernels)
        tags.input_tags.sparse = all(k.accepts_sparse for k in kernels)
        tags.input_tags.two_d_array = all(k.on_vectors or k.pairwise for k in kernels)
        return tags

    def _input_kernels(self) -> list[Kernel]:
        """Return the fitted input kernels; before `fit` unfitted ones, [] if they are invalid."""
        if "input_kernel_" in vars(self):
            return [self.input_kernel_]
        try:
            return self._scalar_kernels()
        except (TypeError, ValueError):
            return []

    def _scalar_kernels(self) -> list[Kernel]:
        """Return the unfitted scalar input kernels, which determine what type of items X holds."""
        raise NotImplementedError


def _refuse_repeated_names(columns: list[Any]) -> None:
    """Raise an error if two columns of a table have the same name."""
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise ValueError(f"X has the column {twice!r} twice: names of columns must be unique.")


def warn_if_constant(kernel: Kernel, y: Items) -> None:
    """Warn if all outputs are equal, which is nearly always a mistake.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from mercer.estimators import warn_if_constant
    >>> from mercer.kernels import Linear
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     warn_if_constant(Linear(), np.ones((3, 1)))
    >>> print(found[0].message)
    all outputs in y are equal: the model can only predict that one.
    """
    space, xp = kernel.space, namespace(y)
    if space.on_vectors and dtype_name(y) not in ("", "object"):
        equal = bool(xp.all(y == y[:1, ...]))
    else:
        some = space.keys(take(y, np.arange(min(count(y), 2))))
        equal = len(set(some)) == 1 and len(space.unique(y)[0]) == 1
    if equal:
        warn("all outputs in y are equal: the model can only predict that one.")
