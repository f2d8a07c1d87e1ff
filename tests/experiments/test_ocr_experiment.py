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
    assert [train_and_test_words.kind for train_and_test_words in found[::10]] == [
        "seen",
        "literal",
        "unseen",
    ]
    for train_and_test_words in found:
        assert set(folds[train_and_test_words.train]) == {train_and_test_words.fold}
        assert train_and_test_words.fold not in folds[train_and_test_words.test]
        shared = set(words[train_and_test_words.train]) & set(words[train_and_test_words.test])
        assert not shared if train_and_test_words.kind == "unseen" else shared == set(TEXTS)
    kept = [
        set(words[train_and_test_words.test])
        for train_and_test_words in found
        if train_and_test_words.kind == "unseen"
    ]
    assert sum(map(len, kept)) == len(TEXTS)


def test_every_way_reads_and_the_table_is_whole(drawn, tmp_path, monkeypatch):
    monkeypatch.setattr(ocr, "load_ocr_words", lambda: drawn)
    monkeypatch.setattr(ocr, "loaded", lambda: drawn)
    monkeypatch.setattr(ocr, "_few", lambda train_and_test_words: train_and_test_words)
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
    train_and_test_words = next(iter(ocr.splits(words, folds)))
    train, test = train_and_test_words.train[::3], train_and_test_words.test[::60]
    read = WAYS["identity, blurred"](images[train], words[train], None)
    assert symbol_accuracy(words[test], read.read(images[test], np.unique(words))["letters"]) > 0.9
