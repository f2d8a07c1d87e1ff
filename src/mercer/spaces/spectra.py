from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Items, as_items
from .base import Space, resolve


class Spectra(Space):
    """Mass spectra: tuples that begin with mz, intensity, precursor.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.spaces import Spectra
    >>> peaks = (np.array([50.0, 77.1]), np.array([0.2, 1.0]), 105.1)
    >>> len(Spectra().check([peaks]))
    1
    """

    name = "spectra"

    def check(self, A: Items, name: str = "y") -> np.ndarray:
        """Spectra in an object array."""
        items = as_items(A, name)
        for i, item in enumerate(items):
            peaks(item, f"{name}[{i}]")
        return items

    def kernel(self) -> Any:
        """Peaks in common, by cosine."""
        return resolve("kernels.Normalized")(resolve("kernels.MassSpectrum")())


def peaks(item: Any, name: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Masses, intensities and precursor of a spectrum, as given."""
    if hasattr(item, "mz"):
        return item.mz, item.intensity, item.precursor
    try:
        mz, intensity = (np.asarray(part, dtype=np.float64) for part in item[:2])
        precursor = float(item[2])
    except (TypeError, ValueError, IndexError, KeyError):
        raise ValueError(
            f"{name} must be a spectrum (mz, intensity, precursor), got {item!r:.80}."
        ) from None
    if mz.ndim != 1 or mz.shape != intensity.shape:
        raise ValueError(
            f"{name} needs one intensity for each peak, got {mz.shape} and {intensity.shape}."
        )
    numbers = np.concatenate([mz, intensity, [precursor]])
    if not np.isfinite(numbers).all() or (intensity <= 0).any():
        raise ValueError(f"{name} needs finite masses and positive intensities: drop the others.")
    return mz, intensity, precursor
