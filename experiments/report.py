"""Results of an experiment: a table for the eye, JSON for scripts, Markdown and a page to keep."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import layouts
from .differences import Difference, paired_differences, sentences
from .layouts import Row
from .tables import Table


@dataclass
class Report:
    """Results of an experiment, with notes, settings and captions.

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
    >>> from experiments.report import Report
    >>> report = Report("coins", lower_is_better=["loss"])
    >>> _ = report.add("identity", "chosen", "loss", scores=[0.50, 0.52, 0.48])
    >>> _ = report.add("covariance", "chosen", "loss", scores=[0.40, 0.43, 0.37])
    >>> for sentence in report.verdicts():
    ...     print(sentence)
    chosen, loss — better than identity: covariance (−20.0%).
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
        """Append a row and return it; `scores` are values by split, for means and differences."""
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
        """Return the paired differences from the baseline, with 95 % t intervals."""
        return paired_differences(self.scores, self.baseline, self.lower_is_better)

    def verdicts(self) -> list[str]:
        """Return sentences on which methods are better or worse than the baseline."""
        return sentences(self.differences(), self.baseline)

    def results(self) -> list[Table]:
        """Return the tables of results: one, or one for each metric if `wide`."""
        return (
            list(layouts.wide_tables(self.rows, self.experiment))
            if self.wide
            else [layouts.long_table(self.rows, self.experiment)]
        )

    def tables(self) -> list[Table]:
        """Return the tables of results and of differences from the baseline."""
        title = f"paired differences from {self.baseline}, 95 % intervals"
        return [*self.results(), *layouts.difference_tables(self.differences(), title, self.wide)]

    def table(self) -> Any:
        """Return the first table of results as a rich table."""
        return self.tables()[0].rich()

    def markdown(self) -> str:
        """Return the report as Markdown: tables, verdicts and notes."""
        tables = [block for t in self.tables() for block in (f"**{t.title}**", t.markdown())]
        said = "\n".join(f"- {sentence}" for sentence in self.verdicts())
        blocks = [f"# {self.title or self.experiment}", *tables, said, *self.notes]
        return "\n\n".join(block for block in [*blocks, self.attribution] if block) + "\n"

    def content(self) -> dict[str, Any]:
        """Return the content of results.json."""
        return {
            "experiment": self.experiment,
            "rows": [asdict(row) for row in self.rows],
            "differences": [asdict(difference) for difference in self.differences()],
            "scores": [
                dict(zip(("method", "setting", "metric"), key, strict=True)) | {"values": values}
                for key, values in self.scores.items()
            ],
            "settings": self.settings,
            "notes": self.notes,
            "attribution": self.attribution,
            "run": {"seconds": self.seconds, "peak_gib": self.peak},
        }

    def save(self, folder: Path) -> None:
        """Write results.json, results.md and report.html to a folder; its pictures are included."""
        from .page import page

        pictures = {path.name: path.read_bytes() for path in sorted(folder.glob("*.png"))}
        (folder / "results.json").write_text(json.dumps(self.content(), indent=1) + "\n", "utf-8")
        (folder / "results.md").write_text(self.markdown(), "utf-8")
        (folder / "report.html").write_text(page(self, pictures), "utf-8")
