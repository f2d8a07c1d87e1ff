from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._arrays import Items
from ...decoders import Decoder
from ...kernels import L2, RBF, Gaussian, Kernel, Laplacian, Linear
from ..notation import is_date, row, written_day
from ..table import BadTable, Table
from ..values import is_numeric, notations_of, numbers, refuse_mixed, refused
from .base import Space

CATEGORIES = 50
"""A column of text with at most this many values stands for as many columns of zeros and ones."""


class Vectors(Space):
    """Rows of numbers, each column in units of its spread; text columns by category."""

    name = "vector"

    def learn(self, table: Table, names: Sequence[str]) -> Items:
        """The rows, once categories, means and spreads are known."""
        self.columns_ = list(names)
        refuse_mixed(table, names)
        self.categories_ = {
            name: sorted({str(cell).strip() for cell in table.columns[name]})
            for name in names
            if not is_numeric(table, name)
        }
        self._settle(table, [name for name in names if name not in self.categories_])
        for name, values in self.categories_.items():
            if len(values) > CATEGORIES:
                cells = table.columns[name]
                i = next(i for i, cell in enumerate(cells) if row(cell, ".") is None)
                raise refused(
                    table, i, name, f"{cells[i]!r:.40} is no number, and the column has "
                    f"{len(values)} values, too many for categories. Mend it, or say --space text."
                )  # fmt: skip
        raw = self._raw(table)
        self.mean_ = raw.mean(axis=0)
        self.spread_ = np.where(raw.std(axis=0) > 0, raw.std(axis=0), 1.0)
        return self.parse(table)

    def parse(self, table: Table) -> np.ndarray:
        """The rows, standardised."""
        raw = self._raw(table)
        if raw.shape[1] != len(self.mean_):
            raise BadTable(
                f"{table.source}: rows of {raw.shape[1]} numbers, where {len(self.mean_)} were "
                "learnt from."
            )
        return (raw - self.mean_) / self.spread_

    def _raw(self, table: Table) -> np.ndarray:
        pairs = zip(self.columns_, table.names(self.columns_), strict=True)
        parts = [
            self._coded(table, name, self.categories_[column])
            if column in self.categories_
            else self._numbers(table, [column], [name])
            for column, name in pairs
        ]
        return np.concatenate(parts, axis=1)

    def _settle(self, table: Table, names: Sequence[str]) -> None:
        """Keep how columns write numbers, and which of them hold moments rather than days."""
        self.notations_ = dict(zip(names, notations_of(table, names), strict=True))
        dates = [name for name in names if is_date(self.notations_[name])]
        self.moments_ = [n for n in dates if (numbers(table, [n]) % 1.0).any()]

    def _numbers(self, table: Table, columns: Sequence[str], names: Sequence[str]) -> np.ndarray:
        learnt = getattr(self, "notations_", None)  # of an older version has none
        return numbers(table, names, learnt and [learnt[column] for column in columns])

    def _coded(self, table: Table, name: str, values: list[str]) -> np.ndarray:
        cells = [str(cell).strip() for cell in table.columns[name]]
        for i, cell in enumerate(cells):
            if cell not in values:
                raise refused(
                    table, i, name, f"{cell!r:.40} was not among the values learnt from: "
                    f"{', '.join(values[:10])}."
                )  # fmt: skip
        return np.array([[cell == value for value in values] for cell in cells], dtype=float)

    def kernels(self, items: Items) -> list[Kernel]:
        """Smooth kernels about as wide as rows are apart, and a pointed one."""
        wide = np.sqrt(items.shape[1])
        return [RBF(float(c * wide)) for c in (0.5, 1.0, 2.0)] + [Laplacian(2.0 * items.shape[1])]

    def output(self, items: Items) -> tuple[Kernel, Decoder | None]:
        """Any vector."""
        if self.categories_:
            raise BadTable(
                f"the columns {', '.join(self.categories_)} hold text: predict them with "
                "--space labels or --space text."
            )
        return Linear(), None

    def cells(self, item: Any) -> dict[str, Any]:
        """One column a number."""
        values = np.ravel(item) * self.spread_ + self.mean_
        if len(self.columns_) == 1 and len(values) > 1:
            return {f"predicted {self.columns_[0]}": values}
        return {
            f"predicted {name}": self._cell(name, float(value))
            for name, value in zip(self.columns_, values, strict=True)
        }

    def _cell(self, column: str, value: float) -> Any:
        if not is_date(getattr(self, "notations_", {}).get(column, ".")):
            return value
        return written_day(value, column in self.moments_)

    def measures(self, truth: Items, predicted: Items) -> dict[str, float]:
        """The share of variance explained, where outputs vary, and the error in their units."""
        error = (np.asarray(truth) - predicted).reshape(len(truth), -1)
        spread = truth.reshape(len(truth), -1)
        variance = ((spread - spread.mean(axis=0)) ** 2).sum()
        scale = getattr(self, "spread_", 1.0)
        explained = {"R²": float(1.0 - (error**2).sum() / variance)} if variance > 0 else {}
        mean_error = float(np.sqrt(np.mean((error * scale) ** 2)))
        return {**explained, "root mean squared error": mean_error}


class Curves(Vectors):
    """Curves: values on a grid, in the order of the columns."""

    name = "curve"

    def learn(self, table: Table, names: Sequence[str]) -> Items:
        """The values, as they are."""
        self.columns_ = list(names)
        if not isinstance(table.columns[names[0]], np.ndarray):
            self._settle(table, names)
        return self.parse(table)

    def parse(self, table: Table) -> np.ndarray:
        """The values, as they are."""
        return self._numbers(table, self.columns_, table.names(self.columns_))

    def kernels(self, items: Items) -> list[Kernel]:
        """Gaussians of the distance between curves."""
        middle = Gaussian(L2()).fit(items).length_scale_
        return [Gaussian(L2(), c * middle) for c in (0.5, 1.0, 2.0)]

    def output(self, items: Items) -> tuple[Kernel, Decoder | None]:
        """Any curve."""
        return L2(), None

    def cells(self, item: Any) -> dict[str, Any]:
        """One column a value."""
        values = np.ravel(item)
        if len(self.columns_) == 1:
            return {f"predicted {self.columns_[0]}": values}
        return {f"predicted {n}": float(v) for n, v in zip(self.columns_, values, strict=True)}


class Images(Curves):
    """Images: arrays of any shape, or columns of pixels."""

    name = "image"

    def parse(self, table: Table) -> np.ndarray:
        """The arrays in their own shape."""
        names = table.names(self.columns_)
        cells = table.columns[names[0]]
        if len(names) == 1 and isinstance(cells, np.ndarray) and cells.ndim > 2:
            if not np.isfinite(cells).all():
                raise BadTable(f"{table.source}: {names[0]!r} has values that are not finite.")
            return cells.astype(float)
        return super().parse(table)

    def kernels(self, items: Items) -> list[Kernel]:
        """Gaussians of the distance between images."""
        middle = RBF().fit(items).length_scale_
        return [RBF(c * middle) for c in (0.35, 0.7, 1.4)]

    def output(self, items: Items) -> tuple[Kernel, Decoder | None]:
        """Any image: refined from the best of the training images."""
        return RBF(), None

    def cells(self, item: Any) -> dict[str, Any]:
        """One array."""
        if len(self.columns_) > 1:
            return super().cells(item)
        return {f"predicted {self.columns_[0]}": np.asarray(item)}
