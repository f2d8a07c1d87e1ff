"""Terminal output: text of files without escape sequences, errors as one sentence."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import wraps
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ...tables import Option

UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, marks that change the direction of writing, and lone surrogates."""


def escape_controls(text: Any, keep: str = "") -> str:
    r"""Return a text with control characters as escapes such as `\x1b`, except those in `keep`."""
    return UNSAFE.sub(lambda m: m[0] if m[0] in keep else _escape_sequence(m[0]), str(text))


def _escape_sequence(character: str) -> str:
    """Return the escape sequence of a control character."""
    return character.encode("unicode_escape", "surrogatepass").decode()


SWITCHES = {
    ("header", True): "--header",
    ("header", False): "--no-header",
    ("day_first", True): "--day-first",
    ("day_first", False): "--month-first",
    ("drop_missing", True): "--drop-missing",
}
"""The options of the command line that have no value, by the argument and its value in Python."""


def option_words(option: Option) -> str:
    """Return how an option of an error message is written on the command line.

    Examples
    --------
    >>> from mercer.app.cli.terminal import option_words
    >>> from mercer.tables import Option
    >>> option_words(Option("encoding", "cp1252"))
    'pass --encoding cp1252'
    """
    name, value = option
    if name == "kind":
        return f"pass --space COLUMN={value}"
    if name == "missing":
        (value,) = value
    switch = None if isinstance(value, str) else SWITCHES.get((name, value))
    return f"pass {switch or f'--{name} {quote(str(value))}'}"


def sentence_of(problem: Exception) -> str:
    """Return the message of an error, in which options are those of the command line."""
    from ...tables import BadTable

    return problem.worded(option_words) if isinstance(problem, BadTable) else str(problem)


def report_errors(command: Callable) -> Callable:
    """Decorate a command so that an expected error ends it with a sentence, not a traceback."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        """Run the command, and replace expected errors by messages."""
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _print_warning
                command(*args, **kwargs)
        except BrokenPipeError:
            raise  # `mercer predict … | head`: click ends quietly
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            raise click.exceptions.Exit(130) from None  # as a shell reports Ctrl-C
        except MemoryError as problem:
            why = str(problem) or "not enough memory: use fewer rows or shorter texts."
            raise click.ClickException(escape_controls(why)) from None
        except RecursionError:
            raise click.ClickException("a value is nested too deeply to be read.") from None
        except (ValueError, TypeError, ImportError, ArithmeticError, OSError) as problem:
            raise click.ClickException(escape_controls(sentence_of(problem))) from None

    return run


def _print_warning(message: Any, *_: Any, **__: Any) -> None:
    """Print a warning as one sentence; the signature is that of `warnings.showwarning`."""
    click.echo(f"Note: {escape_controls(message)}", err=True)


def spinner(what: str) -> AbstractContextManager:
    """Return a context manager that shows a spinner and the text `what` in a terminal."""
    from rich.console import Console

    return Console(stderr=True).status(f"{what} …")


def show_facts(facts: dict[str, Any], title: str, as_json: bool, err: bool = False) -> None:
    """Print a dictionary as a table of names and values, or as JSON."""
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=not _is_safe(facts)), err=err)
        return
    values = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in facts.values()]
    show_table(zip(facts, values, strict=True), err, title=title, show_header=False)


def show_table(rows: Iterable, err: bool, *head: str, title: str = "", **options: Any) -> None:
    """Print rows of cells as a table with the column titles `head`, on standard error if `err`."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text  # a string such as [red] would be parsed as markup

    table = Table(*head, title=Text(escape_controls(title)) if title else None, **options)
    for row in rows:
        table.add_row(*(Text(escape_controls(cell)) for cell in row))
    Console(file=sys.stderr if err else sys.stdout).print(table)


def _is_safe(facts: dict[str, Any]) -> bool:
    """Return whether the texts in a dictionary have no control characters."""
    return not UNSAFE.search("".join(f"{name}{value}" for name, value in facts.items()))


def to_stdout(data: bytes, binary: bool = False) -> None:
    """Write bytes to standard output; escape control characters if it is a terminal.

    A terminal cannot show `binary` data, which is an error.
    """
    if sys.stdout is None:
        raise ValueError("standard output is closed: name a file with -o.")
    if not sys.stdout.isatty():
        click.echo(data, nl=False)
    elif binary:
        raise ValueError("a terminal cannot show this: name a file with -o, or pipe it on.")
    else:
        click.echo(escape_controls(data.decode(), keep="\n\t"), nl=False)
    sys.stdout.flush()


LISTED_COLUMNS = 20
"""The largest number of columns that are listed."""


def summary_of(model: Any, as_json: bool = False) -> dict[str, Any]:
    """Return facts about a model by name: texts for a table, or values for JSON."""
    kinds, outputs = model.spaces_, model.outputs_
    inputs = [name for name in model.inputs_.kinds_ if kinds[name] != "nothing"]
    facts: dict[str, Any] = {
        "inputs": f"{', '.join(_shorten(inputs))} ({_count_kinds(model)})",
        "output": f"{', '.join(_shorten(outputs.columns_))} ({outputs.kind_})",
        "rows": model.n_rows_,
        "chosen": model.chosen_,
        f"{model.metric_name_}, left out": model.loo_score_,
    }
    if as_json:
        return facts | {
            "columns": {str(name): kind for name, kind in kinds.items()},
            "baselines": dict(model.baselines_),
            "notes": list(model.notes_),
        }
    baselines = ", ".join(f"{name} {score:.3f}" for name, score in model.baselines_.items())
    notes = {f"note {i}": note for i, note in enumerate(model.notes_, 1)}
    return facts | ({"baselines, left out": baselines} if baselines else {}) | notes


def score_line(model: Any) -> str:
    """Return one line with the left-out score of the model and that of the best baseline."""
    rows = f"{model.metric_name_} of left-out rows: "
    if not model.baselines_:
        return f"{rows}mercer {model.loo_score_:.3f}"
    best = max(model.baselines_, key=lambda name: model.baselines_[name])
    score = model.baselines_[best]
    return f"{rows}baseline {score:.3f} ({best}), mercer {model.loo_score_:.3f}"


def show_columns(model: Any, names: Iterable, err: bool) -> None:
    """Print the role and the kind of each column, and which option changes the kind."""
    from ...auto.report import column_rows

    rows = [tuple(row.values()) for row in column_rows(model, names)]
    rest = len(rows) - LISTED_COLUMNS
    if rest > 0:
        rows[LISTED_COLUMNS // 2 : -LISTED_COLUMNS // 2] = [("…", "", "", f"{rest} more columns")]
    show_table(rows, err, "column", "used as", "kind", "values", box=None, pad_edge=False)
    click.echo("Use --space COLUMN=KIND to change the kind of a column.", err=err)


def _count_kinds(model: Any) -> str:
    """Return a text with the number of input columns of each kind."""
    counts = Counter(kind for kind in model.inputs_.kinds_.values() if kind != "nothing")
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())


def _shorten(names: list[Any]) -> list[str]:
    """Return names as texts; of more than four, the first two, an ellipsis, and the last."""
    texts = [str(name) for name in names]
    return texts if len(texts) <= 4 else [*texts[:2], "…", texts[-1]]
