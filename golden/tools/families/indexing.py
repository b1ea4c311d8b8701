"""Gather, scatter and sort."""

import torch
import torch.nn.functional as F
from torch import nn

from .case import Case, function, run


def embedding() -> Case:
    """Rows of a table by int64 and by int32 indices; the padding row."""
    table = nn.Embedding(6, 3, padding_idx=0)

    class Lookup(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = table

        def forward(self, a, b):
            return self.table(a), self.table(b)

    return Case(Lookup(), (torch.tensor([[5, 0, 2], [2, 2, 1]]), torch.tensor([3, 0], dtype=torch.int32)))


def index_several() -> Case:
    """Several index tensors, broadcast with each other; adjacent, and with a slice between; negative indices."""

    def forward(x, i, j):
        return x[i, j], x[i, :, j], x[:, i, j], x[-1 - i]

    return Case(function(forward), (torch.randn(3, 4, 5), torch.tensor([[0], [2]]), torch.tensor([1, 3, 0])))


def index_put() -> Case:
    """Written at several index tensors, broadcast; with accumulation where indices repeat."""

    def forward(x, i, j, repeated, v):
        y = x.clone()
        y[i, j] = v
        return y, x.index_put((repeated,), v, accumulate=True)

    indices = torch.tensor([[0], [3]]), torch.tensor([1, 2, 0]), torch.tensor([3, 1, 3])
    return Case(function(forward), (torch.randn(4, 3), *indices, torch.randn(3)))


def index_mask() -> Case:
    """Masks among the indices: over leading and inner dimensions and over all; picked, and written with one value, a row, and a value for each place."""

    def forward(x, rows, columns, each, v):
        a, b, c = x.clone(), x.clone(), x.clone()
        a[each] = 0.0
        b[rows] = v
        c[each] = x[each] * 2
        return x[rows], x[:, columns], x[each].sum(), a, b, c, x.index_put((rows,), v, accumulate=True)

    rows, columns = torch.tensor([True, False, True]), torch.tensor([False, True, True, False])
    x, v = torch.randn(3, 4), torch.randn(4)
    return Case(function(forward), (x, rows, columns, x > 0, v))


def view_dtype() -> Case:
    """Bytes looked at as another dtype: of the same size, a smaller one, a larger one."""

    def forward(x, h, b):
        return x.view(torch.int32) + 1, x.view(torch.int16), h.view(torch.float32), b.view(torch.int64) * 2, (x * 2).view(torch.uint8)

    return Case(
        function(forward),
        (torch.randn(2, 3), torch.randn(2, 4).to(torch.bfloat16), torch.arange(16, dtype=torch.uint8).reshape(2, 8)),
    )


def gather_scatter() -> Case:
    """gather, scatter of a value, scatter_add with repeated indices, index_select, index_add."""

    def forward(x, index):
        return (
            x.gather(1, index),
            x.scatter(1, index[:, :1], 9.0),
            x.scatter_add(0, index, x[:, :2] * 2),
            x.index_select(1, index[0]),
            x.index_add(0, index[:, 0], x, alpha=2),
        )

    return Case(function(forward), (torch.randn(3, 4), torch.tensor([[0, 2], [1, 1], [2, 0]])))


def sort_stable() -> Case:
    """Equal values keep their order, ascending and descending, along the first and the last dimension; NaN counts as largest."""

    def forward(x, n):
        return (
            *torch.sort(x, stable=True, dim=1),
            *torch.sort(x, stable=True, dim=1, descending=True),
            *torch.sort(n, stable=True, dim=0, descending=True),
            torch.argsort(n, dim=-1, stable=True),
        )

    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[2.0, 1.0, 2.0, nan, -0.0, 0.0, 1.0, inf], [nan, 3.0, -inf, nan, 3.0, -1.0, 3.0, -1.0]])
    return Case(function(forward), (x, torch.randint(-2, 3, (6, 5))))


def sort_scalar_and_long() -> Case:
    """A 0-d tensor, a single element, int8, bool, and 200 values with many equal ones."""

    def forward(s, one, b, flags, long):
        return *s.sort(), *one.sort(), *b.sort(descending=True, stable=True), *flags.sort(stable=True), *long.sort(stable=True)

    small = torch.tensor(3.0), torch.tensor([1]), torch.tensor([-128, 127, 0, 127, -1], dtype=torch.int8), torch.rand(9) > 0.5
    return Case(function(forward), (*small, torch.randint(0, 20, (200,)).float()))


def argmax_ties() -> Case:
    """The first of equal extremes wins; min and max with indices; of the whole tensor and with keepdim."""

    def forward(x):
        return x.argmax(1), x.argmin(0, keepdim=True), x.argmax(), *x.max(1), *x.min(0, keepdim=True), x.amax((0, 1))

    return Case(function(forward), (torch.randint(0, 3, (4, 6)).float(),))


