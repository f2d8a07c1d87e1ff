"""Model files that are safe to share: arrays, text and named parts, and no code.

A model file is a zip archive of ``model.json``, a tree of plain values and of mercer's own parts by
name, and one ``.npy`` member for each array. Loading makes parts without calling their code and
sets the attributes that the file has. It never unpickles, and imports only mercer's own modules and
those of the transformers and pipelines of scikit-learn that `scikit_learn` lists.

`parts` finds classes by name, `creation` creates objects of them, `writer` and `reader` translate
between models and trees, and `archive` reads and writes the zip archive within limits.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from sklearn.base import BaseEstimator

from .._base.checks import DamagedModel, Limits, must
from .._base.files import replacing
from .archive import FORMAT, TREE, Archive, RefusedModel, write_archive
from .parts import part_name, register
from .reader import Reader
from .writer import CannotSave, Writer

__all__ = ["FORMAT", "TREE", "DamagedModel", "Limits", "load", "register", "save"]

Module = Any
"""A `torch.nn.Module`; PyTorch is optional and is not imported here."""
UNLIMITED = Limits(
    nodes=2**62, depth=10_000, parts=2**62, size=2**62, steps=2**62, memory=float("inf")
)
"""Limits for a file that was written a moment ago."""
_WAY_OUT = (
    "Save or copy it again; if it is your own, load it with the mercer that saved it, or raise a "
    "limit: mercer.load(path, limits=mercer.Limits(...))."
)


def save(model: BaseEstimator, path: str | os.PathLike, *, variance: bool = False) -> Path:
    """Write a fitted model (or a kernel, an operator, any part) to a file.

    Parameters
    ----------
    model : estimator
        The model or part to save, or a pipeline of scikit-learn around a model. Functions, and
        objects of custom classes that were not registered (`mercer.register`), cannot be saved: an
        error names them. A PyTorch network is saved as its arrays, and `load` needs a module with
        the same layers.
    path : str or Path
        The file. An existing file is replaced only after the new file was read back. If the path
        is a link, the file that it points to is replaced.
    variance : bool, default=False
        Whether ``embed(X).variance()`` works on the loaded model. The file then contains the
        spectrum of the inputs: without low-rank features, the square of the number of training
        inputs in numbers.

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
    path = _as_path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a folder: make it first.")
    if part_name(type(model)) is None:
        raise TypeError(
            f"save takes a model or a part of one, got {type(model).__name__}: fit an estimator of "
            "mercer, or call mercer.register on a custom class first."
        )
    if variance:
        from ..estimators.ridge import with_posterior

        model = with_posterior(model)
    writer = Writer()
    try:
        root = writer.write(model, type(model).__name__)
    except (CannotSave, ValueError, MemoryError):
        raise
    except Exception as problem:
        raise ValueError(
            f"{type(model).__name__} cannot be saved, because something that fit has set was "
            f"changed or removed ({type(problem).__name__}: {problem!s:.200}). Fit it again."
        ) from problem
    with replacing(path) as draft:
        write_archive(draft, root, writer.arrays)
        _check_saved(draft, path, writer.networks)
    return path


def _check_saved(draft: Path, path: Path, networks: list[Any]) -> None:
    """Raise an error if the new file `draft`, written to replace `path`, cannot be loaded."""
    try:
        _read(draft, UNLIMITED, networks)
    except Exception as problem:
        raise ValueError(
            f"the file could not be loaded again ({problem!s:.300}), so {path} is unchanged. "
            "Change what the message names, or keep the model in this process."
        ) from problem


def load(
    path: str | os.PathLike,
    *,
    limits: Limits | None = None,
    network: Module | list[Module] | None = None,
) -> Any:
    """Read a model from a file that `save` wrote, without running code from the file.

    Parameters
    ----------
    path : str or Path
        The file. `DamagedModel` says what is wrong with one that cannot be read.
    limits : Limits, default=None
        Limits to the content of the file; None for `Limits()`. Raise a limit for a large
        model of your own that exceeds it.
    network : torch.nn.Module, default=None
        For a model with a PyTorch network: a module with the layers that it had (or a list of
        modules, in the order of the kernels). A copy gets the saved arrays.

    Examples
    --------
    >>> import os, tempfile
    >>> from mercer import KernelDependency, load, save
    >>> model = KernelDependency().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> path = save(model, os.path.join(tempfile.mkdtemp(), "model.mercer"))
    >>> bool((load(path).predict([[0.5]]) == model.predict([[0.5]])).all())
    True
    """
    path = _as_path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: give the path of a saved model.")
    networks = list(network) if isinstance(network, list | tuple) else [network]
    try:
        return _read(path, limits or Limits(), [] if network is None else networks)
    except RefusedModel as problem:
        raise DamagedModel(f"{path} {problem}") from None
    except DamagedModel as problem:
        raise DamagedModel(f"{path} is not a model, or is damaged: {problem}. {_WAY_OUT}") from None
    except Exception as problem:  # whatever a broken file makes zip, json or numpy say
        raise DamagedModel(
            f"{path} is not a mercer model, or is damaged ({type(problem).__name__}: "
            f"{problem!s:.200}). {_WAY_OUT}"
        ) from None


def _read(path: Path, limits: Limits, networks: list[Any]) -> Any:
    """Return the model in a file, and load saved weights into `networks`."""
    with ZipFile(path) as file:
        archive = Archive(file, limits)
        reader = Reader(archive.array, archive.limits, networks)
        root = reader.read(archive.root)
        reader.check_items()
    must(part_name(type(root)), f"it holds {type(root).__name__}, which is not a model")
    return root


def _as_path(path: Any) -> Path:
    """Return a path as a `Path`; raise an error if it is neither a string nor a path."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"path must be a string or a path, got {type(path).__name__}: for an open file pass "
            "its name."
        )
    return Path(path)
