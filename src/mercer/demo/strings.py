"""The third tab: a pasted table of two columns of strings, learnt and asked."""

from __future__ import annotations

from .. import SequenceTransducer

PAIRS = 5000
"""More than that belongs on the command line."""


class Strings:
    """The transducer of the table pasted last."""

    def __init__(self) -> None:
        self.model: SequenceTransducer | None = None

    def learn(self, request: dict) -> dict:
        """Learn from lines of two strings, separated by a tab, a comma or blanks."""
        pairs = [_pair(i, line) for i, line in enumerate(str(request["table"]).splitlines(), 1)
                 if line.strip()]  # fmt: skip
        if not 4 <= len(pairs) <= PAIRS:
            raise ValueError(f"between 4 and {PAIRS} lines can be learnt here, got {len(pairs)}.")
        X, y = zip(*pairs, strict=True)
        self.model = SequenceTransducer(unalignable="skip").fit(list(X), list(y))
        accuracy = self.model.left_out_accuracy_
        return {"pairs": len(pairs), "left_out": None if accuracy is None else float(accuracy)}

    def answer(self, request: dict) -> dict:
        """The best five outputs of a string."""
        if self.model is None:
            raise ValueError("paste a table and learn it first.")
        text = str(request["text"])
        return {"best": [[y, float(s)] for y, s in self.model.predict_top([text], k=5)[0]]}


def _pair(number: int, line: str) -> tuple[str, str]:
    for separator in ("\t", ";", ",", None):
        parts = [part.strip() for part in line.split(separator)]
        if len(parts) == 2 and all(parts):
            return parts[0], parts[1]
    raise ValueError(
        f"line {number}: two strings are wanted, separated by a tab; got {line!r:.40}."
    )
