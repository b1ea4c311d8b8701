"""Composites that torch.export keeps under the name that the model calls."""

import torch

from .case import Case


def other_names() -> Case:
    """Operators under their other names in PyTorch: absolute, arctan2, greater, negative, row_stack."""

    class OtherNames(torch.nn.Module):
        def forward(self, x, y):
            angles = torch.arctan2(torch.absolute(x), y) + torch.arctan(torch.arcsinh(x)) * torch.negative(y)
            chosen = torch.where(torch.logical_and(torch.greater(x, y), torch.less_equal(x, 1.0)), x, y)
            tests = torch.not_equal(x, y).float() + torch.less(x, y) + torch.greater_equal(x, 0.5)
            return torch.row_stack([angles, chosen, tests]), torch.linalg.matmul(x, torch.true_divide(y, 2).mT)

    return Case(OtherNames(), (torch.randn(3, 4), torch.randn(3, 4)))


def composites_of_odd_numbers() -> Case:
    """Composites of numbers for which their usual form is wrong: small differences of large numbers, complex matrices."""

    class Odd(torch.nn.Module):
        def forward(self, x, at, whole, z, index):
            (by_step,) = torch.gradient(x, spacing=0.1)
            (by_place,) = torch.gradient(x, spacing=(at,))
            (plane,) = torch.gradient(z[0], spacing=0.5, edge_order=2)
            return (
                by_step,
                by_place,
                plane,
                whole.sum_to_size(1, 3),
                torch.nn.utils.rnn.pad_sequence([whole[0], x]),
                z.mH,
                torch.isreal(z),
                torch.linalg.diagonal(z) * 2,
                torch.rsub(z, z * z, alpha=1 - 2j),
                torch.index_add(z, 0, index, z[:2], alpha=2j),
            )

    numbers = torch.randn(3, 4, dtype=torch.complex64)
    numbers[0, 1] = 2
    x = 1000 + torch.randn(6)
    x[0] = 750.5
    return Case(
        Odd(),
        (
            x,
            torch.tensor([0.0, 1.0, 3.0, 3.5, 4.0, 6.0], dtype=torch.float64),
            torch.arange(6, dtype=torch.int32).reshape(2, 3),
            numbers,
            torch.tensor([1, 2]),
        ),
    )


def kept_composites() -> Case:
    """Functions of matrices that export keeps whole: pdist, gradient, multi_dot, vander, combinations, renorm."""

    class Composites(torch.nn.Module):
        def forward(self, x, at):
            a, b = torch.gradient(x, spacing=0.5, dim=(0, 1), edge_order=2)
            (c,) = torch.gradient(x, spacing=(at,), dim=0)
            d = torch.linalg.multi_dot([x, x.mH, x])
            return (
                torch.pdist(x),
                a + b + c + d,
                torch.linalg.vander(x[0], N=4),
                torch.combinations(x[1], r=3),
                torch.renorm(x, 2, 0, 1.0),
                torch.linalg.diagonal(x),
                torch.isreal(x),
                x.sum_to_size(4, 1),
            )

    return Case(Composites(), (torch.randn(4, 5), torch.tensor([0.0, 1.0, 3.0, 3.5])), core=False)


def unpooled() -> Case:
    """nn.MaxUnpool2d puts elements back where MaxPool2d found them, as SegNet does."""

    class Unpooled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.pool = torch.nn.MaxPool2d(2, return_indices=True)
            self.unpool = torch.nn.MaxUnpool2d(2)

        def forward(self, x):
            y, at = self.pool(x)
            return self.unpool(torch.relu(y), at)

    return Case(Unpooled(), (torch.randn(2, 3, 6, 4),))


def windows_and_sequences() -> Case:
    """Kaiser's window, frequencies, sequences padded to one length, means and deviations of which numbers are drawn."""

    class Windows(torch.nn.Module):
        def forward(self, x, y):
            w = torch.kaiser_window(6, True, 3.0) * torch.fft.fftfreq(6) + torch.fft.rfftfreq(10, 0.5)
            z = torch.nn.utils.rnn.pad_sequence([x, y], batch_first=True, padding_value=0.5)
            return w, z, torch.normal(x, torch.zeros(4)), torch.isin(torch.round(y), 1.0)

    return Case(Windows(), (torch.randn(2, 4), torch.randn(3, 4)))


def cut_and_wrapped() -> Case:
    """Circular padding that cuts at one end repeats what is left."""

    class Cut(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.pad(x, (2, -1), "circular"), torch.nn.functional.pad(x, (-2, 3), "circular")

    return Case(Cut(), (torch.arange(12.0).reshape(1, 2, 6),))


def contracted_ones() -> Case:
    """tensordot sums over a dimension of the one operand where the other has a size of 1."""

    class Contracted(torch.nn.Module):
        def forward(self, x, y):
            return torch.tensordot(x, y, dims=([0, 1], [2, 0]))

    return Case(Contracted(), (torch.randn(1, 1, 3), torch.randn(2, 4, 1)))


def integer_losses() -> Case:
    """Poisson's loss of integers with Stirling's term, logit with an eps over 1/2, index_add and addr of bools."""

    class Losses(torch.nn.Module):
        def forward(self, n, m, p, flags, at):
            full = torch.nn.functional.poisson_nll_loss(n, m, full=True, reduction="none")
            added = torch.index_add(flags, 0, at, flags, alpha=False)
            return full, torch.logit(p, 0.6), added, torch.addr(flags.expand(3, 3), flags, flags)

    n, m = torch.tensor([0, 1, 2, 3]), torch.tensor([4, 1, 0, 6])
    flags = torch.tensor([True, False, True])
    return Case(Losses(), (n, m, torch.tensor([0.1, 0.5, 0.9]), flags, torch.tensor([1, 0, 2])))
