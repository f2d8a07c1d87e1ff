"""Ridge problems with streamed pairs, of which only moments and a sample are in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, blocks, count, dense, namespace, sliced
from .._base.linalg import EPS, inner_product
from .._base.symmetric import trace
from ..embedding import OrthonormalFrame
from ..features import FeatureMap
from ..operators import Moments
from ..problem import Problem, Want
from .exact import factor_separable
from .factorization import Factorization
from .left_out import LeaveOneOut
from .low_rank import InputRows, LowRankSpectrum, centred_rows
from .outputs import Cache, OutputRows
from .part import Part

SAMPLE_ROWS = 1024
"""The number of pairs whose left-out residuals are computed at once."""


def stream_refusal(problem: Problem, want: Want) -> str | None:
    """Return the reason why a streamed problem cannot be solved; None if it can."""
    uniform = problem.kernel.operator.uniform is not None
    if want.solver == "cholesky" and not uniform:
        return f"solver='cholesky' is for the identity operator, not {problem.kernel.operator}"
    if problem.kernel.operator.depends_on_ridge and not want.single:
        return f"{problem.kernel.operator} depends on the ridge, and streams have no choice of it"
    return None


def streamed(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a streamed problem by the moments of all pairs, with the stored sample as rows."""
    stream = StreamMoments.of(problem)
    frame = OrthonormalFrame(problem.gathered.outputs)
    V = dense(problem.gathered.outputs.transform(problem.outputs.items))
    output_rows = OutputRows.centred(V, problem.weights, False, frame, stream.origins[1])
    if problem.kernel.operator.depends_on_ridge:
        return stream.factorization(problem, stream.spectrum(problem), output_rows, want.alphas[0])
    spectrum = cache.spectrum(problem.inputs.kernel, stream.spectrum, problem)
    return stream.factorization(problem, spectrum, output_rows)


@dataclass(frozen=True)
class StreamMoments:
    """The centred second moments of all streamed pairs, and their means.

    Attributes
    ----------
    moments
        The second moments, centred with an intercept.
    means
        The means of input and output coordinates minus the origins that were subtracted before the
        moments were summed; None without an intercept.
    origins
        The means of input and output coordinates; None for both without an intercept.
    """

    moments: Moments
    means: tuple[Array, Array] | None
    origins: tuple[Any, Any]

    @classmethod
    def of(cls, problem: Problem) -> StreamMoments:
        """Return the centred moments of a streamed problem."""
        gathered = problem.gathered
        if not problem.intercept:
            return cls(gathered.moments, None, (None, None))
        (a, b), (u, v) = gathered.origins, gathered.moments.means
        return cls(gathered.moments.about(u, v), (u, v), (a + u, b + v))

    def spectrum(self, problem: Problem) -> LowRankSpectrum:
        """Return the input spectrum of all pairs, with the stored sample as rows."""
        m, map, w = self.moments, problem.gathered.inputs, problem.weights
        moment = InputRows(map, None, self.origins[0], m.uu, None, float(m.n), all_rows=False)

        def sampled_rows() -> InputRows:
            """Return the stored sample in coordinates, with the moment of all pairs."""
            rows = centred_rows(map, problem.inputs.items, w, moment.mean)
            return replace(moment, rows=rows, weights=w)

        def moments_for(T: Array) -> tuple[InputRows, Array]:
            """Return the moments UᵀU (in `InputRows`) and UᵀV of all pairs; T is not used."""
            return replace(moment, moment=m.uu + 0.0), m.vu.T

        return LowRankSpectrum(sampled_rows, moments_for)

    def factorization(
        self,
        problem: Problem,
        spectrum: LowRankSpectrum,
        output_rows: OutputRows,
        alpha: float | None = None,
    ) -> Factorization:
        """Return the factorisation of the stream, with an operator learnt at `alpha` if given."""
        m = moments = self.moments
        EV: Any = partial(self._projected_outputs, spectrum)
        if problem.kernel.operator.uniform is None:  # else one solution does not need the spectrum
            moments = Moments(m.n, spectrum.s, self._cross_moment_in_basis(spectrum), m.vv)
            EV = EV()
        found = factor_separable(problem, spectrum, output_rows, alpha, moments, EV)
        Q, vv = found.Q, m.vv
        vv = vv if Q is None else Q.T @ vv @ Q
        found.parts[0].stream_totals = float(m.n), namespace(vv).linalg.diagonal(vv)
        return found

    def _cross_moment_in_basis(self, spectrum: LowRankSpectrum) -> Array:
        """Return the moment of outputs with inputs, in the eigenvectors of the input moment.

        Entries that are rounding errors are set to 0.
        """
        m, vu = self.moments, self.moments.vu @ spectrum.P
        xp, u, v = namespace(vu), trace(m.uu), namespace(vu).linalg.diagonal(m.vv)
        if self.means is not None:
            a, b = self.origins
            u, v = u + m.n * float(xp.sum(a * a)), v + m.n * b * b
        size = xp.sqrt(u * v)[:, None]
        return xp.where(xp.abs(vu) > vu.shape[1] * EPS * size, vu, xp.zeros_like(vu))

    def _projected_outputs(self, spectrum: LowRankSpectrum) -> Array:
        """Return EᵀV, the outputs V of all pairs in the basis of input eigenvectors E."""
        return self._cross_moment_in_basis(spectrum).T / spectrum.s[:, None] ** 0.5


