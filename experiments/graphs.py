"""Make molecular graphs, from SMILES strings read as text and from fingerprints."""

from __future__ import annotations

import gzip
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from rich.progress import track
from scipy import sparse

from mercer import KernelDependency
from mercer._base.arrays import object_array
from mercer.datasets._files import find_file
from mercer.decoders import Search
from mercer.features import Explicit
from mercer.kernels import Features, GraphCounts, Kernel
from mercer.spaces import Graphs, Sequences

from .graph_edits import edit_distance
from .report import Report

SEED = 47
TEST = 2000
SIZES = (2_000, 20_000, 10**6)
ELEMENTS = ("C", "N", "O", "F")
COLUMNS, OUTPUT_COLUMNS, LEAST = 14_000, 9_000, 3
WIDTH = 48
"""The longest string, with a mark at both ends."""
PUBLISHED = (
    ("SISOKR (2024)", "SMILES, 131k pairs", "edits without bonds", 3.330),
    ("SISOKR (2024)", "SMILES, 131k pairs", "edits with bonds", 4.192),
    ("DSOKR (2024)", "SMILES, 131k pairs", "edits without bonds", 1.951),
    ("DSOKR (2024)", "SMILES, 131k pairs", "edits with bonds", 2.960),
    ("Any2Graph (2024)", "fingerprint, 120k pairs", "edits with bonds", 2.13),
    ("Any2Graph (2024)", "fingerprint, 120k pairs", "exact", 0.2985),
)
"""Published results, on other random splits of the same molecules."""


# -- molecules ------------------------------------------------------------------------------------


def molecules(limit: int | None, rng: np.random.RandomState) -> np.ndarray:
    """Return SMILES of QM9 in random order, those that rdkit reads with the four elements."""
    path = find_file("molecules/qm9_all.smi.gz", None, sha256=None, origin="the QM9 data set")
    lines = gzip.decompress(path.read_bytes()).decode().split("\n")
    smiles = [line.split()[0] for line in lines if line.strip()]
    order = rng.permutation(len(smiles))
    return object_array([smiles[i] for i in order[:limit]])


def bond_graph(smiles: str) -> Any:
    """Return a molecule with elements on its atoms and orders 1 to 3 on its bonds; None if not."""
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        mol = Chem.MolFromSmiles(smiles)
        if mol is None or {atom.GetSymbol() for atom in mol.GetAtoms()} - set(ELEMENTS):
            return None
        Chem.Kekulize(mol, clearAromaticFlags=True)
    graph = nx.Graph()
    for atom in mol.GetAtoms():
        graph.add_node(atom.GetIdx(), label=atom.GetSymbol())
    for bond in mol.GetBonds():
        ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        graph.add_edge(*ends, label=int(bond.GetBondTypeAsDouble()))
    return graph


def as_matrix(graph: Any, bonds: bool) -> np.ndarray:
    """Return a graph as a matrix: elements on the diagonal, bond orders (or 1) elsewhere."""
    number = {v: i for i, v in enumerate(graph)}
    a = np.diag([1 + ELEMENTS.index(label) for _, label in graph.nodes(data="label")])
    for v, w, order in graph.edges(data="label"):
        a[number[v], number[w]] = a[number[w], number[v]] = order if bonds else 1
    return a


# -- inputs ---------------------------------------------------------------------------------------


