"""
Dates, names and units
======================

`SequenceTransducer` learns from a few hundred examples to rewrite strings whose parts change their
order. It splits an input into pieces (runs of letters, runs of digits, symbols) and puts them into
the order of the output. Then it replaces the symbols one by one.
"""

import re
from datetime import date, timedelta

import matplotlib.pyplot as plt
import numpy as np

from mercer import SequenceTransducer

rng = np.random.default_rng(0)
MONTHS = "January February March April May June July August September October November December"
FORMATS = ["%B {d}, %Y", "{d} %B %Y", "{d}.{m}.%Y"]


def made_up(n: int) -> tuple[list[str], list[str]]:
    """Return dates in three formats, and the same dates in the format of ISO 8601."""
    days = [date(1950, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 28_000, n)]
    formats = [FORMATS[i] for i in rng.integers(0, 3, n)]
    texts = [d.strftime(f.format(d=d.day, m=d.month)) for d, f in zip(days, formats, strict=True)]
    return texts, [d.isoformat() for d in days]


# %%
# Without learning, you would write a pattern for each format, and a table of months.


def by_hand(text: str) -> str:
    """Rewrite a date with one regular expression for each format."""
    names = {name: i + 1 for i, name in enumerate(MONTHS.split())}
    if match := re.fullmatch(r"(\w+) (\d+), (\d+)", text):
        return f"{match[3]}-{names[match[1]]:02}-{int(match[2]):02}"
    if match := re.fullmatch(r"(\d+) (\w+) (\d+)", text):
        return f"{match[3]}-{names[match[2]]:02}-{int(match[1]):02}"
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", text)
    return f"{match[3]}-{int(match[2]):02}-{int(match[1]):02}"


# %%
# `SequenceTransducer` needs only examples. `order_` has the order that was learnt for each form of
# input.

X, y = made_up(500)
model = SequenceTransducer().fit(X[:300], y[:300])
print("left out:", model.left_out_accuracy_, " new dates:", model.score(X[300:], y[300:]))
print("order:", model.order_.orders)
for text in X[300:305]:
    print(f"{text:20} {model.predict([text])[0]:12} by hand {by_hand(text)}")

# %%
# The same code learns to rewrite names and quantities from other examples.

FIRST, LAST = (
    ["Alan", "Ada", "Grace", "Kurt", "Emmy", "Noam"],
    ["Tur", "Love", "Hop", "Göd", "Noe", "Chur", "ing", "lace", "per"],
)
UNITS = {"kilometres": "km", "metres": "m", "kilograms": "kg", "litres": "l"}
names = [
    (rng.choice(FIRST), "".join(rng.choice(LAST, rng.integers(1, 4))).title()) for _ in range(400)
]
quantities = [(f"{rng.integers(1, 2000) / 10:g}", unit) for unit in rng.choice([*UNITS], 400)]
tasks = {
    "names": ([f"{b}, {a}" for a, b in names], [f"{a[0]}. {b}" for a, b in names]),
    "quantities": (
        [f"{number} {unit}" for number, unit in quantities],
        [f"{UNITS[unit]} {number}" for number, unit in quantities],
    ),
}
for task, (before, after) in tasks.items():
    rewritten = SequenceTransducer().fit(before[:300], after[:300])
    print(f"{task}: {rewritten.score(before[300:], after[300:]):.2f}, such as {before[300]!r} ->",
          rewritten.predict(before[300:301])[0])  # fmt: skip

# %%
# The accuracy grows with the number of training pairs, because some months are rare:

sizes = [50, 100, 200, 300]
scores = [SequenceTransducer().fit(X[:n], y[:n]).score(X[300:], y[300:]) for n in sizes]
plt.plot(sizes, scores, "o-")
plt.xlabel("training pairs")
plt.ylabel("exact match on 200 new dates")
plt.ylim(0, 1.02)
plt.show()
