"""
Pronounce English words
=======================

This example predicts the phones of a word from its letters. The training pairs are not aligned. The
picture shows how the fraction of right words grows with the number of training words. CMUdict is
read by `mercer.datasets.load_cmudict`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SequenceTransducer
from mercer.datasets import load_cmudict

words, phones = load_cmudict()
drawn = np.random.default_rng(0).permutation(len(words))
held, rest = drawn[:1000], drawn[1000:]

sizes, shares = [125, 250, 500, 1000], []
for size in sizes:
    train = rest[:size]
    model = SequenceTransducer(unalignable="skip").fit(words[train], phones[train])
    shares.append(model.score(words[held], phones[held]))

# %%
# Print the alignment of a training word, and the three best pronunciations of a new word.
print(" ".join(f"{letter}:{'+'.join(chunk) or '-'}" for letter, chunk in model.aligned(0)))
for output, score in model.predict_top(["mercerise"], k=3)[0]:
    print(f"{score:7.2f}  {' '.join(output)}")

# %%
plt.semilogx(sizes, shares, "o-")
plt.xticks(sizes, sizes)
plt.minorticks_off()
plt.xlabel("training words")
plt.ylabel("fraction of right new words")
plt.show()

# sphinx_gallery_thumbnail_path = '_static/gallery/pronunciation.png'
