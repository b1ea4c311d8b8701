"""Complex numbers and Fourier transforms."""

import torch
from torch import nn

from .case import Case, function, run


def complex_numbers() -> Case:
    """Operators on complex numbers, with real operands beside them."""

    def forward(x, y, a, b):
        p, q = torch.complex(x, y), torch.complex(y, x + 2)
        m, n = torch.complex(a, a * 2), torch.complex(a, -a)
        return (
            torch.view_as_real(p * q + x - 2j * q),
            torch.view_as_real(p / q + (q / 2) / x),
            torch.view_as_real(torch.exp(p) + torch.log(q) - q.sqrt()),
            torch.view_as_real(p.conj() * q.reciprocal() + q**3 + p.square()),
            p.abs() + torch.angle(q) + p.real * q.imag,
            torch.angle(x),
            torch.view_as_real(m @ n.transpose(0, 1)),
            torch.view_as_real(torch.einsum("ij,kj->ik", m, n)),
            torch.view_as_real(torch.cat([p, q], -1)[:, 1:3].sum(0, keepdim=True)),
            torch.view_as_real(torch.where(x > 0, p, q).roll(1, 0).flip(1)),
            torch.linalg.vector_norm(p, dim=1),
            (p == p.conj()) | (p != q),
            torch.polar(b, b).real,
        )

    return Case(function(forward), (torch.randn(3, 4), torch.randn(3, 4), torch.randn(4, 4), torch.rand(5)))


def complex_edges() -> Case:
    """Parts that broadcast, numbers whose squares no float holds, conversions to bool, composites that are complex inside only."""

    def forward(x, y, v):
        z = torch.complex(x, v)
        large, small = torch.complex(x * 1e20, x * 1e20), torch.complex(x * 1e-25, v * 1e-25)
        m = torch.complex(y, y + 1)
        w = torch.zeros_like(z)
        w.fill_(2)
        return (
            torch.view_as_real(z.sum()),
            torch.view_as_real((large / large) + (small / small)),
            torch.complex(torch.zeros(3), torch.tensor([0.0, 1.0, 0.0])).to(torch.bool),
            torch.view_as_real(torch.mv(m, z[0]) + torch.sgn(z[0, :7].sum())),
            torch.view_as_real(torch.dot(z[0], z[1]) + torch.vdot(z[0], z[1])),
            torch.view_as_real(torch.ones_like(z) + w),
            torch.fft.hfft(x),
            torch.stft(x.reshape(1, -1), 8, 4, window=torch.hann_window(8), center=False, return_complex=False),
            torch.angle(torch.fft.rfft(torch.tensor([0.0, 1, 0, 1]) * v[0].abs())),
            torch.isfinite(z) & ~torch.isinf(z),
        )

    return Case(function(forward), (torch.randn(3, 7), torch.randn(7, 7), torch.randn(7)))


def complex_functions() -> Case:
    """Functions of complex numbers, on their branch cuts too; running products, truth, variances, composites."""

    def forward(x, w):
        z, u = torch.complex(x[0], x[1]), torch.complex(x[1], x[0])
        near = z * 1e-4
        kernel = torch.complex(w, w.flip(0))
        image = z.reshape(1, 1, 4, 6)
        results = [f(z) for f in (torch.sin, torch.cos, torch.tan, torch.sinh, torch.cosh, torch.tanh)]
        results += [f(z) for f in (torch.asin, torch.acos, torch.atan, torch.asinh, torch.acosh, torch.atanh)]
        results += [f(z) for f in (torch.exp2, torch.log2, torch.log10, torch.sigmoid, torch.rsqrt, torch.sinc)]
        results += [torch.expm1(near), torch.log1p(near), torch.tanh(z * 50), torch.sigmoid(z * 8)]
        results += [torch.pow(z, u), torch.pow(1.5, z), torch.pow(z, 0.5j), torch.float_power(z, 1.5).to(torch.complex64)]
        results += [torch.addcmul(z, z, u, value=0.5j), torch.addcdiv(z, u, z + 9), torch.lerp(z, u, 0.25)]
        results += [torch.cumprod(z, 0), torch.logcumsumexp(z, 0), torch.logaddexp(z, u), torch.add(z, u, alpha=2j)]
        m, v = kernel.reshape(3, 3), kernel.reshape(9)[:3]
        shaped = [
            torch.prod(m, 1, keepdim=True),
            torch.logsumexp(m, 0),
            torch.addmv(v, m, v, beta=0.5, alpha=1j),
            torch.conv2d(image, kernel, torch.complex(w[0, 0, 0, :1], w[0, 0, 1, :1])),
            torch.nn.functional.pad(image, (1, 2, 0, 1), mode="circular"),
            torch.diagonal_scatter(m, v),
            torch.linspace(0, 1 + 2j, 5),
            torch.std_mean(m, 1)[1],
        ]
        truth = (m.any(), z.logical_not(), torch.isclose(z, z + 1e-7), torch.var(m, 0), torch.std(z))
        return (torch.view_as_real(torch.stack(results)), *map(torch.view_as_real, shaped), *truth)

    cuts = torch.tensor([[2.0, -2.0, 0.5, -0.5, 0.0, 0.0, -3.0], [0.0, 0.0, 0.0, 0.0, 2.0, -0.5, 0.0]])
    return Case(function(forward), (torch.cat([cuts, torch.randn(2, 17) * 2], 1), torch.randn(1, 1, 3, 3)), core=False)


