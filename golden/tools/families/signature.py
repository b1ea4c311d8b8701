"""What goes in and comes out besides tensors in a row."""

from typing import Optional

import torch
from torch.export import Dim

from .case import Case, function, run


def kwargs_none() -> Case:
    """Keyword arguments: one given, one None, one left out."""

    def forward(x, scale: float = 1.0, bias: Optional[torch.Tensor] = None, mask: Optional[torch.Tensor] = None):
        y = x * scale
        if bias is not None:
            y = y + bias
        return y if mask is None else y * mask

    return Case(function(forward), (torch.randn(2, 3),), {"scale": 3.0, "bias": None})


def dict_io() -> Case:
    """Nested dictionaries, lists and tuples in and out; None and an integer among the results; one input is not used."""

    def forward(inputs, options):
        x, y = inputs["pair"]
        return {"sum": x + y, "parts": [x * options["scale"], (None, y.argmax(1))], "rows": x.shape[0]}

    args = ({"pair": (torch.randn(2, 3), torch.randn(2, 3)), "unused": torch.randn(1)}, {"scale": torch.tensor(2.0)})
    return Case(function(forward), args)


def scalar_inputs() -> Case:
    """Python numbers, a bool and a string as inputs: part of the program, not of the data."""

    def forward(x, n: int, f: float, flag: bool, mode: str):
        y = x * n + f
        return y.relu() if flag and mode == "clip" else y

    return Case(function(forward), (torch.randn(2, 3), 3, 0.5, True, "clip"))


def symbolic_int() -> Case:
    """An integer input that stays free; results' sizes and values depend on it."""

    def forward(x, n: int):
        return x * n, x[:n], n + 1

    x = torch.randn(8)
    return Case(function(forward), (x, 5), runs=[run(x, 2), run(x, 8)], dynamic_shapes=(None, Dim.DYNAMIC))


def input_as_output() -> Case:
    """An input, a view of it and a parameterless constant are results; one result appears twice."""

    def forward(x):
        y = x + 1
        return x, x.t(), y, y, torch.ones(2)

    return Case(function(forward), (torch.randn(2, 3),))
