from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, host
from .._base.checks import Limits, indices, must, permutation
from .._base.parameters import parameters
from ..embedding import Embedding, Frame, OrthonormalFrame, SpanFrame
from ..features import Explicit
from ..kernels import Kernel, On
from ..kernels.records import field_kernels, field_widths
from ..spaces.records import records_from_columns
from .base import Decoder, Ranked, unsuited_kernel


@dataclass(frozen=True)
class Field:
    """One field of records: its kernel, a sample value, and the columns of its features.

    Attributes
    ----------
    on : On
        The fitted kernel on the field.
    sample : items
        One training value.
    columns : array of int or None
        The columns of its features; None if the records have no finite features.
    """

    on: On
    sample: Items
    columns: np.ndarray | None

    @property
    def kernel(self) -> Kernel:
        """The fitted kernel on the values of the field."""
        return self.on.inner

    def check_loaded(self, limits: Limits) -> None:
        """Check a loaded field: its columns rise, so that none is there twice."""
        if self.columns is not None:
            indices(self.columns, "columns", 0, limits.size)
            must((np.diff(self.columns) > 0).all(), "columns must rise")

    def values(self, records: Items) -> Items:
        """Return the values of this field in the records as items for its kernel."""
        return field_items(self.on, records)

    def points(self, points: Embedding) -> Embedding:
        """Return the points restricted to the coordinates of this field."""
        frame: Frame
        if self.columns is None:
            coordinates, records = points.frame.expansion(points.coordinates)
            frame = SpanFrame(self.kernel, self.values(records))
        else:
            coordinates = points.frame.kernel_features(points.coordinates)[:, self.columns]
            frame = OrthonormalFrame(Explicit().fit(self.kernel, self.sample))
        return replace(points, coordinates=coordinates, frame=frame, posterior=None)


def field_items(on: On, records: Items) -> Items:
    """Return the values of one field of the records as items for the kernel of the field.

    `on` is the kernel `On` of the field.
    """
    values = on._apply(records)
    return on.inner.as_outputs(values if on.inner.on_vectors else list(values))


def fields_of(kernel: Kernel, records: Items) -> dict[Any, Field]:
    """Return the fields of records by name; empty unless the kernel is a sum over fields."""
    kernels, first = field_kernels(kernel) or {}, records[:1]
    owners = None
    if kernels and kernel.features is not None:
        owners = [name for name, width in field_widths(kernel, first) for _ in range(width)]
    fields = {}
    for name, field_kernel in kernels.items():
        columns = None if owners is None else np.flatnonzero([o == name for o in owners])
        on = On(name, field_kernel)
        fields[name] = Field(on, field_items(on, first), columns)
    return fields


def check_fields(fields: Any) -> None:
    """Raise `DamagedModel` unless each column of the features of records is in one field."""
    must(isinstance(fields, dict), "fields must be a dictionary")
    columns = [field.columns for field in fields.values() if field.columns is not None]
    if columns:
        permutation(np.concatenate(columns), "columns of all fields")


