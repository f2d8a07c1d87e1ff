"""Blocks of rows: of arrays, NumPy archives and Parquet tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np

from .._base.arrays import Items, blocks, count, object_array, require_equal_lengths, sliced
from .._base.errors import require
from .._base.files import ARCHIVE_ERRORS

ROWS_PER_BLOCK = 8192
"""The number of rows of a block."""


@dataclass(frozen=True)
class RowBlocks:
    """Blocks of rows of an input and an output array, which may be memory-mapped files."""

    X: Items
    y: Items
    block: int = ROWS_PER_BLOCK

    def __post_init__(self) -> None:
        require_equal_lengths(count(self.X), count(self.y))

    def __iter__(self) -> Iterator[tuple[Items, Items]]:
        for rows in blocks(count(self.y), self.block):
            yield sliced(self.X, rows), sliced(self.y, rows)


class Shards:
    """Blocks of pairs in many files, which are read one after the other in order of name.

    Parameters
    ----------
    paths : str, Path or sequence of these
        A path, a pattern such as ``"data/part-*.npz"``, or a list of paths. ``.npz`` files hold
        arrays; ``.parquet`` files hold a table (``pip install "mercer[parquet]"``).
    inputs, outputs : str or sequence of str, default="X", "y"
        The names of the two arrays of an archive; for a table the column of each, or a list of
        columns, which become the components of vectors. A column of lists becomes vectors too; a
        column of text stays text.
    block : int, default=8192
        The largest number of rows of a block.
    weights : str, default=None
        The array or column of sample weights.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from mercer.sources import Shards
    >>> folder = tempfile.TemporaryDirectory()
    >>> for i in range(2):
    ...     np.savez(f"{folder.name}/part-{i}.npz", X=np.ones((3, 2)), y=np.ones(3))
    >>> [X.shape for X, y in Shards(f"{folder.name}/part-*.npz")]
    [(3, 2), (3, 2)]
    >>> folder.cleanup()
    """

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path],
        inputs: str | Sequence[str] = "X",
        outputs: str | Sequence[str] = "y",
        block: int = ROWS_PER_BLOCK,
        weights: str | None = None,
    ):
        self.paths = _matching_files(paths)
        self.inputs = inputs
        self.outputs = outputs
        self.weights = weights
        self.block = block

    def __iter__(self) -> Iterator[tuple[Items, ...]]:
        names = [self.inputs, self.outputs, *([] if self.weights is None else [self.weights])]
        for path in self.paths:
            yield from READERS[path.suffix](path, names, self.block)


def _matching_files(paths: str | Path | Sequence[str | Path]) -> list[Path]:
    """Return the files that match paths or patterns, sorted by name."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    found = [
        Path(name)
        for path in given
        for name in (sorted(glob(str(path))) if has_magic(str(path)) else [str(path)])
    ]
    folder = next((path for path in found if path.is_dir()), None)
    if folder:
        raise IsADirectoryError(f"{folder} is a folder: name its files, as in {folder / '*.npz'}.")
    missing = [str(path) for path in found if not path.is_file()]
    if missing or not found:
        raise FileNotFoundError(f"no such file of pairs: {missing[0] if missing else paths}.")
    odd = [str(path) for path in found if path.suffix not in READERS]
    if odd:
        raise ValueError(f"{odd[0]} is of no kind that is read: {sorted(READERS)} are.")
    return found


def _archive_blocks(path: Path, names: list[Any], block: int) -> Iterator[tuple[Items, ...]]:
    """Yield blocks of `block` rows from a NumPy archive; `names` are the arrays to read."""
    if not is_zipfile(path):
        raise ValueError(f"{path} is damaged or no NPZ archive: write it with numpy.savez.")
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            known = file.files
            found = {name: file[name] for name in names if name in known}
    except ARCHIVE_ERRORS as error:
        raise ValueError(f"{path} is damaged or holds more than arrays ({error}).") from error
    missing = [name for name in names if not isinstance(found.get(name), np.ndarray)]
    if missing:
        raise ValueError(
            f"{path} has no array {missing[0]!r}: pass inputs= and outputs=, of {known}."
        )
    single = [name for name in names if not found[name].ndim]
    if single:
        raise ValueError(
            f"{path}: {single[0]!r} must have one entry for each pair, got one number."
        )
    parts = [found[name] for name in names]
    X, y = parts[:2]
    if len({len(A) for A in parts}) > 1:
        raise ValueError(f"{path} has {len(X)} inputs and {len(y)} outputs, or other weights.")
    for rows in blocks(len(X), block):
        yield tuple(A[rows] for A in parts)


def _parquet_blocks(path: Path, names: list[Any], block: int) -> Iterator[tuple[Items, ...]]:
    """Yield blocks of `block` rows from a Parquet file; `names` are the columns to read."""
    require("pyarrow", "parquet")
    from pyarrow.parquet import ParquetFile

    columns = [column for name in names for column in _as_list(name)]
    with _naming_file(path), ParquetFile(path) as file:
        known = file.schema_arrow.names
    missing = [name for name in columns if name not in known]
    if missing:
        raise ValueError(
            f"{path} has no column {missing[0]!r}: pass inputs= and outputs=, of {known}."
        )
    with _naming_file(path), ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=block, columns=list(dict.fromkeys(columns))):
            yield tuple(_column_values(batch, name) for name in names)


@contextmanager
def _naming_file(path: Path) -> Iterator[None]:
    """Add the path of the file to the message of errors that are raised in this context."""
    try:
        yield
    except (OSError, ValueError) as error:
        first = str(error).strip().partition("\n")[0]
        raise ValueError(f"{path} is damaged or not a Parquet file ({first:.200}).") from error


def _as_list(names: str | Sequence[str]) -> list[str]:
    """Return names as a list; a single name becomes a list of one name."""
    return [names] if isinstance(names, str) else list(names)


def _column_values(batch: Any, names: str | Sequence[str]) -> np.ndarray:
    """Return one named column as an array, or several columns as a matrix."""
    if not isinstance(names, str):
        return np.column_stack([_array_of(batch.column(name)) for name in names])
    return _array_of(batch.column(names))


def _array_of(column: Any) -> np.ndarray:
    """Return the values of an Arrow column as a NumPy array."""
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype == object and len(values) and isinstance(values[0], np.ndarray):
        lengths = {len(value) for value in values}
        return np.stack(values) if len(lengths) == 1 else object_array(list(values))
    return values


READERS = {".npz": _archive_blocks, ".parquet": _parquet_blocks}
"""The function that reads blocks from a file, by the suffix of its name."""
