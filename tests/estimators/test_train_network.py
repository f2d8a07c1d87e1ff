"""Networks in front of kernels: the same code on torch, training, seeds, files."""

import numpy as np
import pytest

from mercer import DamagedModel, KernelDependency, load, save, train_network
from mercer.estimators.learned_parameters import ParameterSearch
from mercer.estimators.train_network import _gram_root, _left_out_error
from mercer.kernels import RBF, Laplacian, Linear, Mapped, Matern, Polynomial
from mercer.operators import Identity

torch = pytest.importorskip("torch")
nn = torch.nn
RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 6))
Y = np.sin(X[:, :3]) + 0.1 * RNG.normal(size=(80, 3))


def small():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))


def convolutional():
    return nn.Sequential(
        nn.Unflatten(1, (1, 2, 3)), nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(),
        nn.MaxPool2d(2, stride=1), nn.Dropout(0.1), nn.Flatten(), nn.Linear(8, 5),
    )  # fmt: skip


@pytest.mark.parametrize("operator", [Identity(), 0.5 * Identity()])
@pytest.mark.parametrize("criterion", ["loo", "evidence"])
@pytest.mark.parametrize("groups", [None, np.arange(80) // 3], ids=["alone", "groups"])
def test_gradients_are_the_same_on_torch(operator, criterion, groups):
    weights = RNG.uniform(0.5, 2.0, 80)
    values = []
    for move in (np.asarray, torch.as_tensor):
        model = KernelDependency((2.0 * RBF("ard") + Matern([1.0] * 6)) * operator)
        problem, _ = model._first_problem(move(X), move(Y), groups, weights)
        found = ParameterSearch(problem, criterion)
        values.append(found(found.start + 0.05))
    assert values[0][0] == pytest.approx(values[1][0], rel=1e-8)
    np.testing.assert_allclose(*(gradient for _, gradient in values), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_gradient_of_a_minibatch(intercept):
    K, T = RBF(1.0)(X), _gram_root(Y @ Y.T, intercept)
    _, ridge, A = _left_out_error(K, T, 1.0, intercept)
    D = RNG.normal(size=K.shape)
    D = D + D.T
    np.fill_diagonal(D, 0.0)
    h = 1e-6
    rise = (
        _left_out_error(K + h * D, T, 1.0, intercept)[0]
        - _left_out_error(K - h * D, T, 1.0, intercept)[0]
    )
    assert (A * D).sum() == pytest.approx(rise / (2 * h), rel=1e-5)
    rise = (
        _left_out_error(K, T, np.exp(h), intercept)[0]
        - _left_out_error(K, T, np.exp(-h), intercept)[0]
    )
    assert ridge == pytest.approx(rise / (2 * h), rel=1e-4)


@pytest.mark.parametrize("kernel", [RBF(), Linear(), Polynomial(2)], ids=str)
def test_training_lowers_the_error_and_depends_on_the_seed_alone(kernel):
    model = KernelDependency(Mapped(small(), kernel))
    before = [p.detach().clone() for p in model.kernel.function.parameters()]
    one, two = (train_network(model, X, Y, epochs=6, batch_size=40) for _ in range(2))
    assert one.training_errors_[-1] < one.training_errors_[0]
    assert one.training_errors_ == two.training_errors_
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    other = train_network(model, X, Y, epochs=6, batch_size=40, random_state=1)
    assert other.training_errors_ != one.training_errors_
    after = list(model.kernel.function.parameters())
    assert all(bool((a == b).all()) for a, b in zip(before, after, strict=True))


class Custom(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside = nn.Linear(6, 3)

    def forward(self, A):
        return torch.tanh(self.inside(A))


@pytest.mark.parametrize("network", [small, convolutional, Custom])
def test_files_hold_the_arrays_of_a_network(network, tmp_path):
    model = KernelDependency(Mapped(network(), RBF(1.0)), alpha=0.1).fit(X, Y)
    trained = train_network(model, X, Y, epochs=1, batch_size=40)
    for fitted in (model, trained):
        file = save(fitted, tmp_path / "model")
        module = network()
        before = [p.detach().clone() for p in module.parameters()]
        loaded = load(file, network=module)
        np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
        assert all(map(torch.equal, before, module.parameters()))  # a copy got the arrays
        again = load(save(loaded, tmp_path / "again"), network=[network()])
        np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_files_with_networks_need_their_layers(tmp_path):
    file = save(KernelDependency(Mapped(small(), RBF(1.0))).fit(X, Y), tmp_path / "model")
    with pytest.raises(DamagedModel, match=r"arrays of a network, not its layers.*network=module"):
        load(file)
    with pytest.raises(DamagedModel, match="network must have the saved layers"):
        load(file, network=convolutional())
    with pytest.raises(DamagedModel, match="network must be a PyTorch module, got str"):
        load(file, network="small")


def test_what_is_refused():
    with pytest.raises(TypeError, match="wants kernel=Mapped"):
        train_network(KernelDependency(RBF(1.0)), X, Y)
    with pytest.raises(ValueError, match="no derivatives in its items"):
        train_network(KernelDependency(Mapped(small(), Laplacian())), X, Y)


def test_augmented_minibatches():
    def noisy(A, y, random):
        return A + 0.1 * random.normal(size=A.shape), y

    model = KernelDependency(Mapped(small(), RBF()))
    found = train_network(model, X, Y, epochs=2, batch_size=40, augment=noisy)
    assert np.isfinite(found.training_errors_).all()
