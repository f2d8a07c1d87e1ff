"""Arrays of any kind: which library they belong to, and what counts as good data.

Arrays of torch, CuPy and other array-API libraries are never passed to scikit-learn's validator,
which would silently copy them to the host as numpy.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import array_api_compat
import numpy as np
from scipy import sparse

Array = Any
"""A numpy, torch, CuPy or other array-API array."""

Items = Any
"""A batch of things to learn from: an array, or a sequence of arbitrary objects."""

NUMPY = array_api_compat.array_namespace(np.empty(0))


def is_foreign(A: Items) -> bool:
    """Return whether `A` is an array-API array of a library other than numpy."""
    return array_api_compat.is_array_api_obj(A) and not isinstance(A, np.ndarray | np.generic)


def namespace(*arrays: Items) -> Any:
    """Return the array-API namespace of the arguments that are arrays; numpy if there are none."""
    for A in arrays:
        if is_foreign(A):
            return array_api_compat.array_namespace(*filter(is_foreign, arrays))
    return NUMPY


def count(A: Items) -> int:
    """Return the number of items of a batch."""
    shape = getattr(A, "shape", None)
    if isinstance(A, Mapping):  # a dictionary of columns
        return count(next(iter(A.values()), ()))
    return int(shape[0]) if shape else len(A)


def refuse_masked(A: Items, name: str) -> None:
    """Raise an error for masked entries, whose hidden values numpy would use silently."""
    parts = A if isinstance(A, list | tuple) else [A]
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise ValueError(
            f"{name} has masked entries, which would count as the numbers under the mask. Fill "
            "them by A.filled(value), impute them, or leave those rows out."
        )


def is_batch(A: Any) -> bool:
    """Return whether a value is a batch of items, such as an array or a list, and not one text."""
    if isinstance(A, str | bytes):
        return False
    shape = getattr(A, "shape", None)
    if shape is not None:
        return len(shape) > 0
    return hasattr(A, "__len__") or np.asarray(A).ndim > 0


def refuse_scalar(A: Items, name: str) -> None:
    """Raise an error for a single number where a batch of items is needed."""
    if not is_batch(A):
        raise ValueError(f"{name} must be a batch of items (a list or an array), got {A!r:.60}.")


def as_items(A: Items, name: str = "X") -> Items:
    """Return a batch as an array after checks; objects become a one-dimensional object array."""
    refuse_masked(A, name)
    if is_foreign(A) or isinstance(A, np.ndarray):
        items = single_column(A)
    elif isinstance(A, str | bytes | dict | set | frozenset) or not hasattr(A, "__len__"):
        raise TypeError(f"{name} must be a batch of items (a list or an array), got {A!r:.60}.")
    elif has_columns(A):
        items = object_array(_only_column(A, name))
    else:
        items = object_array(cells_of(A))
    refuse_empty(count(items), name)
    numeric = isinstance(items, np.ndarray) and items.dtype.kind == "f"
    if numeric and not np.isfinite(items).all():
        raise ValueError(f"Input {name} contains NaN or infinity. Remove or impute those rows.")
    return items


def exact_array(values: list) -> np.ndarray:
    """Return values of one type as an array of this type, or of objects if that changed a value.

    Integers beyond 64 bits become floats in numpy, and strings lose zeros at their end.
    """
    array = np.array(values)
    same = array.dtype.kind != "f" or isinstance(values[0], float)
    return array if same and array.tolist() == values else object_array(values)


def refuse_empty(number: int, name: str) -> None:
    """Raise an error if the number of items of a batch is zero."""
    if number == 0:
        raise ValueError(f"{name} is empty: found 0 sample(s), at least 1 is needed.")


def require_equal_lengths(inputs: int, outputs: int) -> None:
    """Raise an error if the numbers of inputs and outputs differ."""
    if inputs != outputs:
        raise ValueError(
            f"X and y must have the same length, one output for each input: got {inputs} inputs "
            f"and {outputs} outputs."
        )


def _only_column(table: Any, name: str) -> list[Any]:
    """Return the cells of the only column of a table; raise an error if there are several."""
    names = table_columns(table)
    if len(names) != 1:
        raise ValueError(
            f"{name} is a table of {len(names)} columns, but its kernel compares single "
            f"items: pass the column that holds them, such as table[{names[0]!r}]."
        )
    return cells_of(table[names[0]])


def cells_of(column: Any) -> list[Any]:
    """Return the cells of a column of any library as a list."""
    return column.to_pylist() if hasattr(type(column), "to_pylist") else list(column)


def single_column(A: Array) -> Array:
    """Return a matrix of one column of texts or objects as a vector; other arrays unchanged."""
    column = isinstance(A, np.ndarray) and A.ndim == 2 and A.shape[1] == 1
    return A[:, 0] if column and A.dtype.kind in "OSTU" else A


def object_array(items: Sequence[Any]) -> np.ndarray:
    """Return a 1-D object array, filled item by item because numpy would unpack graphs."""
    return np.fromiter(items, dtype=object, count=len(items))


def copy_data(value: Any) -> Any:
    """Return a value with its mutable containers copied, so that other code cannot change them.

    Arrays, tables, lists, tuples, dictionaries, sets and graphs are copied with what is in them.
    Returned unchanged are arrays that nobody can write to, arrays on disk, and objects of other
    classes, which only their authors know how to copy.
    """
    kind = type(value)
    if kind in IMMUTABLE:
        return value  # the items of most lists, returned fast
    if kind is list:
        return [copy_data(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype != object:
        owners = [A for A in (value, value.base) if isinstance(A, np.ndarray)]
        shared = any(A.flags.writeable for A in owners) and not isinstance(value, np.memmap)
        return value.copy() if shared else value
    if is_foreign(value):
        return namespace(value).asarray(value, copy=True)
    if isinstance(value, list | dict | tuple | np.ndarray):
        return _copied_collection(value)
    if isinstance(value, set | bytearray) or sparse.issparse(value):
        return value.copy()
    if is_table(value):
        return _copied_table(value)
    if is_networkx(value):
        return _copied_graph(value)
    # Frames of polars can be changed in place; their copies share the memory until then.
    return value.clone() if hasattr(kind, "clone") and hasattr(kind, "to_arrow") else value


IMMUTABLE = frozenset({str, bytes, bool, int, float, complex, frozenset, type(None)})
"""Classes of values that need no copy."""


def _copied_collection(value: Any) -> Any:
    """Return a list, dictionary, tuple or object array of the same class with copied members."""
    if isinstance(value, np.ndarray):
        return object_array([copy_data(item) for item in value.ravel()]).reshape(value.shape)
    if isinstance(value, tuple):
        members = [copy_data(item) for item in value]
        if all(new is old for new, old in zip(members, value, strict=True)):
            return value
        return value._make(members) if hasattr(value, "_make") else tuple(members)
    made = copy.copy(value)
    if isinstance(value, list):
        made[:] = [copy_data(item) for item in value]
    else:
        made.update({key: copy_data(item) for key, item in value.items()})
    return made


def _copied_table(table: Any) -> Any:
    """Return a copy of a pandas table or series; pandas itself copies no objects in cells."""
    made = table.copy()
    columns = [made] if made.ndim == 1 else [made.iloc[:, j] for j in range(made.shape[1])]
    for j, column in enumerate(columns):
        if column.dtype == object and not all(type(cell) in IMMUTABLE for cell in column):
            cells = object_array([copy_data(cell) for cell in column])
            if made.ndim == 1:
                return type(table)(cells, index=made.index, name=made.name)
            made.isetitem(j, cells)
    return made


def is_networkx(graph: Any) -> bool:
    """Return whether a value has the interface of a networkx graph."""
    kind = type(graph)  # not of the object: lazy ones have every attribute
    return hasattr(kind, "nodes") and hasattr(kind, "adjacency")


def _copied_graph(graph: Any) -> Any:
    """Return a copy of a networkx graph with copied attributes."""
    made = graph.copy()
    attributes = [made.graph, *(data for _, data in made.nodes(data=True))]
    attributes += [data for *_, data in made.edges(data=True)]
    for data in attributes:
        data.update({key: copy_data(item) for key, item in data.items()})
    return made


def is_table(value: Any) -> bool:
    """Return whether a value is a pandas DataFrame or Series."""
    return hasattr(type(value), "iloc")  # not of the object: lazy ones have every attribute


def has_columns(value: Any) -> bool:
    """Return whether a value is a table with named columns, of any library."""
    return hasattr(value, "columns")


def table_rows(batch: Any) -> Any:
    """Return the rows of a table, or the cells of its only column; other batches unchanged."""
    if isinstance(batch, Mapping):
        return object_array(list(zip(*map(cells_of, batch.values()), strict=True)))
    return single_column(np.asarray(batch)) if has_columns(batch) else batch


def table_columns(table: Any) -> list[Any]:
    """Return the column names of a table of any library."""
    pyarrow = hasattr(type(table), "column_names")  # its `columns` are arrays
    return list(table.column_names if pyarrow else table.columns)


def column_names(value: Any) -> list[str] | None:
    """Return the column names of a table; None for other values and names that are not text."""
    names = table_columns(value) if has_columns(value) else []
    return names if names and all(isinstance(name, str) for name in names) else None


def is_array(value: Any) -> bool:
    """Return whether a value is an array of any library, a sparse matrix or a table."""
    known = isinstance(value, np.ndarray) or sparse.issparse(value) or is_table(value)
    return known or is_foreign(value)


def dtype_name(items: Any) -> str:
    """Return the name of the dtype of an array or a series; empty where items have no dtype."""
    return str(getattr(items, "dtype", ""))


def take(items: Items, index: Array) -> Items:
    """Return the items at the positions `index` as an array or sparse matrix."""
    if is_foreign(items):
        xp, at = namespace(items), np.asarray(host(index), dtype=np.int64)
        at = xp.asarray(at, device=array_api_compat.device(items))
        return xp.take(items, at, axis=0)
    index = np.asarray(index)
    if isinstance(items, np.ndarray):
        return items[index]
    if sparse.issparse(items):
        return items.tocsr()[index]
    return object_array([items[i] for i in index])


def take_columns(A: Array, index: np.ndarray) -> Array:
    """Return the entries at the positions `index` of the second axis of an array."""
    xp = namespace(A)
    if is_foreign(A):
        index = xp.asarray(index, device=array_api_compat.device(A))
    return xp.take(A, index, axis=1)


def concatenated(parts: Sequence[Items]) -> Items:
    """Return the concatenation of batches of one kind."""
    if len(parts) == 1:
        return parts[0]
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack(parts, format="csr")
    known = [part if is_array(part) else as_items(part) for part in parts]
    return namespace(*known).concat(known, axis=0)


def sliced(items: Items, rows: slice) -> Items:
    """Return the items at the positions of the slice `rows`, without a copy if possible."""
    if is_foreign(items):
        return items[rows, ...]
    if isinstance(items, np.ndarray):
        return items[rows]
    return take(items, np.arange(rows.start, rows.stop))


def one(items: Items, i: int) -> Any:
    """Return the item at position i."""
    return items[int(i), ...] if is_foreign(items) else items[i]


def sliceable(items: Items) -> Items:
    """Return items that can be sliced: lists, tuples and arrays unchanged, others as arrays."""
    if is_table(items):
        return items.to_numpy()
    return items if isinstance(items, list | tuple) or is_array(items) else np.asarray(items)


def put(A: Array, index: Any, rows: Array) -> Array:
    """Write `rows` to the positions `index` of A, in place for numpy; return the array."""
    if not is_foreign(A):
        A[index] = rows
        return A
    source = np.arange(A.shape[0])
    source[np.asarray(index, dtype=np.int64)] = A.shape[0] + np.arange(rows.shape[0])
    return take(namespace(A).concat([A, rows], axis=0), source)


def unique_rows(A: Array) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the positions of the distinct rows, and which of these each row equals.

    For an array on a device: rows are compared by a random combination of their entries, and only
    this number is copied to the host. None if two different rows have the same number.
    """
    xp = namespace(A)
    rows = xp.reshape(A, (A.shape[0], -1))
    mix = np.random.default_rng(0).normal(size=(1, rows.shape[1]))
    sums = host(xp.sum(xp.astype(rows, xp.float64) * like(mix, rows), axis=1))
    _, first, number = np.unique(sums, return_index=True, return_inverse=True)
    order = np.argsort(first)  # numpy sorts by value; wanted is the order of appearance
    positions, number = first[order], np.argsort(order)[number]
    same = xp.all(rows == take(rows, positions[number]))
    return (positions, number) if bool(same) else None