def complex_rotary() -> Case:
    """Rotary embeddings as products of complex numbers, with a table of them."""

    class Rotary(nn.Module):
        def __init__(self):
            super().__init__()
            angle = torch.outer(torch.arange(8.0), 1 / 100 ** (torch.arange(0, 6, 2) / 6))
            self.register_buffer("table", torch.polar(torch.ones_like(angle), angle))

        def forward(self, x):
            z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
            return torch.view_as_real(z * self.table[: x.shape[1]]).flatten(2)

    length = torch.export.Dim("length", min=2, max=8)
    return Case(Rotary(), (torch.randn(2, 5, 6),), runs=[run(torch.randn(2, 8, 6))], dynamic_shapes=({1: length},))


def complex_signature() -> Case:
    """Complex inputs, outputs, parameters and state, also across a loop and a branch."""

    class Signature(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.complex(torch.randn(3), torch.randn(3)))
            self.register_buffer("sum", torch.zeros(3, dtype=torch.complex64))

        def forward(self, x, y):
            self.sum.add_(x * self.weight)
            z = torch.cond(y.sum() > 0, lambda x: x * 1j, lambda x: x.conj().resolve_conj().clone(), (x,))
            n, w = torch.while_loop(
                lambda n, w: n < 3, lambda n, w: (n + 1, w * w + 0.25), (torch.tensor(0), z)
            )
            return w, self.sum.clone(), n

    x = torch.complex(torch.randn(3), torch.randn(3)) / 4
    return Case(Signature(), (x, torch.ones(2)), runs=[run(-x, -torch.ones(2))], stateful=True)


def fourier() -> Case:
    """Functions of torch.fft: lengths that are products, primes and one; sizes, dimensions, norms."""

    def parts(x):
        return torch.view_as_real(x.resolve_conj())

    def forward(x, y, z):
        f = torch.fft
        c = torch.complex(y, y.flip(1))
        return (
            parts(f.fft(x)),
            parts(f.rfft(x[:, :37], norm="ortho")),
            parts(f.ifft(x[:, :34], n=68, norm="forward")),
            f.irfft(c, n=9),
            f.irfft(c, norm="forward"),
            f.hfft(c, n=8),
            parts(f.ihfft(y)),
            parts(f.rfft2(z)),
            f.irfft2(torch.complex(z, -z), s=(4, 6), norm="ortho"),
            parts(f.fftn(z, dim=(0, 2))),
            parts(f.fftshift(f.ifft2(torch.complex(z, z)))),
            f.irfftn(f.rfftn(z)) + f.ifftshift(z, dim=1),
            parts(f.fft(y[:, :1])),
        )

    return Case(function(forward), (torch.randn(2, 96), torch.randn(2, 6), torch.randn(3, 5, 4)))


def fourier_dynamic() -> Case:
    """Fourier transforms of dynamic sizes: few elements and many; a kernel padded to a dynamic size."""

    def forward(few, many, kernel):
        n = many.shape[1] + kernel.shape[0] - 1
        return (
            torch.view_as_real(torch.fft.fft2(few, norm="ortho")),
            torch.fft.irfft(torch.fft.rfft(few, dim=0), few.shape[0], dim=0),
            torch.fft.irfft(torch.fft.rfft(many, n) * torch.fft.rfft(kernel, n), n),
            torch.view_as_real(torch.fft.ifft(torch.complex(many, many + 1))),
            torch.view_as_real(torch.fft.ihfft(few).resolve_conj()),
        )

    def sizes(h, w, n):
        return torch.randn(h, w), torch.randn(2, n), torch.randn(5)

    dim = torch.export.Dim
    few = {0: dim("h", min=2, max=20), 1: dim("w", min=2, max=20)}
    shapes = (few, {1: dim("n", min=4, max=200)}, None)
    runs = [run(*sizes(2, 20, 200)), run(*sizes(9, 3, 101))]
    return Case(function(forward), sizes(5, 6, 37), runs=runs, dynamic_shapes=shapes)


def short_time_fourier() -> Case:
    """A spectrogram and the way back; windows."""

    def forward(x, w):
        s = torch.stft(x, 64, 16, window=torch.hann_window(64), return_complex=True)
        t = torch.stft(x[0], 40, 10, 30, window=torch.hamming_window(30, periodic=False), center=False, normalized=True, return_complex=True)
        return (
            torch.log(s.abs() ** 2 + 1e-3),
            torch.istft(s, 64, 16, window=torch.hann_window(64), length=300),
            t.abs() @ w,
            torch.blackman_window(12) + torch.bartlett_window(12) + torch.hamming_window(12, True, 0.5, 0.4),
        )

    return Case(function(forward), (torch.randn(2, 320), torch.rand(29, 3)))


def random_numbers() -> Case:
    """Operators that draw numbers. The results do not depend on the numbers, but on where they may lie."""

    def forward(x, p):
        within = lambda v, low, high: ((v >= low) & (v <= high)).all()
        return (
            within(torch.empty_like(x).uniform_(-2, 3), -2, 3),
            within(torch.empty_like(x).normal_(5, 0.125), 3, 7),
            within(torch.empty_like(x).exponential_(2.0), 0, 40),
            within(torch.randint(3, 9, (50,)), 3, 8),
            within(torch.randint_like(x, 4), 0, 3),
            torch.randperm(20).sort()[0],
            torch.bernoulli(torch.tensor([0.0, 1.0])),
            torch.multinomial(p, 2).sort()[0],
            torch.multinomial(p, 9, replacement=True) % 2,
        )

    p = torch.tensor([[0.0, 0.5, 0.0, 2.0], [0.0, 1.0, 0.0, 0.1]])
    return Case(function(forward), (torch.randn(100), p))
