"""
Reading handwritten words
=========================

The input is a word, as one image for each letter. The output is its text. The kernel compares the
images at the same position of two words. One decoder reads letter by letter. Another returns the
best word of a lexicon. The words of this data set lack their first letter, which was a capital.
They are read by `mercer.datasets.load_ocr_words`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import make_scorer

from mercer import KernelDependencyCV
from mercer.datasets import load_ocr_words
from mercer.decoders import Lexicon, PerPosition
from mercer.kernels import Normalized, Polynomial, Positions
from mercer.metrics import exact_match, symbol_accuracy

images, words, folds = load_ocr_words()
train, test = folds == 0, folds == 1

# %%
# The model learns from one fold of about 690 words. The parameter gamma of the cubic kernel and the
# ridge maximise the fraction of right letters in left-out words.

model = KernelDependencyCV(
    [Positions(Normalized(Polynomial(3, gamma))) for gamma in (1 / 128, 1 / 32)],
    Positions(),
    alphas=np.logspace(-5, 0, 6),
    scoring=make_scorer(symbol_accuracy),
    decoder=PerPosition(length="input"),
).fit(images[train], words[train])
print(model.kernel_, "alpha", model.alpha_)

# %%
# Read another fold letter by letter, and with the training words as the lexicon.

read = {"letters": model.predict(images[test])}
model.decoder_ = Lexicon(restrict="length").fit(model.output_kernel_, words[train])
read["lexicon"] = model.predict(images[test])
for name, texts in read.items():
    letters, whole = symbol_accuracy(words[test], texts), exact_match(words[test], texts)
    print(f"{name}: {letters:.3f} of letters, {whole:.3f} of words")

# %%
# The first three words were read wrongly letter by letter, the last three correctly.

first = {text: i for i, text in reversed([*enumerate(words[test])])}  # of each word, one
wrong = [i for text, i in first.items() if read["letters"][i] != text][:3]
right = [i for text, i in first.items() if read["letters"][i] == text][:3]
figure, axes = plt.subplots(6, 1, figsize=(6, 7), layout="constrained")
for axis, i in zip(axes, wrong + right, strict=True):
    axis.imshow(np.hstack([np.reshape(letter, (16, 8)) for letter in images[test][i]]), "gray_r")
    says = [f"{name}: {texts[i]}" for name, texts in read.items()]
    axis.set_title(f"{words[test][i]}   ({', '.join(says)})", fontsize=10)
    axis.axis("off")
plt.show()

# sphinx_gallery_thumbnail_path = '_static/gallery/words.png'