@parameters
class PerField(Decoder):
    """A decoder of records that decodes every field with its own decoder.

    Under a kernel that is a sum over fields, such as ``On("count", Linear()) + On("weather",
    Delta())``, the feature space of records is the direct sum of those of the fields, and the best
    record has the best value in each field.

    Parameters
    ----------
    decoders : dict, default=None
        Decoders by field; other fields have the default decoder of their kernels.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF, Delta, Linear, On
    >>> y = {"count": [1.0, 2.0, 8.0, 9.0], "weather": ["rain", "rain", "sun", "sun"]}
    >>> kernel = On("count", Linear()) + On("weather", Delta())
    >>> model = KernelDependency(RBF(1.0), kernel, alpha=1e-3).fit([[0.0], [1.0], [4.0], [5.0]], y)
    >>> model.predict([[0.0], [5.0]])["weather"]
    ['rain', 'sun']
    """

    has_ranked_lists = True

    decoders: Mapping[Any, Decoder] | None = None

    uses_sample_weight = True

    def check_loaded(self, limits: Limits) -> None:
        """Check a loaded decoder: each column belongs to one field."""
        if "fields_" in vars(self):
            check_fields(self.fields_)

    def fit(self, kernel: Kernel, y: Items, sample_weight: Array | None = None) -> PerField:
        """Fit the decoder of each field to the training values of that field."""
        from .natural import fitted_decoder

        if field_kernels(kernel) is None:
            raise unsuited_kernel(
                self, kernel, "that is a sum of kernels on fields, On(...) + On(...)"
            )
        self.fields_ = fields_of(kernel, y)
        given = dict(self.decoders or {})
        unknown = [name for name in given if name not in self.fields_]
        if unknown:
            raise ValueError(
                f"decoders has the key {unknown[0]!r}, which is not a field. The fields are "
                f"{', '.join(map(repr, self.fields_))}."
            )
        self.decoders_ = {
            name: fitted_decoder(given.get(name), field.kernel, field.values(y), sample_weight)
            for name, field in self.fields_.items()
        }
        self.like_ = dict(y[0])
        return self

    @property
    def calibrates(self) -> bool:  # type: ignore[override]
        """Whether the decoder of any field has parameters to calibrate."""
        known = vars(self).get("decoders_", self.decoders or {})
        return any(decoder.calibrates for decoder in known.values())

    @property
    def constants(self) -> tuple[str, ...]:
        """Descriptions of what the decoders of the fields learn from all training outputs."""
        known = vars(self).get("decoders_", self.decoders or {})
        return tuple(f"{what} of {n!r}" for n, d in known.items() for what in d.constants)

    def calibrate(self, points: Embedding, y: Items) -> PerField:
        """Calibrate the decoder of each field that has open parameters."""
        for name, decoder in self.decoders_.items():
            if decoder.calibrates:
                field = self.fields_[name]
                self.decoders_[name] = decoder.calibrate(field.points(points), field.values(y))
        return self

    def decode(self, points: Embedding) -> np.ndarray:
        """Return the decoded record of each predicted point, a dictionary from fields to values."""
        return records_from_columns(
            {name: self._decode_field(name, points) for name in self.fields_}
        )

    def _decode_field(self, name: Any, points: Embedding) -> list:
        """Return the decoded values of the field `name`, one for each predicted point."""
        values = self.decoders_[name].decode(self.fields_[name].points(points))
        return [restore_type(value, self.like_[name]) for value in values]

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """Return for each predicted point the `k` records with the largest sum of field scores.

        A field whose decoder cannot rank several values has the same value in all records.
        """
        columns = {name: self._rank_values(name, points, k) for name in self.fields_}
        return [
            best_records(dict(zip(columns, lists, strict=True)), k)
            for lists in zip(*columns.values(), strict=True)
        ]

    def _rank_values(self, name: Any, points: Embedding, k: int) -> list[Ranked]:
        """Return the best `k` values of field `name` at each point, ranked.

        If the decoder of the field cannot rank, there is one value for each point.
        """
        if not self.decoders_[name].has_ranked_lists:
            return [[(value, 0.0)] for value in self._decode_field(name, points)]
        like = self.like_[name]
        ranked = self.decoders_[name].decode_top(self.fields_[name].points(points), k)
        return [[(restore_type(value, like), score) for value, score in row] for row in ranked]


def restore_type(value: Any, like: Any) -> Any:
    """Return a decoded value as a number, list or tuple, if the training value `like` is one."""
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, np.ndarray):
        return value
    if isinstance(like, Real):
        return float(host(value).reshape(-1)[0])
    return type(like)(value.tolist()) if isinstance(like, list | tuple) else value


def best_records(lists: Mapping[Any, Ranked], k: int) -> Ranked:
    """Return the `k` records with the largest sum of scores, from ranked values of each field."""
    best: list[tuple[dict, float]] = [({}, 0.0)]
    for name, ranked in lists.items():
        best = heapq.nlargest(k, _extensions(best, name, ranked), key=lambda pair: pair[1])
    return best


def _extensions(partial: list, name: Any, ranked: Ranked) -> Iterator[tuple[dict, float]]:
    """Yield each partial record with each ranked value of field `name` added, and its score."""
    for record, total in partial:
        for value, score in ranked:
            yield {**record, name: value}, total + float(score)
