"""Images: digits, and faces in several views."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ._files import WrongData, load_arrays

CMU_HASH = "67eb4f46e3bce6cb9e32f5de0333e904bfcef9b7e03441c7689da38085846cea"
CMU_ORIGIN = "the CMU Face Images of the UCI KDD archive (Tom Mitchell, 1999), as one npz"
CMU_ATTRIBUTION = (
    "CMU Face Images, Tom Mitchell, Carnegie Mellon University; UCI KDD archive, 1999."
)


@dataclass(frozen=True)
class Faces:
    """A data set of face images, each with its subject and its view.

    Attributes
    ----------
    images
        Grey values, (n, height, width), from 0 to 1 where the source says how they are scaled.
    subject, view, setting
        Who it is, from where, and in which expression or dress, one label an image.
    frontal
        The view that is predicted.
    attribution
        Whose data it is.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import Faces
    >>> people, views = np.array(["ann", "ann", "bob", "bob"]), np.array(["front", "left"] * 2)
    >>> faces = Faces(np.zeros((4, 8, 8)), people, views, np.array(["day"] * 4), "front")
    >>> faces.images.shape
    (4, 8, 8)
    """

    images: np.ndarray
    subject: np.ndarray
    view: np.ndarray
    setting: np.ndarray
    frontal: str
    attribution: str = ""

    @property
    def turned(self) -> list[str]:
        """The names of the views other than the frontal one."""
        return [view for view in dict.fromkeys(self.view.tolist()) if view != self.frontal]

    @property
    def nearest(self) -> str:
        """The name of the turned view that is nearest to the frontal one."""
        try:
            front = float(self.frontal)
            return min(self.turned, key=lambda v: (abs(float(v) - front), float(v) < front))
        except ValueError:
            return self.turned[0]

    def pairs(
        self, views: list[str] | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return arrays of turned images, frontal images of the same people, subjects and views.

        Parameters
        ----------
        views : sequence of str, default=None
            The views to take; None for all but the frontal one.
        """
        keys = list(zip(self.subject.tolist(), self.setting.tolist(), strict=True))
        front = {keys[i]: i for i in np.flatnonzero(self.view == self.frontal)}
        wanted = np.isin(self.view, self.turned if views is None else views)
        rows = np.array([i for i in np.flatnonzero(wanted) if keys[i] in front], dtype=np.intp)
        if len(rows) == 0:
            raise WrongData("no turned face has a frontal one of the same subject and setting.")
        targets = [front[keys[i]] for i in rows]
        return self.images[rows], self.images[targets], self.subject[rows], self.view[rows]

    def shrunk(self, side: int) -> Faces:
        """Return a copy with images of at most `side` × `side` pixels, each the mean of a block.

        Parameters
        ----------
        side : int
            The largest height and width of an image.
        """
        height, width = self.images.shape[1:]
        block = -(-max(height, width) // side)
        if block <= 1:
            return self
        h, w = height // block, width // block
        cut = self.images[:, : h * block, : w * block]
        small = cut.reshape(-1, h, block, w, block).mean(axis=(2, 4))
        return replace(self, images=small)


def load_cmu_faces(
    data_home: str | Path | None = None, *, size: str = "quarter", sha256: str | None = CMU_HASH
) -> Faces:
    """Load the CMU faces: 20 people looking forward, left, right and up, 624 images.

    Each person has four expressions, with and without sunglasses; 16 images are missing. Heads
    are neither aligned nor cropped.

    Parameters
    ----------
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    size : str, default="quarter"
        "quarter" for 30 × 32 pixels, "half" for 60 × 64.
    sha256 : str or None
        The expected SHA-256 hash of the file; None accepts any file of the right format.

    Examples
    --------
    >>> from mercer.datasets import load_cmu_faces
    >>> faces = load_cmu_faces()  # doctest: +SKIP
    >>> faces.images.shape  # doctest: +SKIP
    (624, 30, 32)
    """
    if size not in ("quarter", "half"):
        raise ValueError(f'size must be "quarter" or "half", got {size!r}.')
    z = load_arrays("cmu_faces/cmu_faces.npz", data_home, sha256=sha256, origin=CMU_ORIGIN)
    setting = np.char.add(np.char.add(z["expression"], ", "), z["eyes"])
    images = z[size].astype(np.float64)
    return Faces(images, z["subject"], z["pose"], setting, "forward", CMU_ATTRIBUTION)


USPS_HASH = "aa755d0746d7097ac84daee5cf00c73d32b61e11571586eb6204a5ee6f62894a"
USPS_CONTENT = "8277fd495a0ad1ac59247069e268f15505cf15b78e64018b6ddd96ca8261c4c3"
USPS_ARRAYS = ("X_train", "y_train", "X_test", "y_test")
USPS_ORIGIN = "zip.train and zip.test of The Elements of Statistical Learning (`mercer fetch usps`)"


def load_digit_halves() -> tuple[np.ndarray, np.ndarray]:
    """Load upper and lower halves of scikit-learn's 8×8 digits, (1797, 4, 8) each, in [0, 1].

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
    """Load USPS digits, 16 × 16 pixels in [-1, 1]: images and labels for training and for test.

    Parameters
    ----------
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    sha256 : str or None
        The expected SHA-256 hash of the file; None accepts any file of the right format.

    Examples
    --------
    >>> from mercer.datasets import load_usps
    >>> images, digits, test_images, test_digits = load_usps()  # doctest: +SKIP
    >>> images.shape  # doctest: +SKIP
    (7291, 16, 16)
    """
    z = load_arrays(
        "usps/usps.npz", data_home, sha256=sha256, origin=USPS_ORIGIN,
        content=(USPS_CONTENT, USPS_ARRAYS),
    )  # fmt: skip
    train, test = (z[f"X_{part}"].reshape(-1, 16, 16) for part in ("train", "test"))
    return train, z["y_train"], test, z["y_test"]
