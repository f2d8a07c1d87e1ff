"""What a terminal shows: strangers' text without its escape sequences, errors as one sentence."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, marks that turn the direction of writing, and halves of characters."""


def shown(text: Any, keep: str = "") -> str:
    r"""Return a text with its control characters written out, as `\x1b`, except those to keep."""
    return UNSAFE.sub(lambda m: m[0] if m[0] in keep else _written(m[0]), str(text))


def _written(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()


def one_sentence(command: Callable) -> Callable:
    """End a command with a sentence, not a traceback, where a file or a model is at fault."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _note
                command(*args, **kwargs)
        except BrokenPipeError:
            raise  # `mercer predict … | head`: click ends quietly
        except MemoryError as problem:
            why = str(problem) or "the memory is used up: take fewer rows or shorter texts."
            raise click.ClickException(shown(why)) from None
        except RecursionError:
            raise click.ClickException("a value is nested too deeply to be read.") from None
        except (ValueError, TypeError, ImportError, ArithmeticError, OSError) as problem:
            raise click.ClickException(shown(problem)) from None

    return run


def _note(message: Any, *_: Any, **__: Any) -> None:
    """A warning as a sentence, without the line of code that gave it."""
    click.echo(f"Note: {shown(message)}", err=True)


def busy(what: str) -> Any:
    """A sign of life on standard error, where somebody is looking."""
    from rich.console import Console

    return Console(stderr=True).status(f"{what} …")


def tell(facts: dict[str, Any], title: str, as_json: bool, err: bool = False) -> None:
    """Show facts as a table, or as JSON for scripts."""
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=not _is_safe(facts)), err=err)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text  # a string would be read as markup: [red]

    table = Table(title=Text(shown(title)), show_header=False)
    for name, value in facts.items():
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        table.add_row(Text(shown(name)), Text(shown(text)))
    Console(file=sys.stderr if err else sys.stdout).print(table)


def columns_table(head: tuple, rows: list[tuple], err: bool = False) -> None:
    """Show rows under a head, strangers' text safe."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*head, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(shown(cell)) for cell in row))
    Console(file=sys.stderr if err else sys.stdout).print(table)


def _is_safe(facts: dict[str, Any]) -> bool:
    return not UNSAFE.search("".join(f"{name}{value}" for name, value in facts.items()))


def to_stdout(data: bytes, binary: bool = False) -> None:
    """Write to standard output: to a pipe or file as it is, to a terminal as safe text."""
    if sys.stdout is None:
        raise ValueError("standard output is closed: name a file with -o.")
    if not sys.stdout.isatty():
        click.echo(data, nl=False)
    elif binary:
        raise ValueError("a terminal cannot show this: name a file with -o, or pipe it on.")
    else:
        click.echo(shown(data.decode(), keep="\n\t"), nl=False)
    sys.stdout.flush()