def held_out_risk(factorization: Factorization, held_out: Any, alpha: float) -> float:
    """Return the mean squared error at `alpha` on held-out pairs, from their moments.

    `held_out` holds the moments of inputs u and outputs v. With coefficients C, the sum of squares
    is Σ‖v - Cᵀu‖² = tr S_vv - 2 tr(S_vu C) + tr(Cᵀ S_uu C).
    """
    (one,) = factorization.parts
    spectrum: Any = one.spectrum
    means, moments = StreamMoments.of(factorization.problem).means, held_out.moments
    moments = moments.about(*means) if means else moments
    C = spectrum.on_features(one.coefficients(alpha, factorization.Q))
    rest = moments.uu @ C - 2.0 * moments.vu.T
    return max(0.0, trace(moments.vv) + inner_product(rest, C)) / moments.n


@dataclass(frozen=True)
class LeftOutSums:
    """Sums of squared left-out residuals over streamed pairs, for trials that share a kernel.

    Residual and leverage of a pair need its coordinates and the spectra, but no other pair. Blocks
    of pairs are therefore processed one by one, possibly on different machines.

    Attributes
    ----------
    spectrum
        The spectrum of the input Gram matrix.
    outputs, mean
        The feature map of the outputs, and the mean to subtract; None without an intercept.
    trials
        For each trial the operator eigenvalues b, the directions Q (None for the coordinates), EᵀT
        (the targets in the input eigenbasis), and the ridges.
    """

    spectrum: LowRankSpectrum
    outputs: FeatureMap
    mean: Array | None
    trials: list[tuple[Array, Array | None, Array, list[float]]]

    @classmethod
    def of(cls, trials: list[tuple[Factorization, list[float]]]) -> LeftOutSums:
        """Create the object for factorisations that share a scalar kernel, each with ridges."""
        found: Any = []
        for factorization, alphas in trials:
            (one,) = factorization.parts
            found.append((one.b, factorization.Q, one.projected, alphas))
        spectrum: Any = one.spectrum
        outputs = factorization.problem.gathered.outputs
        return cls(spectrum.without_training_rows(), outputs, factorization.output_rows.mean, found)

    def __call__(self, X: Items, y: Items, w: np.ndarray | None) -> np.ndarray:
        """Return the sums over pairs (X, y) with weights w (or None), one per trial and ridge."""
        slices = blocks(count(y), SAMPLE_ROWS)
        batches = [(sliced(X, r), sliced(y, r), None if w is None else w[r]) for r in slices]
        return np.sum([self._sums(*batch) for batch in batches], axis=0)

    def _sums(self, X: Items, y: Items, w: np.ndarray | None) -> np.ndarray:
        """Return the sums of squared left-out residuals over a block of pairs with weights w."""
        spectrum = self.spectrum.at_inputs(X, w)
        V = dense(self.outputs.transform(y))
        V = OutputRows.centred(V, w, False, OrthonormalFrame(self.outputs), self.mean).rows
        found = []
        for b, Q, inside, alphas in self.trials:
            smoother = Part(spectrum, b, V if Q is None else V @ Q, inside)
            path = LeaveOneOut(smoother).path(alphas)
            found += [float(namespace(R).sum(R * R)) for R in path]
        return np.array(found)
