"""Every public class has an example in the registry, and so its contracts and round trips."""

import importlib
import inspect

import pytest

from registry import LISTS, UNLISTED, listed, part_of

ROOMS = ["spaces", "kernels", "features", "operators", "decoders", "estimators", "fields"]


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_class_is_listed(room):
    module, kinds = importlib.import_module(f"mercer.{room}"), listed()
    public = {name: getattr(module, name) for name in module.__all__}
    classes = {name: kind for name, kind in public.items() if inspect.isclass(kind)}
    absent = {
        n for n, kind in classes.items() if kind not in kinds and f"{room}.{n}" not in UNLISTED
    }
    assert not absent, (
        f"add {sorted(absent)} to the lists of registry.py, or to UNLISTED with a reason"
    )


def test_what_is_unlisted_exists_and_has_no_example():
    kinds = listed()
    for name in UNLISTED:
        room, _, attribute = name.partition(".")
        assert getattr(importlib.import_module(f"mercer.{room}"), attribute) not in kinds


def test_every_part_has_the_parameters_that_scikit_learn_reads():
    for cases in LISTS:
        for case in cases:
            assert isinstance(part_of(case).get_params(deep=False), dict)