class Counted(Kernel):
    """Counts of hashed features of items, the most frequent ones, each over the root of its spread.

    Parameters
    ----------
    size, least
        The number of features that are kept, and the number of items that must have one.
    """

    def __init__(self, size: int = COLUMNS, least: int = LEAST):
        self.size = size
        self.least = least

    depends_on_data = True

    def hashed(self, A: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the item and the hash of each feature of a batch."""
        raise NotImplementedError

    def fit(self, A: Any) -> Counted:
        """Choose the features that most items have, and measure their spreads."""
        owner, key = self.hashed(A)
        keys, place = np.unique(key, return_inverse=True)
        pairs = np.unique(place.astype(np.int64) * len(A) + owner)
        items = np.bincount(pairs // len(A), minlength=len(keys))
        order = np.argsort(-items, kind="stable")[: self.size]
        self.keys_ = np.sort(keys[order[items[order] >= self.least]])
        self.scales_ = np.ones(len(self.keys_))
        F = self.counts(A)
        mean = F.sum(axis=0) / len(A)
        variance = F.multiply(F).sum(axis=0) / len(A) - mean**2
        self.scales_ = np.minimum(np.maximum(variance, 1e-9) ** -0.25, 10.0)
        return self

    def counts(self, A: Any) -> sparse.csr_array:
        """Return the scaled counts of the features that are kept."""
        owner, key = self.hashed(A)
        place = np.minimum(np.searchsorted(self.keys_, key), len(self.keys_) - 1)
        known = self.keys_[place] == key
        values = self.scales_[place[known]]
        shape = len(A), len(self.keys_)
        return sparse.csr_array((values, (owner[known], place[known])), shape=shape)

    @property
    def features(self) -> Features:
        """The scaled counts."""
        return Features(lambda A: self.counts(A).toarray(), self.counts)


def mixed(*parts: Any) -> np.ndarray:
    """Return a hash of a tuple of arrays of integers, entry by entry."""
    found = np.zeros(1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for part in parts:
            found = found * np.uint64(0x9E3779B97F4A7C15) + np.asarray(part, np.uint64)
            found = (found ^ (found >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
            found = found ^ (found >> np.uint64(32))
    return found


class TextCounts(Counted):
    """n-grams of 1 to 6 symbols, pairs of symbols with a gap, n-grams at a position.

    Positions are counted from both ends. Nothing follows brackets or the digits of rings.
    """

    space = Sequences()

    def hashed(self, A: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the string and the hash of each feature of a batch of strings."""
        lengths = np.array([len(s) + 2 for s in A])
        codes = np.zeros((len(A), WIDTH), dtype=np.uint64)
        for i, s in enumerate(A):
            codes[i, : len(s) + 2] = np.frombuffer(f"^{s}$".encode(), np.uint8)
        parts, at = [], np.arange(WIDTH)

        def add(keys: np.ndarray, span: int) -> None:
            """Add the features that start at each position and are `span` symbols long."""
            rows, _ = np.nonzero(at[: keys.shape[1]] + span <= lengths[:, None])
            inside = at[: keys.shape[1]] + span <= lengths[:, None]
            parts.append((rows, keys[inside]))

        grams = codes
        for n in range(1, 7):
            grams = codes if n == 1 else mixed(grams[:, :-1], codes[:, n - 1 :])
            add(mixed(grams, n), n)
            if n <= 3:
                width = grams.shape[1]
                add(mixed(grams, n, at[:width] + 1000), n)
                add(mixed(grams, n, lengths[:, None] - at[:width] + 2000), n)
        for gap in range(2, 8):
            add(mixed(codes[:, :-gap], codes[:, gap:], gap + 3000), gap + 1)
        return tuple(map(np.concatenate, zip(*parts, strict=True)))  # type: ignore[return-value]


class BitPairs(Counted):
    """The bits of a Morgan fingerprint of 2,048 bits, and all pairs of them."""

    space = Sequences()

    def hashed(self, A: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the molecule and the hash of each bit and pair of bits of a batch of SMILES."""
        from rdkit import Chem
        from rdkit.Chem import rdFingerprintGenerator

        generator, parts = rdFingerprintGenerator.GetMorganGenerator(2, fpSize=2048), []
        for i, smiles in enumerate(A):
            bits = generator.GetFingerprint(Chem.MolFromSmiles(smiles)).GetOnBits()
            on = np.array(sorted(bits))
            one, other = np.triu_indices(len(on))
            keys = mixed(on[one], on[other] + 1)
            parts.append((np.full(len(keys), i), keys))
        return tuple(map(np.concatenate, zip(*parts, strict=True)))  # type: ignore[return-value]


# -- the table ------------------------------------------------------------------------------------


@dataclass
class Judged:
    """What was predicted for the test molecules, next to the truth."""

    exact: np.ndarray
    plain: np.ndarray
    labelled: np.ndarray
    new: np.ndarray
    ranks: np.ndarray
    chances: np.ndarray
    missed: np.ndarray


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Report exact graphs, edit distances, search errors and calibration."""
    report = Report("graphs", lower_is_better=["edits without bonds", "edits with bonds"])
    for method, setting, metric, value in PUBLISHED:
        report.add(method, setting, metric, value)
    sizes = (300,) if quick else SIZES
    rng = np.random.RandomState(SEED)
    limit = None if max(sizes) > 10**5 else max(sizes) * 2 + TEST
    smiles = molecules(limit, rng)
    tests = 40 if quick else TEST
    for name, kernel in (("SMILES", TextCounts), ("fingerprint", BitPairs)):
        for size in sizes:
            step(report, name, kernel, smiles, size, tests, console)
            report.save(folder)
    report.notes.append(
        "Graphs have elements on atoms and Kekulé orders on bonds; molecules that rdkit does not "
        f"read are left out. The order is random (seed {SEED}), the last molecules are the test. "
        "The edit distance is exact, with unit costs for nodes and edges. Nothing is chosen on "
        "test rows: the weights, the floor and the temperature come from left-out training rows, "
        "the ridge is 1. SMILES are read as text: no feature follows brackets or ring digits."
    )
    return report


def step(
    report: Report,
    name: str,
    kernel: Callable[[], Kernel],
    smiles: np.ndarray,
    size: int,
    tests: int,
    console: Any,
) -> None:
    """Fit one model, and add its results to the report."""
    chosen = np.concatenate([smiles[:-tests][:size], smiles[-tests:]])
    made = [bond_graph(s) for s in track(chosen, "reading", console=console, transient=True)]
    kept = np.array([graph is not None for graph in made])
    train = np.flatnonzero(kept[:-tests])
    test = len(chosen) - tests + np.flatnonzero(kept[-tests:])
    graphs = object_array(made)
    start = time.perf_counter()
    model = KernelDependency(
        kernel(),
        GraphCounts(OUTPUT_COLUMNS, least=LEAST),
        alpha=1.0,
        decoder=Search(allowed="training"),
        features=Explicit(sparse=True),
    ).fit(chosen[train], graphs[train])
    fitted = time.perf_counter() - start
    start = time.perf_counter()
    judged = judge(model, chosen[test], graphs[test], set(Graphs().keys(graphs[train])))
    seconds = (time.perf_counter() - start) / len(test)
    setting = f"{name}, {len(train):,} pairs"
    add_rows(report, setting, judged, fitted, seconds)


def add_rows(report: Report, setting: str, judged: Judged, fitted: float, seconds: float) -> None:
    """Add the results of one model to the report."""
    method = "mercer: Search"
    values = {
        "exact": judged.exact.mean(),
        "exact, not in training": judged.exact[judged.new].mean() if judged.new.any() else np.nan,
        "edits without bonds": judged.plain.mean(),
        "edits with bonds": judged.labelled.mean(),
        "true graph among 2": (judged.ranks < 2).mean(),
        "true graph among 8": (judged.ranks < 8).mean(),
        "search error": judged.missed.mean(),
        "calibration error": calibration_error(judged.chances, judged.exact),
        "seconds of the fit": fitted,
        "seconds of a prediction and its judgement": seconds,
    }
    for metric, value in values.items():
        report.add(method, setting, metric, float(value))


def judge(model: Any, X: np.ndarray, truth: np.ndarray, known: set) -> Judged:
    """Predict test graphs, and compare them with the truth."""
    decoder, key, columns = model.decoder_, Graphs().key, []
    for rows in np.array_split(np.arange(len(X)), max(1, len(X) // 200)):
        points = model.embed(X[rows])
        scores = decoder.scores_of(points, truth[rows])
        found = decoder.decode_top(points, decoder.beam)
        for i, own, ranked in zip(rows, scores, found, strict=True):
            keys, true = [key(graph) for graph, _ in ranked], key(truth[i])
            rank = keys.index(true) if true in keys else len(keys)
            edits = [
                edit_distance(as_matrix(ranked[0][0], bonds), as_matrix(truth[i], bonds))
                for bonds in (False, True)
            ]
            chance = decoder.probabilities(ranked)[0]
            missed = own > ranked[0][1] + 1e-6
            columns.append((rank == 0, *edits, true not in known, rank, chance, missed))
    return Judged(*map(np.array, zip(*columns, strict=True)))


def calibration_error(chances: np.ndarray, right: np.ndarray) -> float:
    """Return the mean difference of probability and frequency over ten bins of probabilities."""
    bins = np.minimum((10 * chances).astype(int), 9)
    counts = Counter(bins.tolist())
    gaps = [counts[b] * abs(chances[bins == b].mean() - right[bins == b].mean()) for b in counts]
    return float(sum(gaps) / len(chances))
