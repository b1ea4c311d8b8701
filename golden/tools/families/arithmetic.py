"""Elementwise arithmetic: broadcasting, dtypes, rounding, special values."""

import torch
from torch.nn import functional as F

from .case import Case, function


def add() -> Case:
    """Both operands are broadcast."""

    def forward(x, y):
        return x + y

    return Case(function(forward), (torch.randn(3, 1), torch.randn(2, 1, 4)))


def fp16_chain() -> Case:
    """float16 rounds after every operator, fused or not."""
    return Case(function(_chain), tuple(torch.randn(4, 16).half() for _ in range(3)))


def bf16_chain() -> Case:
    """bfloat16 rounds after every operator, fused or not."""
    return Case(function(_chain), tuple(torch.randn(4, 16).bfloat16() for _ in range(3)))


def _chain(x, y, z):
    a = x * y + z
    b = torch.sigmoid(a) * x - y / 3
    return b, torch.exp(b) + a * 0.1, (a.float() * b.float()).to(x.dtype)


def _integers(x, y):
    """y holds no zero."""
    return (
        x + y,
        x - y,
        x * y,
        torch.div(x, y, rounding_mode="floor"),
        torch.div(x, y, rounding_mode="trunc"),
        torch.remainder(x, y),
        torch.fmod(x, y),
        x / y,
        -x,
        x.abs(),
        x & y,
        x | y,
        x ^ y,
        ~x,
        x << 3,
        x >> 2,
        torch.maximum(x, y),
        x.clamp(2, 50),
        x > y,
        x.sum(),
        x * 2.5,
    )


def _extremes(dtype):
    info = torch.iinfo(dtype)
    x = torch.cat([torch.tensor([info.min, info.max, 0, 1, info.max - 1]), torch.randint(-128, 128, (11,))])
    y = torch.cat([torch.tensor([7, 2, 3, info.max, info.max]), torch.randint(1, 128, (11,))])
    if info.min < 0:
        y[1::2] = -y[1::2]
    return x.to(dtype), y.to(dtype)


def int64_arith() -> Case:
    """Wraps at overflow; divisions of negative numbers by every rounding; true division gives float32."""
    return Case(function(_integers), _extremes(torch.int64))


def int32_arith() -> Case:
    """Wraps at overflow; divisions of negative numbers by every rounding; the sum is int64."""
    return Case(function(_integers), _extremes(torch.int32))


def int8_arith() -> Case:
    """Wraps at overflow of 8 bits, not of C's promoted int; the sum is int64."""
    return Case(function(_integers), _extremes(torch.int8))


def uint8_arith() -> Case:
    """Wraps at overflow of 8 bits, not of C's promoted int; shifts right without sign."""
    return Case(function(_integers), _extremes(torch.uint8))


def bool_arith() -> Case:
    """Sum is or, product is and; counting gives int64; any, all."""

    def forward(x, y):
        return x + y, x * y, x & y, x | y, x ^ y, ~x, x == y, x.sum(0), x.any(1), x.all(1), x + 1, x * 0.5

    return Case(function(forward), (torch.rand(3, 5) > 0.4, torch.rand(3, 5) > 0.4))


def promotion() -> Case:
    """Result dtypes of mixed operands; a 0-d tensor or a Python number only counts if it is of a higher category."""

    def forward(u8, i8, i32, f16, f32, scalar_i64, scalar_f64):
        pairs = u8 + i8, i8 + i32, i32 + f16, f16 + f32
        return *pairs, i32 + scalar_i64, f16 * scalar_f64, i32 * scalar_f64, u8 + 300, i8 * 0.5, f16 + 1

    integers = [torch.randint(0, 100, (4,)).to(t) for t in (torch.uint8, torch.int8, torch.int32)]
    floats = [torch.randn(4).half(), torch.randn(4)]
    return Case(function(forward), (*integers, *floats, torch.tensor(3), torch.tensor(1.7, dtype=torch.float64)))


def float_to_int() -> Case:
    """What does not fit an integer type gives what x86 gives: its smallest value, or low bits of the smallest int32."""

    def forward(x):
        return x.to(torch.int32), x.to(torch.int64), x.to(torch.int16), x.to(torch.int8)

    values = [0.0, 1.9, -1.9, 2.0**31, -(2.0**31), 2.0**40, -(2.0**40), 2.0**62, 3.0e38, float("inf"), float("-inf"), float("nan")]
    return Case(function(forward), (torch.tensor(values),))


