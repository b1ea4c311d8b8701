"""Views and what is written through them; slicing and joining."""

import torch
from torch.nn import functional as F

from .case import Case, function


def inplace_slice() -> Case:
    """An in-place operator on a slice changes what it was cut from."""

    def forward(x):
        y = x.clone()
        y[1:3].add_(1)
        return y

    return Case(function(forward), (torch.randn(4, 3),))


def inplace_relu_slice() -> Case:
    """An in-place activation on a block of columns; the old value is still wanted."""

    def forward(x):
        y = x.clone()
        before = y * 2
        torch.relu_(y[:, 1:3])
        return y, before

    return Case(function(forward), (torch.randn(3, 4),))


def inplace_select_copy() -> Case:
    """A row and a column are overwritten through views."""

    def forward(x, row, column):
        y = x.clone()
        y.select(0, 1).copy_(row)
        y[:, -1].copy_(column)
        return y

    return Case(function(forward), (torch.randn(3, 4), torch.randn(4), torch.randn(3)))


def inplace_view_chain() -> Case:
    """Written through a transposed, stepped slice of a reshape, read through another view made before."""

    def forward(x, w):
        y = x + 0
        seen = y[0]
        y.view(3, 4).t()[::2].mul_(w)
        return y, seen.sum(), y.view(3, 4)[1]

    return Case(function(forward), (torch.randn(2, 6), torch.randn(2, 1)))


def noncontiguous_input() -> Case:
    """Inputs with strides: one transposed, one with gaps, one expanded."""

    def forward(transposed, gaps, expanded):
        return transposed * 2, transposed.reshape(-1) + gaps.flatten(), gaps @ expanded, expanded.sum(0)

    return Case(function(forward), (torch.randn(4, 3).t(), torch.randn(3, 8)[:, ::2], torch.randn(4, 1).expand(4, 2)))


def slice_step() -> Case:
    """Slices with steps, from the end, beyond the end, and of slices."""

    def forward(x):
        return x[1::2], x[:, ::3], x[-3:, 1:-1:2], x[2:100], x[1:][::2, 3:]

    return Case(function(forward), (torch.randn(5, 8),))


def cat_split_stack() -> Case:
    """Taking apart and joining, along the first, a middle and the last dimension."""

    def forward(x, y):
        a, b, c = x.split([1, 3, 2], dim=1)
        d, e = y.chunk(2, dim=-1)
        joined = torch.cat([c, a, b], 1), torch.cat([x, x[:1] * 2], 0), torch.cat([d, y], -1)
        return *joined, torch.stack([d, e], 1), b.unbind(1)[1]

    return Case(function(forward), (torch.randn(2, 6, 3), torch.randn(2, 4)))


def reshape_permute() -> Case:
    """Reshapes that are views and one that must copy; expand, flip, roll, repeat."""

    def forward(x):
        p = x.permute(2, 0, 1)
        return p, p.reshape(4, 6), x.view(6, 4).t(), x[:, :1].expand(2, 3, 4), x.flip(0, 2), x.roll(1, 1), x.repeat(1, 2, 1)

    return Case(function(forward), (torch.randn(2, 3, 4),))


def pad_crop() -> Case:
    """Padding by negative amounts, alone and beside positive ones; joining tensors without elements."""

    def forward(x, y):
        return F.pad(x, (1, -2, -1, 3), value=2.5), F.pad(x, (-1, -2)), torch.cat([y, y])

    return Case(function(forward), (torch.randn(2, 4, 5), torch.zeros(3, 0)))


def meshgrid() -> Case:
    """Grids of vectors, in both orders of the first two dimensions."""

    def forward(x, y, z):
        a, b, c = torch.meshgrid(x, y, z, indexing="ij")
        d, e = torch.meshgrid(x, y, indexing="xy")
        return a * b + c, d - e

    return Case(function(forward), (torch.randn(4), torch.randn(3), torch.randn(2)))
