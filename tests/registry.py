"""Every public part of the package with an example: what contracts, laws and round trips run over.

A new part is one line here; `test_registry.py` fails until it has one. Lists called MORE have other
parameters, items and wrappers, for the contracts alone.
"""

import networkx as nx
import numpy as np
from scipy.sparse import csr_array
from sklearn.preprocessing import StandardScaler

from mercer import (
    ConformalSets,
    KernelDependency,
    KernelDependencyCV,
    SequenceTransducer,
)
from mercer import decoders as d
from mercer import features as f
from mercer import kernels as k
from mercer import operators as o
from mercer import spaces as s
from mercer.estimators import (
    Blend,
    BoostedDependency,
    ForestDependency,
    MissingTargets,
    RegressorDependency,
)
from mercer.fields import LocalLaw, Shared, ShiftEquivariant

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
TITLES = ["the sea", "The sun!", "a sea of sand", "sun and sea", "", "the moon"]
TWINS = np.vstack([VECTORS, VECTORS[:1]])
INDICATORS = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]])
PARTIAL = np.where(RNG.random(RANKS.shape) < 0.2, np.nan, RANKS // 2)
NUMBERS = np.linspace(0, 1, 6)[:, None]

ROWS = [{"title": word, "price": 1.5 * i % 4} for i, word in enumerate(WORDS)]


def inner_products(A, B):
    return A @ B.T


def shared_letters(a, b):
    return float(len(set(a) & set(b)))


def equal(a, b):
    return float(a == b)


LETTERS = k.Function(shared_letters, of_items=True)
TOLD = LETTERS + k.Function(equal, of_items=True)
"""Tells anagrams apart, as a decoder's kernel must."""
SPACES = [
    (s.Vectors(), VECTORS), (s.Vectors(), IMAGES), (s.Curves(np.arange(3.0)), VECTORS),
    (s.Fields(), IMAGES), (s.Fields(channels=3), VECTORS[:, None, :]),
    (s.LabelSets(), SETS), (s.Classes(), CLASSES), (s.Sequences(), WORDS),
    (s.Sequences(vectors=True), [VECTORS[:2], VECTORS[2:], VECTORS[1:3]]), (s.Rankings(), RANKS),
    (s.Graphs(), GRAPHS), (s.Trees(), TREES), (s.Molecules(), SMILES), (s.Spectra(), SPECTRA),
    (s.Rows(["title", "price"]), ROWS), (s.Opaque(), WORDS),
    (s.Records({"title": s.Sequences(), "price": s.Vectors()}), ROWS), (s.Indices(6), np.arange(6)),
    (s.GramRows(), VECTORS @ VECTORS.T),
]  # fmt: skip
KERNELS = [
    (k.RBF(), VECTORS), (k.Laplacian(), VECTORS), (k.Matern(), VECTORS),
    (k.RationalQuadratic(), VECTORS), (k.Linear(), VECTORS),
    (k.Polynomial(2), VECTORS), (k.Gaussian(k.Linear()), VECTORS),
    (k.Normalized(k.Polynomial(2)), VECTORS), (k.RBF() + k.Linear(), VECTORS),
    (k.RBF() * k.Linear(), VECTORS), (0.5 * k.RBF(), VECTORS), (k.Linear() ** 2, VECTORS),
    (k.ChiSquare(), POSITIVE), (k.Hellinger(), SHARES), (k.Intersection(), POSITIVE),
    (k.Tanimoto(), POSITIVE), (k.L2(), VECTORS), (k.Sobolev(), VECTORS),
    (k.FieldL2(), IMAGES),
    (k.Precomputed(VECTORS @ VECTORS.T), np.arange(6)), (k.Labels(), SETS), (k.Delta(), CLASSES),
    (k.Words(), TITLES), (k.TfIdf(bits=8), TITLES), (k.Standardized(k.RBF(1.0)), VECTORS),
    (k.Mapped(StandardScaler(), k.Linear(), s.Vectors(), inverse=True), VECTORS),
    (k.On("title", k.Spectrum(2)) + k.On("price", k.RBF()), ROWS),
    (k.Hamming(), RANKS), (k.Kendall(), RANKS), (k.Spearman(), RANKS),
    (k.UnitVariance(k.Linear()), VECTORS),
    (k.Spectrum(2), WORDS), (k.Subsequences(2), WORDS), (k.WeightedDegree(2), WORDS),
    (k.Positions(), WORDS), (k.LocalWindow(), PLACES), (k.ShortestPath(), GRAPHS),
    (k.WeisfeilerLehman(), GRAPHS), (k.GraphCounts(), GRAPHS), (k.SubsetTree(), TREES),
    (k.Subtree(), TREES), (k.Productions(), TREES),
    (k.Fingerprint(), SMILES), (k.MassSpectrum(), SPECTRA),
    (k.LaplacianRegularized(k.RBF(1.0)), VECTORS), (k.Smoothed(k.RBF(1.0), 1.0, (4, 4)), IMAGES),
]  # fmt: skip
MORE_KERNELS = [
    (k.Standardized(k.Linear(), "common"), TWINS), (k.TfIdf("letters", 2, 3, 4, 8), TITLES),
    (k.Standardized(k.RBF(2.0), "common", True), VECTORS),
    (k.PrincipalComponents(k.RBF(2.0)), VECTORS),
    (k.Mahalanobis(k.RBF(2.0), np.eye(2, 3), np.arange(3.0)), VECTORS),
    (k.Polynomial(3, gamma=0.5, coef0=0.0), TWINS), (k.RBF(1.0), TWINS), (k.Laplacian(2.0), IMAGES),
    (k.Matern(1.0, nu=0.5), TWINS), (k.Matern(1.0, nu=2.5), IMAGES),
    (k.Matern(1.0, nu=3.5), VECTORS),
    (k.Matern(1.0, nu=np.inf), VECTORS), (k.Normalized(k.Linear()), IMAGES),
    (k.Gaussian(k.Polynomial(2), 3.0), VECTORS),
    (k.Normalized(k.RBF() + k.Linear()), IMAGES), (k.Function(inner_products), VECTORS),
    (k.LaplacianRegularized(k.Linear(), gamma=0.0), VECTORS), (LETTERS, WORDS),
    (k.Normalized(LETTERS), WORDS), (k.Gaussian(LETTERS), WORDS), (LETTERS**2, WORDS),
    (k.LaplacianRegularized(LETTERS), WORDS),
    (k.Normalized(k.Precomputed(VECTORS @ VECTORS.T)), [3, 1, 4, 1, 5]),
    (k.Labels(), csr_array(INDICATORS)), (k.Labels(k.Tanimoto()), SETS),
    (k.Gaussian(k.Labels(k.Tanimoto())), SETS), (k.Gaussian(k.Kendall()), RANKS),
    (k.Kendall(), PARTIAL), (k.Spearman(), PARTIAL), (k.Hamming(), PARTIAL),
    (k.Positions(k.Linear()), [VECTORS[:2], VECTORS[2:], VECTORS[1:3]]),
    (k.RBF("ard"), VECTORS), (k.RBF([0.5, 1.0, 2.0]), TWINS), (k.Laplacian("ard"), VECTORS),
    (k.Matern("ard", nu=0.5), VECTORS), (k.Matern([1.0, 2.0, 3.0]), VECTORS),
    (k.Matern("ard", nu=2.5), TWINS), (k.RationalQuadratic("ard", 0.5), VECTORS),
    (k.RationalQuadratic([1.0, 2.0, 3.0], 3.0), TWINS), (k.L2(smoothing=0.01), VECTORS),
    (k.Sobolev(weight=0.5, smoothing=0.1), VECTORS), (k.SubsetTree(0.7), TREES),
    (k.Subtree(0.7), TREES), (k.Subsequences(3, 0.8, blended=True), WORDS),
    (k.Spectrum(2, blended=True, weights=[0.5, 2.0]), WORDS), (k.Spectrum(2, True, 2), WORDS),
    (k.Positions(k.RBF(1.0)), [VECTORS[:2], VECTORS[2:], VECTORS[1:3]]),
    (k.MassSpectrum(4.7, 0.7), SPECTRA), (k.Labels(k.RBF(1.5)), SETS),
    (k.LaplacianRegularized(2.0 * k.RBF("ard"), 0.5, 2), VECTORS),
    (k.Normalized(k.Polynomial(2, 0.5, 2.0) + 3.0 * k.Linear()), VECTORS),
    (0.5 * k.RBF("ard") * k.Matern(2.0), VECTORS), (k.Gaussian(LETTERS), WORDS),
    (k.UnitVariance(k.Spectrum(2)), WORDS), (k.UnitVariance(2 * k.RBF("ard")), VECTORS),
    (k.Smoothed(k.RBF("ard"), 0.7, (4, 4)), IMAGES), (k.Words(k.Subsequences(2)), TITLES),
    (k.Gaussian(k.Polynomial(2, 0.3) + 2.0 * k.Linear()) ** 2, VECTORS),
    (k.GraphCounts(20, cycles=0), GRAPHS), (2.0 * k.GraphCounts() + k.GraphCounts(), GRAPHS),
    (k.GraphCounts() + k.GraphCounts(radius=0), GRAPHS),
]  # fmt: skip
OPERATORS = [
    o.Identity(), o.Covariance(), o.Covariance(0.0), o.Covariance(0.5), o.ConditionalCovariance(),
    o.ConditionalCovariance(1e-6), o.Matrix(np.diag([1.0, 2.0, 0.0])), 0.5 * o.Covariance(),
    o.Identity() + 2.0 * o.Covariance(),
    o.Matrix.mean_regularized(3, 0.9), o.Matrix.graph(np.ones((3, 3)), 0.1), o.ReducedRank(2),
    sum([o.Identity(), o.ConditionalCovariance(), o.Matrix(np.ones((3, 3)))]),
    o.Mixture([o.Identity(), o.Covariance(), o.ConditionalCovariance()], [0.2, 0.5, 0.3]),
]  # fmt: skip
OPERATOR_KERNELS = [
    k.RBF(1.0) * o.Covariance(), k.RBF(1.0) * o.Covariance() + k.Linear(), o.CurlFree(1.0),
    o.DivergenceFree(1.0), o.Pointwise(),
    ShiftEquivariant(k.RBF(1.0)),
]  # fmt: skip
FULL_FEATURES = [
    f.KernelPCA(), f.IncompleteCholesky(), f.RandomPivotedCholesky(random_state=0),
    f.Nystroem(rank=9),
]  # fmt: skip
"""Maps that give the kernel back exactly."""
FEATURES = [
    f.Explicit(), f.IncompleteCholesky(3), f.KernelPCA(2), f.Nystroem(3, random_state=0),
    f.RandomPivotedCholesky(3, random_state=0), f.RandomFourier(4, random_state=0),
]  # fmt: skip
MORE_FEATURES = [
    f.Nystroem(landmarks=VECTORS[:4] + 0.1), f.KernelPCA(2, center=True),
    f.RandomFourier(7, orthogonal=False, random_state=0),
]  # fmt: skip
DECODERS = [
    (d.Direct(), k.Linear(), VECTORS), (d.Candidates(), k.RBF(), VECTORS),
    (d.FixedPoint(), k.RBF(), VECTORS), (d.Gradient(), k.Polynomial(3), VECTORS),
    (d.Simplex(), k.Linear(), SHARES), (d.Threshold(), k.Labels(), SETS),
    (d.ExpectedF1(), k.Labels(), SETS), (d.ByLoss(), k.Labels(), SETS),
    (d.Kemeny(), k.Kendall(), RANKS), (d.Borda(), k.Kendall(), RANKS),
    (d.Assignment(), k.Spearman(), RANKS),
    (d.Lexicon(), k.Positions(), WORDS), (d.Search(), k.GraphCounts(), GRAPHS),
    (d.Viterbi(), k.Positions(), WORDS), (d.PerPosition(), k.Positions(), WORDS),
    (d.NGramPath(), k.Spectrum(2, blended=True), WORDS),
    (d.GromovWassersteinBarycenter(), k.ShortestPath(), GRAPHS),
    (d.TreeChart(leaves=None), k.Productions(), TREES),
    (d.PerField(), k.On("title", k.Positions()) + 2 * k.On("price", k.Linear()), ROWS),
]  # fmt: skip
MORE_DECODERS = [
    (d.Direct(), 2 * k.Linear(), IMAGES), (d.Candidates(), k.Laplacian(), IMAGES),
    (d.Search(), k.Spectrum(2, blended=True), WORDS), (d.Search(), 2.0 * k.Kendall(), RANKS),
    (d.Search(), k.GraphCounts(50) + 2.0 * k.GraphCounts(radius=1), GRAPHS),
    (d.Search(floor=1.0), k.Labels(), SETS),
    (d.Candidates(), TOLD, WORDS), (d.Candidates(), k.Labels(k.Tanimoto()), SETS),
    (d.Candidates(), k.Labels(), csr_array(INDICATORS)), (d.Candidates(), k.Kendall(), RANKS),
    (d.Candidates(), k.Delta(), CLASSES[:2]), (d.FixedPoint(), k.RBF(1.0) + k.RBF(2.0), IMAGES),
    (d.FixedPoint(), k.Matern(), VECTORS), (d.Gradient(), k.RBF(), IMAGES),
    (d.Gradient(), k.Gaussian(k.Polynomial(2)), VECTORS),
    (d.Threshold(), k.Labels(), csr_array(INDICATORS)),
    (d.Threshold(metric="subset"), k.Linear(), INDICATORS), (d.Borda(), k.Spearman(), RANKS),
    (d.Assignment(), k.Hamming(), RANKS), (d.ByLoss("subset"), k.Labels(), SETS),
    (d.ByLoss("hamming"), k.Labels(), csr_array(INDICATORS)), (d.ByLoss(), k.Kendall(), RANKS),
    (d.ByLoss("spearman"), k.Kendall(), RANKS), (d.ByLoss(), k.Spectrum(2, True), WORDS),
    (d.ByLoss("edit", "training"), TOLD, WORDS),
]  # fmt: skip
MODELS = [
    (KernelDependency(), NUMBERS, VECTORS), (KernelDependency(fit_intercept=True), NUMBERS, SHARES),
    (KernelDependencyCV(k.RBF() * o.Covariance(), k.RBF()), NUMBERS, VECTORS),
    (KernelDependencyCV(k.Spectrum(2), k.Labels(), fit_intercept=True), WORDS, SETS),
    (KernelDependency(o.Patchwise(k.RBF(2.0), size=2, overlap=1)), IMAGES, IMAGES[:, ::-1]),
    (KernelDependency(o.Local(k.RBF(2.0), width=1.0)), IMAGES, IMAGES[:, ::-1]),
    (KernelDependency(o.Local(windows=o.Boxes(2, 1))), IMAGES, IMAGES[:, ::-1]),
    (
        KernelDependency(Shared(k.RBF(2.0), k.RBF(2.0), 1.0, 0.1, rank=40)),
        IMAGES,
        IMAGES[:, ::-1],
    ),
    (KernelDependency(o.Positionwise(k.RBF(0.3)), k.Positions(), 0.1, d.PerPosition("input")),
     [VECTORS[:2], VECTORS[2:5], VECTORS[5:]], ["no", "oon", "n"]),
    (ForestDependency(n_trees=3, cv=2, random_state=0), NUMBERS, VECTORS),
    (BoostedDependency(n_trees=3, min_samples_leaf=1, cv=2), NUMBERS, VECTORS),
    (LocalLaw(rank=20, cv=2), IMAGES, IMAGES[:, ::-1]),
    (RegressorDependency(KernelDependency(k.RBF(0.5)), cv=2), NUMBERS, VECTORS),
    (ForestDependency(k.Spectrum(2), k.RBF(), 3, cv=2, random_state=0), WORDS, VECTORS),
    (Blend([KernelDependency(k.RBF()), ForestDependency(n_trees=3, cv=2, random_state=0)]),
     NUMBERS, VECTORS),
    (KernelDependency(k.RBF(), k.On("title", k.Spectrum(2)) + k.On("price", k.Linear())),
     NUMBERS, ROWS),
    (MissingTargets(KernelDependency(k.RBF())), NUMBERS,
     np.where(np.arange(18).reshape(6, 3) % 5 == 0, np.nan, VECTORS)),
    (SequenceTransducer(), WORDS, [word.upper() for word in WORDS]),
    (ConformalSets(KernelDependency(), 0.6), NUMBERS, VECTORS),
    (ConformalSets(KernelDependency(k.RBF(1.0)), 0.6, kind="ellipsoid", scale="posterior"),
     NUMBERS, VECTORS),
    (ConformalSets(KernelDependency(k.RBF(1.0)), 0.6, kind="ellipsoid", scale="residual"),
     NUMBERS, VECTORS),
    (ConformalSets(KernelDependency(k.RBF(1.0)), 0.6, kind="intervals", scale="quantile"),
     NUMBERS, VECTORS),
    (ConformalSets(KernelDependency(k.Spectrum(2)), 0.6, kind="intervals", scale="quantile"),
     WORDS, VECTORS),
    (ConformalSets(KernelDependency(k.RBF(1.0)), 0.6, "jackknife+", "band", scale="flat"),
     NUMBERS, VECTORS),
    (ConformalSets(KernelDependency(k.RBF(), k.Kendall()), 0.6), NUMBERS, RANKS),
    (ConformalSets(KernelDependency(k.RBF(1.0), k.Kendall()), 0.6, "jackknife+"), NUMBERS, RANKS),
]  # fmt: skip
SETTINGS = [
    KernelDependency(),
    KernelDependency(k.RBF() * o.Covariance(), k.RBF(), fit_intercept=True),
    KernelDependency(k.RBF() * o.ConditionalCovariance(), k.RBF(), decoder=d.Candidates()),
    KernelDependency(
        k.RBF(), k.RBF(), features=f.IncompleteCholesky(4), output_features=f.KernelPCA(2)
    ),
    KernelDependency(k.RBF(), k.RBF(), features=f.Nystroem(4, random_state=0)),
    KernelDependencyCV(
        k.RBF(), k.RBF(), features=f.Nystroem(4, random_state=0), fit_intercept=True
    ),
    KernelDependency(k.RBF(), k.RBF(), decoder=d.Gradient(max_iter=2000, tol=1e-10)),
    KernelDependencyCV(
        [k.RBF() * o.Identity(), k.RBF() * o.Covariance()], k.RBF(), fit_intercept=True
    ),
    KernelDependency(k.RBF() * o.ReducedRank(2), k.RBF(), fit_intercept=True),
    KernelDependencyCV([k.RBF() * o.Identity(), k.RBF() * o.ReducedRank(2)], alphas=[0.1, 1.0]),
    KernelDependencyCV(k.LaplacianRegularized(k.RBF()), k.RBF()),
]
"""Ways through the two estimators, for the contract of estimators."""
UNLISTED = {
    "spaces.Space": "abstract",
    "kernels.Alphabet": "symbols of sequences",
    "kernels.Codes": "sequences as integers",
    "features.KernelExpansion": "a fitted map, made by solvers",
    "estimators.StructuredEstimator": "abstract",
    "spaces.Moves": "abstract",
    "kernels.Kernel": "abstract",
    "kernels.VectorKernel": "abstract",
    "kernels.Features": "an ability of kernels: tests/kernels",
    "features.FeatureMap": "abstract",
    "operators.Operator": "abstract",
    "operators.OperatorKernel": "abstract",
    "spaces.Grid": "what `Fields.grid` returns",
    "fields.Resample": "a transformer of scikit-learn: tests/fields/test_resample.py",
    "operators.CoupledKernel": "abstract",
    "operators.Blocks": "holds a function: tests/operators/test_operator_kernels.py",
    "operators.BlockGram": "lives during a fit",
    "operators.DenseGram": "lives during a fit",
    "operators.Slots": "lives during a fit",
    "operators.Moments": "lives during a fit",
    "operators.ComponentGram": "lives during a fit",
    "operators.ComponentKernel": "abstract",
    "decoders.Decoder": "abstract",
}
"""Public classes that have no example, and why."""
LISTS = (
    SPACES, KERNELS, MORE_KERNELS, OPERATORS, OPERATOR_KERNELS, FEATURES, FULL_FEATURES,
    MORE_FEATURES, DECODERS, MORE_DECODERS, MODELS,
)  # fmt: skip


def part_of(case):
    """The part of a case: its first element, or itself."""
    return case[0] if isinstance(case, tuple) else case


def name_of(case):
    """The name of the part: not its text, in which a function's address differs every time."""
    return type(part_of(case)).__name__


def listed():
    """The classes that the registry has an example of, wherever in its parts."""
    kinds = set()
    for part in (part_of(case) for cases in LISTS for case in cases):
        kinds |= {type(part), *(type(value) for value in part.get_params().values())}
    return kinds
