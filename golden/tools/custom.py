"""Makes the cases of golden/custom/cases: python3 custom.py [NAME...], all that this PyTorch makes without names.

Programs with custom operators, whose kernels are in golden/custom/fir. PyTorch 2.6 (Debian's trixie) makes custom_op_mutating_v1, which
has auto_functionalized; a newer one makes all others, with auto_functionalized_v2.
"""

import os
import sys
import zlib
from typing import List, Optional

import torch
from record import ROOT, record
from torch.library import custom_op


@custom_op("fir::filter", mutates_args=("delay",))
def fir_filter(x: torch.Tensor, taps: torch.Tensor, delay: torch.Tensor, shift: int) -> torch.Tensor:
    """A fixed-point FIR filter: int16 samples and taps, sums in 64 bits, rounded to the nearest and saturated. delay holds the last samples."""
    n = taps.numel()
    samples = torch.cat([delay, x]).to(torch.int64)
    sums = (samples.unfold(0, n, 1) * taps.to(torch.int64)).sum(1)
    delay.copy_(samples[samples.numel() - (n - 1) :].to(torch.int16))
    return ((sums + (1 << (shift - 1))) >> shift).clamp(-32768, 32767).to(torch.int16)


@fir_filter.register_fake
def _(x, taps, delay, shift):
    return torch.empty_like(x)


@custom_op("fir::range", mutates_args=())
def fir_range(x: torch.Tensor, ends: List[int], scale: float, name: str, both: bool = True, bias: Optional[torch.Tensor] = None) -> tuple[torch.Tensor, torch.Tensor]:
    """The least and the greatest element of x[ends[0]:ends[1]], times scale."""
    part = x[ends[0] : ends[1]]
    if bias is not None:
        part = part + bias
    low = part.min() if both else torch.zeros(())
    return (low * scale).reshape(1), (part.max() * scale * len(name)).reshape(1)


@fir_range.register_fake
def _(x, ends, scale, name, both=True, bias=None):
    return x.new_empty(1), x.new_empty(1)


@custom_op("fir::scale_", mutates_args=("x",))
def fir_scale_(x: torch.Tensor, by: float) -> None:
    x.mul_(by)


@custom_op("fir::square", mutates_args=())
def fir_square(x: torch.Tensor) -> torch.Tensor:
    return x * x


@fir_square.register_fake
def _(x):
    return torch.empty_like(x)


@custom_op("fir::track", mutates_args=("sum", "most"))
def fir_track(x: torch.Tensor, sum: torch.Tensor, most: torch.Tensor, decay: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Adds x to a sum that decays, and keeps the greatest elements. Returns how far the sum is below these, and where x is a new one."""
    sum.mul_(decay).add_(x)
    new = x > most
    most.copy_(torch.maximum(most, x))
    return most - sum, new


@fir_track.register_fake
def _(x, sum, most, decay):
    return torch.empty_like(x), torch.empty_like(x, dtype=torch.bool)


class Filter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("taps", torch.tensor([1200, -3000, 16000, 16000, -3000, 1200], dtype=torch.int16))
        self.register_buffer("delay", torch.zeros(5, dtype=torch.int16))

    def forward(self, x):
        return torch.ops.fir.filter(x, self.taps, self.delay, 15).to(torch.float32) / 32768


class Range(torch.nn.Module):
    def forward(self, x):
        low, high = torch.ops.fir.range(x, [1, 6], 0.5, "ab")
        again, most = torch.ops.fir.range(x, [0, 8], 2.0, "c", False, x.abs())
        return low + high, again, most


class Part(torch.nn.Module):
    def forward(self, x):
        y = x + 1
        torch.ops.fir.scale_(y[1:3], 3.0)
        return y * 2


class Sizes(torch.nn.Module):
    def forward(self, x):
        return torch.ops.fir.square(x) + 1


class Mutating(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(2, 3))
        self.register_buffer("most", torch.full((2, 3), -1.0))

    def forward(self, x):
        below, new = torch.ops.fir.track(x * 2, self.sum, self.most, 0.5)
        scratch = torch.zeros(2, 3)
        again, _ = torch.ops.fir.track(below, scratch, self.most, 0.25)
        return below + 1, new, again, scratch, self.sum * 3


def main(names):
    torch.set_num_threads(1)
    old = torch.__version__ < "2.7"

    def case(name, model, args, note, **how):
        if name not in names if names else old != name.endswith("_v1"):
            return
        torch.manual_seed(zlib.crc32(name.encode()))
        record(os.path.join(ROOT, "golden", "custom", "cases", name), model.eval(), args(), note=note, **how)
        print(name)

    samples = lambda: (torch.randint(-32768, 32767, (16,), dtype=torch.int16),)
    torch.manual_seed(1)
    case("filter", Filter(), samples, "a fixed-point FIR filter that keeps its last samples",
         stateful=True, runs=[{"args": samples()}, {"args": samples()}])
    case("range", Range(), lambda: (torch.randn(8),), "several results, a list, a string, a default, None")
    case("part", Part(), lambda: (torch.randn(4, 3),), "an operator that writes to a view")
    case("sizes", Sizes(), lambda: (torch.randn(3, 4),), "a dynamic size",
         dynamic_shapes=({0: torch.export.Dim("n", max=64)},), runs=[{"args": (torch.randn(9, 4),)}])
    for name in "custom_op_mutating", "custom_op_mutating_v1":
        torch.manual_seed(2)
        case(name, Mutating(), lambda: (torch.randn(2, 3),), "an operator that writes to two tensors and has two results",
             stateful=True, runs=[{"args": (torch.randn(2, 3),)}, {"args": (torch.randn(2, 3),)}])


if __name__ == "__main__":
    main(sys.argv[1:])
