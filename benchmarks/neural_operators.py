"""Neural operators of standard size in plain PyTorch, and how they are trained here."""

from __future__ import annotations

import time
from itertools import pairwise, product

import numpy as np
import torch
from torch import nn


class Spectral(nn.Module):
    """A linear map of the lowest Fourier modes of a field."""

    def __init__(self, width, modes):
        super().__init__()
        self.modes = modes
        corners = 2 ** (len(modes) - 1)
        shape = (corners, width, width, *modes)
        self.weight = nn.Parameter(torch.randn(*shape, dtype=torch.cfloat) / width**2)

    def forward(self, x):
        """Fields (n, width, *grid) to the same."""
        axes = tuple(range(2, x.ndim))
        u = torch.fft.rfftn(x, dim=axes)
        out = torch.zeros_like(u)
        letters = "xyz"[: len(self.modes)]
        for i, sides in enumerate(product((0, 1), repeat=len(self.modes) - 1)):
            cut = [slice(None), slice(None)]
            for side, m in zip(sides, self.modes, strict=False):
                cut.append(slice(-m, None) if side else slice(m))
            cut.append(slice(self.modes[-1]))
            cut = tuple(cut)
            rule = f"ni{letters},io{letters}->no{letters}"
            out[cut] = torch.einsum(rule, u[cut], self.weight[i])
        return torch.fft.irfftn(out, s=x.shape[2:], dim=axes)


