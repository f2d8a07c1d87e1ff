"""
The spaces and the maps
=======================

This figure explains the method with a fitted model. The function g maps the upper half of a digit
into the feature space of lower halves. The prediction is the lower half whose point is nearest.
Points are drawn in the first two principal components of this feature space.

``python examples/plot_spaces.py docs/spaces.png``
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from matplotlib.patches import Ellipse, FancyArrowPatch, FancyBboxPatch
from matplotlib.patheffects import withStroke
from sklearn.datasets import load_digits

from mercer import KernelDependency
from mercer.datasets import load_digit_halves
from mercer.decoders import Candidates
from mercer.features import KernelPCA
from mercer.kernels import RBF
from mercer.operators import ConditionalCovariance

INK, SOFT, ACCENT, GROUND = "#23262b", "#7c828c", "#d1622b", "#ffffff"
HALO = [withStroke(linewidth=3, foreground="#fbf3e6")]
WASH = {"X": "#eaf1f8", "Y": "#eaf5ee", "F_Y": "#fbf3e6", "F_XY": "#f3eef8"}
EDGE = {"X": "#a9c3dd", "Y": "#a5cfb4", "F_Y": "#e2c48f", "F_XY": "#c5b3dc"}

# %%
# Fit a model to 300 digits, and predict another one.

n, new, shown = 300, 812, (0, 4, 11)
upper, lower = load_digit_halves()
label = load_digits().target
model = KernelDependency(
    RBF(1.0) * ConditionalCovariance(0.1), RBF(2.0), alpha=3e-3, decoder=Candidates()
).fit(upper[:n], lower[:n])
points = model.embed(upper[new : new + 1])
answer = int(points.inner(lower[:n]).argmax())

# %%
# Compute two coordinates of the points :math:`\Phi(y)` of all training outputs, and of the
# predicted point :math:`g(x) = \sum_i c_i \Phi(y_i)`.

components = KernelPCA(2, center=True).fit(RBF(2.0), lower[:n])
plane = components.transform(lower[:n])
weights, _ = points.frame.expansion(points.coordinates)
landing = (weights @ (plane + components.mean_) - components.mean_)[0]

# %%
# Draw the four spaces.

plt.rcParams["mathtext.fontset"] = "cm"
figure = plt.figure(figsize=(11, 6.6), facecolor=GROUND)
axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 11), ylim=(0, 6.6), aspect="equal")
axes.axis("off")
CENTRE = {"X": (2.15, 1.75), "Y": (8.85, 1.75), "F_Y": (8.35, 4.85), "F_XY": (2.35, 4.85)}
SIZE = {"X": (3.3, 2.5), "Y": (3.3, 2.5), "F_Y": (4.5, 2.7), "F_XY": (3.7, 2.5)}
for name, centre in CENTRE.items():
    axes.add_patch(
        Ellipse(centre, *SIZE[name], facecolor=WASH[name], edgecolor=EDGE[name], linewidth=1.4)
    )


def write(x, y, text, size=10.0, color=INK, **more):
    axes.text(x, y, text, fontsize=size, color=color, ha="center", va="center", **more)


def halves(image, centre, zoom, frame=SOFT, linewidth=0.6):
    """Draw half of a digit as a small picture."""
    box = AnnotationBbox(
        OffsetImage(image, zoom=zoom, cmap="gray_r", interpolation="nearest"),
        centre,
        pad=0.12,
        bboxprops={"edgecolor": frame, "linewidth": linewidth, "facecolor": "white"},
    )
    axes.add_artist(box)


def arrow(start, end, text, where, bend=0.0, color=INK, style="-", code="", width=1.5):
    """Draw a map between spaces, with its letter and, below, its name in the code."""
    axes.add_patch(
        FancyArrowPatch(
            start, end, connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>", mutation_scale=15,
            linewidth=width, linestyle=style, color=color, shrinkA=0, shrinkB=0, zorder=3,
        )
    )  # fmt: skip
    write(*where, text, 14, color, zorder=4)
    if code:
        write(where[0], where[1] - 0.27, code, 8.2, SOFT, family="monospace", zorder=4)


# Draw inputs and outputs. The new input and its prediction are orange.

for x, i in zip((1.15, 2.15, 3.15), shown, strict=True):
    halves(upper[i], (x, 2.2), 6.0)
    halves(lower[i], (x + 6.7, 2.2), 6.0)
halves(upper[new], (2.15, 1.2), 6.0, ACCENT, 2.2)
halves(lower[answer], (8.85, 1.2), 6.0, ACCENT, 2.2)
write(2.88, 1.2, "$x$", 15, ACCENT)
write(9.58, 1.2, r"$\hat y$", 15, ACCENT)
write(2.15, 0.28, r"inputs  $\mathcal{X}$", 12)
write(8.85, 0.28, r"outputs  $\mathcal{Y}$", 12)

# Draw the output feature space.

spread = np.abs(plane).max(axis=0)
place = np.array(CENTRE["F_Y"]) + plane / spread * (1.8, 0.98)
star = np.array(CENTRE["F_Y"]) + landing / spread * (1.8, 0.98)
axes.scatter(*place.T, s=14, c=label[:n], cmap="tab10", alpha=0.55, linewidths=0, zorder=2)
axes.plot(*np.array([star, place[answer]]).T, color=ACCENT, linewidth=1.1, zorder=4)
axes.scatter(*place[answer], s=95, facecolor="none", edgecolor=ACCENT, linewidth=1.6, zorder=4)
axes.scatter(*star, s=230, marker="*", color=ACCENT, edgecolor="white", linewidth=0.7, zorder=5)
write(star[0], star[1] + 0.3, "$g(x)$", 14, ACCENT, zorder=6, path_effects=HALO)
write(8.35, 6.4, r"output feature space  $\mathcal{F}_{\mathcal{Y}}$", 12)

# Draw the joint feature space of an operator-valued kernel, and the maps.

write(2.35, 6.3, r"joint feature space  $\mathcal{F}_{\mathcal{XY}}$", 12)
write(2.35, 5.3, r"$K(x, x') = k(x, x')\,B$", 14)
write(2.35, 4.88, "kernel=k * operator", 8.6, SOFT, family="monospace")
write(2.35, 4.42, "$B$: how outputs vary together,\nand what of it $x$ leaves open", 9.4)
arrow((2.0, 3.03), (2.0, 3.57), r"$\Phi_K$", (1.62, 3.3))
arrow((6.08, 4.95), (4.24, 4.95), r"$\Phi_K$", (5.15, 5.22))
arrow((3.42, 2.58), (6.62, 3.98), "$g$", (4.45, 3.74), -0.08, ACCENT, code="embed(X)", width=2.2)
arrow((9.55, 2.95), (9.55, 3.66), r"$\Phi_l$", (10.02, 3.42), code="output_kernel")
arrow((8.35, 3.48), (8.35, 3.02), "", (0, 0), 0, ACCENT, width=2.2)
write(7.78, 3.25, "decoder", 8.6, SOFT, family="monospace")
arrow((3.82, 1.5), (7.18, 1.5), "$f$", (5.5, 1.76), 0, INK, (0, (4, 3)), "")
write(5.5, 1.24, "predict(X)", 8.2, SOFT, family="monospace")
axes.add_patch(
    FancyBboxPatch((3.98, 0.3), 3.04, 0.5, "round,pad=0.06", facecolor="#f6f6f5", edgecolor="none")
)
write(5.5, 0.55, r"$f(x) = \arg\min_y \|g(x) - \Phi_l(y)\|^2$", 11)
if sys.argv[1:]:
    figure.savefig(sys.argv[1], dpi=170, facecolor=GROUND)
plt.show()
