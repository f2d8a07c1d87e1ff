"""Fits of ridge estimators: check pairs, fit kernels, factor problems, store the solution."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from .._base.arrays import Items, count
from .._base.parameters import boolean, integer
from .._base.plan import Plan, Sizes
from ..decoders import Decoder
from ..features import FeatureMap
from ..kernels import Kernel
from ..kernels.wrapper import OnDevice
from ..operators import Covariance, Separable
from ..operators.separable import group_by_scalar_kernel
from ..problem import Problem, Side, Want
from ..solvers import Cache, Factorization, factor
from ..solvers.route import plan, plan_of
from ..sources import Source, Stream, as_source, sample_size, sampled_rows
from .base import warn_if_constant
from .choice import Candidate, Choices, calibrated
from .fitted import Fitted
from .gathered import Gathered, stream_candidates
from .pairs import TrainingPairs, drop_zero_weights, group_labels, split_unlabelled
from .refuse_symmetries import check_symmetries, symmetry_of
from .ridge_predictions import RidgePredictions


class RidgeEstimator(RidgePredictions):
    """Base class of estimators that solve ridge problems, in memory or from a stream."""

    chooses: ClassVar[bool] = False
    """Whether the estimator chooses between several ridges."""

    features: FeatureMap | None
    output_features: FeatureMap | None
    fit_intercept: bool
    decoder: Any
    device: str | None
    solver: Any
    symmetries: Any = None
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
        boolean(self.fit_intercept, "fit_intercept")
        for name, map in (("features", self.features), ("output_features", self.output_features)):
            if map is not None and not isinstance(map, FeatureMap):
                raise TypeError(
                    f"{name} must be None or a map of mercer.features, such as Nystroem(rank=100); "
                    f"got {map!r}."
                )

    # -- the path of a fit --------------------------------------------------------------------

    def _fit(
        self,
        choices: Choices,
        X: Items,
        y: Items,
        groups: Items | None,
        unlabelled: Items | None,
        weights: Any,
        validation: Any = None,
    ) -> None:
        """Fit the model: factor the problems of all choices, select one, and store its solution."""
        in_memory = type(X) is np.ndarray and validation is None
        source = None if in_memory else self._as_source(X, y, groups, weights, validation)
        if source is not None:
            self._refuse_in_streams(choices, unlabelled, validation)
            with source.running():
                gathered = Gathered.of(source, self, choices)
                self._fit_moments(gathered, choices, source, validation)
            return
        choices, pairs = self._prepare(choices, X, y, groups, unlabelled, weights)
        self._store(*self._select(self._candidates(choices, pairs), choices), choices.want)

    def _fit_moments(
        self,
        gathered: Gathered,
        choices: Choices,
        source: Source | None = None,
        validation: Any = None,
    ) -> None:
        """Fit the model to moments of a stream; a choice may read the source once more."""
        self._store_stream(gathered)
        again = source if self.chooses else None
        candidates = stream_candidates(self, choices, gathered, again, validation)
        self._store(*self._select(candidates, choices), choices.want)

    def _select(
        self, candidates: Iterable[Candidate], choices: Choices
    ) -> tuple[Factorization, Decoder, float]:
        """Return the factored problem, the decoder and the ridge of the model."""
        raise NotImplementedError

    def _candidates(self, choices: Choices, pairs: TrainingPairs) -> Iterator[Candidate]:
        """Yield the factored ridge problem of each choice, with the decoders to try."""
        want = choices.want
        for output in choices.output_kernels:
            side, cache = pairs.side(output, pairs.y, self.output_features), Cache()
            decoders = [
                self._fitted_decoder(side.kernel, side.items, given) for given in choices.decoders
            ]
            left_out = want.left_out or any(decoder.calibrates for decoder in decoders)
            for problem in self._problems(choices, side, pairs):
                factorization = factor(problem, replace(want, left_out=left_out), cache)
                yield factorization, decoders, None

    def _first_problem(self, *data: Any) -> tuple[Problem, Want]:
        """Return the ridge problem of the first choices, and what the solver has to compute.

        The arguments are those of `_prepare` after the choices.
        """
        choices, pairs = self._prepare(self._choices(), *data)
        outputs = pairs.side(choices.output_kernels[0], pairs.y, self.output_features)
        return next(self._problems(choices, outputs, pairs)), choices.want

    # -- pairs in memory ----------------------------------------------------------------------

    def _prepare(
        self,
        choices: Choices,
        X: Items,
        y: Items,
        groups: Items | None = None,
        unlabelled: Items | None = None,
        weights: Any = None,
    ) -> tuple[Choices, TrainingPairs]:
        """Return checked pairs, and choices adapted to the device and to unlabelled inputs."""
        given, y, groups, unlabelled, weights = split_unlabelled(X, y, groups, unlabelled, weights)
        if unlabelled is not None:
            choices = choices.with_unlabelled(unlabelled)
        kernels = [kernel.inputs for kernel in choices.kernels]
        if self.device is not None:
            choices = choices.on_device(self.device)
            kernels = [OnDevice(kernel, self.device) for kernel in kernels]
        self._check_parameters()
        X, y = self._check_pairs(kernels[0], choices.output_kernels[0], given, y)
        warn_if_constant(choices.output_kernels[0], y)
        n, kept = count(y), None
        if weights is not None:
            kept, weights, groups, (X, y, given) = drop_zero_weights(weights, groups, X, y, given)
        labels = None if groups is None else group_labels(groups, count(y))
        finite = self.features is not None or all(kernel.features for kernel in kernels)
        compact = self.output_features is not None or choices.output_kernels[0].features is not None
        sample = None
        if finite and compact and not kernels[0].pairwise:  # fitted on the same pairs as a stream
            sample = sampled_rows(n, sample_size(self.features, self.output_features), kept)
        return choices, TrainingPairs(X, y, labels, weights, given, sample)

    # -- problems -----------------------------------------------------------------------------

    def _problems(self, choices: Choices, outputs: Side, pairs: TrainingPairs) -> Iterator[Problem]:
        """Yield the ridge problem of each kernel; equal scalar kernels are fitted once."""
        for group in group_by_scalar_kernel(choices.kernels):
            first = group[0]
            if first.separable:
                inputs = pairs.side(first.separated().inputs, pairs.X, self.features)
            else:
                inputs = Side(first.inputs, pairs.X, self.features, pairs.sample)
            for kernel in group:
                if kernel.separable:
                    kernel = Separable(inputs.kernel, kernel.separated().operator)
                symmetry = None
                if self.symmetries is not None:
                    symmetry = symmetry_of(self.symmetries, kernel, outputs, pairs.given)
                for loss in choices.losses:
                    yield Problem(
                        inputs,
                        outputs,
                        kernel,
                        self.fit_intercept,
                        pairs.labels,
                        pairs.weights,
                        loss,
                        pairs.given,
                        symmetry=symmetry,
                    )

    # -- streams ------------------------------------------------------------------------------

    def _as_source(
        self, X: Items, y: Items, groups: Items | None, weights: Any, validation: Any
    ) -> Source | None:
        """Return the pairs as a source of blocks if they are read in blocks, else None.

        Arrays on disk are read in blocks, unless the fit of a kernel is exact. Pairs that are
        judged by other pairs (`validation`) are a stream of one block.
        """
        exact = self.features is None and not all(k.features for k in self._scalar_kernels())
        source = None if exact and isinstance(X, np.memmap) else as_source(X, y, weights)
        if source is not None and groups is not None:
            raise ValueError("groups are for pairs in memory: a stream has no groups to leave out.")
        if source is None and validation is not None:
            return Stream([(X, y) if weights is None else (X, y, weights)])
        return source

    def _refuse_in_streams(
        self, choices: Choices, unlabelled: Items | None, validation: Any
    ) -> None:
        """Raise an error for invalid parameters, and choices that need all pairs in memory.

        One learnt operator can be computed from streamed moments. A choice among several cannot,
        because each would need a new fit.
        """
        self._check_parameters()
        learnt = self.chooses and any(kernel.learnt for kernel in choices.kernels)
        if learnt or choices.robust or unlabelled is not None or self.symmetries is not None:
            raise ValueError(
                "streams have no robust loss, unlabelled inputs or symmetries, nor a choice "
                "between learnt operators, which need all pairs at once: pass X and y as arrays."
            )

    # -- solutions ----------------------------------------------------------------------------

    def _store(
        self, factorization: Factorization, decoder: Decoder, alpha: float, want: Want
    ) -> None:
        """Solve at the ridge alpha, store the fitted attributes, and calibrate the decoder."""
        problem = factorization.problem
        if problem.symmetry is not None:
            check_symmetries(factorization, alpha, want)
        solution = factorization.solve(alpha)
        self.points_, self.kernel_ = solution.points, solution.kernel
        self.input_kernel_, self.loss_ = solution.kernel.inputs, solution.loss
        self.n_iter_, self.residual_ = solution.n_iter, solution.residual
        self.output_kernel_, self.outputs_ = problem.outputs.kernel, problem.outputs.items
        if problem.inputs.features is not None or problem.outputs.features is not None:
            # Keep what was drawn for the problem (with its images), and no coordinates.
            sides, solved = (problem.inputs, problem.outputs), factorization.augmented
            drawn = solved.inputs.fixed().fitted, solved.outputs.fixed().fitted
            fixed = [replace(own, fitted=map) for own, map in zip(sides, drawn, strict=True)]
            problem = replace(problem, inputs=fixed[0], outputs=fixed[1])
        solver = "auto" if want.solver == "cholesky" else want.solver  # which leaves nothing out
        want = replace(want, alphas=[alpha], relative=False, left_out=True, solver=solver)
        self.fitted_ = Fitted(problem, want, alpha, self.flat_)
        if factorization.leaves_out:
            self.fitted_.keep(factorization)
        self.decoder_ = decoder
        if decoder.calibrates:
            self.decoder_ = calibrated(decoder, self.loo_embed(), self.outputs_)

    def _store_stream(self, gathered: Gathered) -> None:
        """Store sample, moments and output kernel of a stream; fit the decoder on the sample."""
        expected, self.outputs_ = gathered.expected, gathered.sample.y
        self.output_kernel_ = expected.output_kernel
        if expected.y is not None:
            kernels = expected.kernels[0], self.output_kernel_
            self._check_pairs(*kernels, expected.X, expected.y, least=1)
        self.stream_ = replace(gathered, expected=replace(expected, X=None, y=None))
        warn_if_constant(self.output_kernel_, self.outputs_)
        self.decoder_ = self._fitted_decoder(self.output_kernel_, self.outputs_, self.decoder)
        if self.decoder_.calibrates and gathered.gatherings[0].inputs.operator_valued:
            raise ValueError(
                f"{self.decoder_} is calibrated on left-out predictions, which random operator "
                "features of a stream do not offer: fit pairs in memory, or give another decoder."
            )

    # -- costs ---------------------------------------------------------------------------------

    def plan(
        self,
        n: int | None = None,
        p: int = 1,
        q: int = 1,
        rank: int | None = None,
        *,
        X: Items = None,
        y: Items = None,
    ) -> Plan:
        """Return the memory and the multiplications that each solver needs to fit the model.

        Parameters
        ----------
        n
            The number of pairs; not needed where X and y are given.
        p
            The number of input features, or of multiplications that a kernel value takes.
        q
            The number of output features, where the output kernel has finite ones.
        rank
            Of a fit at low rank; None for 1,000, or the largest that fits if that is less.
        X, y
            The pairs themselves: the plan is then that of `fit` on them.

        Returns
        -------
        Plan
            A table that prints itself; `best` is the route that fits into memory, an exact one
            if possible.

        Examples
        --------
        >>> from mercer import KernelDependency
        >>> plan = KernelDependency("rbf", "rbf").plan(n=1000, p=20)
        >>> plan.best.name, [route.name for route in plan]
        ('cholesky', ['cholesky', 'spectral', 'low rank', 'streamed'])
        """
        if X is not None and not isinstance(X, int):
            return plan_of(*copy.copy(self)._first_problem(X, y))
        n, p, q = integer(n, "n"), integer(p, "p"), integer(q, "q")
        rank = None if rank is None else integer(rank, "rank")
        choices = self._choices()
        kernels = choices.kernels
        coupled = [kernel for kernel in kernels if not kernel.separable]
        if coupled:
            raise ValueError(f"plan counts the routes of kernel * operator only, got {coupled[0]}.")
        operators = [kernel.separated().operator for kernel in kernels]
        dense = [operator for operator in operators if operator.uniform is None]
        conditional = sum(not isinstance(operator, Covariance) for operator in dense)
        width = None if choices.output_kernels[0].features is None else q
        return plan(Sizes(n, p, width, not dense, conditional, self.chooses, rank=rank))
