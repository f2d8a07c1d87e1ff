"""A table of text, once, and its three ways to the eye: terminal, Markdown, HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from .differences import MINUS


@dataclass(frozen=True)
class Table:
    """A table of text, with methods that format it; the first `texts` columns are words."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    texts: int = 1

    def rich(self) -> Any:
        """Return the table as a rich table for the terminal."""
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
        """Return the table as Markdown."""
        rules = ["---" if i < self.texts else "--:" for i in range(len(self.columns))]
        lines = [[cell.replace("|", "\\|") for cell in row] for row in (self.columns, *self.rows)]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in (lines[0], rules, *lines[1:]))

    def html(self) -> str:
        """Return the table as HTML that can be scrolled if it is wide."""
        head = self._html_row(self.columns, "th")
        body = "\n".join(self._html_row(row, "td") for row in self.rows)
        return (
            f'<div class="scroll"><table>\n<caption>{escape(self.title)}</caption>\n'
            f"<thead>{head}</thead>\n<tbody>\n{body}\n</tbody></table></div>"
        )

    def _html_row(self, cells: list[str], tag: str) -> str:
        """Return a row of HTML cells; `tag` is "th" or "td"."""

        def cell(i: int, text: str) -> str:
            """Return the HTML of cell i."""
            kind = "" if i < self.texts else ' class="number"'
            return f"<{tag}{kind}>{escape(text)}</{tag}>"

        return "<tr>" + "".join(cell(i, text) for i, text in enumerate(cells)) + "</tr>"


def format_number(value: Any, digits: int = 4) -> str:
    """Return a number as rounded text, a dash for None; return text unchanged."""
    if value is None:
        return "–"
    if not isinstance(value, float):
        return str(value)
    return f"{value:#.{digits}g}".rstrip(".").replace("-", MINUS)  # 0.7550, not 0.755


def format_mean(mean: float, std: float | None) -> str:
    """Return a mean as text, with its standard deviation if there is one."""
    return (
        format_number(mean) if std is None else f"{format_number(mean)} ± {format_number(std, 2)}"
    )


def format_interval(mean: float, low: float, high: float) -> str:
    """Return a signed difference and its interval, as text."""

    def signed(value: float) -> str:
        """Return a number as text with its sign."""
        return f"{value:+.4f}".replace("-", MINUS)

    return f"{signed(mean)} [{signed(low)}, {signed(high)}]"
