"""Simulations of partial differential equations, which make pairs of fields.

Each function returns (inputs, outputs) as arrays (n, *grid).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg


def random_fields(n, shape, length=0.15, periodic=False, seed=0):
    """Return Gaussian random fields of unit variance and squared-exponential spectrum."""
    rng = np.random.default_rng(seed)
    size = shape if periodic else tuple(2 * s for s in shape)
    stretch = np.array(size) / np.array(shape)
    k = [np.fft.fftfreq(m, 1 / m) / s for m, s in zip(size, stretch, strict=True)]
    k2 = sum(g**2 for g in np.meshgrid(*k, indexing="ij"))
    root = np.exp(-((np.pi * length) ** 2) * k2)
    axes = tuple(range(1, len(shape) + 1))
    noise = np.fft.fftn(rng.normal(size=(n, *size)), axes=axes)
    fields = np.fft.ifftn(noise * root, axes=axes).real
    fields /= np.sqrt((root**2).mean())
    return fields[(slice(None), *(slice(s) for s in shape))]


def burgers(n, points=64, times=17, viscosity=0.01, end=1.0, seed=0):
    """Solve u_t + u u_x = viscosity u_xx on a circle by a spectral Runge-Kutta method.

    Returns initial states (n, points) and solutions (n, times, points).
    """
    start = random_fields(n, (points,), 0.25, periodic=True, seed=seed)
    k = 2 * np.pi * np.fft.rfftfreq(points, 1 / points)
    keep = np.abs(k) <= k.max() * 2 / 3
    steps = 20 * points // 16
    dt = end / (times - 1) / steps
    half = np.exp(-viscosity * k**2 * dt / 2)

    def slope(spectrum):
        u = np.fft.irfft(spectrum, points)
        return -0.5j * k * np.fft.rfft(u * u) * keep

    v, kept = np.fft.rfft(start), [start]
    for _ in range(times - 1):
        for _ in range(steps):
            a = dt * slope(v)
            b = dt * slope(half * (v + a / 2))
            c = dt * slope(half * v + b / 2)
            d = dt * slope(half * (half * v + c))
            v = half * (half * v + half * a / 6 + (b + c) / 3) + d / 6
        kept.append(np.fft.irfft(v, points))
    return start, np.stack(kept, axis=1)


def advection(n, points=64, speed=0.4, seed=0):
    """Solve u_t + speed (1 + u/2) u_x = 0 on a circle by upwind differences, from two steps.

    The speed depends on the height, so that jumps move by a nonlinear law. Returns initial and
    final states, (n, points) each.
    """
    waves = random_fields(n, (points,), 0.2, periodic=True, seed=seed)
    start = np.where(waves > 0, 1.0, -1.0) * (0.5 + 0.5 * np.abs(waves[:, :1]).clip(0, 1))
    fine = 8
    u = np.repeat(start, fine, axis=1)
    h = 1.0 / (points * fine)
    time, end = 0.0, 0.5
    while time < end:
        c = speed * (1.0 + 0.5 * u)
        dt = min(0.9 * h / c.max(), end - time)
        flux = speed * (u + 0.25 * u * u)
        u = u - dt / h * (flux - np.roll(flux, 1, axis=1))
        time += dt
    return start, u.reshape(n, points, fine).mean(axis=2)


def _laplacian(a, h):
    """Return -∇·(a∇) with zero boundary values, by 5-point differences and harmonic means."""
    m, p = a.shape
    wide = np.pad(a, 1, mode="edge")
    inner = wide[1:-1, 1:-1]

    def face(other):
        return 2.0 * inner * other / (inner + other)

    up, down = face(wide[:-2, 1:-1]), face(wide[2:, 1:-1])
    left, right = face(wide[1:-1, :-2]), face(wide[1:-1, 2:])
    size = m * p
    middle = (up + down + left + right).ravel()
    east, south = -right.copy(), -down
    east[:, -1] = 0.0
    diagonals = [
        middle,
        east.ravel()[:-1],
        east.ravel()[:-1],
        south.ravel()[:-p],
        south.ravel()[:-p],
    ]
    return sp.diags_array(diagonals, offsets=[0, 1, -1, p, -p], shape=(size, size)).tocsc() / h**2


def darcy(n, points=32, smooth=True, length=0.15, seed=0):
    """Solve -∇·(a∇u) = 1 with u = 0 on the boundary.

    The coefficient a is exp(field) if `smooth`, else 12 where the field is positive, and 3 where
    it is not.
    """
    fields = random_fields(n, (points, points), length, seed=seed)
    a = np.exp(fields) if smooth else np.where(fields > 0, 12.0, 3.0)
    h = 1.0 / (points + 1)
    ones = np.ones(points * points)
    u = [scipy.sparse.linalg.spsolve(_laplacian(one, h), ones) for one in a]
    return a, np.stack(u).reshape(n, points, points)


def helmholtz(n, points=32, frequency=12.0, seed=0):
    """Solve (-Δ - (frequency/c)²) u = source with absorbing boundaries; return the real part of u.

    c = 1 + tanh(field)/4; the source is a bump in the middle.
    """
    fields = random_fields(n, (points, points), 0.2, seed=seed)
    c = 1.0 + 0.25 * np.tanh(fields)
    h = 1.0 / (points - 1)
    line = np.linspace(0, 1, points)
    x, y = np.meshgrid(line, line, indexing="ij")
    source = 100.0 * np.exp(-((x - 0.5) ** 2 + (y - 0.5) ** 2) / 0.005).ravel()
    one = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(points, points)).tolil()
    one[0, 0] = one[-1, -1] = 1.0
    L = sp.kronsum(one.tocsc(), one.tocsc()) / h**2
    edge = (np.isclose(x, 0) | np.isclose(x, 1)).astype(float) + (
        np.isclose(y, 0) | np.isclose(y, 1)
    )
    found = []
    for speed in c:
        k = frequency / speed.ravel()
        A = L - sp.diags_array(k**2 + 1j * k * edge.ravel() / h)
        found.append(scipy.sparse.linalg.spsolve(A.tocsc(), source.astype(complex)).real)
    return c, np.stack(found).reshape(n, points, points)