def sqnorms(A: Array) -> Array:
    """Return the squared Euclidean norm of every row of a dense or sparse matrix."""
    return (A * A).sum(axis=1) if sparse.issparse(A) else namespace(A).sum(A * A, axis=1)


def power(A: Array, exponent: int) -> Array:
    """Return the entries raised to a positive integer power, by products instead of `**`."""
    result = None
    while exponent:
        if exponent % 2:
            result = A if result is None else result * A
        exponent //= 2
        A = A * A if exponent else A
    return result


def dense(A: Array) -> Array:
    """Return a matrix as a dense array, unchanged if it is one."""
    return A.toarray() if sparse.issparse(A) else A


def canonical_csr(A: Any) -> sparse.csr_array:
    """Return a matrix in CSR format without duplicates, stored zeros or unsorted rows.

    Compiled loops read the stored entries, and those of scikit-learn sort them in place.
    """
    csr = sparse.csr_array(A)
    if not csr.has_canonical_format or (csr.data == 0).any():
        csr = csr.copy()
        csr.sum_duplicates()
        csr.eliminate_zeros()
    if csr.indices.dtype != np.int32 and max(csr.nnz, *csr.shape) < np.iinfo(np.int32).max:
        parts = csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int32)
        csr = sparse.csr_array(parts, csr.shape)
    return csr


