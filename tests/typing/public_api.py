"""What `mypy --strict` must accept of a user of mercer; checked by `make types`, not by pytest."""

from pathlib import Path

import numpy as np

import mercer
from mercer import (
    AutoDependency,
    Blend,
    ConformalSets,
    ForestDependency,
    KernelDependency,
    KernelDependencyCV,
    SequenceTransducer,
)
from mercer.datasets import load_digit_halves
from mercer.decoders import Candidates, Decoder, FixedPoint
from mercer.embedding import Embedding
from mercer.features import IncompleteCholesky, Nystroem, RandomPivotedCholesky
from mercer.kernels import L2, RBF, Kendall, Kernel, Labels, Linear, Normalized, Spectrum
from mercer.metrics import kendall_tau, sample_f1
from mercer.operators import Covariance, Identity, Operator
from mercer.sources import Stream
from mercer.tables import read
from mercer.testing import check_kernel

upper, lower = load_digit_halves()
kernel: Kernel = RBF(1.0) + Linear() * RBF("median")
operator: Operator = Covariance()
model = KernelDependency(kernel * operator, RBF(2.0), alpha=0.1, decoder=FixedPoint())
model = KernelDependency(RBF(1.0), Kendall(), features=Nystroem(rank=50)).fit(upper, lower)
predicted = model.predict(upper)
best = model.predict_top(upper, k=3)
points: Embedding = model.embed(upper)
inner = points.inner(lower)
variance = points.variance()
score: float = model.score(upper, lower)
chosen = KernelDependencyCV([RBF(s) * Identity() for s in (1.0, 2.0)], L2(), alphas="auto")
left_out = chosen.fit(upper, lower, groups=np.arange(len(upper))).loo_predict()
sets = ConformalSets(chosen, coverage=0.9, kind="band").fit(upper, lower)
covered = sets.covers(upper, lower)
auto = AutoDependency(output="rent", coverage=0.9).fit({"size": [1.0, 2.0], "rent": [3.0, 4.0]})
frame = auto.predict({"size": [1.0]})
report: Path = auto.report("report.html")
words = SequenceTransducer(max_chunk=2).fit(["ab"], ["AB"]).predict(["ba"])
blend = Blend([chosen, ForestDependency(output_kernel=Labels())]).fit(upper, lower)
decoder: Decoder = Candidates()
text = Normalized(Spectrum(3))
low_rank = [IncompleteCholesky(10), RandomPivotedCholesky(10)]
f1: float = sample_f1([["a"]], [["a"]])
tau: float = kendall_tau([[0, 1]], [[0, 1]])
check_kernel(RBF(1.0), upper)
stream = Stream(lambda: iter([(upper, lower)]))
table = AutoDependency(["a"], ["b"]).fit(read("table.csv"))
file: Path = mercer.save(model, "model.mercer")
again = mercer.load(file)
