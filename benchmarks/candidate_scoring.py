"""How near is scoring 10,000 inputs against 100,000 candidates to the bare matrix product?"""

import numpy as np
from _measure import best_times, peak_mib, report, size

from mercer.decoders import Candidates
from mercer.embedding import Embedding, OrthonormalFrame
from mercer.features import Explicit
from mercer.kernels import Linear

rng = np.random.default_rng(0)
inputs, candidates = size((10_000, 100_000), (2_000, 50_000))
points, outputs = rng.normal(size=(inputs, 128)), rng.normal(size=(candidates, 128))
kernel = Linear()
embedding = Embedding(points, OrthonormalFrame(Explicit().fit(kernel, outputs)))
decoder = Candidates(outputs).fit(kernel, outputs[:2])
before = peak_mib()


def bare():
    for j in range(0, len(outputs), 2048):
        block = np.ascontiguousarray(outputs[j : j + 2048].T)
        for i in range(0, len(points), 1024):
            points[i : i + 1024] @ block


decoder.decode(embedding)
extra = peak_mib() - before
times = best_times(
    {"bare blocked product": bare, "Candidates": lambda: decoder.decode(embedding)}, 3
)
report(f"scoring {inputs:,} × {candidates:,} × 128", times, "bare blocked product", "at most 1.5")
print(f"peak memory beyond the inputs: {extra:.0f} MiB (wanted: under 1024)")
