"""The choice of parameters over a stream: one reading, every alpha and operator judged in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..decoders import Decoder
from ..embedding import Embedding
from ..operators import Operator, Separable
from ..solvers import SampleLeaveOneOut, Spectra, Spectral
from ..streams import Expected, Gathering, Stream, as_stream
from .choice import calibrated
from .streamed import Gathered, StreamEquation, held_out_risk

Scorer = Callable[[Any], float]
"""The score of decoded left-out outputs of the sample."""


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


def held_out(validation: Any, expected: Expected, gatherings: list[Gathering]) -> list[Gathering]:
    """The moments of pairs that took no part, under the maps of those that did."""
    whole = isinstance(validation, tuple) and len(validation) == 2 and not _blocks(validation)
    stream = Stream(*validation) if whole else as_stream(validation)
    if stream is None:
        raise TypeError(
            "validation must be a pair (X, y) or a stream of blocks, as fit takes them; got "
            f"{type(validation).__name__}."
        )
    blank = [gathering.blank() for gathering in gatherings]
    stream.gather(expected, blank)
    if not blank[0].n:
        raise ValueError("validation is an empty stream: it has no block to judge by.")
    return blank


def _blocks(validation: tuple) -> bool:
    return all(isinstance(block, tuple) and len(block) == 2 for block in validation)


def trials(
    gathered: Gathered,
    operators: list[list[Operator]],
    alphas: list[float],
    others: list[Gathering] | None,
    intercept: bool,
    decoder: Decoder,
    score: Scorer | None,
) -> Iterator[StreamTrial]:
    """Every scalar kernel with each of its operators at every alpha."""
    for i, gathering in enumerate(gathered.gatherings):
        equation = StreamEquation(gathering, gathered.sample, intercept)
        moments = None if others is None else equation.held_out(others[i])
        for operator in operators[i]:
            spectra = equation.spectra(operator)
            if moments is None:
                yield from _by_sample(equation, operator, spectra, alphas, decoder, score)
                continue
            for alpha in alphas:
                risk = held_out_risk(Spectral().solve(spectra, alpha), moments)
                yield StreamTrial(equation, operator, spectra, alpha, risk, float("nan"))


def _by_sample(
    equation: StreamEquation,
    operator: Operator,
    spectra: Spectra,
    alphas: list[float],
    decoder: Decoder,
    score: Scorer | None,
) -> Iterator[StreamTrial]:
    """Judged by the left-out predictions of the sample, in closed form."""
    loo, y = equation.left_out(spectra), equation.sample.y
    for alpha, residuals in zip(alphas, loo.path(alphas), strict=True):
        worth = float("nan")
        if score is not None:
            points = equation.left_out_points(loo, residuals)
            worth = score(calibrated(decoder, points, y).decode(points))
        yield StreamTrial(equation, operator, spectra, alpha, loo.risk(residuals), worth)
