"""Files hold what prediction needs: at low rank nothing is as long as the training data."""

import json
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import mercer
from mercer import ConformalSets, KernelDependency, KernelDependencyCV, SequenceTransducer
from mercer._base.reducible import Reducible
from mercer.decoders import Candidates
from mercer.features import IncompleteCholesky
from mercer.kernels import RBF, Kendall, Labels
from mercer.operators import Covariance

N, RANK = 300, 7


def stored(file):
    """The lengths of all arrays and lists in a model file."""
    with zipfile.ZipFile(file) as members:
        tree = json.loads(members.read("model.json"))
        arrays = [np.load(members.open(n)) for n in members.namelist() if n.endswith(".npy")]
    found = [max(array.shape, default=0) for array in arrays]

    def walk(node):
        if isinstance(node, dict):
            node = list(node.values())
        if isinstance(node, list):
            found.append(len(node))
            for child in node:
                walk(child)

    walk(tree["root"])
    return found


@pytest.fixture
def pairs(rng):
    return rng.normal(size=(N, 3)), rng.normal(size=(N, 4))


OUTPUTS = {
    "vectors": (None, lambda Y: Y),
    "rankings": (Kendall(), lambda Y: np.argsort(np.argsort(Y, axis=1), axis=1)),
    "labels": (
        Labels(),
        lambda Y: [[c for c, v in zip("abcd", y, strict=True) if v > 0] for y in Y],
    ),
}


@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("operator", [1.0, Covariance()], ids=["identity", "covariance"])
@pytest.mark.parametrize("Model", [KernelDependency, KernelDependencyCV])
@pytest.mark.parametrize("intercept", [False, True])
def test_models_of_low_rank_store_landmarks(Model, operator, outputs, intercept, pairs, tmp_path):
    X, Y = pairs
    kernel, made = OUTPUTS[outputs]
    model = Model(RBF() * operator, kernel, features=IncompleteCholesky(RANK),
                  fit_intercept=intercept).fit(X, made(Y))  # fmt: skip
    file = mercer.save(model, tmp_path / "model.mercer")
    assert max(stored(file)) < 50  # parameters: none is as long as the data
    loaded = mercer.load(file)
    assert list(map(str, loaded.predict(X[:20]))) == list(map(str, model.predict(X[:20])))
    assert model.score(X, made(Y)) == loaded.score(X, made(Y))
    assert_array_equal(model.coef_, loaded.coef_)


def test_exact_models_store_the_training_data_once(pairs, tmp_path):
    X, Y = pairs
    file = mercer.save(KernelDependencyCV(RBF()).fit(X, Y), tmp_path / "model.mercer")
    assert [size for size in stored(file) if size >= N] == [N, N]  # X and its weights


def test_what_was_dropped_is_named(pairs, tmp_path):
    X, Y = pairs
    model = KernelDependencyCV(RBF(), features=IncompleteCholesky(RANK), alphas=[1.0]).fit(X, Y)
    loaded = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    for ask in (loaded.loo_predict, loaded.loo_embed):
        with pytest.raises(AttributeError, match="does without left-out predictions"):
            ask()
    with pytest.raises(AttributeError, match="does without the training outputs"):
        _ = loaded.outputs_
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = loaded.nothing
    with pytest.raises(AttributeError, match="has no attribute 'outputs_'"):
        _ = KernelDependency().outputs_
    with pytest.raises(ValueError, match="saved without it"):
        _ = loaded.embed(X[:2]).weights
    assert model.loo_predict().shape == Y.shape  # the model itself stays as it was
    assert model.embed(X[:2]).weights.shape == (2, N)


def test_weights_stay_where_the_training_inputs_do(pairs, tmp_path):
    X, Y = pairs
    for kernel in (RBF(), RBF() * Covariance()):
        model = KernelDependency(kernel).fit(X, Y)
        loaded = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
        assert_array_equal(loaded.embed(X[:2]).weights, model.embed(X[:2]).weights)


def test_candidates_of_each_input_are_given_to_a_loaded_model(pairs, tmp_path):
    X, Y = pairs
    model = KernelDependency(RBF(), RBF(), decoder=Candidates()).fit(X, Y)
    loaded = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    lists = [Y[:3], Y[3:7]]
    assert_array_equal(loaded.predict(X[:2], lists), model.predict(X[:2], lists))
    assert loaded.decoder_.numbers_ is None


def test_models_inside_others_are_reduced_too(pairs, tmp_path):
    X, Y = pairs
    inner = KernelDependencyCV(RBF(), features=IncompleteCholesky(RANK), alphas=[1.0])
    sets = ConformalSets(inner).fit(X, Y)
    file = mercer.save(sets, tmp_path / "sets.mercer")
    assert max(stored(file)) < 50
    assert_array_equal(mercer.load(file).sizes(X[:9]), sets.sizes(X[:9]))


def test_transducers_do_not_carry_the_words_they_learnt_from(tmp_path):
    words = ["casa", "cane", "gatto", "cassa", "gattone"]
    model = SequenceTransducer().fit(words, [word.upper() for word in words])
    loaded = mercer.load(mercer.save(model, tmp_path / "words.mercer"))
    assert loaded.predict_top(words, 3) == model.predict_top(words, 3)
    with pytest.raises(AttributeError, match="does without the training pairs"):
        loaded.aligned(0)
    assert model.aligned(0)[0] == ("c", "C")


class Shy(Reducible):
    @property
    def hidden(self):
        raise AttributeError("hidden for a reason")


def test_the_errors_of_properties_are_heard():
    with pytest.raises(AttributeError, match="hidden for a reason"):
        _ = Shy().hidden
