"""Families of kernels to choose from; the best kernels of all families are blended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from math import pi, sqrt
from operator import add
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from .._base.arrays import Items
from ..estimators.default_kernels import are_curves, are_sentences
from ..kernels import (
    RBF,
    Fingerprint,
    Gaussian,
    Kernel,
    Labels,
    Laplacian,
    Linear,
    Mapped,
    Matern,
    Normalized,
    On,
    Spectrum,
    Standardized,
    Tanimoto,
    TfIdf,
    WeisfeilerLehman,
)
from ..kernels.standardized import common_units
from ..operators import Local, Patchwise
from ..spaces import Fields, Vectors
from .inputs import Inputs

LENGTH_SCALES, LIKELY = (0.25, 0.5, 1.0, 2.0, 4.0, 12.0), 2
"""Length scales in units of the typical distance of rows, and the index of a likely one."""
LOW_RANK_ROWS = 2000
"""With more rows, kernels on texts have a low rank, and Gaussian kernels on sets are not tried."""
PIXEL_STEPS = 3e8
"""Each pixel has a separate ridge regression if pixels · rows³ is at most this."""
TEXT_COMPONENTS, TOPICS = 1000, 40
"""The numbers of principal components of many texts, and of texts in forests."""


@dataclass(frozen=True)
class Family:
    """A group of similar kernels, of which the search keeps the best.

    Attributes
    ----------
    rows
        Lists of kernels in the order of one parameter. The best kernel of the first list is
        searched; then the kernels at the same position in the other lists are tried.
    """

    rows: list[list[Any]]

    @property
    def start(self) -> int:
        """The index in the first list of kernels at which the search starts."""
        return LIKELY if len(self.rows[0]) == len(LENGTH_SCALES) else 0

    @property
    def size(self) -> int:
        """The number of kernels in all lists."""
        return sum(map(len, self.rows))


def kernel_families(inputs: Inputs, X: Items) -> dict[str, Family]:
    """Return the families of kernels to try on the rows X, by name.

    X holds the rows as `inputs` reads them.
    """
    return {name: Family(rows) for name, rows in _kernels_by_family(inputs, X).items() if rows[0]}


def _kernels_by_family(inputs: Inputs, X: Items) -> dict[str, list[list[Kernel]]]:
    """Return the lists of kernels of each family, by its name; see `Family.rows`."""
    numbers = _number_kernels(inputs, inputs.scaled_numbers(X)) if inputs.width_ else {}
    if not inputs.non_numeric:
        return {family: [kernels] for family, kernels in numbers.items()}
    many = len(X) > LOW_RANK_ROWS
    texts = {
        name: reduce(
            add, [On(str(c), _column_kernel(inputs.kinds_[c], make)) for c in inputs.non_numeric]
        )
        for name, make in _text_kernel_makers(have_sentences(inputs, X), many).items()
    }
    if many or not numbers:  # of many rows, the blend adds them up
        alone = {f: [[On(inputs.block_, k) for k in kernels]] for f, kernels in numbers.items()}
        return {**{name: [[kernel]] for name, kernel in texts.items()}, **alone}
    return {
        f"{family} + {name}": [
            [On(inputs.block_, kernel) + weight * text for kernel in kernels]
            for weight in (0.5, 2.0)
        ]
        for (family, kernels) in numbers.items()
        for name, text in texts.items()
    }


def image_families(
    inputs: Inputs, shape: tuple[int, ...], n: int, pixels: int
) -> dict[str, Family]:
    """Return families of patch and neighbourhood kernels, if inputs and outputs are images.

    The result is empty unless inputs and outputs are images of the same size.

    Parameters
    ----------
    inputs : Inputs
        The fitted reader of the input columns.
    shape : tuple of int
        The shape of one output.
    n : int
        The number of rows.
    pixels : int
        The largest number of pixels for which kernels of neighbourhoods are tried.
    """
    alike = len(shape) == 2 and inputs.width_ == shape[0] * shape[1]
    if not alike or inputs.non_numeric or not inputs.varies_.all():
        return {}
    size = tuple(-(-side // 2) for side in shape)
    overlap = tuple(side // 2 for side in size)
    typical = sqrt(size[0] * size[1])
    patches: Any = [Patchwise(Matern(c * typical), shape, size, overlap) for c in (1.0, 4.0, 12.0)]  # type: ignore[arg-type]
    quick = inputs.width_ <= pixels and inputs.width_ * float(n) ** 3 <= PIXEL_STEPS
    local = {"neighbourhoods": Family([_neighbourhood_kernels(shape)])} if quick else {}
    return {"patches": Family([patches]), **local}


def _neighbourhood_kernels(shape: tuple[int, ...]) -> list[Local]:
    """Return kernels in which a pixel depends on nearby pixels, from narrow to wide."""
    grid = Fields(points=np.argwhere(np.ones(shape)).astype(float))
    widths = [sqrt(shape[0] * shape[1]) * part for part in (0.04, 0.1, 0.25)]
    return [Local(Matern(4.0 * sqrt(2.0 * pi) * w), width=w, fields=grid) for w in widths]


def forest_kernel(inputs: Inputs, X: Items) -> Kernel | None:
    """Return the kernel whose features are the inputs of forests; None if forests are not tried.

    The features are the numeric columns, and principal components of the text columns. There is
    no kernel without such columns, or with only texts and many rows: forests are slow and seldom
    accurate on them.
    """
    if not inputs.non_numeric:
        return Linear()
    if not inputs.width_ and len(X) > LOW_RANK_ROWS:
        return None
    texts = [name for name in inputs.non_numeric if inputs.kinds_[name] == "text"]
    pieces = ("words", 1, 1) if have_sentences(inputs, X) else ("letters", 2, 4)
    parts: list[Kernel] = [On(inputs.block_, Linear())] if inputs.width_ else []
    parts += [On(str(name), TfIdf(*pieces, TOPICS)) for name in texts]
    return reduce(add, parts) if parts else None


def have_sentences(inputs: Inputs, X: Items) -> bool:
    """Return whether some text column has cells of several words."""
    texts = [str(name) for name, kind in inputs.kinds_.items() if kind == "text"]
    few = list(X[:200]) if texts else []
    return any(are_sentences([row[name] for row in few]) for name in texts)


def _number_kernels(inputs: Inputs, Z: np.ndarray) -> dict[str, list[Kernel]]:
    """Return the kernels to try on numeric features Z, (rows, features), by name of the family.

    The length scales go up to 12√d for RBF and Matern, and to 12d for Laplacian, with d features.
    Curves with slopes have 2d features.
    """
    d = inputs.width_
    sets: dict[str, list[Kernel]] = {
        "Tanimoto": [Tanimoto()],
        "cosine": [Normalized(Linear())],
        "RBF, rare": [Standardized(RBF(sqrt(d)))],  # rare words weigh more
        "Laplacian, rare": _laplacian_on_binary(Z) if inputs.bags_ else [],
    }
    if inputs.bags_ and len(Z) > LOW_RANK_ROWS:  # distances say what overlaps do, and take longer
        return {**sets, "cosine": [Gaussian(Normalized(Linear()), c) for c in (0.7, 1.0)]}
    return {
        **(sets if inputs.bags_ else {}),
        **(_curve_kernels(inputs) if not inputs.holes_.any() and are_curves(Z) else {}),
        "RBF": [RBF(c * sqrt(d)) for c in LENGTH_SCALES],
        "Laplacian": [Laplacian(c * d) for c in LENGTH_SCALES],
        "Matern": [Matern(c * sqrt(d)) for c in LENGTH_SCALES],
        "linear": [Linear()],
        **({"linear, principal components": _component_kernels(Z)} if 2 * d >= len(Z) else {}),
    }


def _component_kernels(Z: np.ndarray) -> list[Kernel]:
    """Return linear kernels on the leading principal components of Z."""
    most = min(Z.shape) // 4
    return [Mapped(PCA(rank), Linear(), Vectors()) for rank in (2, 4, 8, 16) if rank <= most]


def _laplacian_on_binary(Z: np.ndarray) -> list[Kernel]:
    """Return Laplacian kernels on the 0/1 columns of Z, scaled by standard deviations.

    On such columns the Laplacian kernel equals an RBF kernel on rescaled columns, which is faster.
    """
    high, spread = Z.max(axis=0) - Z.min(axis=0), Z.std(axis=0)
    units = np.sqrt(high * spread)
    return [Standardized(RBF(sqrt(c * Z.shape[1] / 2.0)), units) for c in (0.4, 1.0)]


def _curve_kernels(inputs: Inputs) -> dict[str, list[Kernel]]:
    """Return kernels on curves, and on curves with their derivatives, by name of the family.

    `inputs` divides each column by its own unit; these kernels use one unit for the whole curve.
    """
    spread, d = inputs.spread_[inputs.varies_], inputs.width_
    units = np.ones(d)
    units[: len(spread)] = common_units(spread) / spread
    return {
        "linear, curves": [Standardized(Linear(), units)],
        "RBF, curves": [Standardized(RBF(c * sqrt(d)), units) for c in LENGTH_SCALES],
        "linear, slopes": [Standardized(Linear(), units, True)],
        "RBF, slopes": [Standardized(RBF(c * sqrt(2 * d)), units, True) for c in LENGTH_SCALES],
        "Laplacian, slopes": [
            Standardized(Laplacian(c * 2 * d), units, True) for c in LENGTH_SCALES
        ],
    }


def _text_kernel_makers(sentences: bool, many: bool) -> dict[str, Callable[[], Kernel]]:
    """Return functions without arguments that construct a kernel on texts, by family name.

    `sentences` says whether texts have several words, and `many` whether there are many rows.
    """
    words = {"words": lambda: TfIdf(rank=TEXT_COMPONENTS if many else None)} if sentences else {}
    if many:
        return {**words, "letters": lambda: TfIdf("letters", 3, 4, TEXT_COMPONENTS // 2)}
    return {**words, "letters": lambda: Normalized(Spectrum(4, blended=True))}


def _column_kernel(kind: str, make: Callable[[], Kernel]) -> Kernel:
    """Return the kernel for a column of the kind `kind`; `make` constructs it for texts."""
    if kind == "graph":
        return Normalized(WeisfeilerLehman())
    return {"labels": lambda: Labels(Tanimoto()), "smiles": Fingerprint}.get(kind, make)()
