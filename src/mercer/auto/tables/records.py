"""JSON Lines, and JSON arrays of records."""

from __future__ import annotations

import json
from typing import Any

from .bad_table import BadTable
from .content import check_memory
from .table import Table

BYTES_PER_JSON_BYTE = 30
"""The largest number of bytes of memory for a byte of JSON, that of empty objects."""


def read_json_lines(text: str, name: str) -> Table:
    """Return the table in a text with one JSON object per line."""
    check_memory(name, BYTES_PER_JSON_BYTE * len(text))
    records, lines = [], []
    for i, line in enumerate(text.split("\n"), 1):  # str.splitlines also splits at U+2028
        if line.strip():
            records.append(_parse_json(line, f"{name}, line {i}"))
            lines.append(i)
    return _table_of_records(records, lines, name, "line", "JSON Lines")


def read_json_records(text: str, name: str) -> Table:
    """Return the table in a JSON array of objects, or in a JSON object of columns."""
    check_memory(name, BYTES_PER_JSON_BYTE * len(text))
    value = _parse_json(text, name)
    if isinstance(value, dict):
        value = _records_of_columns(value, name)
    if not isinstance(value, list):
        raise BadTable(f"{name} holds {value!r:.40}, not an array of objects with named values")
    return _table_of_records(value, list(range(1, len(value) + 1)), name, "record", "JSON")


def _records_of_columns(columns: dict[str, Any], name: str) -> list[dict]:
    """Convert a JSON object of columns to a list of records."""
    lists = [value for value in columns.values() if isinstance(value, list)]
    if len(lists) < len(columns) or len({len(value) for value in lists}) != 1:
        raise BadTable(
            f"{name} is a JSON object, not an array of records",
            'write [{"a": 1, "b": 2}, …], as pandas does with orient="records"',
        )
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def _parse_json(text: str, where: str) -> Any:
    """Parse JSON; raise an error that begins with `where` if the text is not valid."""
    try:
        value = json.loads(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as problem:
        at = f" at line {problem.lineno}" if "\n" in text.strip() else ""
        raise BadTable(f"{where}: not JSON ({problem.msg}{at})") from None
    except RecursionError:
        raise BadTable(f"{where}: the JSON is nested too deeply to be a row of a table") from None
    except UnicodeEncodeError:
        raise BadTable(f"{where}: half a character (a lone surrogate)", "write it again") from None
    except ValueError:  # an integer of thousands of digits
        raise BadTable(f"{where}: a number has too many digits to be read") from None
    return value


def _table_of_records(
    records: list[Any], lines: list[int], name: str, unit: str, seen: str
) -> Table:
    """Return the table of JSON objects; raise an error for a record that is not an object.

    `lines` are the line numbers of the records, `unit` is what messages call a line, and `seen`
    describes the format.
    """
    for record, line in zip(records, lines, strict=True):
        if not isinstance(record, dict):
            raise BadTable(
                f"{name}, {unit} {line}: {json.dumps(record)!r:.40} is not an object with named "
                "values"
            )
    names = list(dict.fromkeys(key for record in records for key in record))
    columns = {key: [record.get(key) for record in records] for key in names}
    return Table(name, columns, lines, read_as=seen)