def scalars_0d() -> Case:
    """Tensors without dimensions: as operands, as results, as what is indexed out and stacked again."""

    def forward(s, x):
        a, b = x[0], x[-1]
        return s * x, x.sum(), a * b + s, torch.stack([a, b, s]), s > 0, s.reshape(1, 1)

    return Case(function(forward), (torch.tensor(1.5), torch.randn(3)))


def zero_size() -> Case:
    """Tensors without elements; a sum over nothing is 0, a mean NaN, a matrix product over nothing 0, and a mask that picks nothing needs no values."""

    def forward(x, y):
        same = y.masked_scatter(y > 9, x)
        return x * 2, torch.cat([x, y]), x.sum(0), x.mean(0), x.t() @ x, x.reshape(3, 0).sum(1, keepdim=True), y[:, 3:], same

    return Case(function(forward), (torch.zeros(0, 3), torch.randn(2, 3)))


def nan_inf() -> Case:
    """NaN and infinities through comparisons, minima, maxima, clamps and activations."""

    def forward(x, y):
        return (
            torch.maximum(x, y),
            torch.minimum(x, y),
            x.clamp(-1, 1),
            torch.relu(x),
            torch.sigmoid(x),
            torch.tanh(x),
            torch.exp(x),
            x.isnan(),
            x == y,
            x != x,
            x.max(),
            x.argmax(),
            torch.sign(x),
            x.nan_to_num(),
            torch.softmax(y, 0),
        )

    inf, nan = float("inf"), float("nan")
    return Case(function(forward), (torch.tensor([nan, inf, -inf, -0.0, 2.0, 1.0]), torch.tensor([1.0, inf, 3.0, 0.0, -inf, 0.5])))


def gelu_infinite() -> Case:
    """gelu of infinities and NaN in floats of each width: of those narrower than float64, PyTorch's vectors give NaN for infinity."""

    def forward(x):
        return [F.gelu(x.to(t)) for t in (torch.float16, torch.bfloat16, torch.float32, torch.float64)]

    return Case(function(forward), (torch.tensor([float("inf"), -float("inf"), float("nan"), 1.0]),))


def float_division() -> Case:
    """floor, trunc, remainder and fmod of negative floats, division by zero, quotients that overflow; as many as PyTorch's vectors hold, whose code and not that of single elements is what counts."""

    def forward(x, y):
        return torch.floor_divide(x, y), torch.div(x, y, rounding_mode="trunc"), torch.remainder(x, y), torch.fmod(x, y), x / y

    x = torch.tensor([7.0, -7.0, 7.0, -7.0, 0.5, -0.5, 1e6, 6.0, -1.0, 3e38, -3e38, 3e38, float("inf"), 5.5, -5.5, 0.0])
    y = torch.tensor([2.0, 2.0, -2.0, -2.0, 0.3, 0.3, 0.1, 3.0, 0.0, 0.5, 0.5, -0.5, 0.5, -0.7, 0.7, 3.0])
    return Case(function(forward), (x, y))


def where_mask() -> Case:
    """Selection by a boolean mask: where (broadcast), masked_fill, logical operators."""

    def forward(mask, x, y):
        return torch.where(mask, x, y), x.masked_fill(~mask, -1.0), torch.where(x > y, x, 0.0), mask.logical_and(x > 0)

    return Case(function(forward), (torch.rand(3, 1) > 0.5, torch.randn(3, 4), torch.randn(4)))


def floor_division_by_number() -> Case:
    """Floats divided by a number that is not exact in float32: the remainder decides."""

    def forward(x):
        return x // 0.3, x % 0.7, torch.fmod(x, 0.7)

    return Case(function(forward), (torch.linspace(-3, 3, 41),))


def integer_power() -> Case:
    """Powers of integers that wrap around."""

    def forward(x, y):
        return x**2, x**5, y**3

    x = torch.tensor([2147483647, -2147483648, 65537, -3], dtype=torch.int32)
    return Case(function(forward), (x, x.long() * 4294967311))
