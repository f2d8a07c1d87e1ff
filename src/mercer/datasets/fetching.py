"""Download data sets from their public pages, and verify them by hashes."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from .._base.errors import require
from .._base.files import replacing
from ._files import WrongData, content_hash, data_folder
from .faces import USPS_CONTENT
from .label_sets import LABEL_RANKING, RANKING_CONTENT
from .molecules import QM9_HASH
from .strings import FILE_HASHES, INFLECTION, OCR_CONTENT

ESL = "https://hastie.su.domains/ElemStatLearn/datasets"
OCR = "https://ai.stanford.edu/~btaskar/ocr/letter.data.gz"
Arrays = dict[str, np.ndarray]
Parse = Callable[[Mapping[str, bytes]], Arrays]


def _github_url(repository: str, commit: str, path: str = "") -> str:
    """Return the URL of a file at one commit of a GitHub repository."""
    return f"https://raw.githubusercontent.com/{repository}/{commit}{path}"


RANKINGS = _github_url(
    "akorba/Structured_Approach_Label_Ranking", "5bfe2a93b33426bc9d1f6445146d727d6b94f458", "/data"
)
MORPHOLOGY = _github_url(
    "ryancotterell/sigmorphon2016", "f397ed13b2aac85c08712f984a28a9d9671b2a97", "/data"
)
ARABIC = _github_url("google/transliteration", "b2265a6494f4db49458fd79d586287f1fbbcf2f4")
QM9 = _github_url(
    "kfzyqin/Implementation-MolGAN-PyTorch",
    "d07a490c841df7644011fe87c796978427fa828b",
    "/data/qm9_5k.smi",
)


@dataclass(frozen=True)
class Remote:
    """Download addresses of a data set, and the hashes of its content.

    Attributes
    ----------
    urls
        The address of each file, by its name in the data folder, or by any name if it is parsed.
    hashes
        The SHA-256 of each file that is kept unchanged.
    parse
        A function from the files to arrays, which are kept in one npz; None if files are kept
        unchanged.
    npz
        The name of that npz in the data folder.
    content
        The `content_hash` of the arrays.
    """

    urls: Mapping[str, str]
    hashes: Mapping[str, str] | None = None
    parse: Parse | None = None
    npz: str = ""
    content: str | None = None


def parse_usps(files: Mapping[str, bytes]) -> Arrays:
    """Parse the USPS files, lines of a label and 256 pixels, to arrays by name."""
    arrays: Arrays = {}
    for part in ("train", "test"):
        text = gzip.decompress(files[part]).decode("ascii")
        rows = np.array([line.split() for line in text.splitlines() if line.strip()], dtype=float)
        arrays |= {f"X_{part}": rows[:, 1:], f"y_{part}": rows[:, 0].astype(np.int8)}
    return arrays


def parse_ocr_letters(files: Mapping[str, bytes]) -> Arrays:
    """Parse the OCR letters file, with one letter per line, to arrays by name.

    The columns are id, letter, next id (-1 ends a word), word, position, fold and 128 pixels.
    """
    lines = gzip.decompress(files["letters"]).decode("ascii").splitlines()
    rows = [line.rstrip().split("\t") for line in lines if line.strip()]
    ends = np.array([row[2] == "-1" for row in rows])
    word = np.concatenate([[0], np.cumsum(ends)[:-1]]).astype(np.int32)
    fold = np.array([row[5] for row in rows], dtype=np.int8)
    starts = np.concatenate([[0], np.flatnonzero(ends)[:-1] + 1])
    return {
        "pixels": np.array([row[6:134] for row in rows], dtype=np.uint8),
        "letter": np.array([ord(row[1]) - ord("a") for row in rows], dtype=np.int8),
        "word": word,
        "word_fold": fold[starts],
    }


def parse_label_rankings(files: Mapping[str, bytes]) -> Arrays:
    """Parse files of features and rankings such as b>c>a to arrays by name."""
    arrays: Arrays = {}
    for name, data in files.items():
        rows = [line.split(",") for line in data.decode("ascii").split()][1:]
        orders = [[ord(label) - ord("a") for label in row[-1].split(">")] for row in rows]
        arrays[f"{name}_X"] = np.array([row[:-1] for row in rows], dtype=float)
        arrays[f"{name}_rank"] = np.argsort(orders, axis=1).astype(np.int8)
    return arrays


FETCHABLE: dict[str, Remote] = {
    "usps": Remote(
        {part: f"{ESL}/zip.{part}.gz" for part in ("train", "test")},
        parse=parse_usps, npz="usps/usps.npz", content=USPS_CONTENT,
    ),
    "ocr_words": Remote(
        {"letters": OCR}, parse=parse_ocr_letters, npz="ocr_words/ocr_letters.npz",
        content=OCR_CONTENT,
    ),
    "label_ranking": Remote(
        {name: f"{RANKINGS}/{name}.txt" for name in LABEL_RANKING},
        parse=parse_label_rankings, npz="label_ranking/label_ranking.npz", content=RANKING_CONTENT,
    ),
    "inflection": Remote(
        {f"inflection/{name}.tsv": f"{MORPHOLOGY}/{name.replace('-', '-task1-')}"
         for name in INFLECTION},
        {f"inflection/{name}.tsv": sha256 for name, sha256 in INFLECTION.items()},
    ),
    "transliteration": Remote(
        {f"transliteration_ar_en/{name}": f"{ARABIC}/{name}" for name in FILE_HASHES},
        {f"transliteration_ar_en/{name}": sha256 for name, sha256 in FILE_HASHES.items()},
    ),
    "qm9": Remote({"molecules/qm9_5k.smi": QM9}, {"molecules/qm9_5k.smi": QM9_HASH}),
}  # fmt: skip
"""Data sets with a stable public page, by name."""
BY_HAND = (
    "bibtex", "emotions", "dti", "canadian_weather", "cmudict", "cmu_faces", "massbank", "darcy",
    "burgers",
)  # fmt: skip
"""The others; errors of their loaders (`load_bibtex`, …) name the file and where to put it."""


def fetch(name: str, data_home: str | Path | None = None) -> list[Path]:
    """Download a data set into the data folder, and verify its content.

    Parameters
    ----------
    name : str
        One of `FETCHABLE`.
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.

    Returns
    -------
    list of Path
        The files, which the loader of the data set reads.

    Examples
    --------
    >>> from mercer.datasets import FETCHABLE, fetch
    >>> sorted(FETCHABLE)
    ['inflection', 'label_ranking', 'ocr_words', 'qm9', 'transliteration', 'usps']
    >>> fetch("parse_usps")                                                      # doctest: +SKIP
    [PosixPath('.../usps/usps.npz')]
    """
    if name not in FETCHABLE:
        loader = f" load_{name}() names the file and where to put it." if name in BY_HAND else ""
        raise ValueError(
            f"name must be one of {', '.join(sorted(FETCHABLE))}, got {name!r}.{loader}"
        )
    remote, folder = FETCHABLE[name], data_folder(data_home)
    if remote.parse is None:
        return [_download(remote, file, folder) for file in remote.urls]
    with TemporaryDirectory() as scratch:
        files = {file: _download(remote, file, Path(scratch)).read_bytes() for file in remote.urls}
    arrays = _parse_files(name, remote.parse, files)
    if remote.content is not None and content_hash(arrays) != remote.content:
        raise WrongData(f"The page of {name} has changed: the content hash of its files differs.")
    path = folder / remote.npz
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as draft, open(draft, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    return [path]


def _parse_files(name: str, parse: Parse, files: Mapping[str, bytes]) -> Arrays:
    """Return the arrays that `parse` returns for the files; errors name the data set `name`."""
    try:
        return parse(files)
    except (ValueError, IndexError, KeyError, OSError, EOFError) as problem:
        raise WrongData(f"The files of {name} are not in their format: {problem}") from None


def _download(remote: Remote, file: str, folder: Path) -> Path:
    """Return the path of one file of a data set, downloaded unless the folder has it already.

    Its hash is verified if the data set has one for each file.
    """
    require("pooch", "fetch")
    import pooch

    pooch.get_logger().setLevel("WARNING")
    registry = {name: (remote.hashes or {}).get(name) for name in remote.urls}
    try:
        path = pooch.create(folder, "", registry=registry, urls=dict(remote.urls)).fetch(file)
    except ValueError as problem:
        if "hash" not in str(problem):
            raise
        raise WrongData(f"{file} has changed at its page: its SHA-256 differs.") from None
    except Exception as problem:  # of requests or urllib3, which have no common base class
        raise OSError(f"{remote.urls[file]} cannot be reached: {problem!s:.200}") from None
    return Path(path)
