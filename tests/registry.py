"""Every public part of the package with an example: what contracts, laws and round trips run over.

A new part is one line here; `test_registry.py` fails until it has one.
"""

import networkx as nx
import numpy as np

from mercer import (
    ConformalSets,
    JointKernelMap,
    KernelDependency,
    KernelDependencyCV,
    MaxMarginMarkovNetwork,
    SequenceTransducer,
    losses,
)
from mercer import decoders as d
from mercer import features as f
from mercer import kernels as k
from mercer import operators as o
from mercer import spaces as s
from mercer.estimators import OnlineKernelDependency

RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(6, 3))
POSITIVE = RNG.random((6, 4))
IMAGES = RNG.normal(size=(6, 4, 4))
SHARES = POSITIVE / POSITIVE.sum(axis=1, keepdims=True)
WORDS = ["ab", "ba", "bba", "aaba", "abbb", "b"]
SETS = [["a", "b"], ["c"], ["a", "b", "c"], ["a", "c"], ["b"], ["a"]]
RANKS = np.stack([RNG.permutation(4) for _ in range(6)])
GRAPHS = [nx.path_graph(n) for n in (2, 3, 4)] + [nx.cycle_graph(n) for n in (3, 4, 5)]
TREES = [f"(S (N {a}) (V {b}))" for a in ("dog", "cat", "cow") for b in ("barks", "sleeps")]
SMILES = ["CO", "CCO", "CC=O", "c1ccccc1", "CN", "CCC"]
SPECTRA = [([19.02 + i, 37.03], [1.0, 0.25], 37.03 + i) for i in range(6)]
PLACES = [("cat", 1), ("car", 1), ("bat", 1), ("cot", 2), ("tact", 3), ("act", 0)]
CLASSES = ["a", "b", "a", "c", "b", "c"]
NUMBERS = np.linspace(0, 1, 6)[:, None]

