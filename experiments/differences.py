"""Paired differences from a baseline over the splits, and what their intervals let one say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from scipy.special import stdtrit

LEVEL = 0.95
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Difference:
    """The mean difference of a method from the baseline over the splits, with its t interval."""

    method: str
    setting: str
    metric: str
    mean: float
    low: float
    high: float
    splits: int
    verdict: str
    share: float | None
    """The mean difference as a fraction of the baseline's mean, where that is not zero."""

    @property
    def described(self) -> str:
        """The name of the method, with its relative difference if that is significant."""
        differs = self.verdict != "nothing" and self.share is not None
        share = f"{self.share:+.1%}".replace("-", MINUS) if differs else ""
        return f"{self.method} ({share})" if differs else self.method


def interval(differences: Sequence[float]) -> tuple[float, float, float]:
    """Return mean, low and high of the t interval of at least two differences.

    d̄ ± t_{n-1} s/√n: right for independent splits. Splits that share examples are not quite that,
    and the interval is then somewhat too narrow.

    Examples
    --------
    >>> from experiments.differences import interval
    >>> [round(x, 3) for x in interval([-0.2, -0.1, -0.3, -0.2, -0.2])]
    [-0.2, -0.288, -0.112]
    """
    d = np.asarray(differences, dtype=float)
    half = stdtrit(len(d) - 1, (1 + LEVEL) / 2) * d.std(ddof=1) / np.sqrt(len(d))
    return float(d.mean()), float(d.mean() - half), float(d.mean() + half)


def verdict(low: float, high: float, lower_is_better: bool) -> str:
    """Return "better" or "worse" for an interval of differences, "nothing" if it contains zero."""
    if low <= 0.0 <= high:
        return "nothing"
    return "better" if (high < 0.0) == lower_is_better else "worse"


def paired_differences(
    scores: dict[tuple[str, str, str], list[float]], baseline: str, lower_is_better: Iterable[str]
) -> list[Difference]:
    """Return the difference of each method from the baseline, by setting and metric."""
    lower, differences = set(lower_is_better), []
    for (method, setting, metric), values in scores.items():
        base = scores.get((baseline, setting, metric))
        if method == baseline or base is None or len(values) < 2:
            continue
        if len(base) != len(values):
            raise ValueError(
                f"{method} has {len(values)} scores in {setting}, {metric}, and {baseline} "
                f"{len(base)}: paired differences need the same splits in the same order."
            )
        mean, low, high = interval(np.subtract(values, base).tolist())
        judgement = verdict(low, high, metric in lower)
        level = abs(float(np.mean(base)))
        share = mean / level if level else None
        differences.append(
            Difference(method, setting, metric, mean, low, high, len(values), judgement, share)
        )
    return differences


def sentences(differences: Sequence[Difference], baseline: str) -> list[str]:
    """Return a sentence for each setting and metric: which methods are better or worse."""

    def key(d: Difference) -> tuple[str, str]:
        """Return the setting and the metric of a difference."""
        return d.setting, d.metric

    order = list(dict.fromkeys(map(key, differences)))
    ranked = sorted(differences, key=lambda d: order.index(key(d)))
    return [_sentence(list(group), baseline) for _, group in groupby(ranked, key=key)]


def _sentence(group: list[Difference], baseline: str) -> str:
    """Return the sentence on the differences in one setting and metric."""
    clauses = {
        "better": f"better than {baseline}",
        "worse": f"worse than {baseline}",
        "nothing": f"no difference from {baseline} that the {group[0].splits} splits could show",
    }
    parts = [
        f"{text}: {', '.join(names)}"
        for judgement, text in clauses.items()
        if (names := [d.described for d in group if d.verdict == judgement])
    ]
    return f"{group[0].setting}, {group[0].metric} — {'; '.join(parts)}."
