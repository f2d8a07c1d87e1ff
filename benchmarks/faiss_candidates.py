"""How near is an indexed search of 1,000,000 candidates to bare faiss on the same arrays?

Both answer the top 10 of 1,000 inputs. mercer's answers are those of a scan in double precision,
which the script checks on a part of the inputs; bare faiss ranks in single precision.
"""

import faiss
import numpy as np
from _measure import best_times, peak_mib, report, size
from rich.console import Console

from mercer.decoders import Candidates
from mercer.embedding import Embedding, OrthonormalFrame
from mercer.features import Explicit
from mercer.kernels import Linear

M, T, D, K = size(1_000_000, 200_000), size(1_000, 500), 64, 10

console = Console()
rng = np.random.default_rng(0)
with console.status("drawing candidates"):
    outputs, points = rng.normal(size=(M, D)), rng.normal(size=(T, D))
    kernel = Linear()
    embedding = Embedding(points, OrthonormalFrame(Explicit().fit(kernel, outputs)))
    decoder = Candidates(outputs, index="faiss").fit(kernel, outputs[:2])

vectors = np.concatenate([outputs, (outputs**2).sum(axis=1)[:, None]], axis=1).astype(np.float32)
queries = np.concatenate([2 * points, -np.ones((T, 1))], axis=1).astype(np.float32)
flat = faiss.IndexFlatIP(D + 1)
flat.add(vectors)
decoder.decode_top(embedding[:2], K)  # builds the index

times = best_times(
    {
        "bare faiss flat": lambda: flat.search(queries, K),
        "Candidates(index='faiss')": lambda: decoder.decode_top(embedding, K),
        "Candidates(), a scan": lambda: decoder._scan(embedding, K),
    },
    3,
)
report(f"{T:,} inputs, {M:,} candidates, top {K}", times, "bare faiss flat", "at most 1.3")

with console.status("scanning in double precision"):
    some = embedding[:200]
    best, scores = decoder._scan(some, K)
    found, values = decoder._search(some, K)
    bare = flat.search(queries[:200], K)[1]
    single = np.abs((queries[:200, None] * vectors[best]).sum(axis=2) - scores).max()
print(f"answers equal to those of the scan: {bool((found == best).all())}, of 200 inputs")
print(f"rows that bare faiss answers otherwise: {int((bare != best).any(axis=1).sum())}")
again = np.abs(values - scores).max()
print(f"largest score error of float32: {single:.1e}; after rescoring {again:.1e}")

plain = Candidates(outputs[:100_000]).fit(kernel, outputs[:2])
near = Candidates(outputs[:100_000], index="hnsw").fit(kernel, outputs[:2])
with console.status("linking 100,000 candidates"):
    near.decode_top(some, K)
times = best_times(
    {"scan": lambda: plain.decode_top(some, K), "hnsw": lambda: near.decode_top(some, K)}, 3
)
report("200 inputs, 100,000 candidates", times, "scan", "–")
print(f"recall of hnsw: {near.recall(some, K):.3f}; peak memory {peak_mib():.0f} MiB")
