"""Your own faces: array files of subjects by views, and folders of images."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from mercer._base.errors import require
from mercer._base.files import ARCHIVE_ERRORS
from mercer.datasets import DataNotFound, Faces, WrongData

IMAGES = {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff"}


def load_faces(path: str | Path, frontal: str | int | None = None) -> Faces:
    """Load faces from an array file of subjects by views, or from a folder of images.

    Parameters
    ----------
    path
        A .npy or .npz file with one array (subject, view, height, width), the .npz with the names
        or angles of the views as `views` next to it where they are known; or a folder with an
        image a file, as `load_mpi_faces` reads it.
    frontal
        The frontal view, by its name or, in a file without names, its number; None for the one
        named 0, frontal or forward, else the one whose mean image is most like its mirror image.

    Examples
    --------
    >>> from experiments.face_files import load_faces
    >>> faces = load_faces("faces/")  # doctest: +SKIP
    >>> faces.images.shape  # doctest: +SKIP
    (60, 32, 32)
    """
    path = Path(path)
    if path.is_dir():
        return load_mpi_faces(path, frontal="0" if frontal is None else str(frontal))
    if not path.is_file():
        raise DataNotFound(f"{path} is missing: give an array file, or a folder of face images.")
    values, names = _read_array_file(path)
    subjects, views = values.shape[:2]
    images = _to_grey(values).reshape(-1, *values.shape[2:])
    subject = np.repeat([f"{i + 1:03d}" for i in range(subjects)], views)
    view = np.tile(names, subjects)
    blank = np.full(len(images), "")
    chosen = _find_frontal_view(images.reshape(subjects, views, *images.shape[1:]), names, frontal)
    return Faces(images, subject, view, blank, chosen, f"faces read from {path.name}.")


def load_mpi_faces(folder: str | Path, frontal: str = "0") -> Faces:
    """Load a folder of face images, such as the MPI face database of 200 heads in 7 views.

    The database (Troje and Bülthoff 1996) is not public any more, so its file names could not be
    looked at: what is assumed is that a name holds two numbers, of the head and of the angle, the
    angle with its side as a sign or as one of the letters l, r (left, right), m, p (minus, plus)
    next to it: 017_30r.tif, 017-m30.png, head017_view-30.pgm, 017_0.tif. Colour is averaged, and
    folders in the folder are read as well.

    Examples
    --------
    >>> from experiments.face_files import load_mpi_faces
    >>> faces = load_mpi_faces("mpi/")  # doctest: +SKIP
    >>> faces.images.shape  # doctest: +SKIP
    (1400, 64, 64)
    """
    folder = Path(folder)
    paths = [p for p in sorted(folder.rglob("*")) if p.suffix.lower() in IMAGES]
    if not paths:
        raise DataNotFound(f"{folder} holds no face images: put one image a view there.")
    require("PIL", "plots")
    from PIL import Image

    labels = [_parse_head_and_angle(path) for path in paths]
    first: dict[tuple[str, str], Path] = {}
    for path, label in zip(paths, labels, strict=True):
        other = first.setdefault(label, path)
        if other is not path:
            raise WrongData(f"{other.name} and {path.name} are the same head in the same view.")
    pictures = []
    for path in paths:
        with Image.open(path) as image:
            pictures.append(np.asarray(image.convert("L"), dtype=np.uint8))
    shapes = {picture.shape for picture in pictures}
    if len(shapes) > 1:
        raise WrongData(f"the images in {folder} differ in size: {sorted(shapes)[:3]}.")
    subject, view = (np.array(column) for column in zip(*labels, strict=True))
    if frontal not in view:
        raise WrongData(f"no image in {folder} has the frontal view {frontal}.")
    source = "MPI face database, Max Planck Institute for Biological Cybernetics, Tübingen."
    images = np.stack(pictures) / 255.0
    return Faces(images, subject, view, np.full(len(images), ""), frontal, source)


NAME = re.compile(r"(\d+).*?([lrmp+-]?)(\d+)([lrmp]?)$", re.IGNORECASE)
LEFT = {"l", "m", "-"}


def _parse_head_and_angle(path: Path) -> tuple[str, str]:
    """Return the number of the head and the angle in degrees that a file name holds."""
    match = NAME.search(path.stem)
    if not match:
        raise WrongData(
            f"{path.name} does not name a head and a view: use names such as 017_30r.tif."
        )
    head, before, angle, after = match.groups()
    # A lone hyphen may well part the numbers; a sign it is only where something else parts them.
    parts = before == "-" and match.start(2) == match.end(1)
    left = (after.lower() in LEFT) or (before.lower() in LEFT and not parts)
    degrees = -int(angle) if left else int(angle)
    return head.zfill(3), str(degrees)


def _read_array_file(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the array of an .npy or .npz file, and the names of its views."""
    try:
        with path.open("rb") as file:  # numpy would leave a damaged one open
            loaded = np.load(file, allow_pickle=False)
            named: dict[str, np.ndarray] = (
                dict(loaded) if hasattr(loaded, "files") else {"": loaded}
            )
    except ARCHIVE_ERRORS as error:
        raise WrongData(f"{path} is not an array file: save it with numpy.save.") from error
    four = [values for values in named.values() if values.ndim == 4]
    if len(four) != 1 or four[0].shape[1] < 2 or four[0].dtype.kind not in "uif":
        shapes = ", ".join(str(values.shape) for values in named.values())
        raise WrongData(
            f"{path} must hold one array of numbers (subject, view, height, width) with at least "
            f"two views, got {shapes}."
        )
    if not np.isfinite(four[0]).all():
        raise WrongData(f"{path} contains NaN or infinity.")
    if not four[0].size or four[0].min() == four[0].max():
        raise WrongData(f"{path} shows nothing: of {four[0].shape} pixels no two differ.")
    views = four[0].shape[1]
    names = named.get("views", np.arange(views))
    if len(names) != views or len({*map(str, names)}) != views:
        raise WrongData(f"views of {path} must be {views} different names, got {len(names)}.")
    return four[0], np.array([str(name) for name in names])


def _to_grey(values: np.ndarray) -> np.ndarray:
    """Return grey values from 0 to 1; integers and values up to 255 are divided by 255."""
    bits = values.dtype.kind in "ui" or (values.min() >= 0 and 2 < values.max() <= 255)
    return values / 255.0 if bits else values.astype(np.float64)


def _find_frontal_view(images: np.ndarray, names: np.ndarray, given: str | int | None) -> str:
    """Return the name of the frontal view: as given, by its name, or the most symmetric one."""
    if given is not None:
        if str(given) not in names:
            raise WrongData(f"frontal={given!r} is none of the views {', '.join(names)}.")
        return str(given)
    numbered = names.tolist() == [str(i) for i in range(len(names))]
    known = [] if numbered else [n for n in names if n.lower() in ("0", "frontal", "forward")]
    if known:
        return str(known[0])
    means = images.mean(axis=0)
    unlike = ((means - means[:, :, ::-1]) ** 2).mean(axis=(1, 2))  # from the mirror images
    variances = means.var(axis=(1, 2))
    return str(names[int(np.argmin(unlike / np.maximum(variances, 1e-300)))])
