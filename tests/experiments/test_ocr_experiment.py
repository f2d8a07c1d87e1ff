"""Handwritten words: the splits, every way to read, the table and the picture."""

import numpy as np
import pytest
from rich.console import Console

from experiments import ocr
from experiments.ways import BEST, OPERATORS, WAYS
from mercer.datasets import DataNotFound
from mercer.metrics import symbol_accuracy

TEXTS = ["and", "bad", "cab", "dab", "nab", "band", "bead", "dean", "aced", "cede", "abc", "bee"]


@pytest.fixture(scope="module")
def drawn():
    """Words of made-up letters, each text twice in each of ten folds, in the file's order."""
    rng = np.random.default_rng(0)
    letters = {c: rng.random(128) < 0.3 for c in "abcden"}
    words = np.array([text for text in TEXTS for _ in range(20)], dtype=object)
    images = np.empty(len(words), dtype=object)
    for i, word in enumerate(words):
        clean = np.array([letters[c] for c in word])
        images[i] = (clean ^ (rng.random(clean.shape) < 0.08)).astype(float)
    return images, words, np.arange(len(words)) % 10


def test_new_words_are_new_and_folds_are_apart(drawn):
    _, words, folds = drawn
    found = list(ocr.splits(words, folds))
    assert [split.kind for split in found[::10]] == ["seen", "literal", "unseen"]
    for split in found:
        assert set(folds[split.train]) == {split.fold}
        assert split.fold not in folds[split.test]
        shared = set(words[split.train]) & set(words[split.test])
        assert not shared if split.kind == "unseen" else shared == set(TEXTS)
    kept = [set(words[split.test]) for split in found if split.kind == "unseen"]
    assert sum(map(len, kept)) == len(TEXTS)


def test_every_way_reads_and_the_table_is_whole(drawn, tmp_path, monkeypatch):
    monkeypatch.setattr(ocr, "load_ocr_words", lambda: drawn)
    monkeypatch.setattr(ocr, "load_cached", lambda: drawn)
    monkeypatch.setattr(ocr, "_subsample", lambda split: split)
    report = ocr.run(tmp_path, Console(quiet=True), quick=True)
    found = {(row.method, row.setting): row.mean for row in report.rows}
    assert {method for method, _ in found} == set(WAYS)
    assert {setting for _, setting in found} == set(ocr.SETTINGS.values())
    assert all(found[way, "letters alone"] > 70 for way in WAYS)
    assert (
        found[BEST, "new words, letters alone"] > 90 > found["identity", "new words, letters alone"]
    )
    assert {m for m, setting in found if "paper" in setting} == set(OPERATORS)
    assert (tmp_path / "ocr.png").stat().st_size > 10_000
    assert "duality gap" in report.settings["M3N, seen, fold 0"]


def test_handwriting_is_read(data_home):
    try:
        images, words, folds = ocr.load_cached()
    except DataNotFound as absent:
        pytest.skip(str(absent))
    split = next(iter(ocr.splits(words, folds)))
    train, test = split.train[::3], split.test[::60]
    read = WAYS["identity, blurred"](images[train], words[train], None)
    assert symbol_accuracy(words[test], read.read(images[test], np.unique(words))["letters"]) > 0.9
