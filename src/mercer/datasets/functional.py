"""Curves and fields."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ._files import load_arrays

DTI_HASH = "b012924b732e1aa2d368f78e20c19311340362bb3752852791d1e96ac7c2872b"
DTI_ORIGIN = (
    "the data set DTI of the R package refund (Johns Hopkins University and the Kennedy-Krieger "
    "Institute), as one npz"
)
WEATHER_HASH = "d4e165b8f1b1643f78d90f4ba8f037253ca23ee007f52b146051cee834881ca6"
WEATHER_ORIGIN = "the data set CanadianWeather of the R package fda, as one npz"


def load_dti(
    data_home: str | Path | None = None, *, complete: bool = True, sha256: str | None = DTI_HASH
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Load diffusion tensor images: anisotropy along two tracts of the brain, and subjects.

    Returns the corpus callosum (n, 93), the right corticospinal tract (n, 55) and the subjects
    (n,): 255 scans of 121 subjects without missing values; all 382 where not `complete`, with NaN
    where nothing was measured.

    Parameters
    ----------
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    complete : bool, default=True
        Whether to leave out scans with missing values; otherwise those are NaN.
    sha256 : str or None
        The expected SHA-256 hash of the file; None accepts any file of the right format.

    Examples
    --------
    >>> from mercer.datasets import load_dti
    >>> callosum, corticospinal, subjects = load_dti()  # doctest: +SKIP
    >>> callosum.shape  # doctest: +SKIP
    (255, 93)
    """
    z = load_arrays("functional/dti.npz", data_home, sha256=sha256, origin=DTI_ORIGIN)
    cca, rcst, subject = z["cca"], z["rcst"], z["ID"].astype(int)
    whole = ~(np.isnan(cca).any(axis=1) | np.isnan(rcst).any(axis=1))
    rows = whole if complete else np.ones_like(whole)
    return cca[rows], rcst[rows], subject[rows]


def load_canadian_weather(
    data_home: str | Path | None = None, *, sha256: str | None = WEATHER_HASH
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Load daily mean temperatures and log10 precipitation, (35, 365) each, and station names.

    Temperature is in degrees Celsius, precipitation in millimetres.

    Parameters
    ----------
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    sha256 : str or None
        The expected SHA-256 hash of the file; None accepts any file of the right format.

    Examples
    --------
    >>> from mercer.datasets import load_canadian_weather
    >>> temperature, precipitation, places = load_canadian_weather()  # doctest: +SKIP
    >>> temperature.shape  # doctest: +SKIP
    (35, 365)
    """
    name = "functional/canadian_weather.npz"
    z = load_arrays(name, data_home, sha256=sha256, origin=WEATHER_ORIGIN)
    return z["temp"], z["log10precip"], z["place"]


DARCY_HASH = "fcf3e5b79b9fc1ecb8cc29b5602bf75c5af0ff2f18b40210e100456e3f0f3d95"
BURGERS_HASH = "e04752179a1734ad20be19ec6f88055ab46b75dc8aeb85dff9d8bbaa7dbc0775"
BURGERS_ORIGIN = "a data set that ships with the neuraloperator library, as one npz"


def load_darcy(
    data_home: str | Path | None = None, *, fine: bool = False, sha256: str | None = DARCY_HASH
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Load Darcy's equation: coefficients X (0 or 1) and solutions y, for training and test.

    1,000 and 50 pairs on a grid of 16 × 16; with `fine` the test pairs on 32 × 32. Transposing is a
    symmetry; mirrors are not, since the grid leaves one border out.

    Parameters
    ----------
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    fine : bool, default=False
        Whether the test pairs are on a grid of 32 × 32 instead of 16 × 16.
    sha256 : str or None
        The expected SHA-256 hash of the file; None accepts any file of the right format.

    Examples
    --------
    >>> from mercer.datasets import load_darcy
    >>> X, y, X_test, y_test = load_darcy()  # doctest: +SKIP
    """
    z = load_arrays("pde/darcy.npz", data_home, sha256=sha256, origin=BURGERS_ORIGIN)
    test = "test32" if fine else "test"
    names = ("train_x", "train_y", f"{test}_x", f"{test}_y")
    X, y, X_test, y_test = (z[name].astype(float) for name in names)
    return X, y, X_test, y_test


def load_burgers(
    data_home: str | Path | None = None, *, sha256: str | None = BURGERS_HASH
) -> tuple[np.ndarray, np.ndarray]:
    """Load Burgers' equation: initial states (800, 16) and solutions (800, 17, 16) on a circle.

    The first of the 17 times is the initial state; the viscosity is 0.01.

    Parameters
    ----------
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    sha256 : str or None
        The expected SHA-256 hash of the file; None accepts any file of the right format.

    Examples
    --------
    >>> from mercer.datasets import load_burgers
    >>> X, y = load_burgers()  # doctest: +SKIP
    """
    z = load_arrays("pde/burgers.npz", data_home, sha256=sha256, origin=BURGERS_ORIGIN)
    return z["x"].astype(float), z["y"].astype(float)
