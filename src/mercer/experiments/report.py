"""Results of an experiment: a table for the eye, JSON for scripts, Markdown for the docs."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """One method in one setting: mean and spread of a metric, the published value beside it."""

    method: str
    setting: str
    metric: str
    mean: float
    std: float | None = None
    published: float | None = None
    seconds: float | None = None


@dataclass
class Report:
    """The rows of an experiment, and the notes that go with them."""

    experiment: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    COLUMNS = ("method", "setting", "metric", "mean", "std", "published", "seconds")
    NUMBERS = COLUMNS[3:]

    def add(self, *args: Any, **kwargs: Any) -> Row:
        """Append a row."""
        row = Row(*args, **kwargs)
        self.rows.append(row)
        return row

    def columns(self) -> list[str]:
        """The columns that have something to say."""
        return [c for c in self.COLUMNS if any(getattr(row, c) is not None for row in self.rows)]

    def cells(self) -> Iterator[list[str]]:
        """The rows as text."""
        return ([_text(getattr(row, name)) for name in self.columns()] for row in self.rows)

    def table(self) -> Any:
        """The rows as a rich table."""
        from rich.table import Table

        table = Table(title=self.experiment)
        for name in self.columns():
            table.add_column(name, justify="right" if name in self.NUMBERS else "left")
        for cells in self.cells():
            table.add_row(*cells)
        return table

    def markdown(self) -> str:
        """The rows as a Markdown table, the notes below it."""
        names = self.columns()
        rules = ["--:" if name in self.NUMBERS else "---" for name in names]
        lines = ["| " + " | ".join(cells) + " |" for cells in (names, rules, *self.cells())]
        return "\n".join([f"# {self.experiment}", "", *lines, "", *self.notes, ""])

    def save(self, folder: Path) -> None:
        """Write results.json and results.md into a folder."""
        content = {"experiment": self.experiment, "rows": [asdict(row) for row in self.rows]}
        (folder / "results.json").write_text(json.dumps(content, indent=1) + "\n")
        (folder / "results.md").write_text(self.markdown())


@contextmanager
def output_folder(out: Path, name: str) -> Iterator[Path]:
    """A folder to write results in, moved to `out`/`name` only once all of them are there."""
    out.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=out))
    try:
        yield draft
        shutil.rmtree(out / name, ignore_errors=True)
        draft.rename(out / name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
