"""NPZ and Parquet files."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from typing import Any

import numpy as np

from .._extras import require
from ..cells.table import BadTable, Table, check_names
from .content import check_unpacked


def npz(data: bytes, name: str) -> Table:
    """The table whose columns are arrays of one length."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as members:
            size = sum(member.file_size for member in members.infolist())
        check_unpacked(name, size, len(data), "write it with numpy.savez, not savez_compressed")
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except BadTable:
        raise
    except Exception as problem:  # zip, zlib and numpy each have their own
        raise BadTable(
            f"{name} is no NPZ file of plain arrays ({type(problem).__name__}): write it with "
            "numpy.savez, without objects."
        ) from None
    columns = {key: array for key, array in arrays.items() if getattr(array, "ndim", 0)}
    lengths = Counter(len(array) for array in columns.values())
    if not lengths:
        raise BadTable(f"{name} holds no arrays.")
    if len(lengths) > 1:
        shapes = ", ".join(f"{key} {array.shape}" for key, array in columns.items())
        raise BadTable(f"{name}: the arrays have unequal lengths ({shapes}): one row an example.")
    for key, array in columns.items():
        if array.dtype.kind not in "biufUM":
            raise BadTable(
                f"{name}: the array {key!r} holds {array.dtype}, where numbers or text are wanted."
            )
        if array.dtype.kind == "U" and not _is_text(array):
            raise BadTable(f"{name}: the array {key!r} holds numbers that are no characters.")
    (n,) = lengths
    return Table(name, columns, range(1, n + 1), read_as="NPZ")


def _is_text(array: np.ndarray) -> bool:
    """Whether all characters exist: Python raises where one is first looked at."""
    if not array.size or not array.dtype.itemsize:
        return True
    order = array.dtype.newbyteorder("=")
    codes = np.ascontiguousarray(array.astype(order)).view(np.uint32)
    return bool(((codes < 0xD800) | ((codes > 0xDFFF) & (codes < 0x110000))).all())


def parquet(data: bytes, name: str) -> Table:
    """The table in a Parquet file."""
    require("pyarrow", "parquet")
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(io.BytesIO(data))
        check_unpacked(name, _size(file.metadata), len(data), "write it as CSV")
        table = file.read()
        check_names(table.column_names, name)
        columns: dict[str, Any] = {n: table.column(n).to_pylist() for n in table.column_names}
    except BadTable:
        raise
    except (ArrowException, OSError, ValueError, TypeError, OverflowError) as problem:
        raise BadTable(f"{name} is no Parquet file: {str(problem)[:80]}") from None
    return Table(name, columns, range(1, table.num_rows + 1), read_as="Parquet")


def _size(metadata: Any) -> int:
    """The bytes of all values at eight bytes each, and of the pages that hold them."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    values = sum(g.column(j).num_values for g in groups for j in range(g.num_columns))
    return 8 * values + sum(group.total_byte_size for group in groups)