class FNO(nn.Module):
    """A Fourier neural operator: four layers on the input and the coordinates."""

    def __init__(self, shape, outputs=1, width=32, layers=4, most=12):
        super().__init__()
        modes = [min(most, s // 2) for s in shape]
        conv = nn.Conv1d if len(shape) == 1 else nn.Conv2d
        self.dimensions = len(shape)
        self.lift = conv(1 + len(shape), width, 1)
        self.spectral = nn.ModuleList(Spectral(width, modes) for _ in range(layers))
        self.plain = nn.ModuleList(conv(width, width, 1) for _ in range(layers))
        self.drop = nn.Sequential(conv(width, 128, 1), nn.GELU(), conv(128, outputs, 1))

    def forward(self, x):
        """Inputs (n, *grid) to outputs (n, *grid), or (n, outputs, *grid) of several."""
        lines = [torch.linspace(0, 1, s, device=x.device) for s in x.shape[1:]]
        at = torch.stack(torch.meshgrid(*lines, indexing="ij"))
        u = torch.cat([x[:, None], at[None].expand(len(x), *at.shape)], dim=1)
        u = self.lift(u)
        for i, (spectral, plain) in enumerate(zip(self.spectral, self.plain, strict=True)):
            u = spectral(u) + plain(u)
            u = torch.nn.functional.gelu(u) if i < len(self.spectral) - 1 else u
        u = self.drop(u)
        return u[:, 0] if u.shape[1] == 1 else u


def dense(sizes):
    """A fully connected network."""
    layers = []
    for a, b in pairwise(sizes):
        layers += [nn.Linear(a, b), nn.GELU()]
    return nn.Sequential(*layers[:-1])


class DeepONet(nn.Module):
    """A branch on the whole input and a trunk on the coordinates, combined by a product."""

    def __init__(self, shape, output_shape, width=256, basis=128):
        super().__init__()
        self.output_shape = output_shape
        self.branch = dense([int(np.prod(shape)), width, width, width, basis])
        self.trunk = dense([len(output_shape), width, width, width, basis])
        self.bias = nn.Parameter(torch.zeros(1))
        lines = [torch.linspace(0, 1, s) for s in output_shape]
        at = torch.stack(torch.meshgrid(*lines, indexing="ij"), -1)
        self.register_buffer("at", at.reshape(-1, len(output_shape)))

    def forward(self, x):
        """Inputs (n, *grid) to outputs (n, *output grid)."""
        y = self.branch(x.flatten(1)) @ self.trunk(self.at).T + self.bias
        return y.reshape(len(x), *self.output_shape)


class PCANet(nn.Module):
    """Principal components of both sides, and a network between them."""

    def __init__(self, X, Y, parts=100, width=500):
        super().__init__()
        self.output_shape = Y.shape[1:]
        for name, A in (("x", X), ("y", Y)):
            A = A.flatten(1)
            mean = A.mean(0)
            _, s, V = torch.linalg.svd(A - mean, full_matrices=False)
            k = min(parts, int((s > 1e-5 * s[0]).sum()))
            self.register_buffer(f"mean_{name}", mean)
            self.register_buffer(f"basis_{name}", V[:k])
            self.register_buffer(f"scale_{name}", (s[:k] / len(A) ** 0.5).clamp_min(1e-6))
        self.net = dense([len(self.basis_x), width, width, width, len(self.basis_y)])

    def forward(self, x):
        """Inputs (n, *grid) to outputs (n, *output grid)."""
        z = (x.flatten(1) - self.mean_x) @ self.basis_x.T / self.scale_x
        y = (self.net(z) * self.scale_y) @ self.basis_y + self.mean_y
        return y.reshape(len(x), *self.output_shape)


def built(name, X, Y):
    """A model by name for fields such as these."""
    if name == "FNO":
        outputs = Y.shape[1] if Y.ndim > X.ndim else 1
        return FNO(tuple(X.shape[1:]), outputs)
    if name == "DeepONet":
        return DeepONet(tuple(X.shape[1:]), tuple(Y.shape[1:]))
    return PCANet(X, Y)


def relative(p, y):
    """The mean relative L2 error."""
    gap = (p - y).flatten(1).norm(dim=1)
    return (gap / y.flatten(1).norm(dim=1)).mean()


class Training:
    """Adam with a cosine schedule on the relative L2 error, batches drawn anew every epoch.

    Parameters
    ----------
    moves
        How every batch is moved at random: by a "shift" along the last axis, a "transpose", or an
        element of the group of the "square".
    least
        The fewest steps, whatever the number of epochs.
    """

    def __init__(self, name, X, Y, device, epochs=300, moves=None, least=0, seed=0):
        torch.manual_seed(seed)
        self.name, self.device, self.epochs = name, device, epochs
        self.moves, self.least = moves, least
        self.X, self.Y = (torch.as_tensor(A, dtype=torch.float32, device=device) for A in (X, Y))
        self.centre, self.spread = self.X.mean(), self.X.std()
        self.level, self.gauge = self.Y.mean(0), self.Y.std()
        self.X = (self.X - self.centre) / self.spread
        self.batch = 20 if len(X) <= 400 else 50 if len(X) <= 2000 else 100

    def model(self):
        """A fresh model."""
        shown = (self.Y - self.level) / self.gauge
        return built(self.name, self.X, shown).to(self.device)

    def run(self, rate, rows, limit=None, deadline=None):
        """A model trained on some rows; `limit` steps only for a look at their time."""
        model = self.model()
        steps = max(self.least, self.epochs * max(1, len(rows) // self.batch))
        optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=1e-5)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        done = 0
        while done < (limit or steps):
            order = rows[torch.randperm(len(rows), device=self.device)]
            for own in order.split(self.batch)[: max(1, len(rows) // self.batch)]:
                x, y = self._moved(self.X[own], self.Y[own])
                loss = relative(model(x) * self.gauge + self.level, y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                done += 1
                if done >= (limit or steps):
                    break
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"{self.name}: {done} of {steps} steps")
        return model, steps

    def _moved(self, x, y):
        if self.moves == "shift":
            step = int(torch.randint(x.shape[-1], (1,)))
            return x.roll(step, -1), y.roll(step, -1)
        if self.moves in ("transpose", "square") and torch.rand(1) < 0.5:
            x, y = x.transpose(-1, -2), y.transpose(-1, -2)
        if self.moves == "square":
            turns = int(torch.randint(4, (1,)))
            x, y = x.rot90(turns, (-2, -1)), y.rot90(turns, (-2, -1))
        return x, y

    def predict(self, model, X):
        """Predictions of new inputs."""
        X = torch.as_tensor(X, dtype=torch.float32, device=self.device)
        with torch.no_grad():
            parts = [model(x) for x in ((X - self.centre) / self.spread).split(200)]
        level = self.level
        if parts[0].shape[-1] != level.shape[-1]:  # another grid: the mean, interpolated
            level = torch.nn.functional.interpolate(
                level[None, None], size=parts[0].shape[1:], mode="bilinear", align_corners=False
            )[0, 0]
        return torch.cat(parts) * self.gauge + level

    def seconds_a_step(self, number=30):
        """The time of a step, with nothing else on the machine."""
        rows = torch.arange(len(self.X), device=self.device)
        self.run(1e-3, rows, limit=5)
        _sync(self.device)
        start = time.perf_counter()
        self.run(1e-3, rows, limit=number)
        _sync(self.device)
        return (time.perf_counter() - start) / number

    def best(self, rates=(1e-3, 3e-3), deadline=None):
        """The better of two learning rates on a tenth held back, which is then not learnt from."""
        n = len(self.X)
        order = torch.randperm(n, generator=torch.Generator().manual_seed(0)).to(self.device)
        held, rows = order[: max(1, n // 10)], order[max(1, n // 10) :]
        found = []
        for rate in rates:
            model, steps = self.run(rate, rows, deadline=deadline)
            with torch.no_grad():
                parts = [model(x) for x in self.X[held].split(200)]
            p = torch.cat(parts) * self.gauge + self.level
            found.append((float(relative(p, self.Y[held])), rate, steps, model))
        return min(found, key=lambda f: f[0])


def _sync(device):
    if str(device).startswith("cuda"):
        torch.cuda.synchronize()
