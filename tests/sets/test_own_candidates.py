"""Sets drawn from the list of each input, sets with a context, and intervals of single values."""

from itertools import product

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import ConformalSets, KernelDependency, SequenceTransducer, load, save
from mercer.decoders import Candidates
from mercer.kernels import RBF, Kendall, Linear, Spectrum
from mercer.sequences.transduction.aligned import Aligned
from mercer.sets import Bands, LeftOutSets

# -- lists of candidates ----------------------------------------------------------------------

LETTERS = np.array(list("abcdef"))


def words(n, seed=0):
    """Words of four letters, and for each a list of six: itself, and others nobody has seen."""
    rng = np.random.default_rng(seed)
    X = rng.permutation(np.stack(np.meshgrid(*[np.arange(6)] * 4), axis=-1).reshape(-1, 4))[:n]
    y = ["".join(LETTERS[row]) for row in X]
    lists = [[word, *("".join(rng.permutation(LETTERS)[:4]) + "z" for _ in range(5))] for word in y]
    return X + rng.normal(scale=0.8, size=X.shape), y, [sorted(some) for some in lists]


@pytest.mark.parametrize("searched", [False, True])
def test_sets_are_drawn_from_the_list_of_each_input(searched):
    X, y, lists = words(200)
    model = KernelDependency(RBF(2.0), Spectrum(2), 0.1)
    if searched:
        model = GridSearchCV(model, {"alpha": [0.1]}, scoring=lambda model, X, y: 0.0, cv=2)
    sets = ConformalSets(model, 0.8).fit(X[:150], y[:150], candidates=lists[:150])
    found = sets.predict(X[150:], candidates=lists[150:])
    assert all(set(some) <= set(own) for some, own in zip(found, lists[150:], strict=True))
    assert sets.covers(X[150:], y[150:], candidates=lists[150:]).mean() > 0.7
    assert sets.outside_ == 0
    assert 0.7 < sets.proven_coverage_ < 0.8  # a list may lack the truth


def test_candidates_that_the_decoder_names_are_those_of_the_sets():
    X, y, lists = words(200)
    own = {tuple(x): some for x, some in zip(X, lists, strict=True)}
    decoder = Candidates(lambda x: own[tuple(x)])
    model = KernelDependency(RBF(2.0), Spectrum(2), 0.1, decoder)
    sets = ConformalSets(model, 0.8).fit(X[:150], y[:150])
    given = ConformalSets(KernelDependency(RBF(2.0), Spectrum(2), 0.1), 0.8)
    given.fit(X[:150], y[:150], candidates=lists[:150])
    assert sets.radius_ == given.radius_
    assert sets.covers(X[150:], y[150:]).mean() > 0.7
    with pytest.raises(ValueError, match="candidates of each input need calibration"):
        ConformalSets(model, 0.8, "jackknife+").fit(X, y)
    with pytest.raises(ValueError, match="candidates must have one entry for each of the 50"):
        given.predict(X[150:], candidates=lists[:3])


def test_sets_of_own_candidates_are_saved(tmp_path):
    X, y, lists = words(60)
    sets = ConformalSets(KernelDependency(RBF(2.0), Spectrum(2), 0.1), 0.8)
    sets.fit(X[:50], y[:50], candidates=lists[:50])
    again = load(save(sets, tmp_path / "sets.mercer"))
    found = again.predict(X[50:], candidates=lists[50:])
    assert found == sets.predict(X[50:], candidates=lists[50:])


def test_models_that_do_not_rank_refuse_candidates():
    X, y, lists = words(60)
    model = make_pipeline(StandardScaler(), KernelDependency(RBF(2.0), Spectrum(2), 0.1))
    with pytest.raises(TypeError, match="models that rank the candidates .* got Pipeline"):
        ConformalSets(model, 0.8).fit(X, y, candidates=lists)


# -- context ----------------------------------------------------------------------------------


def test_a_transducer_is_told_the_context():
    """The last letter of the output is the context's."""
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ab"), size=3)) for _ in range(60)]
    context = [["X", "Y"][i % 2] for i in range(60)]
    y = [x + c.lower() for x, c in zip(X, context, strict=True)]
    model = SequenceTransducer(folds=2, direction="forward")
    sets = ConformalSets(model, 0.8).fit(X[:50], y[:50], context=context[:50])
    assert sets.covers(X[50:], y[50:], context=context[50:]).all()
    assert [some[0] for some in sets.predict_set(X[50:], context=context[50:])] == y[50:]
    with pytest.raises(TypeError, match="context= is for models whose fit takes a context"):
        ConformalSets(KernelDependency(), 0.8).fit(np.eye(20), np.eye(20), context=context[:20])


