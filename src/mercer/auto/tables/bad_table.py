"""The error for tables that cannot be used: what is wrong, and the ways out as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

OF_FIT = ("drop_missing", "kind")
"""The options of a fit, which also tables that are not files have; others are those of `read`."""
PASS = "pass "
"""The verb of options, which is not repeated."""


class Option(NamedTuple):
    """An argument that is a way out of an error, such as ``Option("decimal", ",")``.

    Each front end has its own words for it: ``decimal=','`` in Python, ``--decimal ,`` on the
    command line.

    Attributes
    ----------
    name
        The argument, of `read` or of a fit.
    value
        A value that helps.

    Examples
    --------
    >>> from mercer.tables import BadTable, Option
    >>> print(BadTable("'1,500' can mean two numbers", [Option("decimal", ",")]))
    '1,500' can mean two numbers: pass decimal=','.
    """

    name: str
    value: Any


def python_words(option: Option) -> str | None:
    """Return how an option is written in Python."""
    words = {
        "drop_missing": "leave such rows out",
        "kind": f"say that the column holds {option.value}",
    }
    return words.get(option.name) or f"{PASS}{option.name}={option.value!r}"


class BadTable(ValueError):
    """Error for a table that cannot be used; the message names the location and a remedy.

    Parameters
    ----------
    text : str
        What is wrong, as a sentence without a full stop.
    remedy : str, or list of str and Option
        The ways out: imperative phrases, and arguments for which each front end has its own words.

    Examples
    --------
    >>> from mercer.tables import BadTable, read
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "empty.csv")
    >>> with open(path, "w") as file:
    ...     pass
    >>> try:
    ...     read(path)
    ... except BadTable as problem:
    ...     print(problem.remedy)
    ['write a header and at least two rows']
    """

    def __init__(self, text: str, remedy: str | Sequence[str | Option] = ()):
        self.text = text
        self.remedy = [remedy] if isinstance(remedy, str) else list(remedy)
        super().__init__(self.worded(python_words))

    def __reduce__(self) -> Any:
        return type(self), (self.text, self.remedy)

    def worded(self, words: Callable[[Option], str | None]) -> str:
        """Return the message of a front end, which has these words for an option.

        Parameters
        ----------
        words : callable
            Returns the phrase for an `Option`; None for one that the front end does not have.
        """
        every = [way if isinstance(way, str) else words(way) for way in self.remedy]
        phrases = [phrase for phrase in every if phrase] or [""]
        after = zip(phrases, ["", *phrases], strict=False)
        *others, last = (
            one.removeprefix(PASS) if before.startswith(PASS) else one for one, before in after
        )
        ways = f"{', '.join(others)} or {last}" if others else last
        return f"{self.text}: {ways}." if ways else f"{self.text}."
