"""What goes in and comes out besides tensors in a row."""

from dataclasses import dataclass
from typing import NamedTuple, Optional

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


class Scores(NamedTuple):
    best: torch.Tensor
    at: torch.Tensor


@dataclass
class Answer:
    x: torch.Tensor
    scores: Scores
    parts: dict
    missing: Optional[torch.Tensor] = None


torch.export.register_dataclass(Answer, serialized_type_name="etgen.Answer")
torch.utils._pytree._register_namedtuple(Scores, serialized_type_name="etgen.Scores")


def named_outputs() -> Case:
    """A dataclass in which are a named tuple and a dict: their names stay, one is that of an input, others no identifiers or a keyword's."""

    def forward(x, state):
        y = x + state["register"]
        best, at = y.max(1)
        return Answer(x=y, scores=Scores(best=best, at=at), parts={"class": y * 2, "1st half": y[:1], "arena": y.sum()})

    return Case(function(forward), (torch.randn(2, 3), {"register": torch.randn(3)}))


def related_sizes() -> Case:
    """Sizes with conditions: one even, one three times another and one, one equal to another; results' sizes follow from them."""

    def forward(x, rows, y, z):
        halves = x.reshape(-1, 2, x.shape[1] // 2)
        return halves[:, 0] + halves[:, 1] * rows, torch.cat([y, z]), z[:-1].sum() + y

    def args(r, a, b):
        return torch.randn(r, 2 * a), torch.randn(r, 1), torch.randn(b), torch.randn(3 * b + 1)

    r, a, b = Dim("r", min=1, max=4), Dim("a", min=2, max=32), Dim("b", min=1, max=5)
    shapes = ({0: r, 1: 2 * a}, {0: r}, {0: b}, {0: 3 * b + 1})
    return Case(function(forward), args(3, 4, 2), runs=[run(*args(4, 32, 5)), run(*args(1, 2, 1))], dynamic_shapes=shapes)


def late_sizes() -> Case:
    """Sizes that only the run knows: how many elements are not zero, a number in a tensor, and their sum."""

    def forward(x, n):
        k = n.item()
        torch._check(k >= 2)
        torch._check(k <= 6)
        at = x.nonzero()
        ramp = torch.arange(k, dtype=torch.float32)
        return at, ramp, torch.cat([ramp, torch.zeros(3)]), ramp.sum() + x[:2, 0]

    runs = [run(torch.zeros(3, 4), torch.tensor(2)), run(torch.ones(3, 4), torch.tensor(6))]
    return Case(function(forward), (torch.eye(3, 4), torch.tensor(4)), runs=runs)


def late_sizes_chosen() -> Case:
    """Conditions choose sizes: one on data, some on a size that data decides and on one of an input. A call is refused whose data is not as the model says."""

    def forward(x, mask):
        torch._check_tensor_all(x.sum() > 0)
        n, k = x.shape[0], x[mask].shape[0]
        data = torch.sym_ite((x.max() > 2).item(), n * 2, n)
        nested = torch.sym_ite(k > 2, k + 1, torch.sym_ite(n == 4, n * 2, k * 2))
        joined = torch.sym_ite((n < 7) & torch.sym_not(k >= n) | (k == 1), n + 1, k)
        return x.new_ones(data) * x.mean(), x.new_zeros(nested), x.new_ones(joined), data

    def args(n, most, mask):
        x = torch.linspace(-0.5, 1, n)
        x[0] += most
        return x, torch.tensor([bool(mask >> i & 1) for i in range(n)])

    runs = [args(4, 3, 1), args(4, 1, 15), args(7, 1, 3), args(9, 5, 1), args(9, 1, 0), args(6, -9, 1)]
    shapes = ({0: Dim("rows", min=2, max=9)}, {0: Dim("rows", min=2, max=9)})
    return Case(function(forward), args(5, 1, 5), runs=[run(*r) for r in runs], dynamic_shapes=shapes)


def late_sizes_summed() -> Case:
    """Rows are split into runs whose sizes data decides and whose sum is that of the rows. Calls are refused with runs of another sum, and with a negative one."""

    def forward(x, counts):
        runs = x.split(counts.tolist())
        return torch.cat([run * (i + 1) for i, run in enumerate(runs)]) + x, runs[1].sum(0), runs[3] * 2

    def args(*counts, rows=7):
        return torch.randn(rows, 2), torch.tensor(counts)

    calls = [args(0, 0, 0, 7), args(7, 0, 0, 0), args(2, 1, 3, 0, rows=6), args(1, 2, 3, 4), args(5, 4, 0, -2), args(-1, 4, 2, 2), args(1, 2, 1, 2)]
    return Case(function(forward), args(1, 2, 0, 4), runs=[run(*c) for c in calls], dynamic_shapes=({0: Dim("rows", min=2, max=9)}, None))


def late_size_cut() -> Case:
    """A number in a tensor is the size of what is cut to less than that number is at least."""

    def forward(n):
        k = n.item()
        torch._check(k >= 2)
        torch._check(k <= 6)
        return torch.arange(k, dtype=torch.float32)[:2] + 1

    return Case(function(forward), (torch.tensor(4),), runs=[run(torch.tensor(2)), run(torch.tensor(6))])


def late_size_constant() -> Case:
    """Data decides a size of which the model says that it is 3: the archive records the number. Calls with other data are refused."""

    def forward(x, n):
        at = x.nonzero()
        torch._check(at.shape[0] == 3)
        k = n.item()
        torch._check(k == 3)
        return at + torch.arange(k)[:, None]

    three = torch.tensor(3)
    runs = [run(torch.zeros(3, 4), three), run(torch.ones(3, 4), three), run(torch.eye(3, 4), torch.tensor(4)), run(torch.eye(3, 4) * 2, three)]
    return Case(function(forward), (torch.eye(3, 4), three), runs=runs)


def late_sizes_equal() -> Case:
    """Sizes and numbers that data decides and the model says are equal. Calls with data that gives others are refused."""

    def forward(x, y, n, m):
        at, to = x.nonzero(), y.nonzero()
        torch._check(at.shape[0] == to.shape[0])
        a, b = n.item(), m.item()
        torch._check(a == b)
        torch._check(a >= 1)
        torch._check(b <= 6)
        return at + to, torch.arange(a) * torch.arange(b)

    def args(x, y, n, m):
        return x, y, torch.tensor(n), torch.tensor(m)

    eye, one = torch.eye(3, 4), torch.eye(1, 4).expand(3, 4) * torch.eye(3, 1)
    runs = [args(one, one, 1, 1), args(eye, one, 4, 4), args(one, eye, 4, 4), args(eye, eye, 4, 3), args(eye, eye, 2, 5), args(eye, eye, 6, 6)]
    return Case(function(forward), args(eye, eye, 4, 4), runs=[run(*r) for r in runs])


def late_sizes_unused() -> Case:
    """As late_sizes_equal, but nothing needs the second size, or the one that is said to be 2. A size of an input is said to be a number in a tensor."""

    def forward(x, y, n, z):
        at = x.nonzero()
        torch._check(at.shape[0] == y.nonzero().shape[0])
        torch._check((y > 1).nonzero().shape[0] == 2)
        torch._check(n.item() == z.shape[0])
        return at * 2, z + 1

    def args(x, y, n, rows):
        return x, y, torch.tensor(n), torch.ones(rows)

    eye, two = torch.eye(3, 4), torch.eye(4, 3)
    two[:2] *= 2
    runs = [args(eye, two, 4, 4), args(eye, two * 2, 4, 4), args(eye * 0, two, 4, 4), args(eye, two, 4, 3)]
    shapes = (None, None, None, {0: Dim("rows", min=2, max=9)})
    return Case(function(forward), args(eye, two, 3, 3), runs=[run(*r) for r in runs], dynamic_shapes=shapes)


def late_sizes_fit() -> Case:
    """As many values as a mask picks places, and as many repeats as the result is said to have. Calls with others are refused."""

    def forward(x, mask, v, repeats):
        y = x.clone()
        y[mask] = v
        return y, torch.ops.aten.repeat_interleave.Tensor(repeats, output_size=4)

    def args(mask, repeats):
        return torch.randn(5), torch.tensor(mask) > 0, torch.tensor([1.0, 2.0, 3.0]), torch.tensor(repeats)

    runs = [args([0, 1, 1, 1, 0], [0, 4, 0]), args([1, 0, 0, 0, 1], [1, 2, 1]), args([1] * 5, [1, 2, 1]), args([1, 0, 1, 1, 0], [1, 1, 1]), args([1, 0, 1, 1, 0], [3, 1, 1])]
    return Case(function(forward), args([1, 0, 1, 0, 1], [1, 2, 1]), runs=[run(*r) for r in runs])


def late_sizes_apart() -> Case:
    """Sizes that data decides in either branch of a cond, the first of them in both; and before it."""

    def forward(p, x):
        def yes(x):
            return x[x > 0].sum() + x[x > 1].sum()

        def no(x):
            return x[x < 0].sum()

        return torch.cond(p, yes, no, (x,)) + x[x > 2].sum()

    x = torch.tensor([1.0, -2.0, 3.0, 4.0])
    return Case(function(forward), (torch.tensor(True), x), runs=[run(torch.tensor(False), x), run(torch.tensor(True), x.abs() + 2)])


def asserted_tensor() -> Case:
    """The model asserts something of the elements of a tensor. Calls for which it does not hold are refused."""

    def forward(x):
        torch._assert_async((x > 0).all(), "positive")
        torch._assert_async(x.sum() - 2, "not two in all")
        return x.log()

    return Case(function(forward), (torch.ones(3),), runs=[run(torch.tensor([1.0, 2.0, 0.0])), run(torch.tensor([1.0, 0.5, 0.5])), run(torch.tensor([0.5, 2.0, 1.0]))])


def rows_none_or_one() -> Case:
    """A size of an input is 0 or 1, another 0 to 8."""

    def forward(x, y, z):
        torch._check(x.shape[0] <= 1)
        return x * 2 + 1, torch.cat([x, y, z]), z.sum(0)

    def args(m, n):
        return torch.randn(m, 3), torch.randn(2, 3), torch.randn(n, 3)

    shapes = ({0: Dim.DYNAMIC}, None, {0: Dim("n", min=0, max=8)})
    return Case(function(forward), args(1, 3), runs=[run(*args(0, 8)), run(*args(1, 0)), run(*args(0, 0)), run(*args(0, 1))], dynamic_shapes=shapes, zero=True)


def many_results() -> Case:
    """More results than one function tests pointers of, and an arena."""

    def forward(x):
        y = torch.softmax(x @ x, 1)
        return tuple(y + i for i in range(40))

    return Case(function(forward), (torch.randn(3, 3),), core=False)
