"""Images made larger and smaller, and torchvision's operators of detection."""

import torch
import torch.nn.functional as F
from torch import nn

from .case import Case, function, run


def bytes_of(*sizes):
    return torch.randint(0, 256, sizes, dtype=torch.uint8)


def resized_filters() -> Case:
    """Images that are resized with filters which widen as the image shrinks: linear, cubic, Lanczos."""

    def forward(x):
        return (
            F.interpolate(x, size=(4, 5), mode="bilinear", antialias=True),
            F.interpolate(x, size=(4, 17), mode="bicubic", antialias=True),
            F.interpolate(x, size=(17, 5), mode="bicubic", antialias=True, align_corners=True),
            F.interpolate(x, scale_factor=(0.4, 1.3), mode="bicubic", antialias=True),
            torch.ops.aten._upsample_lanczos2d_aa(x, [4, 17], False),
        )

    return Case(function(forward), (torch.randn(2, 3, 9, 13),))


def resized_bytes() -> Case:
    """Images of 8 bits, which PyTorch resizes in integers, one dimension after the other."""

    def forward(x, y):
        return (
            F.interpolate(x, size=(4, 5), mode="bilinear", antialias=True),
            F.interpolate(x, size=(17, 9), mode="bicubic", antialias=True),
            F.interpolate(x, size=(4, 17), mode="bilinear"),
            F.interpolate(x, size=(17, 5), mode="bicubic", align_corners=True),
            torch.ops.aten._upsample_lanczos2d_aa(y, [4, 17], False),
            F.interpolate(y, size=(9, 5), mode="bilinear", align_corners=True, antialias=True),
        )

    return Case(function(forward), (bytes_of(2, 3, 9, 13), bytes_of(1, 6, 9, 13)))


def boxes_kept() -> Case:
    """torchvision's nms, by score and by class, of boxes of which the graph does not say how many stay."""
    import torchvision

    class Kept(nn.Module):
        def forward(self, boxes, scores, classes):
            kept = torchvision.ops.nms(boxes, scores, 0.5)
            each = torchvision.ops.batched_nms(boxes, scores, classes, 0.4)
            return boxes[kept] * 2, scores[each], each

    def boxes(n):
        corner = torch.rand(n, 2) * 10
        return torch.cat([corner, corner + 2 + torch.rand(n, 2) * 6], 1)

    scores = torch.rand(12)
    scores[3] = scores[7] = scores[1]  # equal scores stay in order
    return Case(
        Kept(),
        (boxes(12), scores, torch.randint(0, 3, (12,))),
        runs=[run(torch.tensor([[0.0, 0, 4, 4]]).repeat(12, 1), torch.rand(12), torch.zeros(12, dtype=torch.int64))],
    )


def boxes_sharing() -> Case:
    """Boxes that share 0.3 of their area as float32 has it, which is more than the 0.3 that is allowed."""
    import torchvision

    def forward(boxes, scores):
        return torchvision.ops.nms(boxes, scores, 0.3)

    return Case(function(forward), (torch.tensor([[0, 0, 6.5, 1], [3.5, 0, 10, 1], [20, 0, 30, 1]]), torch.tensor([0.9, 0.8, 0.7])))


def regions_of_interest() -> Case:
    """torchvision's roi_align, with a fixed number of samples and with as many as pixels, roi_pool and their position-sensitive kinds; a region lies outside, one is empty."""
    import torchvision

    class Regions(nn.Module):
        def forward(self, x, r):
            return (
                torchvision.ops.roi_align(x, r, (3, 2), 0.5, 2, True),
                torchvision.ops.roi_align(x, r, (3, 2), 0.5, -1, False),
                torchvision.ops.roi_pool(x, r, (3, 2), 0.5),
                torch.ops.torchvision.roi_pool(x, r, 0.5, 2, 2)[1],
                torchvision.ops.ps_roi_align(x, r, (2, 2), 0.5, -1),
                torchvision.ops.ps_roi_pool(x, r, (2, 2), 0.5),
            )

    regions = torch.tensor([[0.0, 0, 0, 10, 10], [1, 4, 4, 20, 24], [1, 30, 30, 60, 50], [0, 7, 7, 7, 7], [0, 3, 9, 17, 12]])
    return Case(Regions(), (torch.randn(2, 8, 12, 14), regions))


def deformable_convolutions() -> Case:
    """torchvision's deform_conv2d, with masks, groups of channels and of offsets, strides and dilation."""
    import torchvision

    class Deformed(nn.Module):
        def __init__(self):
            super().__init__()
            self.plain = nn.Parameter(torch.randn(4, 3, 3, 3))
            self.grouped = nn.Parameter(torch.randn(4, 2, 3, 2))
            self.bias = nn.Parameter(torch.randn(4))

        def forward(self, x, offset, y, offsets, mask):
            return (
                torchvision.ops.deform_conv2d(x, offset, self.plain, padding=1),
                torchvision.ops.deform_conv2d(y, offsets, self.grouped, self.bias, (2, 1), (1, 2), (1, 2), mask),
            )

    offsets = torch.randn(2, 2 * 2 * 6, 4, 9) * 2
    return Case(
        Deformed(),
        (torch.randn(1, 3, 8, 8), torch.randn(1, 18, 8, 8), torch.randn(2, 4, 8, 7), offsets, torch.rand(2, 2 * 6, 4, 9)),
    )
