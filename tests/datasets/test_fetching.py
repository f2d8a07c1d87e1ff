"""Data sets are fetched from a server on loopback that serves small files in their own format."""

import gzip
from dataclasses import replace
from http.server import BaseHTTPRequestHandler

import numpy as np
import pytest
from click.testing import CliRunner

from loopback import on_loopback
from mercer import datasets
from mercer.app.cli import main
from mercer.datasets import WrongData, fetch, fetching
from mercer.datasets._files import content_hash, file_hash

pytest.importorskip("pooch")

PIXELS = "\t".join(["0", "1"] * 64)
LETTERS = [(1, "o", 2, 7, 1, 0), (2, "m", -1, 7, 2, 0), (3, "a", -1, 9, 1, 4)]
SERVED = {
    "/zip.train.gz": gzip.compress(b"6.0000 " + b"-1.0 " * 255 + b"0.631 \n" + b"5 " + b"1 " * 256),
    "/zip.test.gz": gzip.compress(b"9 " + b"0.5 " * 256 + b"\n"),
    "/letter.data.gz": gzip.compress(
        "\n".join("\t".join(map(str, row)) + f"\t{PIXELS}\t" for row in LETTERS).encode()
    ),
    "/iris.txt": b"A1,A2,ranking\n-0.5,0.25,a>b>c\n1,0,b>c>a\n",
    "/wine.txt": b"A1,ranking\r\n2,b>a\r\n",
    "/names.txt": "علي\tAli\n".encode(),
}


@pytest.fixture(scope="module")
def site():
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = SERVED.get(self.path)
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *arguments):
            pass

    with on_loopback(Handler) as address:
        yield address


@pytest.fixture
def served(site, monkeypatch):
    """Have some sets come from the local site; their content is that of the small files."""

    def serve(name, urls, **changes):
        urls = {key: site + path for key, path in urls.items()}
        remote = replace(fetching.FETCHABLE[name], urls=urls, **{"content": None} | changes)
        monkeypatch.setitem(fetching.FETCHABLE, name, remote)

    return serve


def test_digits_of_the_book(served, tmp_path):
    served("usps", {"train": "/zip.train.gz", "test": "/zip.test.gz"})
    assert fetch("usps", tmp_path) == [tmp_path / "usps" / "usps.npz"]
    X, y, X_test, y_test = datasets.load_usps(tmp_path, sha256=None)
    assert X.shape == (2, 16, 16) and X[0, 15, 15] == 0.631
    assert y.tolist() == [6, 5] and y_test.tolist() == [9] and (X_test == 0.5).all()


def test_letters_of_words(served, tmp_path):
    served("ocr_words", {"letters": "/letter.data.gz"})
    fetch("ocr_words", tmp_path)
    images, words, folds = datasets.load_ocr_words(tmp_path, sha256=None)
    assert list(words) == ["om", "a"] and folds.tolist() == [0, 4]
    assert [image.shape for image in images] == [(2, 128), (1, 128)]
    assert images[0][0, :4].tolist() == [0, 1, 0, 1]


def test_label_rankings(served, tmp_path):
    served("label_ranking", {"iris": "/iris.txt", "wine": "/wine.txt"})
    fetch("label_ranking", tmp_path)
    X, ranks = datasets.load_label_ranking("iris", tmp_path, sha256=None)
    assert X.tolist() == [[-0.5, 0.25], [1.0, 0.0]]
    assert ranks.tolist() == [[0, 1, 2], [2, 0, 1]]  # the rank of each label


def test_files_that_are_kept_as_they_are(served, tmp_path):
    name = "transliteration_ar_en/ar2en-train.txt"
    served("transliteration", {name: "/names.txt"}, hashes={name: file_hash(SERVED["/names.txt"])})
    assert fetch("transliteration", tmp_path)[0].read_bytes() == SERVED["/names.txt"]


@pytest.mark.parametrize(
    ("urls", "changes", "error", "message"),
    [
        ({"iris": "/iris.txt"}, {"content": "0"}, WrongData, "content hash of its files differs"),
        ({"iris": "/zip.test.gz"}, {}, WrongData, "not in their format"),
        ({"iris": "/gone.txt"}, {}, OSError, "cannot be reached"),
        ({"a/b": "/iris.txt"}, {"parse": None, "hashes": {"a/b": "0"}}, WrongData, "SHA-256"),
    ],
)
def test_wrong_content_is_not_kept(served, tmp_path, urls, changes, error, message):
    served("label_ranking", urls, **changes)
    with pytest.raises(error, match=message):
        fetch("label_ranking", tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_fetched_content_is_as_good_as_the_known_file(tmp_path, data_home):
    with np.load(data_home / "label_ranking" / "label_ranking.npz") as z:
        arrays = dict(z)
    assert content_hash(arrays) == fetching.RANKING_CONTENT
    (tmp_path / "label_ranking").mkdir()
    path = tmp_path / "label_ranking" / "label_ranking.npz"
    np.savez(path, **arrays)  # other bytes, the same content
    assert len(datasets.load_label_ranking("iris", tmp_path)[0]) == 150
    np.savez(path, **arrays | {"iris_X": arrays["iris_X"] + 1e-3})
    with pytest.raises(WrongData, match="not the file expected"):
        datasets.load_label_ranking("iris", tmp_path)


def test_the_formats_lose_nothing(data_home):
    """The sets as they are, written in their original formats, have the content expected."""
    with np.load(data_home / "label_ranking" / "label_ranking.npz") as z:
        ranked = {name: (z[f"{name}_X"], z[f"{name}_rank"]) for name in datasets.LABEL_RANKING}
    files = {}
    for name, (X, ranks) in ranked.items():
        orders = [">".join("abcdefghijk"[j] for j in order) for order in np.argsort(ranks, axis=1)]
        rows = [
            ",".join([*map(repr, x), order]) for x, order in zip(X.tolist(), orders, strict=True)
        ]
        files[name] = "\n".join(["header", *rows]).encode()
    assert content_hash(fetching.parse_label_rankings(files)) == fetching.RANKING_CONTENT
    with np.load(data_home / "ocr_words" / "ocr_letters.npz") as z:
        word, letters, pixels, folds = (z[k] for k in ("word", "letter", "pixels", "word_fold"))
    last = np.append(np.diff(word) > 0, True)
    lines = [
        f"{i}\t{chr(97 + letters[i])}\t{-1 if last[i] else i + 1}\t{word[i]}\t0\t{folds[word[i]]}\t"
        + "\t".join(map(str, pixels[i].tolist()))
        for i in range(len(word))
    ]
    letters = {"letters": gzip.compress("\n".join(lines).encode(), 1)}
    assert content_hash(fetching.parse_ocr_letters(letters)) == fetching.OCR_CONTENT


def test_the_command(served, tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    served("label_ranking", {"iris": "/iris.txt"})
    told = CliRunner().invoke(main, ["fetch", "label_ranking"])
    assert told.output.strip().endswith("label_ranking.npz") and told.exit_code == 0
    told = CliRunner().invoke(main, ["fetch"])
    assert "Download:" in told.output and "bibtex: bibtex.npz is missing: put it at" in told.output
    told = CliRunner().invoke(main, ["fetch", "bibtex"])
    assert told.exit_code == 1 and "load_bibtex()" in told.output
