from __future__ import annotations

from pathlib import Path

import numpy as np

from ._files import arrays

USPS_HASH = "aa755d0746d7097ac84daee5cf00c73d32b61e11571586eb6204a5ee6f62894a"
USPS_CONTENT = "8277fd495a0ad1ac59247069e268f15505cf15b78e64018b6ddd96ca8261c4c3"
USPS_ARRAYS = ("X_train", "y_train", "X_test", "y_test")
USPS_ORIGIN = "zip.train and zip.test of The Elements of Statistical Learning (`mercer fetch usps`)"


def load_digit_halves() -> tuple[np.ndarray, np.ndarray]:
    """Upper and lower halves of scikit-learn's bundled 8×8 digits, (1797, 4, 8) each, in [0, 1].

    Examples
    --------
    >>> from mercer.datasets import load_digit_halves
    >>> upper, lower = load_digit_halves()
    >>> upper.shape, lower.shape
    ((1797, 4, 8), (1797, 4, 8))
    """
    from sklearn.datasets import load_digits

    images = load_digits().images / 16.0
    return images[:, :4], images[:, 4:]


def load_usps(
    data_home: str | Path | None = None, *, sha256: str | None = USPS_HASH
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """USPS digits: training images (7291, 16, 16) in [-1, 1] and labels, then the test ones.

    Examples
    --------
    >>> from mercer.datasets import load_usps
    >>> images, digits, test_images, test_digits = load_usps()  # doctest: +SKIP
    >>> images.shape  # doctest: +SKIP
    (7291, 16, 16)
    """
    z = arrays(
        "usps/usps.npz", data_home, sha256=sha256, origin=USPS_ORIGIN,
        content=(USPS_CONTENT, USPS_ARRAYS),
    )  # fmt: skip
    train, test = (z[f"X_{part}"].reshape(-1, 16, 16) for part in ("train", "test"))
    return train, z["y_train"], test, z["y_test"]
