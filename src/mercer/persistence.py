"""Models as files that are safe to share: arrays, text and named parts, nothing that runs.

A model file is a zip of ``model.json``, a tree of plain values and of mercer's own parts by name,
and one ``.npy`` member for each array. Loading makes parts without calling any code of theirs and
sets what the file says; it never unpickles, and imports nothing but the rooms of mercer.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import __version__
from ._checks import DamagedModel, Limits, is_whole, must
from ._files import replacing
from ._memory import available
from ._part_types import part_name, register
from ._parts import Reader, Writer

__all__ = ["DamagedModel", "Limits", "load", "register", "save"]

FORMAT = 2
"""The only format that is read and written; raised when the meaning of a file changes."""
TREE = "model.json"
SMALL, RATIO = 2**28, 50
"""Bytes that any file may unpack to, and those for each byte that it has on disk."""
PER_BYTE = 4
"""Values in a tree for each byte that it takes on disk, beyond those that any file may have."""
SIGNS = 4
"""Brackets and commas in a tree for each value."""


def save(model: Any, path: str | os.PathLike, *, variance: bool = False) -> Path:
    """Write a fitted model (or a kernel, an operator, any part) to a file.

    Parameters
    ----------
    model
        What to save. Functions cannot be saved, and are refused by name; neither can classes
        of one's own that were not registered (`mercer.register`).
    path
        The file; it is replaced only once the new one is whole. A link stays, and the file that
        it leads to is replaced.
    variance
        Whether ``embed(X).variance()`` is to work on the loaded model. That keeps the spectra of
        the inputs: without low-rank features as many numbers as the square of the training inputs.

    Examples
    --------
    >>> import tempfile
    >>> import mercer
    >>> model = mercer.KernelDependency().fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = mercer.save(model, f"{folder}/model.mercer")
    ...     again = mercer.load(file)
    >>> bool(again.predict([[0.5]]) == model.predict([[0.5]]))
    True
    """
    path = _named(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is no folder: make it first, or save elsewhere.")
    if part_name(type(model)) is None:
        raise TypeError(
            f"save takes a model or a part of one, got {type(model).__name__}: fit an estimator of "
            "mercer's, or call mercer.register on a class of your own first."
        )
    if variance:
        from .estimators.saved_posterior import keeping_variance

        model = keeping_variance(model)
    writer = Writer()
    root = writer.write(model, type(model).__name__)
    members = {f"arrays/{i}.npy": _npy(array) for i, array in enumerate(writer.arrays)}
    tree = {
        "format": FORMAT,
        "mercer": __version__,
        "root": root,
        "digests": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    members[TREE] = json.dumps(tree, allow_nan=False).encode()
    _write_whole(path, members)
    return path


def load(path: str | os.PathLike, *, limits: Limits | None = None) -> Any:
    """Read what `save` wrote; runs no code of the file, whoever made it.

    Parameters
    ----------
    path
        The file. `DamagedModel` says what is wrong with one that cannot be read.
    limits
        What the file may ask for; None for `Limits()`. Raise a limit for a large model of your
        own that is refused.

    Examples
    --------
    >>> import os, tempfile
    >>> from mercer import KernelDependency, load, save
    >>> model = KernelDependency().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> path = save(model, os.path.join(tempfile.mkdtemp(), "model.mercer"))
    >>> bool((load(path).predict([[0.5]]) == model.predict([[0.5]])).all())
    True
    """
    path = _named(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file: give the path of a model that was saved.")
    try:
        with zipfile.ZipFile(path) as file:
            return _loaded(file, limits or Limits())
    except _OtherFormat as problem:
        raise DamagedModel(f"{path} {problem}") from None
    except DamagedModel as problem:
        raise DamagedModel(f"{path} is no model, or is damaged: {problem}. {_WAY_OUT}") from None
    except Exception as problem:  # whatever a broken file makes zip, json or numpy say
        raise DamagedModel(
            f"{path} is no mercer model, or is damaged ({type(problem).__name__}: {problem!s:.200})"
            f". {_WAY_OUT}"
        ) from None


class _OtherFormat(DamagedModel):
    """A file in a format that this version does not read."""


_WAY_OUT = (
    "Save or copy it again; if it is your own, load it with the mercer that saved it, or raise a "
    "limit: mercer.load(path, limits=mercer.Limits(...))."
)


def _loaded(file: zipfile.ZipFile, limits: Limits) -> Any:
    _check_memory(file, limits)
    data, info = file.read(TREE), file.getinfo(TREE)
    limits = replace(limits, nodes=limits.nodes + PER_BYTE * info.compress_size)
    signs = sum(data.count(sign) for sign in (b"{", b"[", b","))
    must(signs <= SIGNS * limits.nodes, f"it holds more than {limits.nodes} values")
    tree = json.loads(data)
    must(isinstance(tree, dict), "its tree is no object")
    _check_format(tree)
    must(isinstance(tree["digests"], dict), "its digests are no object")
    reader = Reader(partial(_array, file, tree["digests"]), limits)
    root = reader.read(tree["root"])
    must(part_name(type(root)), f"it holds {type(root).__name__}, which is no model")
    reader.mark(str(file.filename))
    return root


def _check_memory(file: zipfile.ZipFile, limits: Limits) -> None:
    on_disk = Path(str(file.filename)).stat().st_size
    usual = min(available() / 2, SMALL + RATIO * on_disk)
    most = usual if limits.memory is None else limits.memory
    packed = {info.compress_type for info in file.infolist()}
    must(packed <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}, "it is packed in another way")
    total = sum(info.file_size for info in file.infolist())
    must(total <= most, f"it claims {total:.3g} bytes, more than the {most:.3g} that it may have")


def _named(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"a model is saved to and loaded from a path, got {type(path).__name__}: of an open "
            "file give the name."
        )
    return Path(path)


def _array(file: zipfile.ZipFile, digests: dict[str, str], i: int) -> np.ndarray:
    """An array of a file, checked against its digest."""
    name = f"arrays/{int(i)}.npy"
    data = file.read(name)
    digest = hashlib.sha256(data).hexdigest()
    must(digest == digests[name], f"the array {name} is not the one that was saved")
    return _unpacked(data, name)


def _unpacked(data: bytes, name: str) -> np.ndarray:
    """The array of a member whose header claims as many bytes as there are."""
    buffer = io.BytesIO(data)
    major, minor = np.lib.format.read_magic(buffer)
    header = getattr(np.lib.format, f"read_array_header_{major}_{minor}")
    shape, _, dtype = header(buffer)
    must(not dtype.hasobject, f"the array {name} is a pickle, which is never read")
    must(dtype.kind in "biufcSUmM" and dtype.isnative, f"the array {name} has dtype {dtype}")
    must(
        all(size >= 0 for size in shape)
        and math.prod(shape) * dtype.itemsize == len(data) - buffer.tell(),
        f"the array {name} is not as large as it claims",
    )
    buffer.seek(0)
    return np.load(buffer, allow_pickle=False)


def _check_format(tree: dict) -> None:
    number = tree["format"]
    if not is_whole(number) or number != FORMAT:
        newer = is_whole(number) and number > FORMAT
        way_out = "upgrade mercer" if newer else "fit the model again and save it"
        raise _OtherFormat(f"has the model format {number!s:.20}, expected {FORMAT}: {way_out}.")


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _write_whole(path: Path, members: dict[str, bytes]) -> None:
    with replacing(path) as draft, zipfile.ZipFile(draft, "w") as file:
        for name, data in members.items():
            member = zipfile.ZipInfo(name)  # without a date: equal models are equal files
            file.writestr(member, data, zipfile.ZIP_DEFLATED, compresslevel=1)
