"""Changes of arrays and of nodes of the tree in a model file, with digests made to fit."""

import copy
import hashlib
import io
import json
import zipfile

import numpy as np

EXTREME = [-1, 0, 1, 7, 10**9, 2**31, 2**63 - 1, -(2**63)]
DTYPES = ["i1", "i4", "i8", "u8", "f4", "f8", "c16", "?", "U3", ">i8", "M8[s]"]
NUMBERS = [None, True, -1, 0, 2, 70_000, 10**9, 2**63 - 1, 2**70, 0.5, -1e308, {"float": "nan"}]
NODES = [
    *NUMBERS,
    "",
    "x",
    "\u2028" * 9,
    [],
    {},
    {"list": []},
    {"tuple": [1, 2]},
    {"dict": []},
    {"set": ["a"]},
    {"dict": [["a", 1]]},
    {"ref": 0},
    {"ref": 3},
    {"array": 0},
    {"array": 99},
    {"bytes": "00ff"},
    {"range": [0, 10**12, 1]},
    {"objects": [[2], ["a", 1]]},
    {"scalar": ["<f8", 3.0]},
    {"dtype": "<U9"},
    {"part": ["kernels.RBF", {}]},
    {"part": ["kernels.RBF", {"length_scale": 1.0, "length_scale_": "x"}]},
    {"part": ["kernels.CheckedGraph", {"origin": 1, "views": {"dict": []}}]},
    {"part": ["embedding.OrthonormalFrame", {"map": None}]},
    "drop", "double", "wrap", "other",
]  # fmt: skip


class Members:
    """The members of a model file."""

    def __init__(self, data):
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            self.members = {name: file.read(name) for name in file.namelist()}
        self.tree = json.loads(self.members.pop("model.json"))
        self.arrays = [f"arrays/{i}.npy" for i in range(len(self.members))]

    def packed(self):
        """The file, its digests those of its arrays, and the size of its members."""
        self.tree["digests"] = {
            name: hashlib.sha256(data).hexdigest() for name, data in self.members.items()
        }
        members = self.members | {"model.json": json.dumps(self.tree).encode()}
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
            for name, data in members.items():
                file.writestr(name, data)
        return buffer.getvalue(), sum(map(len, members.values()))

    def array(self, name):
        """An array, by the name of its member."""
        return np.load(io.BytesIO(self.members[name]))

    def put(self, name, array):
        """Replace an array."""
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        self.members[name] = buffer.getvalue()


def places(node, path=()):
    """Where in a tree something stands: all keys and indices, outermost first."""
    children = node.items() if isinstance(node, dict) else enumerate(node)
    for key, child in list(children):
        yield (*path, key)
        if isinstance(child, dict | list):
            yield from places(child, (*path, key))


def _valued(change):
    """A change of one entry, at a place that the seed draws."""

    def apply(array, rng):
        if array.size:
            array = array.copy()
            array.flat[rng.integers(array.size)] = change
        return array

    return apply


def _cast(dtype):
    return lambda array, rng: array.astype(dtype)


ARRAYS = {
    **{f"entry = {value}": _valued(value) for value in [*EXTREME, 0.5, np.nan, np.inf, -1e308]},
    **{f"all = {v}": lambda a, rng, v=v: np.full_like(a, v) for v in (-1, 0, 3, 10**9, np.nan)},
    **{f"as {dtype}": _cast(dtype) for dtype in DTYPES},
    "shuffled": lambda a, rng: rng.permutation(a.ravel()).reshape(a.shape),
    "reversed": lambda a, rng: a[::-1].copy(),
    "Fortran order": lambda a, rng: np.asfortranarray(a),
    "transposed": lambda a, rng: a.T.copy(),
    "flat": lambda a, rng: a.ravel(),
    "an axis more": lambda a, rng: a[None],
    "an axis less": lambda a, rng: a[0],
    "empty": lambda a, rng: a[:0],
    "empty and wide": lambda a, rng: np.zeros((0, 10**7), a.dtype),
    "shorter": lambda a, rng: a[:-1],
    "narrower": lambda a, rng: a[..., :-1],
    "longer": lambda a, rng: np.concatenate([a, a]),
    "wider": lambda a, rng: np.concatenate([a, a], axis=-1),
    "negative": lambda a, rng: -a,
    "plus one": lambda a, rng: a + np.ones(1, a.dtype),
}


def mutated(data, target, kind, rng):
    """The file with one change, in words, and the size of its members; None where there is none.

    `target` is the number of an array, or the path of a node; `kind` a name of `ARRAYS`, or the
    number of one of `NODES`.
    """
    file = Members(data)
    if isinstance(target, int):
        name = file.arrays[target]
        with np.errstate(all="ignore"):
            try:
                file.put(name, ARRAYS[kind](file.array(name), rng))
            except (ValueError, TypeError, IndexError, OverflowError):
                return None
        return *file.packed(), f"{name} {kind}"
    _replace(file.tree["root"], target, NODES[kind], rng)
    return *file.packed(), f"{'.'.join(map(str, target))} -> {NODES[kind]!r:.60}"


def _replace(root, path, new, rng):
    holder = root
    for key in path[:-1]:
        holder = holder[key]
    key = path[-1]
    if new == "drop":
        del holder[key]
    elif new == "double" and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif new == "wrap":
        holder[key] = {"list": [holder[key], holder[key]]}
    elif new == "other":
        holder[key] = copy.deepcopy(_at(root, _drawn(list(places(root)), rng)))
    else:
        holder[key] = copy.deepcopy(new)


def _at(root, path):
    for key in path:
        root = root[key]
    return root


def _drawn(options, rng):
    return options[rng.integers(len(options))]


def corrupted(data, rng):
    """Bytes flipped, cut, doubled, moved or overwritten."""
    kind, data = rng.integers(5), bytearray(data)
    at, size = int(rng.integers(len(data))), int(rng.integers(1, 64))
    if kind == 0:
        for i in rng.integers(len(data), size=rng.integers(1, 8)):
            data[i] ^= int(rng.integers(1, 256))
    elif kind == 1:
        del data[at:]
    elif kind == 2:
        data[at:at] = data[at : at + size]
    elif kind == 3:
        del data[at : at + size]
    else:
        data[at : at + size] = rng.bytes(size)
    return bytes(data)