def blocks(n: int, size: int) -> Iterator[slice]:
    """Yield consecutive slices of `size` items that cover range(n); the last may be shorter."""
    for start in range(0, n, max(1, size)):
        yield slice(start, min(start + max(1, size), n))


def compressed_rows(
    data: np.ndarray, columns: np.ndarray, starts: np.ndarray, shape: tuple[int, int]
) -> sparse.csr_array:
    """Return a CSR matrix after checking that its column indices and row starts are valid."""
    matrix = sparse.csr_array((data, columns, starts), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def host(A: Array) -> np.ndarray:
    """Return an array of any library as a numpy array; a sparse matrix is returned unchanged."""
    if isinstance(A, np.ndarray) or sparse.issparse(A):
        return A
    if array_api_compat.is_torch_array(A):
        return A.detach().cpu().numpy()
    if array_api_compat.is_cupy_array(A):
        return A.get()
    return np.asarray(A)


def like(values: Any, A: Array) -> Array:
    """Return numbers as an array of the library, device and real dtype of A."""
    xp = namespace(A)
    dtype = A.dtype if xp.isdtype(A.dtype, "real floating") else xp.float64
    return xp.asarray(values, dtype=dtype, device=array_api_compat.device(A))


def median(values: Array) -> float:
    """Return the median of an array, the mean of the two middle values for an even count."""
    return float(np.median(host(values)))