def index_read_range() -> Case:
    """Operators that read where an index says, each from an index of its own, at the ends of its range."""

    def forward(x, a, b, c, d, e, f):
        return {
            "gather": x.gather(1, a),
            "embedding": torch.nn.functional.embedding(b, x),
            "select": x.index_select(0, c),
            "index": x[d],
            "take": x.take(e),
            "along": torch.take_along_dim(x, f, 1),
        }

    def args(a, b, c, d, e, f):
        return (torch.arange(12.0).reshape(3, 4), torch.tensor([[a, 0], [0, 1], [2, 3]]), torch.tensor([b, 0]), torch.tensor([c, 1]),
                torch.tensor([d, 2]), torch.tensor([e, 11]), torch.tensor([[f], [1], [2]]))

    return Case(function(forward), args(3, 2, 2, 2, 11, 3), runs=[run(*args(0, 0, 0, -3, -12, -1)), run(*args(1, 1, 1, -1, -1, 9))])


class Slots(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("slots", torch.zeros(3, 4))

    def forward(self, x, a, b, c, d):
        self.slots.index_put_((a,), x[:1])
        copied = x.index_copy(0, b, self.slots[:1])
        added = x.index_add(0, c, x[:1])
        return copied, added, x.scatter(1, d, 7.0), x.index_fill(0, a, 5.0), self.slots.sum()


def index_write_range() -> Case:
    """Operators that write where an index says, one of them to state: with --checked nothing is written if any index is out of range."""

    def args(a, b, c, d):
        return torch.arange(12.0).reshape(3, 4), torch.tensor([a]), torch.tensor([b]), torch.tensor([c]), torch.tensor([[d, 0], [0, 1], [2, 3]])

    return Case(Slots(), args(2, 2, 2, 3), runs=[run(*args(-3, 0, 0, 0)), run(*args(-1, 1, 1, 1))], stateful=True)


def counted_in_steps() -> Case:
    """arange in steps of floats from or to a size."""

    def forward(x):
        n = x.shape[0]
        return torch.arange(n, 0, -1.0), torch.arange(0, n, 0.5), torch.arange(n, 0, -1.5), torch.arange(0.25, n + 1, 2)

    shapes = ({0: torch.export.Dim("n", min=2, max=9)},)
    runs = [run(torch.randn(2)), run(torch.randn(9))]
    return Case(function(forward), (torch.randn(5),), runs=runs, dynamic_shapes=shapes)


def sizes_truncated() -> Case:
    """Sizes that are whole parts of floats: math.trunc in the file."""

    def forward(x):
        n = x.shape[0]
        return x.new_zeros(torch.sym_int(n * 0.5) + 2), x.new_ones(torch.sym_int(n * 1.5))

    shapes = ({0: torch.export.Dim("n", min=6, max=19)},)
    return Case(function(forward), (torch.randn(8),), runs=[run(torch.randn(6)), run(torch.randn(19))], dynamic_shapes=shapes)


def rows_grouped() -> Case:
    """Segments of rows, histograms, rows of an embedding no longer than asked, bags that end where the last offset says."""

    def forward(x, lengths, offsets, table, rows, weights):
        table = table.clone()
        return (
            torch.segment_reduce(x, "mean", lengths=lengths, unsafe=True),
            torch.segment_reduce(x, "max", offsets=offsets, initial=2.0, unsafe=True),
            torch.segment_reduce(x, "prod", lengths=lengths, unsafe=True),
            torch.segment_reduce(x, "sum", offsets=offsets[1:4]),
            *torch.histogram(x, 4),
            *torch.histogram(x, 5, range=(-1.0, 1.5), weight=weights, density=True),
            *torch.histogram(x, torch.tensor([-1.0, -0.5, 0.0, 2.0])),
            F.embedding(rows, table, max_norm=1.0),
            F.embedding_bag(rows, table, offsets, mode="mean", include_last_offset=True, padding_idx=1),
            F.embedding_bag(rows, table, offsets, mode="sum", include_last_offset=True, per_sample_weights=weights[:, 0]),
        )

    return Case(
        function(forward),
        (
            torch.randn(6, 3),
            torch.tensor([2, 0, 3, 1]),
            torch.tensor([0, 2, 2, 5, 6]),
            torch.randn(5, 4),
            torch.tensor([4, 1, 0, 0, 3, 2]),
            torch.rand(6, 3),
        ),
    )


def rows_that_differ() -> Case:
    """The rows, and the columns, of a matrix that differ, in the order of their numbers."""

    def forward(x):
        return *torch.unique(x, dim=0, return_inverse=True, return_counts=True), torch.unique(x, dim=1)

    return Case(function(forward), (torch.tensor([[3, 1, 3], [1, 2, 1], [1, 2, 1], [3, 0, 3]]),))


def number_indexed() -> Case:
    """A tensor without dimensions: filled where an index says, which may be empty, and taken once for each true element of a mask."""

    def forward(x, y, at, mask):
        return (
            x.index_fill(0, at, y),
            x.index_fill(0, at[:0], 3.0),
            x.index_fill(-1, at[0], y),
            x.masked_select(mask),
            y.masked_select(x > 0),
        )

    return Case(function(forward), (torch.tensor(0.5), torch.tensor(-2.0), torch.tensor([-1, 0]), torch.rand(3, 4) > 0.5))
