"""Writes the model files that later versions must read, beside what the models predict.

Run it once for each minor version, under a name of its own; files of old versions stay as they are.
"""

import json
import sys
from pathlib import Path

import numpy as np

import mercer
from mercer import KernelDependency, KernelDependencyCV, SequenceTransducer
from mercer.features import IncompleteCholesky
from mercer.kernels import RBF, Labels, Spectrum
from mercer.operators import Covariance, Identity

T = np.linspace(0, 1, 12)
CURVES = np.stack([np.sin(3 * T), np.cos(3 * T)], axis=1)
WORDS = ["casa", "cane", "gatto", "cassa", "gattone", "canto"]
MODELS = {
    "vectors": (
        KernelDependencyCV([RBF(0.3) * Covariance(), RBF(0.3) * Identity()], RBF(1.0)),
        T[:, None],
        CURVES,
    ),
    "labels": (
        KernelDependencyCV(Spectrum(2), Labels(), features=IncompleteCholesky(4)),
        WORDS,
        [sorted(set(word)) for word in WORDS],
    ),
    "words": (
        SequenceTransducer(order=2, history=1, temperature=0.15, lm_weight=0.1),
        WORDS,
        [word.replace("c", "k") for word in WORDS],
    ),
    "joint": (
        SequenceTransducer(order=2, history=1),
        WORDS * 4,
        [word.replace("c", "k") for word in WORDS * 4],
    ),
    "variances": (KernelDependency(RBF(0.3), alpha=0.1), T[:, None], CURVES),
}


def main() -> None:
    folder = Path(__file__).parent / sys.argv[1]
    folder.mkdir()
    expected = {}
    for name, (model, X, y) in MODELS.items():
        certain = {"variance": True} if name == "variances" else {}
        mercer.save(model.fit(X, y), folder / f"{name}.mercer", **certain)
        expected[name] = {
            "X": list(map(_plain, X)),
            "predicted": list(map(_plain, model.predict(X))),
        }
        if certain:
            expected[name]["variance"] = model.embed(X).variance().tolist()
    (folder / "expected.json").write_text(json.dumps(expected) + "\n", "utf-8")


def _plain(item):
    return item.tolist() if isinstance(item, np.ndarray) else item


if __name__ == "__main__":
    main()
