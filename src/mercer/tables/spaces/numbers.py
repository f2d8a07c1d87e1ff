from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._arrays import Items
from ...decoders import Decoder
from ...kernels import L2, RBF, Gaussian, Kernel, Laplacian, Linear
from ..table import BadTable, Table
from .base import Space, refused

CATEGORIES = 50
"""A column of text with at most this many values stands for as many columns of zeros and ones."""
MOSTLY = 0.8
"""A column of which this share are numbers is meant to be one of numbers."""


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
            if not is_numeric(table.columns[name])
        }
        for name, values in self.categories_.items():
            if len(values) > CATEGORIES:
                i, cell = _first_text(table.columns[name])
                raise refused(
                    table, i, name, f"{cell!r:.40} is no number, and the column has "
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
        names = table.names(self.columns_)
        parts = [
            self._coded(table, name) if name in self.categories_ else numbers(table, [name])
            for name in names
        ]
        return np.concatenate(parts, axis=1)

    def _coded(self, table: Table, name: str) -> np.ndarray:
        values = self.categories_[name]
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
            f"predicted {name}": float(value)
            for name, value in zip(self.columns_, values, strict=True)
        }

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
        return self.parse(table)

    def parse(self, table: Table) -> np.ndarray:
        """The values, as they are."""
        return numbers(table, table.names(self.columns_))

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
        return numbers(table, names)

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


def numbers(table: Table, names: Sequence[str]) -> np.ndarray:
    """Columns of numbers, of lists of numbers, or arrays, side by side as one row a row."""
    return np.concatenate([_column(table, name) for name in names], axis=1)


def is_numeric(cells: Sequence[Any]) -> bool:
    """Whether a column holds numbers, or rows of them, throughout."""
    if isinstance(cells, np.ndarray):
        return cells.dtype.kind in "biuf"
    return all(_row(cell) is not None for cell in cells)


def refuse_mixed(table: Table, names: Sequence[str]) -> None:
    """Name the first cell that is no number in a column of which nearly all cells are."""
    for name in names:
        cells = table.columns[name]
        if isinstance(cells, np.ndarray):
            continue
        text = [i for i, cell in enumerate(cells) if _row(cell) is None]
        if 0 < len(text) <= (1.0 - MOSTLY) * len(cells):
            raise refused(
                table, text[0], name, f"{cells[text[0]]!r:.40} is no number, though "
                f"{len(cells) - len(text)} of {len(cells)} cells are. Mend it, or say --space text "
                "(--input-space for an input) if it is meant so."
            )  # fmt: skip


def _column(table: Table, name: str) -> np.ndarray:
    cells = table.columns[name]
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        rows = cells.reshape(len(cells), -1).astype(float)
    else:
        rows = _parsed(table, name, cells)
    bad = np.argwhere(~np.isfinite(rows))
    if bad.size:
        raise refused(table, int(bad[0, 0]), name, "the value is not finite. Mend it, or leave the "
                      "row out.")  # fmt: skip
    return rows


def _parsed(table: Table, name: str, cells: Sequence[Any]) -> np.ndarray:
    rows: list[list[float]] = []
    for i, cell in enumerate(cells):
        row = _row(cell)
        if row is None:
            raise refused(table, i, name, f"{cell!r:.40} is no number. Mend it, or leave the row "
                          "out.")  # fmt: skip
        if rows and len(row) != len(rows[0]):
            raise refused(table, i, name, f"{len(row)} numbers, where the rows before have "
                          f"{len(rows[0])}.")  # fmt: skip
        rows.append(row)
    return np.array(rows, dtype=float)


def _row(cell: Any) -> list[float] | None:
    """A number, a list of numbers, or text that is either; else None."""
    if isinstance(cell, str):
        text = cell.strip()
        try:
            if text.startswith("["):
                return [float(v) for v in np.ravel(json.loads(text))]
            return [float(v) for v in text.split()] or None
        except (ValueError, TypeError):
            return None
    if isinstance(cell, bool | int | float | np.number):
        return [float(cell)]
    try:
        return [float(v) for v in np.ravel(np.asarray(cell, dtype=float))]
    except (ValueError, TypeError):
        return None


def _first_text(cells: Sequence[Any]) -> tuple[int, Any]:
    return next((i, cell) for i, cell in enumerate(cells) if _row(cell) is None)
