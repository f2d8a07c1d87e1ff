"""Ridge estimators: fits, in memory or from a stream, predictions and left-out points."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.arrays import Items, count, namespace, take
from .._base.parameters import boolean, integer
from .._base.plan import Plan
from ..decoders import Decoder
from ..decoders.natural import fitted_decoder
from ..embedding import Embedding
from ..features import FeatureMap
from ..kernels import Kernel
from ..operators import OperatorKernel, Separable
from ..problem import Problem, Side, Want
from ..solvers import Factorization
from ..sources import Source, Stream, as_source, is_dask, mapped, sample_size, sampled_rows
from .base import warn_if_constant
from .choices import Candidate, Choices, calibrated
from .confidence import confidence_of
from .fitted import Fitted
from .gathered import Gathered, stream_candidates
from .left_out_points import LeftOutPoints
from .pairs import TrainingPairs, drop_zero_weights, group_labels
from .posterior import Posterior


class RidgeEstimator(LeftOutPoints):
    """Base class of estimators that solve ridge problems, in memory or from a stream."""

    chooses: ClassVar[bool] = False
    """Whether the estimator chooses between several ridges."""

    features: FeatureMap | None
    output_features: FeatureMap | None
    fit_intercept: bool
    decoder: Any
    solver: Any

    fitted_: Fitted
    posterior_: Posterior
    kernel_: OperatorKernel
    stream_: Gathered | None = None
    n_iter_: int | None = None
    residual_: float | None = None
    _needs_left_out = False  # whether left-out predictions are read from the factorisation

    @property
    def selected(self) -> str | None:
        """A sentence on what was chosen by the data; None if all parameters were given."""
        return None

    def _choices(self) -> Choices:
        """Return what to choose from, and what the solver has to compute."""
        raise NotImplementedError

    def _scalar_kernels(self) -> list[Kernel]:
        """Return the unfitted scalar input kernels of all choices."""
        return [kernel.inputs for kernel in self._choices().kernels]

    def _check_parameters(self) -> None:
        """Raise an error if `fit_intercept` is not a boolean or features are not feature maps."""
        if not isinstance(self.fit_intercept, bool):
            boolean(self.fit_intercept, "fit_intercept")
        for name, map in (("features", self.features), ("output_features", self.output_features)):
            if map is not None and not isinstance(map, FeatureMap):
                raise TypeError(
                    f"{name} must be None or a map of mercer.features, such as Nystroem(rank=100); "
                    f"got {map!r}."
                )

    # -- the path of a fit --------------------------------------------------------------------

    def _fit_stream(self, choices: Choices, source: Source, validation: Any = None) -> None:
        """Fit the model to pairs that are read in blocks."""
        self._refuse_in_streams(choices, validation)
        with source.running():
            gathered = Gathered.of(source, self, choices)
            self._fit_moments(gathered, choices, source, validation)

    def _fit_moments(
        self,
        gathered: Gathered,
        choices: Choices,
        source: Source | None = None,
        validation: Any = None,
    ) -> None:
        """Fit the model to moments of a stream; a choice may read the source once more."""
        expected, y = gathered.expected, gathered.sample.y
        output_kernel = expected.output_kernel
        if expected.y is not None:
            self._check_pairs(expected.kernels[0], output_kernel, expected.X, expected.y, least=1)
        self.stream_ = replace(gathered, expected=replace(expected, X=None, y=None))
        warn_if_constant(output_kernel, y)
        decoder = fitted_decoder(choices.decoders[0], output_kernel, y, gathered.sample.w)
        again = source if self.chooses else None
        candidates = stream_candidates(
            gathered, choices, decoder, self.fit_intercept, again, validation
        )
        self._store(*self._select(candidates, choices), choices.want)

    def _select(
        self, candidates: Iterable[Candidate], choices: Choices
    ) -> tuple[Factorization, Decoder, float]:
        """Return the only factored problem, decoder and ridge of a model without choices."""
        ((factorization, (decoder,), _),) = candidates
        return factorization, decoder, choices.want.alphas[0]

    # -- pairs in memory ----------------------------------------------------------------------

    def _checked_pairs(
        self,
        kernels: list[Kernel],
        output_kernel: Kernel,
        X: Items,
        y: Items,
        groups: Items | None,
        weights: Any,
    ) -> TrainingPairs:
        """Return checked pairs for scalar kernels on the inputs and a kernel on the outputs."""
        given = X
        self._check_parameters()
        X, y = self._check_pairs(kernels[0], output_kernel, given, y)
        warn_if_constant(output_kernel, y)
        n, kept = count(y), None
        if weights is not None:
            kept, weights, groups, (X, y, given) = drop_zero_weights(weights, groups, X, y, given)
        labels = None if groups is None else group_labels(groups, count(y))
        finite = self.features is not None or all(kernel.features for kernel in kernels)
        compact = self.output_features is not None or output_kernel.features is not None
        sample = None
        if finite and compact and not kernels[0].pairwise:  # fitted on the same pairs as a stream
            sample = sampled_rows(n, sample_size(self.features, self.output_features), kept)
        return TrainingPairs(X, y, labels, weights, given, sample)

    # -- problems -----------------------------------------------------------------------------

    def _problem(
        self,
        kernel: OperatorKernel,
        outputs: Side,
        pairs: TrainingPairs,
        inputs: Side | None = None,
    ) -> Problem:
        """Return the ridge problem of a kernel; its scalar kernel is fitted if `inputs` is None."""
        if inputs is None and kernel.separable:
            inputs = pairs.fit_side(kernel.inputs, pairs.X, self.features)
        elif inputs is None:
            inputs = Side(kernel.inputs, pairs.X, self.features, pairs.sample)
        if kernel.separable:
            kernel = Separable(inputs.kernel, kernel.separated().operator)
        return Problem(
            inputs, outputs, kernel, self.fit_intercept, pairs.labels, pairs.weights, pairs.given
        )

    # -- streams ------------------------------------------------------------------------------

    def _as_source(
        self, X: Items, y: Items, groups: Items | None, weights: Any, validation: Any = None
    ) -> Source | None:
        """Return the pairs as a source of blocks if they are read in blocks, else None.

        Arrays on disk are read in blocks, unless the fit of a kernel is exact. If there
        are `validation` pairs, pairs in memory are a stream of one block.
        """
        exact = self.features is None and not all(k.features for k in self._scalar_kernels())
        source = None if exact and isinstance(X, np.memmap) else as_source(X, y, weights)
        if source is not None and groups is not None:
            raise ValueError("groups are for pairs in memory: a stream has no groups to leave out.")
        if source is None and validation is not None:
            return Stream([(X, y) if weights is None else (X, y, weights)])
        return source

    def _refuse_in_streams(self, choices: Choices, validation: Any) -> None:
        """Raise an error for invalid parameters, and choices that need all pairs in memory.

        One operator that depends on the ridge can be computed from streamed moments. A choice among
        several cannot, because each would need a new fit.
        """
        self._check_parameters()
        by_ridge = self.chooses and any(kernel.depends_on_ridge for kernel in choices.kernels)
        if by_ridge:
            raise ValueError(
                "streams have no choice between operators that depend on the ridge, which need all "
                "pairs at once: pass X and y as arrays."
            )

    # -- solutions ----------------------------------------------------------------------------

    def _store(
        self, factorization: Factorization, decoder: Decoder, alpha: float, want: Want
    ) -> None:
        """Solve at the ridge alpha, store the fitted attributes, and calibrate the decoder."""
        problem = factorization.problem
        solution = factorization.solve(alpha)
        self.points_, self.kernel_ = solution.points, solution.kernel
        self.input_kernel_ = solution.kernel.inputs
        self.n_iter_, self.residual_ = solution.n_iter, solution.residual
        self.output_kernel_, self.outputs_ = problem.outputs.kernel, problem.outputs.items
        if problem.inputs.features is not None or problem.outputs.features is not None:
            # Keep what was drawn for the problem, and no coordinates.
            inputs, outputs = problem.inputs, problem.outputs
            inputs = replace(inputs, fitted=inputs.fitted_map)
            outputs = replace(outputs, fitted=outputs.fitted_map)
            problem = replace(problem, inputs=inputs, outputs=outputs)
        single = problem.kernel.separable and want.solver in ("cg", "cholesky")
        solver = "auto" if single else want.solver  # the others leave nothing out
        want = replace(want, alphas=[alpha], relative=False, left_out=True, solver=solver)
        self.fitted_ = Fitted(problem, want, alpha, self.flat_)
        if factorization.complete:
            self.fitted_.keep("factorization", factorization, factorization.nbytes)
        self.decoder_ = decoder
        if decoder.calibrates:
            sample = factorization.left_out_sample(alpha)
            points = self.loo_embed() if sample is None else sample[0]
            outputs = self.outputs_ if sample is None else take(self.outputs_, sample[1])
            self.decoder_ = calibrated(decoder, points, outputs)

    # -- points -------------------------------------------------------------------------------

    def _posterior(self, X: Items) -> Posterior | None:
        """Return the posterior distribution of g at inputs X; None if it was not saved."""
        fitted, saved = vars(self).get("fitted_"), vars(self).get("posterior_")
        if fitted is not None:
            return fitted.posterior().at(X)
        return None if saved is None else saved.at(X)

    def _predict_known(self, X: Items) -> None:
        """Predict for a checked input, with its variance."""
        super()._predict_known(X)
        if "posterior_" in vars(self):
            self.posterior_.at(X).unit(X)

    def keep_posterior(self) -> None:
        """Store the posterior as a fitted attribute, so that it is saved with the model."""
        self.posterior_ = self.fitted_.posterior()

    # -- what was left out --------------------------------------------------------------------

    def loo_embed(self) -> Embedding:
        """Return the left-out point of each training example; of a stream, of each sampled pair.

        The operator, landmarks and length scales are those of all data; with groups at `fit`,
        whole groups are left out.
        """
        check_is_fitted(self)
        return self.fitted_.left_out_points()

    def _left_out_by(self, folds: np.ndarray) -> Embedding:
        """Return the left-out points of training examples, with whole folds left out."""
        return self.fitted_.with_groups(folds).left_out_points()

    def _points_without(self, X: Items, sets: list[np.ndarray]) -> Embedding:
        """Return the predicted points of X, input i without the training examples sets[i]."""
        return self.fitted_.predictor_without()(X, sets)

    def confidence(self, X: Items, metric: Callable[..., Any] | None = None) -> np.ndarray:
        """Return the expected quality of each prediction, calibrated on left-out predictions.

        Parameters
        ----------
        X
            Inputs of the kind that the model was fitted on.
        metric
            As in `mercer.estimators.confidence.confidence_of`; None for the metric of the outputs'
            space (from 0 to 1 for most), for vectors the fraction of variance explained.
        """
        check_is_fitted(self)
        X = self._check_inputs(self.input_kernel_, X, reset=False)
        return confidence_of(self, metric).of(X)

    # -- predict ------------------------------------------------------------------------------

    def predict(
        self,
        X: Items,
        candidates: Iterable[Items] | None = None,
        leave_out_candidates: bool | None = None,
        return_std: bool = False,
    ) -> Any:
        """Return the decoded output of every input; a lazy collection if X is a Dask collection.

        Parameters
        ----------
        X
            Inputs of the kind that the model was fitted on; or a Dask array, bag or list of delayed
            blocks of them.
        candidates, leave_out_candidates
            For each input a list of the outputs to choose from, which may be an iterator, and
            whether training examples that are in a list are left out when it is ranked (None:
            if it has other outputs too). Without lists the decoder decides.
        return_std
            Whether to return a pair, predictions and standard deviations of new outputs, for
            vectors and curves. Deviations are in the units of each output: those of the posterior,
            with the noise that left-out predictions show.
        """
        if return_std:
            return self._predict_with_deviations(X, candidates)
        if not is_dask(X):
            return super().predict(X, candidates, leave_out_candidates)
        check_is_fitted(self)
        if candidates is not None:
            raise ValueError(
                "candidates of single inputs are for inputs in memory: give "
                "decoder=Candidates(function of x) to name them on the workers."
            )
        shape = () if self.flat_ else self._output_shape()
        dtype = float if self.output_kernel_.on_vectors else object
        light = self.without_training_data()
        light.__dict__.pop("stream_", None)  # which only further learning needs
        return mapped(light.predict, X, shape, dtype)

    def _predict_with_deviations(self, X: Items, candidates: Any) -> tuple[Items, Items]:
        """Return predictions and deviations of new outputs; refuse candidates."""
        check_is_fitted(self)
        if candidates is not None or is_dask(X):
            raise ValueError("return_std=True is for predictions in memory without candidates=.")
        if not self.output_kernel_.predicts_directly:
            raise ValueError(
                "return_std=True is for vectors and curves under a linear output kernel, got "
                f"output_kernel={self.output_kernel_}: use ConformalSets, or confidence(X)."
            )
        points = self.embed(X)
        variance = points.variance("outputs", observed=True, noise="left out")
        return self._restored(self.decoder_.decode(points)), namespace(variance).sqrt(variance)

    # -- costs ---------------------------------------------------------------------------------

    def plan(self, n: int, q: int = 1, rank: int | None = None) -> Plan:
        """Return the memory that each solver needs to fit the model.

        Parameters
        ----------
        n
            The number of pairs.
        q
            The number of output features, where the output kernel has finite ones.
        rank
            The rank of a fit at low rank; None for 1,000, or the largest that fits if that is less.

        Returns
        -------
        Plan
            A table that prints itself; `best` is the first solver that fits into memory. Exact ones
            come first.

        Examples
        --------
        >>> from mercer import KernelDependency
        >>> plan = KernelDependency("rbf", "rbf").plan(n=1000)
        >>> plan.best.name, [route.name for route in plan]
        ('cholesky', ['cholesky', 'spectral', 'low rank', 'streamed'])
        """
        n, q = integer(n, "n"), integer(q, "q")
        rank = None if rank is None else integer(rank, "rank")
        choices = self._choices()
        coupled = [kernel for kernel in choices.kernels if not kernel.separable]
        if coupled:
            raise ValueError(f"plan is for kernel * operator only, got {coupled[0]}.")
        operators = [kernel.separated().operator for kernel in choices.kernels]
        identity = all(operator.uniform is not None for operator in operators)
        width = None if choices.output_kernels[0].features is None else q
        return Plan.of(n, width, rank, identity, self.chooses)


def with_posterior(model: Any) -> Any:
    """Return a copy of a fitted model that is saved with its posterior variance."""
    if not isinstance(model, RidgeEstimator) or "fitted_" not in vars(model):
        raise TypeError(
            "variance=True is for a KernelDependency or KernelDependencyCV that was fitted here, "
            f"not for {type(model).__name__}: save it without."
        )
    kept = copy(model)
    kept.keep_posterior()
    return kept
