"""Special functions, and operators that programs seldom call by themselves."""

import torch
import torch.nn.functional as F
from torch import nn

from .case import Case, function, run


def bessel() -> Case:
    """Bessel functions and Airy's, near 0 and far from it, of numbers that they are not defined on."""

    def forward(x, p):
        s = torch.special
        return (
            s.bessel_j0(x), s.bessel_j1(x), s.bessel_y0(p), s.bessel_y1(p), s.airy_ai(x),
            s.modified_bessel_k0(p), s.modified_bessel_k1(p),
            s.scaled_modified_bessel_k0(p), s.scaled_modified_bessel_k1(p),
        )

    x = torch.cat([torch.linspace(-20, 20, 33), torch.tensor([0.0, 110.0, float("nan")])])
    p = torch.cat([torch.logspace(-3, 1.5, 33), torch.tensor([0.0, -1.0, float("nan")])])
    return Case(function(forward), (x, p))


def incomplete_gamma() -> Case:
    """The incomplete gamma functions, at 0 and infinity too."""

    def forward(a, x):
        return torch.igamma(a, x), torch.igammac(a, x)

    inf = float("inf")
    a = torch.tensor([0.001, 0.3, 1, 5, 19.9, 20, 300, 1e4, 0, 0, 2, inf, inf, 3, -1])
    x = torch.tensor([0.5, 2, 1, 9, 20, 15, 310, 9.9e3, 0, 1, 0, 4, inf, inf, 2])
    return Case(function(forward), (torch.cat([a, a]), torch.cat([x, x * 0.5])))


def norms_that_update() -> Case:
    """Norms in training mode that write to running statistics, without modules."""

    class Norms(nn.Module):
        def __init__(self):
            super().__init__()
            for name in ("m1", "m2", "m3"):
                self.register_buffer(name, torch.randn(3))
                self.register_buffer(name + "v", torch.rand(3) + 0.5)

        def forward(self, x, w):
            a = torch.native_batch_norm(x, w, None, self.m1, self.m1v, True, 0.1, 1e-5)
            b = torch.ops.aten._batch_norm_with_update(x, w, w, self.m2, self.m2v, 0.2, 1e-5)
            c = torch.instance_norm(x, w, w, self.m3, self.m3v, True, 0.3, 1e-5, False)
            return a[0], a[1], b[0], b[2], b[3], c, torch.native_batch_norm(x, w, w, None, None, True, 0.1, 1e-5)[0]

    x = lambda: torch.randn(2, 3, 4)
    return Case(Norms(), (x(), torch.rand(3) + 0.5), runs=[run(x(), torch.rand(3))], stateful=True)


def points_histogram() -> Case:
    """Histograms of points, tensors in other sizes, chunks put together."""

    def forward(p, w, e1, e2, a, b):
        h = torch.histogramdd(p, bins=[3, 2])
        g = torch.histogramdd(p, bins=[2, 4], range=[-1.0, 1.0, -2.0, 0.5], weight=w, density=True)
        k = torch.histogramdd(p, bins=[e1, e2])
        return (
            h[0], *h[1], g[0], *g[1], k[0],
            torch._chunk_cat([a, b], 0, 2),
            torch.ops.aten.resize(a, [2, 3]), torch.ops.aten.resize(b, [4, 3]),
        )

    args = (torch.randn(9, 2), torch.rand(9), torch.tensor([-1.0, 0, 2]), torch.tensor([-2.0, -0.5, 0.5, 3]), torch.randn(5, 2), torch.randn(3, 4))
    return Case(function(forward), args)


def polar_decomposition() -> Case:
    """Polar decompositions and square roots of matrices."""

    def forward(a, b):
        u, h = torch.linalg.polar(a)
        return u, h, torch.linalg.matrix_sqrth(b @ b.mT + torch.eye(3))

    return Case(function(forward), (torch.randn(2, 4, 3), torch.randn(3, 3)))


def fused_attention() -> Case:
    """What PyTorch computes in one: attention with its logarithms of sums, gradients of softmax, a linear layer with its loss."""

    def forward(q, k, v, m, g, y, x, w, t):
        a, s = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, True)
        b, r = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, False, attn_mask=m, scale=0.3)
        return (
            a, s, b, r,
            torch.ops.aten._softmax_backward_data(g, y.softmax(1), 1, torch.float32),
            torch.ops.aten._log_softmax_backward_data(g, y.log_softmax(-1), -1, torch.float32),
            F.cross_entropy(F.linear(x, w), t),
        )

    qkv = lambda n: torch.randn(1, 2, n, 8)
    return Case(
        function(forward),
        (qkv(5), qkv(6), qkv(6), torch.randn(5, 6), torch.randn(3, 4), torch.randn(3, 4), torch.randn(4, 3), torch.randn(5, 3), torch.randint(0, 5, (4,))),
        core=False,  # PyTorch's decomposition gives the second result of the attention another size
    )


def linear_loss() -> Case:
    """A linear layer and its cross entropy, which PyTorch computes by parts of the batch."""

    def forward(x, w, t):
        chunked = nn.LinearCrossEntropyOptions(batch_chunk_size=2)
        return F.linear_cross_entropy(x, w, t, options=chunked), F.linear_cross_entropy(x, w, t, reduction="none", options=chunked)

    return Case(function(forward), (torch.randn(5, 3), torch.randn(4, 3), torch.randint(0, 4, (5,))))
