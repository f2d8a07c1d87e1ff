from rich.console import Console

from experiments import EXPERIMENTS, trees


def test_new_expressions_are_parsed(tmp_path):
    assert "trees" in EXPERIMENTS
    report = trees.run(tmp_path, Console(quiet=True), quick=True)
    values = {row.method: row.mean for row in report.rows}
    assert values["chart"] > 0.7 and values["training trees"] == 0.0


def test_leaves_spell_the_expression():
    X, y = trees.random_expressions(50, 0)
    assert [trees.spell_tree(tree) for tree in y] == X
