"""Pooling, with the borders that are easy to get wrong; resizing."""

import torch
from torch.nn import functional as F

from .case import Case, function


def max_pool1d() -> Case:
    """Ceiling, padding, dilation; padding never wins over negative values; without a batch dimension."""

    def forward(x):
        return (
            F.max_pool1d(x, 3, 2, ceil_mode=True),
            F.max_pool1d(x, 3, 2, padding=1),
            F.max_pool1d(x[0], 2, 3, dilation=2, ceil_mode=True),
        )

    return Case(function(forward), (torch.randn(2, 3, 8) - 3,))


def max_pool2d() -> Case:
    """Ceiling, padding, dilation, kernels by dimension, and indices of the maxima (the first of equal ones)."""

    def forward(x):
        return (
            F.max_pool2d(x, 3, 2, ceil_mode=True),
            F.max_pool2d(x, 3, 2, padding=1, ceil_mode=True),
            F.max_pool2d(x, (2, 3), (1, 2), padding=(1, 0), dilation=(2, 1)),
            *F.max_pool2d(x.round(), 2, 2, ceil_mode=True, return_indices=True),
        )

    return Case(function(forward), (torch.randn(1, 2, 6, 7) - 3,))


def avg_pool2d() -> Case:
    """Padding counted and not, ceiling (a window beyond the padding counts only what it may), own divisor."""

    def forward(x):
        return (
            F.avg_pool2d(x, 3, 2, padding=1),
            F.avg_pool2d(x, 3, 2, padding=1, count_include_pad=False),
            F.avg_pool2d(x, 3, 2, padding=1, ceil_mode=True),
            F.avg_pool2d(x, 3, 2, padding=1, ceil_mode=True, count_include_pad=False),
            F.avg_pool2d(x, (2, 3), (3, 1), padding=(0, 1), divisor_override=5),
        )

    return Case(function(forward), (torch.randn(1, 2, 6, 8),))


def avg_pool2d_ties() -> Case:
    """Sums are divided, not multiplied: of windows of 2, 3, 4, 6 and 9 elements, what is rounded afterwards are ties. Every sum is exact; the convolution puts channels innermost."""

    conv = torch.nn.Conv2d(16, 16, 1, bias=False)
    with torch.no_grad():
        conv.weight.copy_(torch.eye(16)[:, :, None, None])

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = conv

        def forward(self, x):
            y = self.conv(x)
            return [
                torch.round(F.avg_pool2d(y, size, 1, padding=size // 2, count_include_pad=False) * scale)
                for size, scale in ((3, 18.0), (2, 2.0))
            ] + [torch.round(F.avg_pool2d(y, (3, 2), (1, 1), padding=(1, 0)) * 10.0), torch.round(F.avg_pool2d(y, 3, 2, divisor_override=7) * 14.0)]

    return Case(Model(), (torch.randint(-40, 40, (1, 16, 6, 6)) * 0.25,))


def avg_pool1d() -> Case:
    """Padding counted and not, with ceiling."""

    def forward(x):
        return F.avg_pool1d(x, 3, 2, padding=1), F.avg_pool1d(x, 3, 2, padding=1, ceil_mode=True, count_include_pad=False)

    return Case(function(forward), (torch.randn(1, 2, 8),))


def avg_pool3d_integers() -> Case:
    """Averages of boxes of integers, rounded toward zero once; windows that reach into the padding, and beyond it."""

    def forward(x):
        return (
            F.avg_pool3d(x, (2, 3, 2)),
            F.avg_pool3d(x, (3, 2, 3), stride=(2, 2, 2), padding=1, ceil_mode=True),
            F.avg_pool3d(x, 3, stride=2, padding=(1, 0, 1), ceil_mode=True, count_include_pad=False),
            F.avg_pool3d(x, 2, padding=1, divisor_override=3),
        )

    return Case(function(forward), (torch.randint(-40, 40, (2, 2, 4, 6, 5)),))


def adaptive_avg_pool() -> Case:
    """To one value, and to a size that does not divide the input's (windows overlap)."""

    def forward(x):
        return F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (3, 2)), F.adaptive_avg_pool1d(x[:, 0], 4)

    return Case(function(forward), (torch.randn(1, 2, 7, 6),))


def resize_given_scale() -> Case:
    """Factors that the quotient of the sizes is not, 1.09 and 2.09, looked at and computed anew. PyTorch's kernels look at them or not: nearest by the size of the result, and if channels are innermost by how many there are."""

    def forward(x, wide):
        innermost = wide.contiguous(memory_format=torch.channels_last)
        return (
            *(
                F.interpolate(x, scale_factor=s, mode=mode, recompute_scale_factor=again)
                for mode in ("nearest", "bilinear")
                for s in (1.09, 2.09)
                for again in (False, True)
            ),
            *(
                F.interpolate(t, scale_factor=(1.19, 1.007), mode=mode)[:, :, :, ::9]
                for mode in ("nearest", "nearest-exact", "bilinear")
                for t in (wide, innermost, wide[:, :3].contiguous(memory_format=torch.channels_last))
            ),
            F.interpolate(innermost, scale_factor=(1.19, 2.0), mode="nearest")[..., ::25],
            F.interpolate(innermost, scale_factor=(1.19, 0.97), mode="nearest")[..., ::9],
        )

    return Case(function(forward), (torch.randn(1, 4, 6, 7), torch.randn(1, 4, 4, 126)))


def resize() -> Case:
    """Nearest and bilinear, with and without aligned corners; reflected and replicated borders."""

    def forward(x):
        return (
            F.interpolate(x, scale_factor=2, mode="nearest"),
            F.interpolate(x, size=(5, 7), mode="bilinear", align_corners=False),
            F.interpolate(x, size=(5, 7), mode="bilinear", align_corners=True),
            F.pad(x, (1, 2, 0, 1), mode="reflect"),
            F.pad(x, (1, 1, 2, 0), mode="replicate"),
        )

    return Case(function(forward), (torch.randn(1, 2, 3, 4),))


def fractional_pools() -> Case:
    """Fractional max pools in two and three dimensions, with samples of their own."""

    def forward(x, sx, y, sy):
        return (
            *F.fractional_max_pool2d(x, (3, 2), output_size=(4, 5), _random_samples=sx, return_indices=True),
            *F.fractional_max_pool3d(y, 2, output_size=(3, 4, 1), _random_samples=sy, return_indices=True),
        )

    return Case(function(forward), (torch.randn(2, 2, 9, 11), torch.rand(2, 2, 2), torch.randn(2, 2, 7, 9, 11), torch.rand(2, 2, 3)))
