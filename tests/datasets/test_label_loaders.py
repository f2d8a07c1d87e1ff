import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer.datasets import (
    LABEL_RANKING,
    DataNotFound,
    load_bibtex,
    load_emotions,
    load_label_ranking,
)


@pytest.mark.parametrize("load", [load_bibtex, load_emotions])
def test_label_sets_are_parsed_from_their_parts(load, tmp_path):
    name = load.__name__.removeprefix("load_")
    parts = {
        "Xtr": csr_array([[1.5, 0.0, 2.0], [0.0, 1.0, 0.0]]),
        "Ytr": csr_array(np.array([[1, 0], [1, 1]], dtype=np.int8)),
        "Xte": csr_array([[0.0, 0.0, 1.0]]),
        "Yte": csr_array(np.array([[0, 1]], dtype=np.int8)),
    }
    entries = {
        f"{part}_{of}": getattr(M, of)
        for part, M in parts.items()
        for of in ("data", "indices", "indptr", "shape")
    }
    (tmp_path / name).mkdir()
    np.savez(tmp_path / name / f"{name}.npz", label_names=np.array(["a", "b"]), **entries)
    data = load(tmp_path, sha256=None)
    for got, wanted in zip(data[:4], parts.values(), strict=True):
        np.testing.assert_array_equal(got.toarray(), wanted.toarray())
    assert data.labels.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="SHA-256 differs"):
        load(tmp_path)


def test_label_rankings_are_parsed(tmp_path):
    (tmp_path / "label_ranking").mkdir()
    content = {"wine_X": np.eye(2), "wine_rank": np.array([[0, 1], [1, 0]], dtype=np.int8)}
    np.savez(tmp_path / "label_ranking" / "label_ranking.npz", **content)
    X, ranks = load_label_ranking("wine", tmp_path, sha256=None)
    assert X.shape == (2, 2)
    assert ranks.dtype == np.int64


def test_missing_files_are_named(tmp_path):
    for load in (load_bibtex, load_emotions, lambda home: load_label_ranking("wine", home)):
        with pytest.raises(DataNotFound, match="is missing: put it at"):
            load(tmp_path)
    with pytest.raises(ValueError, match="name must be one of"):
        load_label_ranking("cheese")


def test_real_label_sets():
    try:
        bibtex, emotions = load_bibtex(), load_emotions()
    except DataNotFound as absent:
        pytest.skip(str(absent))
    assert bibtex.X_train.shape == (4880, 1836)
    assert bibtex.y_test.shape == (2515, 159)
    assert emotions.X_train.shape == (391, 72)
    assert emotions.y_train.sum(axis=1).min() >= 1


def test_real_rankings_are_permutations():
    for name in LABEL_RANKING:
        try:
            X, ranks = load_label_ranking(name)
        except DataNotFound as absent:
            pytest.skip(str(absent))
        assert len(X) == len(ranks)
        assert (np.sort(ranks, axis=1) == np.arange(ranks.shape[1])).all()
