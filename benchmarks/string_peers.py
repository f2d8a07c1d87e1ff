"""What do a conditional random field and a joint n-gram model reach where SequenceTransducer does?

    python benchmarks/string_peers.py [--words 5000] [--test 2000] [--out DIR]

All three say CMUdict without stress. The random field (python-crfsuite, in mercer[docs]) is given
the alignment of the transducer: windows of letters in, one chunk of phones a letter out. The joint
model ranks the best outputs of the transducer's search alone, which flatters it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from mercer import SequenceTransducer
from mercer.datasets import load_cmudict
from mercer.metrics import exact_match

REACH = 4
"""Letters to either side that the random field sees."""


def features(word: str) -> list[list[str]]:
    """All runs of letters around each place that hold it or touch it."""
    padded = "#" * REACH + word + "#" * REACH
    found = []
    for i in range(REACH, REACH + len(word)):
        runs = [
            f"{a},{b}:{padded[i + a : i + b + 1]}"
            for a in range(-REACH, REACH + 1)
            for b in range(a, min(a + 4, REACH) + 1)
        ]
        found.append(runs)
    return found


def random_field(
    words: list[str], chunks: list[list[tuple]], new: list[str], rounds: int
) -> list[list]:
    """Phones of new words by a linear chain over chunks."""
    import pycrfsuite

    path = str(Path(tempfile.mkdtemp()) / "chunks.crfsuite")
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.0, "c2": 0.1, "max_iterations": rounds})
    for word, row in zip(words, chunks, strict=True):
        trainer.append(features(word), ["_".join(chunk) or "-" for chunk in row])
    trainer.train(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    said = [tagger.tag(features(word)) for word in new]
    return [[p for chunk in row if chunk != "-" for p in chunk.split("_")] for row in said]


def main() -> None:
    """Print the table and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=5000)
    parser.add_argument("--test", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("out"))
    given = parser.parse_args()
    words, phones = load_cmudict()
    drawn = np.random.default_rng(0).permutation(len(words))
    train, test = drawn[2000 : 2000 + given.words], drawn[: given.test]
    table = {}
    start = time.perf_counter()
    model = SequenceTransducer(unalignable="skip").fit(words[train], phones[train])
    table["transducer"] = model.score(words[test], phones[test]), time.perf_counter() - start
    kept = [i for i in range(len(train)) if i not in set(model.skipped_.tolist())]
    chunks = [[tuple(chunk) for _, chunk in model.aligned(i)] for i in kept]
    start = time.perf_counter()
    said = random_field([words[train[i]] for i in kept], chunks, list(words[test]), given.rounds)
    right = exact_match([tuple(p) for p in phones[test]], [tuple(p) for p in said])
    table["random field, given the alignment"] = right, time.perf_counter() - start
    model.joint_weight_ = 1e6  # nothing else counts
    model.backward_ = None
    table["joint n-grams alone"] = model.score(words[test], phones[test]), 0.0
    for name, (share, seconds) in table.items():
        print(f"{name:36} {share:.3f}  {seconds:6.0f} s")
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "string_peers.json").write_text(json.dumps(table))


if __name__ == "__main__":
    main()
