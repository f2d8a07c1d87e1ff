"""Blocks of the pages that no doctest runs, as they name large data or machines: on small ones."""

import re
from pathlib import Path

import numpy as np
import pytest

from mercer import KernelDependency
from mercer._base.arrays import object_array
from mercer.features import Nystroem
from mercer.kernels import RBF
from mercer.sources import Stream

ROOT = Path(__file__).parents[2]
BLOCKS = {
    f"{page.name}-{i}": block
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    for i, block in enumerate(re.findall(r"(?ms)^```python\n(.*?)^```", page.read_text()))
    if ">>>" not in block
}
WORDS = ["lesen", "leben", "legen", "reden", "raten", "baden", "laden", "malen"]


def pairs(rng, n=40):
    X = rng.normal(size=(n, 3))
    return X, np.column_stack([np.sin(X[:, 0]), X[:, 1]])


def network(rng, patch):
    pytest.importorskip("torch")
    return {"X": rng.normal(size=(40, 20)), "y": rng.normal(size=(40, 4))}


def spectra(rng, patch):
    pytest.importorskip("rdkit")
    masses = rng.uniform(20, 90, size=(8, 3))
    found = [(np.sort(row), np.array([0.2, 1.0, 0.5]), 100.0) for row in masses]
    smiles = ["CO", "CCO", "CCCO", "CC(C)O", "CC(=O)O", "CCC", "CCN", "CNC"]
    return {
        "train_spectra": found, "train_molecules": smiles, "train_formulas": [*"abccdefg"],
        "new_spectra": found[:1], "lists": [["CCCO", "CC(C)O"]],
    }  # fmt: skip


def handwriting(rng, patch):
    shapes = {letter: rng.uniform(size=128) for letter in "abcdefghijklmnopqrstuvwxyz"}
    images = object_array([np.array([shapes[letter] for letter in word]) for word in WORDS])
    return {"dictionary": WORDS, "images": images, "texts": WORDS, "new_images": images[:2]}


def checkpoints(rng, patch):
    Path("pairs").mkdir()
    for i in range(2):
        X, y = pairs(rng)
        np.savez(f"pairs/part-{i}.npz", X=X, y=y)
    return {"model": streamed(), "Stream": Stream}


def cluster(rng, patch):
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    from dask import array, bag

    X, y = pairs(rng)
    return {
        "model": streamed(), "dask": dask, "load": lambda path: (X, y), "paths": ["a", "b"],
        "dask_X": array.from_array(X, chunks=(20, 3)),
        "dask_y": array.from_array(y, chunks=(20, 2)),
        "bag_of_pairs": bag.from_sequence(list(zip(X, y, strict=True)), npartitions=2),
    }  # fmt: skip


def streamed():
    return KernelDependency(RBF(1.0), features=Nystroem(rank=10, random_state=0), alpha=0.1)


NAMES = {
    "learning.md": [network],
    "molecules.md": [spectra],
    "strings.md": [handwriting],
    "scale.md": [checkpoints, cluster],
}
SMALL = {
    'device="cuda"': 'device="cpu"',
    "epochs=30": "epochs=1",
    'Client("scheduler:8786")': 'Client(processes=False, dashboard_address="127.0.0.1:0")',
}


def test_every_block_has_its_names():
    pages = [name.rpartition("-")[0] for name in BLOCKS]
    assert {page: pages.count(page) for page in pages} == {p: len(n) for p, n in NAMES.items()}


@pytest.mark.parametrize("name", BLOCKS)
def test_the_block_runs(name, rng, tmp_path, monkeypatch):
    page = name.rpartition("-")[0]
    place = [other for other in BLOCKS if other.startswith(page)].index(name)
    monkeypatch.chdir(tmp_path)
    space = NAMES[page][place](rng, monkeypatch)
    block = BLOCKS[name]
    for large, small in SMALL.items():
        block = block.replace(large, small)
    try:
        exec(block, space)
    finally:
        if "client" in space:
            space["client"].close()
