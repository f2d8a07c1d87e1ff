"""How well does each operator read handwritten words? `python words_by_fold.py FOLD`.

Learns from one fold (some 690 words), tests on the other nine. The paper's maps: a cubic kernel on
the images that stand at the same place, one-hot letters by place. Each letter is decoded alone,
then whole words over the lexicon of training words that have the right length, with the background
that favours frequent words taken off as leave-one-out says.
"""

import sys
import time

import numpy as np
from sklearn.metrics import make_scorer

from mercer import KernelDependencyCV
from mercer.datasets import load_ocr_words
from mercer.decoders import Lexicon, PerPosition
from mercer.kernels import Normalized, Polynomial, Positions
from mercer.metrics import exact_match, symbol_accuracy
from mercer.operators import ConditionalCovariance, Covariance, Identity

images, words, folds = load_ocr_words()
fold = int(sys.argv[1]) if len(sys.argv) > 1 else 0
train, test = folds == fold, folds != fold

# Images differ in ink and words in length: cosines take that out. Whether they should, how far the
# cubic kernel leans on pairs and triples of pixels (gamma) and alpha are chosen by leave-one-out,
# by the share of letters that left-out words get right.
cubics = [Polynomial(3, gamma) for gamma in (1 / 128, 1 / 32, 1 / 8)]
plain = [Positions(cubic) for cubic in cubics]
cosines = [Positions(Normalized(cubic)) for cubic in cubics]
scalars = [*plain, *cosines, *[Normalized(kernel) for kernel in cosines]]
operators = {
    "identity": [Identity()],
    "covariance": [Covariance()],
    "conditional covariance": [ConditionalCovariance(e) for e in (0.01, 0.1)],
}
for name, some in operators.items():
    start = time.perf_counter()
    model = KernelDependencyCV(
        [scalar * operator for scalar in scalars for operator in some],
        Positions(),
        alphas=np.logspace(-7, 0, 8),
        scoring=make_scorer(symbol_accuracy),
        decoder=PerPosition(length="input"),
    ).fit(images[train], words[train])
    read = model.predict(images[test])
    alone = symbol_accuracy(words[test], read)
    lexicon = Lexicon(restrict="length", background="auto")
    model.decoder_ = lexicon.fit(model.output_kernel_, model.outputs_)
    lexicon.calibrate(model.loo_embed(), model.outputs_)
    read = model.predict(images[test])
    print(
        f"{name:23s} letters alone {alone:.4f}, in words {symbol_accuracy(words[test], read):.4f},",
        f"words {exact_match(words[test], read):.4f}, {time.perf_counter() - start:.1f} s,",
        f"{model.kernel_}, alpha {model.alpha_:g}",
    )
