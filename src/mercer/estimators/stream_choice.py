"""The choice of parameters over a stream: one reading, every alpha and operator judged in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..decoders import Decoder
from ..embedding import Embedding
from ..operators import Moments, Operator, Separable
from ..solvers import SampleLeaveOneOut, Spectra, Spectral
from ..streams import Gathering, Stream, as_stream
from .choice import calibrated
from .streamed import Gathered, StreamEquation, held_out_risk


@dataclass(frozen=True)
class StreamTrial:
    """One choice of kernel and alpha, with its risk on pairs that took no part."""

    equation: StreamEquation
    operator: Operator
    spectra: Spectra
    alpha: float
    risk: float
    score: float

    @property
    def kernel(self) -> Separable:
        """The operator-valued kernel, length scales settled."""
        return Separable(self.equation.gathering.inputs.kernel_, self.operator)

    def row(self) -> dict[str, Any]:
        """What is reported of it."""
        output_kernel = str(self.equation.gathering.outputs.kernel_)
        return {
            "kernel": str(self.kernel),
            "output_kernel": output_kernel,
            "alpha": self.alpha,
            "risk": self.risk,
            "score": self.score,
        }

    def left_out(self) -> tuple[SampleLeaveOneOut, Embedding]:
        """The left-out points of the sample at its alpha."""
        loo = self.equation.left_out(self.spectra)
        return loo, self.equation.left_out_points(loo, loo.residuals(self.alpha))


def held_out(validation: Any, gathered: Gathered) -> list[Gathering]:
    """The moments of pairs that took no part, under the maps of those that did."""
    whole = isinstance(validation, tuple) and len(validation) == 2 and not _blocks(validation)
    stream = Stream(*validation) if whole else as_stream(validation)
    if stream is None:
        raise TypeError(
            "validation must be a pair (X, y) or a stream of blocks, as fit takes them; got "
            f"{type(validation).__name__}."
        )
    blank = [gathering.blank() for gathering in gathered.gatherings]
    stream.gather(gathered.expected, blank)
    stream.finish()
    if not blank[0].n:
        raise ValueError("validation is an empty stream: it has no block to judge by.")
    return blank


def _blocks(validation: tuple) -> bool:
    return all(isinstance(block, tuple) and len(block) == 2 for block in validation)


@dataclass(frozen=True)
class StreamChoice:
    """What is chosen from in the moments of a stream, and by what.

    Attributes
    ----------
    gathered
        The stream, gathered for every scalar kernel.
    operators
        For each of them, the operators that it is tried with.
    alphas
        The ridges.
    intercept
        Whether means are taken off.
    others
        The moments of pairs held out; None leaves the pairs of the sample out instead.
    decoder, score
        What decodes left-out points, and what judges the outputs; None for the risk.
    """

    gathered: Gathered
    operators: Sequence[list[Operator]]
    alphas: list[float]
    intercept: bool
    others: list[Gathering] | None
    decoder: Decoder
    score: Callable[[Any], float] | None

    def trials(self) -> Iterator[StreamTrial]:
        """Every scalar kernel with each of its operators at every alpha."""
        sample = self.gathered.sample
        for i, gathering in enumerate(self.gathered.gatherings):
            equation = StreamEquation(gathering, sample, self.intercept)
            moments = None if self.others is None else equation.held_out(self.others[i])
            for operator in self.operators[i]:
                spectra = equation.spectra(operator)
                judged = (
                    self._left_out(equation, spectra)
                    if moments is None
                    else self._held_out(spectra, moments)
                )
                for alpha, risk, score in judged:
                    yield StreamTrial(equation, operator, spectra, alpha, risk, score)

    def _held_out(self, spectra: Spectra, moments: Moments) -> Iterator[tuple[float, float, float]]:
        """Alphas, with the risk on pairs held out."""
        for alpha in self.alphas:
            risk = held_out_risk(Spectral().solve(spectra, alpha), moments)
            yield alpha, risk, float("nan")

    def _left_out(
        self, equation: StreamEquation, spectra: Spectra
    ) -> Iterator[tuple[float, float, float]]:
        """Alphas, with risk and score of the left-out predictions of the sample."""
        loo, y = equation.left_out(spectra), equation.sample.y
        for alpha, residuals in zip(self.alphas, loo.path(self.alphas), strict=True):
            score = float("nan")
            if self.score is not None:
                points = equation.left_out_points(loo, residuals)
                score = self.score(calibrated(self.decoder, points, y).decode(points))
            yield alpha, loo.risk(residuals), score
