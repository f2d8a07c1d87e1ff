"""Files as tables: bytes, then text, then named columns of cells."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from .bad_table import BadTable, Option
from .binary import read_npz, read_parquet, read_sheet
from .columns import likely_mark
from .content import TABLE_FORMATS, format_of, read_content
from .records import read_json_lines, read_json_records
from .separated import read_separated
from .table import MISSING, Table

LEGACY_ENCODING = "cp1252"
"""The encoding of text files that are not UTF-8 or UTF-16: that of old programs on Windows."""
EXAMINED_CHARACTERS, FEWEST_LETTERS = 10_000, 8
"""The number of characters that are examined to check the guess, and the fewest letters."""
_NO_ROWS: dict[str, tuple[str, list[str | Option]]] = dict.fromkeys(
    ("csv", "tsv", "xlsx"),
    ("a header and no rows", ["add rows", Option("header", False)]),
)


def read(
    path: str | Path,
    format: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    separator: str | None = None,
    sheet: str | None = None,
    missing: Sequence[str] | None = None,
    decimal: str | None = None,
    day_first: bool | None = None,
    data: bytes | None = None,
) -> Table:
    """Return the table in a file, or in standard input for "-"; gzip is unpacked.

    Parameters
    ----------
    path : str or Path
        The file.
    format : str, default=None
        "csv", "tsv", "json", "jsonl", "parquet", "npz" or "xlsx"; None goes by content and suffix.
    encoding : str, default=None
        Of text files; None for a guess: UTF-8, UTF-16, or else Windows-1252, which `read_as` names.
    header : bool, default=None
        Whether the first row names the columns, which are 1, 2, … otherwise. If None, a first row
        of values above values, or in a script other than Latin like those below, is data.
    separator : str, default=None
        Between the cells of a line of a CSV file; None for a guess.
    sheet : str, default=None
        The sheet of a spreadsheet; None for the only one that has cells.
    missing : sequence of str, default=None
        Text that means an empty cell; None for `MISSING` ("", "NA", "None", …).
    decimal : str, default=None
        "." or ",": the decimal mark of numbers in text; None for a guess.
    day_first : bool, default=None
        Whether 3/4/2024 is a day in April; None for a guess by the other dates.
    data : bytes, default=None
        The bytes of the file, if they were read before: `path` is then only its name.

    Examples
    --------
    >>> import os, tempfile
    >>> from mercer.tables import read
    >>> path = os.path.join(tempfile.mkdtemp(), "towns.csv")
    >>> with open(path, "w") as file:
    ...     print("town;height", "Rome;21", "Oslo;23", sep=os.linesep, file=file)
    >>> table = read(path)
    >>> list(table.columns), len(table)
    (['town', 'height'], 2)
    """
    name, data = read_content(path, data)
    format = format or format_of(path, data, name)
    if format not in TABLE_FORMATS:
        raise BadTable(f"{format!r} is not a format", f"use one of {', '.join(TABLE_FORMATS)}")
    if format in ("parquet", "npz"):
        table = (read_parquet if format == "parquet" else read_npz)(data, name)
    elif format == "xlsx":
        table = read_sheet(data, name, header, sheet)
    else:
        text_encoding = encoding or _guess_encoding(data)
        text = _decode(data, name, text_encoding)
        readers: dict[str, Callable[[], Table]] = {
            "csv": lambda: read_separated(text, name, header, separator),
            "tsv": lambda: read_separated(text, name, header, separator or "\t"),
            "json": lambda: read_json_records(text, name),
            "jsonl": lambda: read_json_lines(text, name),
        }
        table = readers[format]()
        if encoding is None and text_encoding == LEGACY_ENCODING:
            _refuse_wrong_guess(text, name)
            table = replace(table, read_as=f"{table.read_as}, encoding {LEGACY_ENCODING}")
    if not len(table):
        what, remedy = _NO_ROWS.get(format, ("no rows", ["add some"]))
        raise BadTable(f"{name} has {what}", remedy)
    missing_texts = MISSING if missing is None else tuple(text.strip().lower() for text in missing)
    table = replace(table, missing=missing_texts, day_first=day_first)
    stated, decimal = decimal is not None, decimal or likely_mark(table)
    comma = ", decimal commas" if decimal == "," else ""
    return replace(table, decimal=decimal, decimal_is_stated=stated, read_as=table.read_as + comma)


def _decode(data: bytes, name: str, encoding: str) -> str:
    """Decode the bytes of a text file; raise an error if they do not fit the encoding."""
    try:
        text = data.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except LookupError:
        raise BadTable(
            f"{encoding!r} is not an encoding that Python knows",
            [Option("encoding", other) for other in ("cp1252", "iso8859-2", "utf-16")],
        ) from None
    except UnicodeError as problem:
        line = data[: getattr(problem, "start", 0)].count(b"\n") + 1
        raise BadTable(
            f"{name}, line {line}: this is not {encoding}",
            [Option("encoding", other) for other in ("latin-1", "iso8859-2", "utf-16")],
        ) from None
    if not isinstance(text, str):
        raise BadTable(
            f"{encoding!r} is not an encoding of text",
            [Option("encoding", other) for other in ("cp1252", "utf-16")],
        )
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise BadTable(
            f"{name}, line {line}: a NUL character, which text does not contain",
            ["check whether it is the right file", Option("encoding", "utf-16")],
        )
    return text


def _refuse_wrong_guess(text: str, name: str) -> None:
    """Raise an error if most letters are accented, as after a wrong guess of the encoding."""
    letters = [character for character in text[:EXAMINED_CHARACTERS] if character.isalpha()]
    accented = sum(not character.isascii() for character in letters)
    if len(letters) >= FEWEST_LETTERS and accented > len(letters) / 2:
        raise BadTable(
            f"{name} is not UTF-8, and not {LEGACY_ENCODING}, in which it begins with "
            f"{text[:20]!r}",
            [Option("encoding", other) for other in ("cp1251", "gb18030", "shift_jis")],
        )


def _guess_encoding(data: bytes) -> str:
    """Guess the encoding of bytes: by their byte-order mark, else UTF-8 if valid, else cp1252."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        data.decode("utf-8")
    except UnicodeError:
        return "utf-8" if b"\0" in data else LEGACY_ENCODING
    return "utf-8"
