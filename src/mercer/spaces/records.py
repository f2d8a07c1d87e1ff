from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from .._base.arrays import Items, object_array
from .base import Opaque, Space, is_missing
from .rows import Rows, _column_names


class Records(Rows):
    """Records, the rows of a table; each column, called a field, has its own space.

    Parameters
    ----------
    fields : dict
        The space of each column, by name.

    Examples
    --------
    >>> from mercer.spaces import Classes, Records, Vectors
    >>> space = Records({"count": Vectors(), "weather": Classes()})
    >>> space.check({"count": [3.0, 5.0], "weather": ["sun", "rain"]})
    array([{'count': 3.0, 'weather': 'sun'}, {'count': 5.0, 'weather': 'rain'}],
          dtype=object)
    """

    name = "records"

    def __init__(self, fields: Mapping[Any, Space]):
        self.fields = fields

    @property
    def columns(self) -> Sequence[Any]:  # type: ignore[override]
        """The names of the fields."""
        return list(self.fields)

    def key(self, item: Any) -> Hashable:
        """Return a tuple of the keys of the values of a record, one per field."""
        return tuple(
            None if is_missing(item[name]) else space.key(item[name])
            for name, space in self.fields.items()
        )

    def form(self, Y: Items) -> TableForm | None:
        """Return the table format of outputs; None if they are dictionaries."""
        return TableForm.of(Y, self)

    def join(self, other: Space) -> Space:
        """Return the space of records with the fields of both spaces."""
        if not isinstance(other, Records):
            return super().join(other)
        common = self.fields.keys() & other.fields.keys()
        both = {name: _join_or_opaque(self.fields[name], other.fields[name]) for name in common}
        return Records({**self.fields, **other.fields, **both})


def _join_or_opaque(one: Space, other: Space) -> Space:
    """Return the common space of the values of a field; `Opaque` if two spaces differ."""
    try:
        return one.join(other)
    except ValueError:
        return Opaque()


def field_values(records: Items, name: Any) -> np.ndarray:
    """Return the values of the field `name` of all records in an object array."""
    return object_array([record[name] for record in records])


def records_from_columns(columns: Mapping[Any, Items]) -> np.ndarray:
    """Return records as dictionaries, given columns of equal length by name."""
    rows = zip(*columns.values(), strict=True)
    return object_array([dict(zip(columns, values, strict=True)) for values in rows])


def known_fields(records: Items, names: Sequence[Any]) -> np.ndarray:
    """Return a boolean matrix (records, fields) that is False where a value is missing."""
    return np.array([[not is_missing(record[name]) for name in names] for record in records])


def fill_missing_fields(records: Items, names: Sequence[Any], known: np.ndarray) -> np.ndarray:
    """Return records with missing values replaced by values of the same field in other records.

    `known` is the mask that `known_fields` returns. The known values are used in turn.
    """
    columns = {
        name: _fill_cyclically(field_values(records, name), known_rows)
        for name, known_rows in zip(names, known.T, strict=True)
    }
    return records_from_columns(columns)


def _fill_cyclically(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return values with those that are not `known` replaced by the known ones, in turn."""
    result, unknown = values.copy(), np.flatnonzero(~known)
    result[unknown] = values[np.resize(np.flatnonzero(known), len(unknown))]
    return result


@dataclass(frozen=True)
class TableForm:
    """The format of a table of outputs (library, columns, types), used for predictions.

    Attributes
    ----------
    kind : str
        "pandas", another library of frames, "columns" or "structured".
    names : list
        The names of the columns, in order.
    types : dict
        The types of columns; for categories the list of them.
    """

    kind: str
    names: list[Any]
    types: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, Y: Any, space: Records) -> TableForm | None:
        """Return the format of the table Y; None for a list of dictionaries."""
        names = [name for name in _column_names(Y) or () if name in space.fields]
        if isinstance(Y, np.ndarray | list | tuple):
            fields = getattr(getattr(Y, "dtype", None), "fields", None)
            return fields and cls("structured", names, {n: fields[n][0].str for n in names})
        if isinstance(Y, pd.DataFrame):
            labels = [name for name in names if not space.fields[name].on_vectors]
            return cls("pandas", names, {name: _column_type(Y[name].dtype) for name in labels})
        return cls("columns" if isinstance(Y, Mapping) else _library_name(Y), names)

    def restore(self, records: Items) -> Any:
        """Convert records to a table of this format."""
        columns = {name: field_values(records, name).tolist() for name in self.names}
        if self.kind == "structured":
            rows = list(zip(*columns.values(), strict=True))
            # Predictions of integers are floats.
            types = [
                (str(name), "<f8" if np.dtype(kind).kind in "iu" else kind)
                for name, kind in self.types.items()
            ]
            return np.array(rows, dtype=types)
        if self.kind == "pandas":
            return pd.DataFrame(
                {name: self._as_series(name, cells) for name, cells in columns.items()}
            )
        if self.kind == "columns":
            return columns
        import narwhals as nw

        return nw.from_dict(columns, backend=self.kind).to_native()  # type: ignore[arg-type]

    def _as_series(self, name: Any, cells: list) -> Any:
        """Return decoded values of the field `name` as a pandas column of the original type."""
        kind = self.types.get(name)
        if isinstance(kind, list):
            return pd.Series(pd.Categorical(cells, categories=kind))
        return pd.Series(cells, dtype=kind)


def _column_type(dtype: Any) -> Any:
    """Return a pandas dtype as a string; for a categorical dtype, the list of categories."""
    return dtype.categories.tolist() if hasattr(dtype, "categories") else str(dtype)


def _library_name(table: Any) -> str:
    """Return the name of the library of a data frame, as narwhals spells it."""
    import narwhals as nw

    return nw.from_native(table, eager_only=True).implementation.name.lower()