ROWS = [{"title": word, "price": 1.5 * i % 4} for i, word in enumerate(WORDS)]
SPACES = [
    (s.Vectors(), VECTORS), (s.Vectors(), IMAGES), (s.Curves(np.arange(3.0)), VECTORS),
    (s.LabelSets(), SETS), (s.Classes(), CLASSES), (s.Sequences(), WORDS),
    (s.Sequences(vectors=True), [VECTORS[:2], VECTORS[2:], VECTORS[1:3]]), (s.Rankings(), RANKS),
    (s.Graphs(), GRAPHS), (s.Trees(), TREES), (s.Molecules(), SMILES), (s.Spectra(), SPECTRA),
    (s.Rows(["title", "price"]), ROWS), (s.Opaque(), WORDS), (s.Indices(6), np.arange(6)),
    (s.GramRows(), VECTORS @ VECTORS.T),
]  # fmt: skip
KERNELS = [
    (k.RBF(), VECTORS), (k.Laplacian(), VECTORS), (k.Matern(), VECTORS), (k.Linear(), VECTORS),
    (k.Polynomial(2), VECTORS), (k.Centered(k.RBF()), VECTORS), (k.Gaussian(k.Linear()), VECTORS),
    (k.Normalized(k.Polynomial(2)), VECTORS), (k.RBF() + k.Linear(), VECTORS),
    (k.RBF() * k.Linear(), VECTORS), (0.5 * k.RBF(), VECTORS), (k.Linear() ** 2, VECTORS),
    (k.ChiSquare(), POSITIVE), (k.Hellinger(), SHARES), (k.Intersection(), POSITIVE),
    (k.Tanimoto(), POSITIVE), (k.L2(), VECTORS), (k.Sobolev(), VECTORS),
    (k.Precomputed(VECTORS @ VECTORS.T), np.arange(6)), (k.Labels(), SETS), (k.Delta(), CLASSES),
    (k.Hamming(), RANKS), (k.Kendall(), RANKS), (k.Spearman(), RANKS),
    (k.Spectrum(2), WORDS), (k.Subsequences(2), WORDS), (k.WeightedDegree(2), WORDS),
    (k.Positions(), WORDS), (k.LocalWindow(), PLACES), (k.ShortestPath(), GRAPHS),
    (k.WeisfeilerLehman(), GRAPHS), (k.SubsetTree(), TREES), (k.Subtree(), TREES),
    (k.Fingerprint(), SMILES), (k.MassSpectrum(), SPECTRA),
    (k.LaplacianRegularized(k.RBF(1.0)), VECTORS), (k.Smoothed(k.RBF(1.0), 1.0, (4, 4)), IMAGES),
]  # fmt: skip
OPERATORS = [
    k.RBF() * operator
    for operator in (
        o.Identity(), o.Covariance(), o.Covariance(0.5), o.ConditionalCovariance(0.1),
        o.Matrix(np.eye(3)), o.Identity() + 2.0 * o.Covariance(), o.LearnedOperator(),
        o.Mixture([o.Identity(), o.Covariance()], [0.5, 0.5]),
    )
] + [
    k.RBF(1.0) * o.Covariance() + k.Linear(), o.CurlFree(1.0), o.DivergenceFree(1.0), o.Pointwise(),
    o.Transformed(k.RBF(1.0), [np.eye(3), -np.eye(3), 2.0 * np.eye(3)]),
    o.FromJoint(o.joint(k.RBF(1.0) * o.Identity())),
]  # fmt: skip
FEATURES = [
    f.Exact(), f.Explicit(), f.IncompleteCholesky(3), f.KernelPCA(2), f.Nystroem(3, random_state=0),
    f.RandomPivotedCholesky(3, random_state=0), f.RandomFourier(4, random_state=0),
]  # fmt: skip
DECODERS = [
    (d.Direct(), k.Linear(), VECTORS), (d.Candidates(), k.RBF(), VECTORS),
    (d.FixedPoint(), k.RBF(), VECTORS), (d.Gradient(), k.Polynomial(2), VECTORS),
    (d.Simplex(), k.Linear(), SHARES), (d.Threshold(), k.Labels(), SETS),
    (d.Kemeny(), k.Kendall(), RANKS), (d.Borda(), k.Kendall(), RANKS),
    (d.Assignment(), k.Spearman(), RANKS), (d.Lexicon(), k.Positions(), WORDS),
    (d.Viterbi(), k.Positions(), WORDS), (d.PerPosition(), k.Positions(), WORDS),
    (d.NGramPath(), k.Spectrum(2, blended=True), WORDS),
    (d.GromovWassersteinBarycenter(), k.ShortestPath(), GRAPHS),
]  # fmt: skip
MODELS = [
    (KernelDependency(), NUMBERS, VECTORS), (KernelDependency(fit_intercept=True), NUMBERS, SHARES),
    (KernelDependencyCV(k.RBF() * o.Covariance(), k.RBF()), NUMBERS, VECTORS),
    (KernelDependencyCV(k.Spectrum(2), k.Labels(), fit_intercept=True), WORDS, SETS),
    (MaxMarginMarkovNetwork(k.RBF(), features=f.IncompleteCholesky(3)),
     [VECTORS[:2], VECTORS[2:5], VECTORS[5:]], ["no", "oon", "n"]),
    (KernelDependency(o.Patchwise(k.RBF(2.0), size=2, overlap=1)), IMAGES, IMAGES[:, ::-1]),
    (KernelDependency(o.Positionwise(k.RBF(0.3)), k.Positions(), 0.1, d.PerPosition("input")),
     [VECTORS[:2], VECTORS[2:5], VECTORS[5:]], ["no", "oon", "n"]),
    (KernelDependency(o.CurlFree(1.0), features=f.RandomOperatorFourier(4, random_state=0)),
     VECTORS, VECTORS),
    (KernelDependency(k.RBF(1.0), loss=losses.Huber()), NUMBERS, VECTORS),
    (KernelDependency(k.RBF(1.0), loss=losses.EpsilonInsensitive()), NUMBERS, VECTORS),
    (JointKernelMap(k.RBF(0.3), C=10.0), NUMBERS, VECTORS),
    (OnlineKernelDependency(k.RBF(1.0), budget=4), NUMBERS, VECTORS),
    (SequenceTransducer(), WORDS, [word.upper() for word in WORDS]),
    (ConformalSets(KernelDependency(), 0.6), NUMBERS, VECTORS),
    (ConformalSets(KernelDependency(), 0.6, "jackknife+", "band"), NUMBERS, VECTORS),
    (ConformalSets(KernelDependency(k.RBF(), k.Kendall()), 0.6), NUMBERS, RANKS),
    (ConformalSets(KernelDependency(k.RBF(), k.Kendall()), 0.6, "jackknife+"), NUMBERS, RANKS),
]  # fmt: skip
