"""Makes the case q_torchao of golden/cases: python3 affine.py. Any torch will do.

The operators are torchao's, defined here by their schemas and what their documentation says, since torchao is in no distribution.
"""

import os

import torch
import torch.nn.functional as F
from torch import nn

from record import ROOT, record

LIB = torch.library.Library("torchao", "DEF")
NUMBERS = "Scalar? quant_min=None, Scalar? quant_max=None"
LIB.define(f"quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType output_dtype, {NUMBERS}) -> Tensor")
LIB.define(f"dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType input_dtype, {NUMBERS}, ScalarType output_dtype=6) -> Tensor")
LIB.define(f"choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, ScalarType target_dtype, {NUMBERS}, float? eps=None, ScalarType? scale_dtype=None, ScalarType? zero_point_dtype=None, bool keepdim=False) -> (Tensor, Tensor)")


def divided(t, blocks):
    """The sizes of t with a dimension for what blocks divide, those of scales, and the dimensions within blocks."""
    sizes, scales, within = [], [], []
    for size, block in zip(t.shape, blocks):
        if block == 1 or block == size:
            sizes.append(size)
            scales.append(size if block == 1 else 1)
            if block != 1:
                within.append(len(sizes) - 1)
        else:
            sizes += [size // block, block]
            scales += [size // block, 1]
            within.append(len(sizes) - 1)
    return sizes, scales, within


def bounds(dtype, lo, hi):
    info = torch.iinfo(dtype)
    return info.min if lo is None else lo, info.max if hi is None else hi


def quantize(x, block_size, scale, zero_point, output_dtype, quant_min=None, quant_max=None):
    lo, hi = bounds(output_dtype, quant_min, quant_max)
    sizes, scales, _ = divided(x, block_size)
    q = torch.round(x.reshape(sizes) * (1.0 / scale.reshape(scales)))
    if zero_point is not None:
        q = q + zero_point.reshape(scales)
    return torch.clamp(q, lo, hi).reshape(x.shape).to(output_dtype)


def dequantize(q, block_size, scale, zero_point, input_dtype, quant_min=None, quant_max=None, output_dtype=torch.float32):
    sizes, scales, _ = divided(q, block_size)
    x = q.reshape(sizes).to(output_dtype)
    if zero_point is not None:
        x = x - zero_point.reshape(scales).to(output_dtype)
    return (x * scale.reshape(scales)).reshape(q.shape).to(output_dtype)


def choose(x, mapping_type, block_size, target_dtype, quant_min=None, quant_max=None, eps=None, scale_dtype=None, zero_point_dtype=None, keepdim=False):
    lo, hi = bounds(target_dtype, quant_min, quant_max)
    sizes, _, within = divided(x, block_size)
    x = x.reshape(sizes)
    least, most = torch.amin(x, within).clamp(max=0), torch.amax(x, within).clamp(min=0)
    eps = torch.finfo(x.dtype).smallest_normal if eps is None else eps
    if mapping_type == "ASYMMETRIC":
        scale = ((most - least) / float(hi - lo)).clamp(min=eps)
        zero = torch.clamp(lo - torch.round(least / scale), lo, hi)
    else:
        scale = (torch.maximum(-least, most) / (float(hi - lo) / 2)).clamp(min=eps)
        zero = torch.full_like(scale, int((hi + lo + 1) / 2))
    return scale.to(scale_dtype or scale.dtype), zero.to(zero_point_dtype or torch.int32)


for name, f in {"quantize_affine": quantize, "dequantize_affine": dequantize, "choose_qparams_affine": choose}.items():
    LIB.impl(name, f, "CompositeExplicitAutograd")
    torch.library.register_fake(f"torchao::{name}", f, lib=LIB)
ops = torch.ops.torchao


class Model(nn.Module):
    """A convolution with static scales, a product with a scale for each row of the call, one with weights of 4 bits in groups."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.rows, self.groups = nn.Linear(64, 32), nn.Linear(32, 10)
        self.integers("conv_w", self.conv.weight, [1, 3, 3, 3], -127, 127)
        self.integers("rows_w", self.rows.weight, [1, 64], -127, 127)
        self.integers("groups_w", self.groups.weight, [1, 8], -8, 7)
        for name, scale, zero in ("in", 0.03, 4), ("mid", 0.02, -128):
            self.register_buffer(f"{name}_s", torch.tensor(scale))
            self.register_buffer(f"{name}_z", torch.tensor(zero, dtype=torch.int32))
        del self.conv.weight, self.rows.weight, self.groups.weight

    def integers(self, name, w, block, lo, hi):
        scale, zero = choose(w.detach(), "SYMMETRIC", block, torch.int8, lo, hi, zero_point_dtype=torch.int32)
        self.register_buffer(name, quantize(w.detach(), block, scale, zero, torch.int8, lo, hi))
        self.register_buffer(name + "_s", scale)
        self.register_buffer(name + "_z", zero)

    def weight(self, name, block, lo, hi):
        return ops.dequantize_affine(getattr(self, name), block, getattr(self, name + "_s"), getattr(self, name + "_z"), torch.int8, lo, hi)

    def rounded(self, x, name):
        scale, zero = getattr(self, name + "_s"), getattr(self, name + "_z")
        q = ops.quantize_affine(x, list(x.shape), scale, zero, torch.int8)
        return ops.dequantize_affine(q, list(x.shape), scale, zero, torch.int8)

    def forward(self, x):
        x = F.conv2d(self.rounded(x, "in"), self.weight("conv_w", [1, 3, 3, 3], -127, 127), self.conv.bias, padding=1)
        x = self.rounded(F.relu(x), "mid")
        x = F.max_pool2d(x, 2).reshape(2, 2, 64)
        scale, zero = ops.choose_qparams_affine(x, "ASYMMETRIC", [1, 1, 64], torch.int8, None, None, 1e-6, torch.float32, torch.int32)
        q = ops.quantize_affine(x, [1, 1, 64], scale, zero, torch.int8)
        x = ops.dequantize_affine(q, [1, 1, 64], scale, zero, torch.int8)
        x = F.relu(F.linear(x, self.weight("rows_w", [1, 64], -127, 127), self.rows.bias))
        return F.linear(x, self.weight("groups_w", [1, 8], -8, 7), self.groups.bias)


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(14)
    args = [(torch.randn(2, 3, 8, 8) * 2,) for _ in range(3)]
    record(os.path.join(ROOT, "golden", "cases", "q_torchao"), Model().eval(), args[0], {}, runs=[dict(args=a) for a in args[1:]], core=False, note=" ".join(Model.__doc__.split()))
