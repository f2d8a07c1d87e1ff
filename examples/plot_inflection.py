"""
Inflect German words
====================

This example predicts the inflected form of a German word from its lemma and from grammatical tags
(such as past tense, third person). The tags are passed as context. The pictures show the accuracy
for several numbers of training pairs, and the calibration of the probabilities. The data of
SIGMORPHON 2016 are read by `mercer.datasets.load_inflection`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SequenceTransducer
from mercer.datasets import load_inflection

lemmas, tags, forms = load_inflection("german")
drawn = np.random.default_rng(0).permutation(len(lemmas))
held, rest = drawn[:200], drawn[200:]

sizes, with_context, as_tokens = [100, 200, 400], [], []
for size in sizes:
    train = rest[:size]
    model = SequenceTransducer(unalignable="skip")
    model.fit(lemmas[train], forms[train], context=tags[train])
    with_context.append(model.score(lemmas[held], forms[held], context=tags[held]))
    tokens = [("<", *lemma, ">", *asked) for lemma, asked in zip(lemmas, tags, strict=True)]
    plain = SequenceTransducer(unalignable="skip", tiers=None)
    plain.fit([tokens[i] for i in train], forms[train])
    as_tokens.append(plain.score([tokens[i] for i in held], forms[held]))

# %%
# The alignment shows the output of each letter and of each tag of a training word.
print(" ".join(f"{token}:{chunk or '-'}" for token, chunk in model.aligned(0)))
for output, probability in model.predict_proba(["mercern"], context=[("pos=V", "tense=PST")])[0]:
    print(f"{probability:.3f}  {output}")

# %%
# If the model is calibrated, a fraction p of the outputs with the probability p is right.
best = [row[0] for row in model.predict_proba(lemmas[held], 5, context=tags[held])]
right = np.array([a == b for (a, _), b in zip(best, forms[held], strict=True)])
held_right = np.array([probability for _, probability in best])

figure, (left, middle) = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
left.semilogx(sizes, with_context, "o-", label="context=tags")
left.semilogx(sizes, as_tokens, "s--", label="tags as tokens")
left.set(xlabel="training pairs", ylabel="fraction of right forms", xticks=sizes, xticklabels=sizes)
left.minorticks_off()
left.legend()
for part in np.array_split(np.argsort(held_right), 6):
    middle.plot(held_right[part].mean(), right[part].mean(), "o", color="tab:blue")
middle.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
middle.set(xlabel="predicted probability", ylabel="fraction right")
plt.show()

# sphinx_gallery_thumbnail_path = '_static/gallery/inflection.png'
