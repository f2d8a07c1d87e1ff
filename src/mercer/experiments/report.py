"""Results of an experiment: a table for the eye, JSON for scripts, Markdown and a page to keep."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .differences import Difference, paired, sentences
from .tables import Table, between, number, spread


@dataclass(frozen=True)
class Row:
    """One method in one setting: mean and spread of a metric, the published value beside it."""

    method: str
    setting: str
    metric: str
    mean: float
    std: float | None = None
    published: float | None = None
    seconds: float | None = None


@dataclass
class Report:
    """The rows of an experiment, and what goes with them.

    Parameters
    ----------
    experiment
        Its name, that of the folder.
    rows, notes
        What was measured, and what a reader must know to judge it; filled by and by.
    title
        The headline of the page; the name where empty.
    baseline
        The method that others are compared with, split by split, in their own setting and metric.
    lower_is_better
        The metrics of which less is better; of all others more is.
    wide
        Whether tables have a column for each setting, rather than a row.
    settings
        What was set to what, name by name.
    captions
        What the pictures show, by file name.
    attribution
        Whose data it is.
    seconds, peak
        What the whole run took, in seconds and GiB of memory.

    Examples
    --------
    >>> from mercer.experiments.report import Report
    >>> report = Report("coins", lower_is_better=["loss"])
    >>> _ = report.add("identity", "chosen", "loss", scores=[0.50, 0.52, 0.48])
    >>> _ = report.add("covariance", "chosen", "loss", scores=[0.40, 0.43, 0.37])
    >>> for sentence in report.verdicts():
    ...     print(sentence)
    chosen, loss — better than identity: covariance.
    """

    experiment: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    title: str = ""
    baseline: str = "identity"
    lower_is_better: Collection[str] = ()
    wide: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    captions: dict[str, str] = field(default_factory=dict)
    attribution: str = ""
    seconds: float | None = None
    peak: float | None = None
    scores: dict[tuple[str, str, str], list[float]] = field(default_factory=dict)

    COLUMNS = ("method", "setting", "metric", "mean", "std", "published", "seconds")

    def add(
        self,
        method: str,
        setting: str,
        metric: str,
        mean: float | None = None,
        std: float | None = None,
        published: float | None = None,
        seconds: float | None = None,
        *,
        scores: Sequence[float] | None = None,
    ) -> Row:
        """Append a row; `scores`, one for each split, give mean and std and paired differences."""
        if scores is not None:
            values = [float(score) for score in scores]
            self.scores[method, setting, metric] = values
            mean = float(np.mean(values)) if mean is None else mean
            std = float(np.std(values)) if std is None and len(values) > 1 else std
        if mean is None:
            raise ValueError(f"{method} in {setting} has no result: give mean= or scores=.")
        row = Row(method, setting, metric, mean, std, published, seconds)
        self.rows.append(row)
        return row

    def differences(self) -> list[Difference]:
        """Paired differences from the baseline, with their 95 % t intervals over the splits."""
        return paired(self.scores, self.baseline, self.lower_is_better)

    def verdicts(self) -> list[str]:
        """Who is better than the baseline, who worse, and who brings nothing."""
        return sentences(self.differences(), self.baseline)

    def results(self) -> list[Table]:
        """The rows, in one table or one for each metric."""
        return list(self._wide()) if self.wide else [self._long()]

    def tables(self) -> list[Table]:
        """The results, then the differences where there are any."""
        return [*self.results(), *self._compared()]

    def table(self) -> Any:
        """The rows as a rich table."""
        return self.tables()[0].rich()

    def markdown(self) -> str:
        """The tables as Markdown, what they show and the notes below them."""
        first, *others = self.tables()
        below = [block for t in others for block in (f"**{t.title}**", t.markdown())]
        said = "\n".join(f"- {sentence}" for sentence in self.verdicts())
        blocks = [f"# {self.title or self.experiment}", first.markdown(), *below, said, *self.notes]
        return "\n\n".join(block for block in [*blocks, self.attribution] if block) + "\n"

    def content(self) -> dict[str, Any]:
        """What results.json holds."""
        return {
            "experiment": self.experiment,
            "rows": [asdict(row) for row in self.rows],
            "differences": [asdict(difference) for difference in self.differences()],
            "scores": [
                dict(zip(self.COLUMNS, key, strict=False)) | {"values": values}
                for key, values in self.scores.items()
            ],
            "settings": self.settings,
            "notes": self.notes,
            "attribution": self.attribution,
            "run": {"seconds": self.seconds, "peak_gib": self.peak},
        }

    def save(self, folder: Path) -> None:
        """Write results.json, results.md and, with the folder's pictures in it, report.html."""
        from .page import page

        pictures = {path.name: path.read_bytes() for path in sorted(folder.glob("*.png"))}
        (folder / "results.json").write_text(json.dumps(self.content(), indent=1) + "\n")
        (folder / "results.md").write_text(self.markdown())
        (folder / "report.html").write_text(page(self, pictures))

    def _long(self) -> Table:
        """One line a row, of the columns that have something to say."""
        names = [c for c in self.COLUMNS if any(getattr(row, c) is not None for row in self.rows)]
        cells = [[number(getattr(row, name)) for name in names] for row in self.rows]
        return Table(self.experiment, names, cells, texts=3)

    def _wide(self) -> Iterator[Table]:
        """One line a method, one column a setting; a table for each metric."""
        for metric in dict.fromkeys(row.metric for row in self.rows):
            rows = [row for row in self.rows if row.metric == metric]
            methods = list(dict.fromkeys(row.method for row in rows))
            settings = list(dict.fromkeys(row.setting for row in rows))
            found = {(row.method, row.setting): spread(row.mean, row.std) for row in rows}
            lines = [
                [m, _published(rows, m), *(found.get((m, s), "–") for s in settings),
                 _seconds(rows, m)]
                for m in methods
            ]  # fmt: skip
            columns = ["method", "published", *settings, "seconds"]
            yield Table(f"{self.experiment}, {metric}", columns, lines)

    def _compared(self) -> Iterator[Table]:
        if differences := self.differences():
            columns = ["method", "setting", "metric", "difference, 95 % interval", "verdict"]
            lines = [
                [d.method, d.setting, d.metric, between(d.mean, d.low, d.high), d.verdict]
                for d in differences
            ]
            yield Table(f"paired differences from {self.baseline}", columns, lines, texts=3)


def _published(rows: list[Row], method: str) -> str:
    values = [row.published for row in rows if row.method == method and row.published is not None]
    return number(values[0] if values else None)


def _seconds(rows: list[Row], method: str) -> str:
    values = [row.seconds for row in rows if row.method == method and row.seconds is not None]
    return f"{sum(values):.2f}" if values else "–"
