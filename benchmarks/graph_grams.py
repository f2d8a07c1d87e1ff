"""Is the Weisfeiler–Lehman Gram of 1,000 molecules as fast as grakel's, the trees' as naive loops?

grakel is not a dependency: where it is installed it takes part. Needs rdkit and qm9_5k.smi.
"""

import numpy as np
from _measure import best_times, report, size

from mercer.datasets import load_qm9
from mercer.kernels import (
    ShortestPath,
    SubsetTree,
    Subtree,
    WeisfeilerLehman,
    molecule_graph,
)

ITERATIONS = 4
graphs = [molecule_graph(smiles) for smiles in load_qm9()[: size(1000, 300)]]
kernel = WeisfeilerLehman(ITERATIONS, edge_label=None)  # as grakel's, which knows node labels only
kernel(graphs[:2])
contestants = {"mercer": lambda: kernel(graphs)}
try:
    from grakel import Graph
    from grakel.kernels import VertexHistogram
    from grakel.kernels import WeisfeilerLehman as Theirs

    def theirs():
        """From the same networkx graphs, as mercer reads them."""
        made = [
            Graph(
                {v: list(g[v]) for v in g},
                node_labels=dict(g.nodes(data="label")),
            )
            for g in graphs
        ]
        return Theirs(n_iter=ITERATIONS, base_graph_kernel=VertexHistogram).fit_transform(made)

    assert np.array_equal(theirs(), kernel(graphs))
    contestants["grakel"] = theirs
except ImportError:
    print("grakel is not installed: mercer alone")
times = best_times(contestants, 3)
report(
    f"Weisfeiler–Lehman, {len(graphs):,} molecules, four rounds",
    times,
    "mercer",
    "grakel at least 1",
)

labelled, paths = WeisfeilerLehman(ITERATIONS), ShortestPath()
paths(graphs[:2])
more = {
    "with edge labels": lambda: labelled(graphs),
    "shortest paths": lambda: paths(graphs),
    "mercer": contestants["mercer"],
}
report("other kernels on the same molecules", best_times(more, 3), "mercer", "–")

rng = np.random.default_rng(0)


def sentence(depth):
    """A random binary tree over few labels."""
    if depth == 0 or rng.random() < 0.15:
        return "N", str(rng.choice(["dog", "cat", "tree"]))
    return str(rng.choice(["S", "NP", "VP"])), sentence(depth - 1), sentence(depth - 1)


def nodes(tree):
    """The inner nodes."""
    yield tree
    for child in tree[1:]:
        if isinstance(child, tuple):
            yield from nodes(child)


def production(tree):
    return tree[0], tuple(c[0] if isinstance(c, tuple) else c for c in tree[1:])


def common(u, v):
    """Collins and Duffy's recursion as it is written."""
    if production(u) != production(v):
        return 0.0
    value = 0.5
    for c, d in zip(u[1:], v[1:], strict=True):
        if isinstance(c, tuple):
            value *= 1.0 + common(c, d)
    return value


def naive(batch):
    return [[sum(common(u, v) for u in nodes(a) for v in nodes(b)) for b in batch] for a in batch]


trees = [sentence(5) for _ in range(60)]
fragments, whole = SubsetTree(0.5), Subtree()
assert np.allclose(naive(trees[:5]), fragments(trees[:5]))
whole(trees[:2])
run = {
    "SubsetTree": lambda: fragments(trees),
    "Subtree": lambda: whole(trees),
    "naive recursion": lambda: naive(trees),
}
average = np.mean([sum(1 for _ in nodes(tree)) for tree in trees])
question = f"subset trees, 60 trees of {average:.0f} inner nodes"
report(question, best_times(run, 2), "SubsetTree", "naive at least 100")
