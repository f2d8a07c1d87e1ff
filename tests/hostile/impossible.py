"""Files of models with numbers that cannot be: NaN, infinity, and orders that miss an entry.

From the root of the repository, ``python -m tests.hostile.impossible`` tries all of them.
"""

import pickle
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # for `python -m tests.hostile.impossible`

import mercer
from hostile.mutations import Members
from laws.every_model import answers
from laws.same import assert_same

MUTATIONS, SAMPLE = 5000, 250
ORDERS = {"columns", "order"}
"""Attributes that hold each of some integers once."""
SCORES = {"radius", "scores"}
"""Attributes whose arrays may be infinite."""


def arrays_of(node, attribute=""):
    """Yield the number of every array in a tree, with the name of the attribute that it is in."""
    if isinstance(node, dict):
        for key, child in node.items():
            if key == "array" and isinstance(child, int):
                yield child, attribute
            elif key == "part":
                for name, value in child[1].items():
                    yield from arrays_of(value, name)
            else:
                yield from arrays_of(child, attribute)
    elif isinstance(node, list):
        for child in node:
            yield from arrays_of(child, attribute)


def targets(file):
    """Return the arrays of a file that can be changed, each with the values to put into it."""
    members = Members(file.read_bytes())
    found = []
    for number, attribute in arrays_of(members.tree["root"]):
        array = members.array(f"arrays/{number}.npy")
        if array.dtype.kind == "f" and array.size:
            ranks = array.ndim == 2 and (array == np.round(array)).all()  # NaN is an unknown rank
            infinite = () if attribute in SCORES else (np.inf, -np.inf)
            found.append((number, infinite if ranks else (np.nan, *infinite)))
        elif attribute in ORDERS and array.size > 1 and array.dtype.kind == "i":
            found.append((number, (None,)))
    return found


def impossible(file, number, value, rng):
    """Return the bytes of a file with one entry of an array changed; None repeats another entry."""
    members = Members(file.read_bytes())
    name = f"arrays/{number}.npy"
    array = members.array(name).copy()
    at, other = rng.choice(array.size, 2, replace=array.size < 2)
    array.flat[at] = array.flat[other] if value is None else value
    members.put(name, array)
    return members.packed()[0]


def outcome(file, changed, X, expected):
    """Return "refused" or "same" for a changed file, else what is wrong."""
    try:
        model = mercer.load(changed)
    except mercer.DamagedModel:
        return "refused"
    try:
        found = answers(model, X, tuple(expected)) if expected else {}
        assert_same(found, expected)
    except mercer.DamagedModel:
        return "refused"
    except AssertionError:
        return f"other answers of {file.name}"
    return "same"


def tried(folder, count, seed=0):
    """Return how often each outcome was seen, in `count` changes of the files of a folder."""
    rng, outcomes = np.random.default_rng(seed), Counter()
    cases = [
        (file, *target) for file in sorted(folder.glob("*.mercer")) for target in targets(file)
    ]
    known = {}
    for draw in range(count):
        file, number, values = cases[int(rng.integers(len(cases)))]
        if file not in known:
            X = pickle.loads(file.with_suffix(".inputs").read_bytes())
            known[file] = X, _answers(mercer.load(file), X)
        data = impossible(file, number, values[draw % len(values)], rng)
        changed = folder / "changed"
        changed.write_bytes(data)
        outcomes[outcome(file, changed, *known[file])] += 1
    return outcomes


def _answers(model, X):
    """Return the answers of a model, of a part of one none."""
    with suppress(AssertionError):
        return answers(model, X)
    return {}


if __name__ == "__main__":
    from hostile import zoo

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory() as made:
        zoo.write(Path(made))
        for key, number in tried(Path(made), MUTATIONS).most_common():
            print(f"{number:6} {key}")
