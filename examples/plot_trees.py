"""
Parse expressions
=================

This example predicts the parse trees of infix expressions. The predicted trees are new. The decoder
`TreeChart` is a chart parser, which finds the best tree that is made of productions of the training
trees. All inner nodes have the label E, so the productions alone allow many trees.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelDependency
from mercer.decoders import TreeChart
from mercer.kernels import Normalized, Productions, Spectrum

rng = np.random.default_rng(0)


def expression(depth, level=0):
    """Return a random parse tree: * and / bind more than + and -, all to the left."""
    if level == 2 or depth == 0:
        if depth > 0 and rng.random() < 0.4:
            return ("E", "(", expression(depth - 1), ")")
        return ("E", str(rng.choice(list("abcxyz"))))
    tree = expression(depth - 1, level + 1)
    while rng.random() < 0.5:
        operator = str(rng.choice(list(("+-", "*/")[level])))
        tree = ("E", tree, operator, expression(depth - 1, level + 1))
    return tree


def spelled(tree):
    return tree if isinstance(tree, str) else "".join(map(spelled, tree[1:]))


found = {}
while len(found) < 260:
    tree = expression(4)
    if 3 <= len(spelled(tree)) <= 20:
        found.setdefault(spelled(tree), tree)
X, y = list(found), list(found.values())

# %%
# Compute the accuracy on 100 new expressions, for 20 to 160 training expressions.
sizes, shares = [20, 40, 80, 160], []
for size in sizes:
    model = KernelDependency(
        Normalized(Spectrum(3, blended=True)), Productions(), alpha=0.1, decoder=TreeChart()
    ).fit(X[:size], y[:size])
    predicted = model.predict(X[160:])
    shares.append(np.mean([a == b for a, b in zip(predicted, y[160:], strict=True)]))
print(dict(zip(sizes, shares, strict=True)))

# %%
# Draw a predicted tree that is not in the training data.


def drawn(axis, tree, left, depth=0):
    """Draw a tree with its leaves from `left` on; return the middle and the next free place."""
    if isinstance(tree, str):
        axis.text(left, -depth, tree, ha="center", va="center", color="tab:blue")
        return left, left + 1
    middles, place = [], left
    for child in tree[1:]:
        middle, place = drawn(axis, child, place, depth + 1)
        middles.append(middle)
    top = float(np.mean(middles))
    for middle in middles:
        axis.plot([top, middle], [-depth - 0.15, -depth - 0.85], color="grey", linewidth=0.8)
    axis.text(top, -depth, tree[0], ha="center", va="center")
    return top, place


figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), width_ratios=[1, 2])
left.semilogx(sizes, shares, "o-")
left.set(xlabel="training expressions", ylabel="fraction of right trees", xticks=sizes)
left.set_xticklabels(sizes)
left.minorticks_off()
drawn(right, model.predict(["a-b*(c+x)-y"])[0], 0)
right.axis("off")
plt.show()
