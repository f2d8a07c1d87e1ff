"""
Plurals of English nouns
========================

This example learns the plural of English nouns from forty pairs, without any rule. The scores of
the model show how certain it is.
"""

import matplotlib.pyplot as plt

from mercer import SequenceTransducer

singular = [
    "cherry", "lady", "baby", "city", "party", "story", "army", "pony", "body", "lily", "day",
    "key", "boy", "toy", "monkey", "bus", "box", "fox", "wish", "dish", "church", "bench", "kiss",
    "glass", "cat", "dog", "lamb", "map", "lamp", "cup", "pen", "ring", "bird", "tree", "car",
    "book", "desk", "door", "hand", "stamp",
]  # fmt: skip


def plural(word):
    """Return the plural: es after s, x, sh and ch, ies for y after a consonant, else s."""
    if word.endswith(("s", "x", "sh", "ch")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


model = SequenceTransducer(max_chunk=3).fit(singular, [plural(word) for word in singular])
print(f"{model.left_out_accuracy_:.0%} of the training words are right when left out")

# %%
# Print the two best plurals of new words:
new = ["berry", "ray", "brush", "tax", "table", "duty"]
ranked = model.predict_top(new, k=2)
for word, best in zip(new, ranked, strict=True):
    print(f"{word:8s}", ", ".join(f"{form} ({score:.2f})" for form, score in best))

# %%
# The difference between the two best scores shows how certain the model is. It is uncertain for
# *table*, and predicts a wrong plural.
gaps = [best[0][1] - best[1][1] for best in ranked]
fig, ax = plt.subplots(figsize=(6, 3))
ax.barh([best[0][0] for best in ranked], gaps, color="tab:blue")
ax.invert_yaxis()
ax.set_xlabel("score of the best plural minus that of the second")
fig.tight_layout()
plt.show()
