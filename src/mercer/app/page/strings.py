"""The tab "Your strings": learn from a pasted table of two columns of strings."""

from __future__ import annotations

from ... import SequenceTransducer

STRING_PAIRS = 5000
LONGEST_STRING = 200
"""The largest number of letters of a string."""
LETTER_PAIRS = 2_000_000
"""The largest sum over pairs of input letters times output letters, on which time and memory
depend."""


class StringsTab:
    """Tab of the page that learns from pasted pairs of strings."""

    def __init__(self) -> None:
        self.model: SequenceTransducer | None = None

    def learn(self, request: dict) -> dict:
        """Fit a transducer to lines of an input and an output string; return its accuracy."""
        lines = [(i, line) for i, line in enumerate(str(request["table"]).splitlines(), 1)
                 if line.strip()]  # fmt: skip
        if len(lines) > STRING_PAIRS:
            raise ValueError(
                f"The number of lines must be between 4 and {STRING_PAIRS}, got {len(lines)}."
            )
        pairs = [_split_line(i, line) for i, line in lines]
        if len(pairs) < 4:
            raise ValueError(
                f"The number of lines must be between 4 and {STRING_PAIRS}, got {len(pairs)}."
            )
        if sum(len(x) * len(y) for x, y in pairs) > LETTER_PAIRS:
            raise ValueError(
                f"{len(pairs)} lines are too many for strings of this length: paste fewer or "
                "shorter ones, or use SequenceTransducer in Python."
            )
        X, y = zip(*pairs, strict=True)
        self.model = SequenceTransducer(unalignable="skip").fit(list(X), list(y))
        accuracy = self.model.left_out_accuracy_
        return {"pairs": len(pairs), "left_out": None if accuracy is None else float(accuracy)}

    def answer(self, request: dict) -> dict:
        """Return the best five outputs for an input string."""
        if self.model is None:
            raise ValueError("Paste a table and learn it first.")
        text = str(request["text"])
        if len(text) > LONGEST_STRING:
            raise ValueError(
                f"The string has {len(text)} letters, and this page takes {LONGEST_STRING}."
            )
        return {"best": [[y, float(s)] for y, s in self.model.predict_top([text], k=5)[0]]}


def _split_line(number: int, line: str) -> tuple[str, str]:
    """Split a line into two strings; an error names the line by `number`."""
    for separator in ("\t", ";", ",", None):
        parts = [part.strip() for part in line.split(separator)]
        if len(parts) == 2 and all(parts):
            if max(map(len, parts)) > LONGEST_STRING:
                raise ValueError(
                    f"Line {number} has a string of {max(map(len, parts))} letters, and this page "
                    f"takes {LONGEST_STRING}."
                )
            return parts[0], parts[1]
    raise ValueError(f"Line {number} must have two strings, separated by a tab, got {line!r:.40}.")
