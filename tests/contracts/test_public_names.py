"""Every public name has a page, an example, and documented methods."""

import importlib
import inspect
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from api_pages import INTERNAL, MODULES, public_names

NAMES = [(module, name) for module in MODULES for name in public_names(module)]


def own_members(kind):
    """The public methods and properties that mercer defines for a class, also by inheritance."""
    for name in dir(kind):
        found = inspect.getattr_static(kind, name, None)
        function = getattr(found, "fget", None) or getattr(found, "__func__", found)
        ours = str(getattr(function, "__module__", "")).startswith("mercer")
        if not name.startswith("_") and inspect.isfunction(function) and ours:
            yield name


def described(kind, name):
    """Whether the class or one that it inherits from says what a member is.

    Where the member is an attribute of a base class, a string below it says so.
    """
    if inspect.getdoc(inspect.getattr_static(kind, name)) or inspect.getdoc(getattr(kind, name)):
        return True
    for base in kind.__mro__:
        if name in vars(base) and base.__module__.startswith("mercer"):
            if getattr(inspect.getattr_static(base, name), "__doc__", None):
                return True
            lines = inspect.getsource(base).splitlines()
            starts = (f"    {name} =", f"    {name}:")
            at = [i for i, line in enumerate(lines[:-1]) if line.startswith(starts)]
            if any(lines[i + 1].strip().startswith('"""') for i in at):
                return True
    return False


@pytest.mark.parametrize(("module", "name"), NAMES, ids=[".".join(pair) for pair in NAMES])
def test_a_public_name_is_documented(module, name):
    value = getattr(importlib.import_module(module), name)
    assert ">>>" in (value.__doc__ or ""), f"{module}.{name} has no example"
    if inspect.isclass(value):
        bare = [member for member in own_members(value) if not described(value, member)]
        assert not bare, f"{module}.{name} does not say what these are: {bare}"


def test_internal_names_exist():
    for module, names in INTERNAL.items():
        exported = vars(importlib.import_module(module))
        assert set(names) <= set(exported), module


def test_methods_that_users_look_for_are_on_the_page_of_their_class():
    from mercer import KernelDependencyCV

    assert {"fit", "predict", "predict_top", "score", "embed", "loo_predict"} <= set(
        own_members(KernelDependencyCV)
    )
