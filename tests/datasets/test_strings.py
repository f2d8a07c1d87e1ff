"""Loaders of words, on small files and, where they are, on the real ones."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.datasets import DataNotFound, load_inflection, load_ocr_words, load_transliteration


@pytest.fixture
def folder(tmp_path):
    names = tmp_path / "transliteration_ar_en"
    names.mkdir()
    (names / "ar2en-train.txt").write_text("علي\tali\nعمر\tomar\n", encoding="utf-8")
    (names / "ar2en-eval.txt").write_text("سعد\tsaad\n", encoding="utf-8")
    words = tmp_path / "ocr_words"
    words.mkdir()
    np.savez(
        words / "ocr_letters.npz",
        pixels=np.eye(5, 128, dtype=np.uint8),
        letter=[0, 1, 0, 25, 2],
        word=[0, 0, 0, 1, 1],
        word_fold=[3, 7],
    )
    return tmp_path


def test_names_are_parsed(folder):
    X, y, X_test, y_test = load_transliteration(folder, verify=False)
    assert X.tolist() == ["علي", "عمر"]
    assert y.tolist() == ["ali", "omar"]
    assert X_test.tolist() == ["سعد"] and y_test.tolist() == ["saad"]


def test_a_line_without_a_tab_is_named(folder):
    path = folder / "transliteration_ar_en" / "ar2en-eval.txt"
    path.write_text("سعد\tsaad\nwrong\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2 of"):
        load_transliteration(folder, verify=False)


def test_other_names_are_refused(folder):
    with pytest.raises(ValueError, match="SHA-256"):
        load_transliteration(folder)


def test_words_are_parsed(folder):
    images, words, folds = load_ocr_words(folder, sha256=None)
    assert words.tolist() == ["aba", "zc"]
    assert [image.shape for image in images] == [(3, 128), (2, 128)]
    assert folds.tolist() == [3, 7]


def test_missing_files_say_where_they_belong(tmp_path):
    with pytest.raises(DataNotFound, match=r"ar2en-train\.txt"):
        load_transliteration(tmp_path)
    with pytest.raises(DataNotFound, match=r"ocr_letters\.npz"):
        load_ocr_words(tmp_path)


def test_the_real_files():
    try:
        X, _, X_test, _ = load_transliteration()
        images, words, _ = load_ocr_words()
    except DataNotFound as missing:
        pytest.skip(str(missing))
    assert (len(X), len(X_test)) == (12_877, 1_431)
    assert (len(words), len(set(words))) == (6_877, 55)
    assert sum(map(len, images)) == sum(map(len, words)) == 52_152


def test_inflection_is_lemma_tags_and_form(tmp_path):
    folder = tmp_path / "inflection"
    folder.mkdir()
    (folder / "german-dev.tsv").write_text("aalen\tpos=V,tense=PST\tgeaalt\n", encoding="utf-8")
    lemmas, tags, forms = load_inflection("german", "dev", tmp_path, verify=False)
    assert (lemmas[0], tags[0], forms[0]) == ("aalen", ("pos=V", "tense=PST"), "geaalt")
    with pytest.raises(ValueError, match="SHA-256"):
        load_inflection("german", "dev", tmp_path)
    (folder / "german-dev.tsv").write_text("aalen\tgeaalt\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 1 of"):
        load_inflection("german", "dev", tmp_path, verify=False)
    with pytest.raises(DataNotFound, match=r"finnish-train\.tsv"):
        load_inflection("finnish", data_home=tmp_path)


def test_published_inflection_is_complete():
    try:
        lemmas, tags, _ = load_inflection("turkish")
    except DataNotFound:
        pytest.skip("inflection is not on this machine")
    assert len(lemmas) == 12336
    assert all("=" in label for labels in tags for label in labels)
