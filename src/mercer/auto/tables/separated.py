"""CSV and TSV: which separator, whether there is a header, and the cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from .bad_table import BadTable, Option
from .content import check_memory
from .notation import is_number_or_date, parse_amount
from .table import Table, check_unique_names

EXAMINED_LINES = 100
"""The number of rows that are examined to find the separator and the header."""
BYTES_PER_CELL = 100
"""The approximate number of bytes of memory for a cell."""
CELL_SEPARATORS = (",", ";", "\t", "|")
BLANK = " "
QUOTES = [
    "close every quote", "write a quote inside a cell twice",
    "write tables of texts over 100,000 letters as .jsonl or .parquet",
]  # fmt: skip


def read_separated(text: str, name: str, header: bool | None, separator: str | None) -> Table:
    """Return the table in a text of separated cells; guess the separator if it is None."""
    if separator is None:
        separator = _guess_separator(text)
        if separator == BLANK:  # several of them may separate two numbers
            text = "\n".join(" ".join(line.split()) for line in text.splitlines())
    cells = text.count(separator) + text.count("\n")
    check_memory(name, BYTES_PER_CELL * cells + 3 * len(text))
    rows: dict[int, Sequence[str]] = {}
    reader = _csv_reader(text, separator, strict=True)
    try:
        for row in reader:
            if "".join(row).strip():
                rows[reader.line_num] = row
    except csv.Error as problem:
        raise BadTable(f"{name}, line {reader.line_num}: {problem}", QUOTES) from None
    if not rows:
        raise BadTable(f"{name} has only empty cells", "check whether it is the right file")
    table = table_of_rows(rows, name, header, f"cells separated by {separator!r}")
    return replace(table, separator=separator)


def table_of_rows(
    rows: Mapping[int, Sequence[Any]], name: str, header: bool | None, seen: str
) -> Table:
    """Return the table of rows of cells, given by line number.

    `header` says whether the first row names the columns. If it is None, a first row of values
    like those below is data, unless it counts columns from 0 as pandas does. `seen` describes the
    format of the file.
    """
    first, *others = rows.values()
    width = len(first)
    head = [
        ["" if cell is None else str(cell) for cell in row]
        for row in (first, *others[:EXAMINED_LINES])
    ]
    given = not _first_row_is_data(head) if header is None else header
    names = [cell.strip() or f"Unnamed: {i}" for i, cell in enumerate(head[0])]  # as in pandas
    names = names if given else [str(i + 1) for i in range(width)]
    check_unique_names(names, name)
    body = dict(list(rows.items())[given:])
    for line, row in body.items():
        if len(row) != width:
            raise BadTable(
                f"{name}, line {line}: {len(row)} cells, but the first row has {width}",
                ["quote cells that hold the separator", Option("separator", ";")],
            )
    columns = {n: [row[i] for row in body.values()] for i, n in enumerate(names)}
    return Table(name, columns, list(body), read_as=f"{seen}, {'a' if given else 'no'} header")


def _csv_reader(text: str, separator: str, strict: bool = False) -> Any:
    """Return a `csv.reader` of a text; if `strict`, it raises an error for bad quotes."""
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=strict)


def _guess_separator(text: str) -> str:
    """Guess the separator of cells: one that gives rows of equal width, else one in line 1.

    The sniffer of the standard library takes letters for separators, and fails on one column.
    """
    even = [s for s in CELL_SEPARATORS if _has_equal_rows(text, s)]
    if even:  # with decimal commas both "," and ";" may be: cells that are values decide
        return max(even, key=lambda s: _fraction_of_values(text, s))
    first = text.lstrip().split("\n", 1)[0]
    others = [s for s in CELL_SEPARATORS[:3] if s in first]
    return others[0] if others else BLANK if _has_numbers_between_blanks(text) else ","


def _has_numbers_between_blanks(text: str) -> bool:
    """Return whether a text has columns of numbers separated by blanks, as numpy writes them."""
    lines = [
        line.strip() for line in text.split("\n", EXAMINED_LINES)[:EXAMINED_LINES] if line.strip()
    ]
    rows = [line.split() for line in lines]
    if not rows or all(map(_is_one_number, lines[1:] or lines)):
        return False
    width, body = len(rows[0]), rows[1:] or rows
    return width > 1 and all(len(row) == width and all(map(is_number_or_date, row)) for row in body)


def _is_one_number(line: str) -> bool:
    """Return whether a line is a single number, with blanks between thousands."""
    return any(parse_amount(line, mark, blank=True) is not None for mark in (".", ","))


def _first_rows(text: str, separator: str) -> list[list[str]]:
    """Return the cells of the first rows that are not empty."""
    full = (row for row in _csv_reader(text, separator) if "".join(row).strip())
    try:
        return list(islice(full, EXAMINED_LINES))
    except csv.Error:
        return []


def _has_equal_rows(text: str, separator: str) -> bool:
    """Return whether the first rows have equal numbers of cells, at least two."""
    widths = {len(row) for row in _first_rows(text, separator)}
    return len(widths) == 1 and max(widths) > 1


def _fraction_of_values(text: str, separator: str) -> float:
    """Return the fraction of cells in the first rows that are numbers or dates."""
    cells = [cell for row in _first_rows(text, separator)[1:] for cell in row]
    return sum(is_number_or_date(cell) for cell in cells) / max(len(cells), 1)


def _first_row_is_data(rows: list[list[str]]) -> bool:
    """Return whether the first row is data like the rows below, rather than a header."""
    first, below = rows[0], rows[1:EXAMINED_LINES]
    if (
        not below
        or any(len(row) != len(first) for row in below)
        or _header_counts_columns(first, below)
    ):
        return False
    for cell, cells in zip(first, zip(*below, strict=True), strict=True):
        full = [other for other in cells if other.strip()]
        values = is_number_or_date(cell) and all(map(is_number_or_date, full))
        if values or all(map(_is_of_another_script, [cell, *full])):
            return True
    return False


def _is_of_another_script(cell: str) -> bool:
    """Return whether a cell has letters, none of which is an ASCII letter."""
    letters = [c for c in cell if c.isalpha()]
    return bool(letters) and not any(c.isascii() for c in letters)


def _header_counts_columns(first: list[str], below: list[list[str]]) -> bool:
    """Return whether the first row is a header that counts columns from 0, as pandas writes.

    Some columns may have names. An empty first name is the name of an index. Without an index, the
    first row is not a header if the rows below have only such numbers, as rankings and indicators
    do, or if a name repeats.
    """
    index = not first[0].strip()
    cells = [cell.strip() for cell in first[index:]]
    counts = [str(j) for j in range(len(cells))]
    named = [j for j, cell in enumerate(cells) if cell != counts[j]]
    if any(is_number_or_date(cells[j]) or not cells[j] for j in named) or len(named) == len(cells):
        return False
    if named:
        again = any(row[index + j].strip() == cells[j] for row in below for j in named)
        return not again and (index or len(cells) - len(named) > 1)
    return index or (
        len(counts) > 1 and any(cell.strip() not in counts for r in below for cell in r)
    )
