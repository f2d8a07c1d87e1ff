"""Networks of PyTorch as functions of batches, kept as layers and arrays."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, Items, host, is_foreign
from .._checks import Limits, must
from .._extras import require

LAYERS: dict[str, tuple[str, ...]] = {
    "Sequential": (), "Identity": (), "ReLU": (), "GELU": (), "SiLU": (), "Tanh": (),
    "Sigmoid": (), "Softplus": ("beta", "threshold"), "ELU": ("alpha",),
    "LeakyReLU": ("negative_slope",), "Flatten": ("start_dim", "end_dim"),
    "Unflatten": ("dim", "unflattened_size"), "Dropout": ("p",), "Dropout2d": ("p",),
    "Linear": ("in_features", "out_features", "bias"),
    "Conv1d": ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation",
               "groups", "bias"),
    "Conv2d": ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation",
               "groups", "bias"),
    "MaxPool1d": ("kernel_size", "stride", "padding"),
    "MaxPool2d": ("kernel_size", "stride", "padding"),
    "AvgPool2d": ("kernel_size", "stride", "padding"), "AdaptiveAvgPool2d": ("output_size",),
    "BatchNorm1d": ("num_features", "eps", "momentum"),
    "BatchNorm2d": ("num_features", "eps", "momentum"), "LayerNorm": ("normalized_shape", "eps"),
}  # fmt: skip
"""Layers of torch.nn that a model file may name, and the parameters that make them."""
BATCH = 2048
"""Items that go through a network at once."""


class Network:
    """A module of PyTorch as a function of a batch: numbers in, rows of features out.

    Parameters
    ----------
    layers
        The layers as names and parameters, nested for `Sequential`; None for a module of one's
        own, which is not saved.
    state
        Weights and buffers as arrays, by the names of PyTorch's ``state_dict``.
    """

    def __init__(self, layers: list | None, state: dict[str, np.ndarray]):
        self.layers = layers
        self.state = state

    @classmethod
    def of(cls, module: Any) -> Network:
        """A module as it is now; later changes of the module are not seen."""
        state = {name: host(value.detach().cpu()) for name, value in module.state_dict().items()}
        network = cls(_described(module), {k: np.array(v) for k, v in state.items()})
        if network.layers is None:
            from copy import deepcopy

            network.__dict__["module"] = deepcopy(module).eval()
        return network

    def check_loaded(self, limits: Limits) -> None:
        """Only layers of `LAYERS`, with plain parameters."""
        must(self.layers is not None, "a network without layers")
        _check_layer(self.layers)
        must(
            isinstance(self.state, dict)
            and all(isinstance(value, np.ndarray) for value in self.state.values()),
            "the weights of a network are no arrays",
        )

    def __getstate__(self) -> dict:
        kept = self.__dict__.copy()
        if self.layers is not None:
            kept.pop("module", None)  # made again of layers and arrays
        return kept

    @cached_property
    def module(self) -> Any:
        """The module, made when it is first used, for evaluation."""
        require("torch", "torch")
        import torch

        module = _built(self.layers)
        module.load_state_dict({k: torch.as_tensor(v) for k, v in self.state.items()})
        return module.eval()

    def __call__(self, A: Items) -> Array:
        """The features of a batch in double precision, where the batch is."""
        require("torch", "torch")
        import torch

        foreign = is_foreign(A)
        T = A if foreign else torch.as_tensor(np.asarray(A, dtype=np.float64))
        module = self.module.to(device=T.device)
        dtype = next((p.dtype for p in module.parameters()), torch.float64)
        with torch.no_grad():
            parts = [module(some).to(torch.float64) for some in T.to(dtype).split(BATCH)]
        F = torch.cat(parts).flatten(1)
        return F if foreign else F.numpy()


def is_module(function: Any) -> bool:
    """Whether something is a module of PyTorch, told without importing it."""
    return any(kind.__module__.startswith("torch.nn") for kind in type(function).__mro__)


def _described(module: Any) -> list | None:
    """A module as a name and its parameters; None where a layer is not of `LAYERS`."""
    name = type(module).__name__
    if name not in LAYERS or not type(module).__module__.startswith("torch.nn"):
        return None
    if name == "Sequential":
        inside = [_described(layer) for layer in module]
        return None if any(layer is None for layer in inside) else [name, inside]
    parameters = {key: _plain(getattr(module, key)) for key in LAYERS[name]}
    if "bias" in parameters:
        parameters["bias"] = module.bias is not None
    return [name, parameters]


def _plain(value: Any) -> Any:
    return [int(v) for v in value] if isinstance(value, tuple | list) else value


def _built(layer: Any) -> Any:
    from torch import nn

    name, parameters = layer
    if name == "Sequential":
        return nn.Sequential(*(_built(inside) for inside in parameters))
    made = {k: tuple(v) if isinstance(v, list) else v for k, v in parameters.items()}
    return getattr(nn, name)(**made)


def _check_layer(layer: Any) -> None:
    must(isinstance(layer, list | tuple) and len(layer) == 2, "a layer is no pair")
    name, parameters = layer
    must(name in LAYERS, f"{name!r:.40} is no layer that a model may hold")
    if name == "Sequential":
        for inside in parameters:
            _check_layer(inside)
        return
    must(isinstance(parameters, dict) and set(parameters) <= set(LAYERS[name]), "no parameters")
    plain = all(isinstance(v, int | float | str | list | type(None)) for v in parameters.values())
    must(plain, "a layer has parameters that are not plain")
