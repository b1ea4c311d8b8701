"""Conditions on sizes that torch.export finds while it traces: calls that they exclude are refused."""

import torch
from torch import nn
from torch.export import Dim

from .case import Case, function, run


def guard_even_rows() -> Case:
    """The graph is that of an even number of rows."""

    def forward(x):
        return x.sum() if x.shape[0] * 3 % 2 == 0 else x.mean()

    runs = [run(torch.randn(n, 4), label=f"{n} rows") for n in (5, 8, 19, 2)]
    return Case(function(forward), (torch.randn(6, 4),), runs=runs, dynamic_shapes=({0: Dim.DYNAMIC(min=2, max=20)},))


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 3, bidirectional=True, batch_first=True)

    def forward(self, x):
        return self.gru(nn.functional.avg_pool1d(x, 2).transpose(1, 2))[0]


def guard_gru_width() -> Case:
    """A bidirectional GRU is unrolled for one number of steps, half of the width: of the dynamic widths two are allowed."""
    runs = [run(torch.randn(3, 4, w), label=f"width {w}") for w in (13, 14, 8)]
    return Case(Pooled(), (torch.randn(3, 4, 12),), runs=runs, dynamic_shapes=({2: Dim.DYNAMIC(min=4, max=20)},))


def guard_arithmetic() -> Case:
    """Conditions over two inputs: quotients, an or, maxima, floats, division of one size by another."""

    def forward(x, extra):
        y = extra["y"]
        parts = x.sum()
        if not (x.shape[0] == 2 or y.shape[0] % 3 == 1):
            parts = x.mean()
        if torch.sym_max(x.shape[0], 2 * y.shape[0]) < 30 and int(x.shape[0] * 1.7) > 3 and x.shape[0] / y.shape[0] > 0.6:
            return parts + y.sum()
        return parts - y.sum()

    shapes = [(8, 7), (8, 10), (7, 7), (8, 16), (14, 16), (2, 2), (8, 14)]
    calls = [run(torch.randn(r, 4), {"y": torch.randn(n)}, label=f"{r} and {n}") for r, n in shapes]
    dynamic = ({0: Dim.DYNAMIC(min=2, max=20)}, {"y": {0: Dim.DYNAMIC(min=2, max=20)}})
    return Case(function(forward), calls[0]["args"], label=calls[0]["label"], runs=calls[1:], dynamic_shapes=dynamic)


def guard_excludes() -> Case:
    """The graph is that of numbers of rows which are not some among the others, nor some at the beginning."""

    def forward(x):
        return x.mean() if (x.shape[0] + 2) // 3 in (1, 4) else x.sum()

    runs = [run(torch.randn(n, 4), label=f"{n} rows") for n in (3, 4, 9, 10, 12, 13, 20)]
    return Case(function(forward), (torch.randn(6, 4),), runs=runs, dynamic_shapes=({0: Dim.DYNAMIC(min=2, max=20)},))


def range_of_rows() -> Case:
    """A dynamic size has a least number, which nothing in the graph says."""

    def forward(x):
        return x.sum(0)

    runs = [run(torch.randn(n, 4), label=f"{n} rows") for n in (4, 3, 64, 65)]
    return Case(function(forward), (torch.randn(6, 4),), runs=runs, dynamic_shapes=({0: Dim("rows", min=4, max=64)},))


def guard_numbers() -> Case:
    """Numbers as inputs: of one a range is allowed, one is equal to it, one is the number of rows."""

    def forward(x, n, m, rows):
        if n > 0 and n < 10 and m == n and rows == x.shape[0]:
            return x * n + m, x.sum() + rows
        return x - n, x.sum() - m

    calls = [(4, 3, 3, 4), (5, 9, 9, 5), (4, 1, 1, 4), (4, 0, 0, 4), (4, -2, -2, 4), (4, 10, 10, 4), (4, 3, 4, 4), (4, 3, 3, 5)]
    runs = [run(torch.randn(r, 3), n, m, rows, label=f"{r} rows, {n}, {m}, {rows}") for r, n, m, rows in calls]
    dynamic = ({0: Dim.DYNAMIC(max=8)}, Dim.DYNAMIC, Dim.DYNAMIC, Dim.DYNAMIC)
    return Case(function(forward), runs[0]["args"], label=runs[0]["label"], runs=runs[1:], dynamic_shapes=dynamic)
