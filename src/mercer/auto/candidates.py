"""Kernels to choose from, by family: what is blended is the best of each."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ..kernels import (
    RBF,
    Fingerprint,
    Kernel,
    Labels,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    On,
    Spectrum,
    Standardized,
    Tanimoto,
    WeisfeilerLehman,
    Words,
)
from ..kernels.standardized import common_units
from .inputs import NUMBERS, Inputs

SCALES = (1.0, 2.0, 4.0, 0.5, 12.0, 0.25)
"""Length scales in units of the distance that standardised rows have, likely ones first."""
WORDS = 2
"""Blanks in the middle one of texts from which on words are compared, too."""


def families(inputs: Inputs, sentences: bool) -> dict[str, list[Kernel]]:
    """Lists of kernels by the name of their family; the first to try come first."""
    numbers = _on_numbers(inputs) if inputs.width_ else {}
    if not inputs.texts:
        return numbers
    texts = {
        name: _sum([On(str(c), _on_text(inputs.kinds_[c], make)) for c in inputs.texts])
        for name, make in _text_kernels(sentences).items()
    }
    if not numbers:
        return {name: [kernel] for name, kernel in texts.items()}
    return {
        f"{family} + {name}": [
            On(NUMBERS, kernel) + weight * text for kernel in kernels for weight in (0.5, 2.0)
        ]
        for (family, kernels) in numbers.items()
        for name, text in texts.items()
    }


def forest_kernel(inputs: Inputs) -> Kernel | None:
    """What trees ask about: the numbers; None where there are none."""
    if not inputs.width_:
        return None
    return On(NUMBERS, Linear()) if inputs.texts else Linear()


def _on_numbers(inputs: Inputs) -> dict[str, list[Kernel]]:
    """Stationary kernels over scales up to 12√d of the spread, the linear one, those of sets."""
    d = inputs.width_
    sets: dict[str, list[Kernel]] = {"Tanimoto": [Tanimoto()], "cosine": [Normalized(Linear())]}
    return {
        **(sets if inputs.bags_ else {}),
        **(_on_curves(inputs) if inputs.curves_ else {}),
        "RBF": [RBF(c * sqrt(d)) for c in SCALES],
        "Laplacian": [Laplacian(c * d) for c in SCALES],
        "Matern": [Matern(c * sqrt(d)) for c in SCALES],
        "linear": [Linear()],
    }


def _on_curves(inputs: Inputs) -> dict[str, list[Kernel]]:
    """Kernels of curves, all values in one unit; rows come in units of the columns."""
    spread, d = inputs.spread_[inputs.varies_], inputs.width_
    units = np.ones(d)
    units[: len(spread)] = common_units(spread) / spread
    return {
        "linear, curves": [Standardized(Linear(), units)],
        "RBF, curves": [Standardized(RBF(c * sqrt(d)), units) for c in SCALES],
    }


def _text_kernels(sentences: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"letters": lambda: Normalized(Spectrum(4, blended=True))}
    if sentences:
        made = {"words": lambda: Normalized(Words(Spectrum(1))), **made}
    return made


def _on_text(kind: str, make: Any) -> Kernel:
    if kind == "graph":
        return Normalized(WeisfeilerLehman())
    return {"labels": lambda: Labels(Tanimoto()), "smiles": Fingerprint}.get(kind, make)()


def _sum(kernels: list[Kernel]) -> Kernel:
    total = kernels[0]
    for kernel in kernels[1:]:
        total = total + kernel
    return total