@pytest.mark.parametrize(("direction", "fits"), [("forward", 1), ("both", 2)])
def test_calibrating_a_transducer_fits_it_once(direction, fits, monkeypatch):
    fitted, fit = [], Aligned.fit

    def counted(self, *rows):
        fitted.append(rows)
        return fit(self, *rows)

    monkeypatch.setattr(Aligned, "fit", counted)
    X = ["".join(word) for word in product("abc", repeat=4)]
    sets = ConformalSets(SequenceTransducer(direction=direction), 0.8)
    sets.fit(X, [x.upper() for x in X])
    assert len(fitted) == fits
    assert sets.model_.get_params()["folds"] is None
    assert sets.model.folds == "auto"  # the one given is unchanged


# -- vectors ----------------------------------------------------------------------------------


def curves(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    noise = rng.normal(size=(n, 3)) * [0.1, 0.3, 1.0]
    return X, np.hstack([np.sin(6 * X), np.cos(6 * X), X]) + noise


@pytest.mark.parametrize("calibration", ["split", "jackknife+"])
def test_intervals_hold_each_value_at_the_level(calibration):
    X, Y = curves(900)
    model = KernelDependency(RBF(0.5), alpha=0.1)
    sets = ConformalSets(model, 0.8, calibration, "intervals").fit(X[:300], Y[:300])
    found = sets.predict(X[300:])
    held = ((found.lower <= Y[300:]) & (Y[300:] <= found.upper)).mean(axis=0)
    assert (np.abs(held - 0.8) < 0.07).all()
    widths = (found.upper - found.lower).mean(axis=0)
    assert widths[0] < widths[1] / 2 < widths[2] / 4
    assert sets.proven_coverage_ == pytest.approx(0.8 if calibration == "split" else 0.6)


def test_left_out_sets_have_intervals_too():
    held = []
    for seed in range(5):
        X, Y = curves(600, seed)
        sets = LeftOutSets.of(KernelDependency(RBF(0.5), alpha=0.1).fit(X[:200], Y[:200]))
        each, joint = (sets.predict(X[200:], 0.8, joint=joint) for joint in (False, True))
        assert isinstance(each, Bands)
        held.append(((each.lower <= Y[200:]) & (Y[200:] <= each.upper)).mean(axis=0))
        assert ((each.upper - each.lower) < (joint.upper - joint.lower)).all()
    assert (np.abs(np.mean(held, axis=0) - 0.8) < 0.05).all()


def test_a_decoder_does_not_move_the_sets():
    """A ball is around g(x), of which the score is, and not around the decoded output."""
    X, Y = curves(300)
    plain = ConformalSets(KernelDependency(RBF(0.5), Linear(), 0.1), 0.8).fit(X[:200], Y[:200])
    decoded = ConformalSets(KernelDependency(RBF(0.5), Linear(), 0.1, Candidates()), 0.8)
    decoded.fit(X[:200], Y[:200])
    for a, b in zip(plain.predict(X[200:]), decoded.predict(X[200:]), strict=True):
        np.testing.assert_allclose(a.center, b.center)
        assert a.radius == pytest.approx(b.radius)


@pytest.mark.parametrize("kind", ["ball", "band"])
def test_posterior_scales_are_saved(kind, tmp_path):
    X, Y = curves(60)
    sets = ConformalSets(KernelDependency(RBF(0.5)), 0.8, kind=kind, scale="posterior")
    sets.fit(X[:40], Y[:40])
    again = load(save(sets, tmp_path / "sets.mercer"))
    np.testing.assert_allclose(again.sizes(X[40:]), sets.sizes(X[40:]))
    np.testing.assert_array_equal(again.covers(X[40:], Y[40:]), sets.covers(X[40:], Y[40:]))
    assert again.certificate_ == sets.certificate_


def test_lists_of_new_inputs_alone_are_refused():
    X = np.random.default_rng(0).normal(size=(60, 2))
    ranks = np.where(X[:, :1] > 0, [[0, 1, 2]], [[2, 1, 0]])
    sets = ConformalSets(KernelDependency(RBF(2.0), Kendall(), 0.1), coverage=0.8).fit(X, ranks)
    with pytest.raises(ValueError, match="pass it to fit too"):
        sets.predict(X[:2], candidates=[ranks[:2], ranks[:3]])
