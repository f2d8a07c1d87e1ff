"""Scores of each label, for classes and label sets."""

from __future__ import annotations

from sklearn.metrics import precision_recall_fscore_support
from sklearn.preprocessing import MultiLabelBinarizer

from .base import Rows


def scores_of_labels(truth: list[set], predicted: list[set]) -> Rows:
    """Return a table of frequency, precision, recall and F1 of each label, most frequent first."""
    labels = sorted({label for one in truth for label in one}, key=str)
    binarizer = MultiLabelBinarizer(classes=labels).fit(truth)
    known = [one & set(labels) for one in predicted]
    T, P = binarizer.transform(truth), binarizer.transform(known)
    scores = precision_recall_fscore_support(T, P, average=None, zero_division=0.0)
    rows = [
        {
            "label": str(label),
            "rows": int(count),
            "predicted": int(P[:, j].sum()),
            "precision": float(precision),
            "recall": float(recall),
            "F1": float(f1),
        }
        for j, (label, precision, recall, f1, count) in enumerate(zip(labels, *scores, strict=True))
    ]
    return sorted(rows, key=lambda row: -row["rows"])
