"""Control flow and sizes that are known only when the program runs."""

import torch
from torch import _higher_order_ops as higher
from torch import nn
from torch.export import Dim

from .case import Case, function, run


class Batch(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 5)
        self.out = nn.Linear(5, 2)

    def forward(self, x):
        y = self.out(torch.relu(self.hidden(x)))
        return y, y.mean(0), y.reshape(-1), x.shape[0] * 2


def dynamic_batch() -> Case:
    """The first dimension is 1..16; reductions over it, a reshape by it, and an integer result made of it."""
    runs = [run(torch.randn(n, 4)) for n in (1, 2, 16)]
    return Case(Batch(), (torch.randn(3, 4),), runs=runs, dynamic_shapes=({0: Dim("n", min=1, max=16)},))


def dynamic_two() -> Case:
    """Two independent sizes; one result's size is a sum, one a product, one half of them."""

    def forward(x, y):
        return torch.cat([x, y]), x[:, None] * y, x[: y.shape[0] // 2].sum(), (x.softmax(0)[:, None] + y).flatten()

    shapes = ({0: Dim("n", min=8, max=12)}, {0: Dim("m", min=4, max=10)})
    runs = [run(torch.randn(n), torch.randn(m)) for n, m in ((8, 4), (12, 10), (9, 9))]
    return Case(function(forward), (torch.randn(10), torch.randn(5)), runs=runs, dynamic_shapes=shapes)


class Cond(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: torch.relu(self.lin(x)), lambda x: x * 2 - 1, (x,)) + x


def cond() -> Case:
    """Both branches, one with parameters; what follows uses the result and the operand."""
    x = torch.tensor([[1.0, -0.25, 0.5]])
    return Case(Cond(), (x,), label="then", runs=[run(-x, label="else")])


def cond_nested() -> Case:
    """A branch inside a branch; two results."""

    def forward(x, limit):
        def large(x):
            return torch.cond(x[0] > x[1], lambda x: (x + 1, x.sum()), lambda x: (x * x, x[2] * 3), (x,))

        return torch.cond(x.sum() > limit, large, lambda x: (-x, x.min()), (x,))

    runs = [
        run(torch.tensor([1.0, 2.0, 3.0]), torch.tensor(2.0), label="then, else"),
        run(torch.tensor([1.0, 2.0, 3.0]), torch.tensor(7.0), label="else"),
    ]
    return Case(function(forward), (torch.tensor([2.0, 1.0, 3.0]), torch.tensor(2.0)), label="then, then", runs=runs)


def while_loop() -> Case:
    """An integer and a vector are carried, a matrix is captured; no, one, three rounds."""

    def forward(count, x, m):
        def go_on(i, x):
            return i > 0

        def step(i, x):
            return i - 1, torch.tanh(m @ x) + i

        return higher.while_loop(go_on, step, (count, x))

    x, m = torch.randn(3), torch.randn(3, 3)
    return Case(function(forward), (torch.tensor(3), x, m), runs=[run(torch.tensor(0), x, m), run(torch.tensor(1), x, m)])


def vmapped() -> Case:
    """What export leaves of vmaps: one in another, batches in any dimension of operands, and operands that all samples share."""

    def one(a, b, shared):
        return torch.mm(a, b).cumsum(0), a.sum(0) + shared

    def outer(a, x):
        return torch.vmap(inner, in_dims=(0, None))(x, a)

    def inner(c, a):
        return c * a.sum() + a

    def forward(x, y):
        p, q = torch.vmap(one, in_dims=(1, 0, None))(x, y, x[0, 0])
        return p, q, torch.vmap(outer, in_dims=(1, None))(y[:, 0], x[:, 0, :4])[1:]

    return Case(function(forward), (torch.randn(3, 4, 5), torch.randn(4, 5, 2)))


def while_loop_swap() -> Case:
    """The carried values of a loop change places: each is read before either is overwritten."""

    def forward(i, n, a, b):
        return higher.while_loop(lambda i, a, b: i < n, lambda i, a, b: (i + 1, b.clone(), a + b), (i, a, b))

    return Case(function(forward), (torch.tensor(0), torch.tensor(3), torch.randn(2), torch.randn(2)))
