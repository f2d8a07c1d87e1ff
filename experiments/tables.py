"""A table of text, once, and its three ways to the eye: terminal, Markdown, HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from .differences import MINUS


@dataclass(frozen=True)
class Table:
    """Columns by name, the first `texts` of them words and the rest numbers."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    texts: int = 1

    def rich(self) -> Any:
        """Return the table for the terminal."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable

        table = RichTable(title=self.title, box=SIMPLE_HEAD, title_justify="left")
        for i, name in enumerate(self.columns):
            justify: Any = "left" if i < self.texts else "right"
            table.add_column(name, justify=justify, overflow="fold")
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        """Return the table in Markdown, for the documentation."""
        rules = ["---" if i < self.texts else "--:" for i in range(len(self.columns))]
        lines = [[cell.replace("|", "\\|") for cell in row] for row in (self.columns, *self.rows)]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in (lines[0], rules, *lines[1:]))

    def html(self) -> str:
        """Return the table in HTML; a wide table scrolls in its own box."""
        head = self._html_row(self.columns, "th")
        body = "\n".join(self._html_row(row, "td") for row in self.rows)
        return (
            f'<div class="scroll"><table>\n<caption>{escape(self.title)}</caption>\n'
            f"<thead>{head}</thead>\n<tbody>\n{body}\n</tbody></table></div>"
        )

    def _html_row(self, cells: list[str], tag: str) -> str:
        def cell(i: int, text: str) -> str:
            kind = "" if i < self.texts else ' class="number"'
            return f"<{tag}{kind}>{escape(text)}</{tag}>"

        return "<tr>" + "".join(cell(i, text) for i, text in enumerate(cells)) + "</tr>"


def number(value: Any, digits: int = 4) -> str:
    """Return a number rounded for a reader, a dash for None, text unchanged."""
    if value is None:
        return "–"
    if not isinstance(value, float):
        return str(value)
    return f"{value:#.{digits}g}".rstrip(".").replace("-", MINUS)  # 0.7550, not 0.755


def spread(mean: float, std: float | None) -> str:
    """Return a mean with its standard deviation, where there is one."""
    return number(mean) if std is None else f"{number(mean)} ± {number(std, 2)}"


def between(mean: float, low: float, high: float) -> str:
    """Return a difference with its interval, signed."""

    def signed(value: float) -> str:
        return f"{value:+.4f}".replace("-", MINUS)

    return f"{signed(mean)} [{signed(low)}, {signed(high)}]"
