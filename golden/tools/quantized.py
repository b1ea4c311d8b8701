"""Makes the cases q_* of golden/cases: python3 quantized.py [NAME...], all of them without names.

It needs the PT2E of torch.ao, as torch 2.6 has it. Each function that returns a Case is one; its name is the folder, its docstring becomes the note.
A quantizer that annotates every operator of a list stands for those that people write: all floats between two operators become integers.
"""

import inspect
import os
import sys
import warnings
import zlib

import torch
import torch.nn.functional as F
from torch import nn
from torch.ao.quantization import MinMaxObserver, PerChannelMinMaxObserver
from torch.ao.quantization.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from torch.ao.quantization.quantizer import DerivedQuantizationSpec, QuantizationAnnotation, QuantizationSpec, Quantizer, SharedQuantizationSpec
from torch.ao.quantization.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

from families.case import Case, Converted, run
from record import ROOT, record

aten = torch.ops.aten
quantized = torch.ops.quantized_decomposed

ACTIVATIONS = {
    "int8": QuantizationSpec(torch.int8, MinMaxObserver.with_args(eps=2**-16), -128, 127, torch.per_tensor_affine),
    "uint8": QuantizationSpec(torch.uint8, MinMaxObserver.with_args(eps=2**-16), 0, 255, torch.per_tensor_affine),
    "int16": QuantizationSpec(torch.int16, MinMaxObserver.with_args(eps=2**-20), -32767, 32767, torch.per_tensor_symmetric),
}
CHANNELS = QuantizationSpec(torch.int8, PerChannelMinMaxObserver.with_args(eps=2**-16), -127, 127, torch.per_channel_symmetric, 0)
NIBBLES = QuantizationSpec(torch.int8, PerChannelMinMaxObserver.with_args(eps=2**-16), -8, 7, torch.per_channel_symmetric, 0)
SUMS = (aten.conv1d.default, aten.conv2d.default, aten.conv2d.padding, aten.linear.default)
TRANSPOSED = (aten.conv_transpose1d.default, aten.conv_transpose2d.input)
SAME = ("view", "reshape", "permute", "transpose", "flatten", "max_pool", "upsample_nearest", "slice", "unsqueeze", "squeeze", "chunk", "split", "getitem", "select", "expand", "dropout", "relu_", "clone", "contiguous")


class Everything(Quantizer):
    """Annotates the operators whose names begin with one of names, or all, with activations of one dtype."""

    def __init__(self, activations="int8", names=None, bias=False, weights=CHANNELS, relu=True):
        self.spec, self.names, self.bias, self.weights, self.relu = ACTIVATIONS[activations], names, bias, weights, relu

    def annotate(self, model):
        for n in model.graph.nodes:
            if n.op != "call_function" or not n.all_input_nodes or not self.wanted(n):
                continue
            inputs = {}
            for i, a in enumerate(n.all_input_nodes):
                v = a.meta.get("val")
                if not isinstance(v, torch.Tensor) or v.dtype != torch.float32:
                    continue
                inputs[a] = self.spec
                if n.target in SUMS + TRANSPOSED and len(n.args) > 1:
                    if a is n.args[1]:
                        inputs[a] = self.weights
                        if n.target in TRANSPOSED:
                            inputs[a] = QuantizationSpec(torch.int8, MinMaxObserver, -127, 127, torch.per_tensor_symmetric)
                    elif len(n.args) > 2 and a is n.args[2]:
                        if not self.bias:
                            del inputs[a]
                            continue
                        inputs[a] = DerivedQuantizationSpec([(n.args[0], n), (n.args[1], n)], derived_bias, torch.int32, -(2**31), 2**31 - 1, torch.per_channel_symmetric, 0)
            out = self.spec
            if any(self.name(n).startswith(s) for s in SAME) and inputs:
                first = next(iter(inputs))
                out = SharedQuantizationSpec((first, n))
            users = list(n.users)
            if self.relu and len(users) == 1 and self.name(users[0]) in ("relu", "relu_", "hardtanh", "clamp"):
                out = None  # quantized behind it
            if self.relu and self.name(n) in ("relu", "relu_", "hardtanh", "clamp"):
                of = n.args[0]
                if len(of.users) == 1 and of.op == "call_function" and self.wanted(of):
                    inputs = {}
            v = n.meta.get("val")
            if not isinstance(v, torch.Tensor) or v.dtype != torch.float32:
                out = None
            n.meta["quantization_annotation"] = QuantizationAnnotation(inputs, out, _annotated=True)
        return model

    def name(self, n):
        t = n.target
        return t._schema.name.split("::")[1] if hasattr(t, "_schema") else getattr(t, "__name__", "")

    def wanted(self, n):
        return self.names is None or any(self.name(n).startswith(s) for s in self.names)

    def validate(self, model):
        pass


def derived_bias(observers):
    scale, _ = observers[0].calculate_qparams()
    scales, _ = observers[1].calculate_qparams()
    return scale * scales, torch.zeros_like(scales, dtype=torch.int64)


def convert(model, quantizer, calls, qat=False, cells=False, dynamic_shapes=None):
    """model quantized with the inputs of calls; with cells, recurrent layers are first written out."""
    args = calls[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export_for_training(model if qat else model.eval(), args, dynamic_shapes=dynamic_shapes)
        if cells:
            table = torch.export.default_decompositions()
            exported = exported.run_decompositions({op: table[op] for op in table if "linear" not in str(op)})
        prepared = (prepare_qat_pt2e if qat else prepare_pt2e)(exported.module(), quantizer)
        for c in calls:
            prepared(*c)
        return Converted(convert_pt2e(prepared))


def case(model, quantizer, *calls, **how):
    return Case(convert(model, quantizer, calls, **how), calls[0], core=False)


def calls(*sizes, n=4):
    return [tuple(torch.randn(*s) for s in sizes) for _ in range(n)]


def q_residual() -> Case:
    """Sums, differences, products and maxima of two quantized tensors of different scales, with activations behind them, are one loop each."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 1)

        def forward(self, x):
            a = self.a(x)
            b = torch.relu(self.b(a))
            s = torch.relu(a + b)
            d = torch.sub(self.c(s), b)
            m = torch.clamp(d * s, -1.0, 2.0)
            m = torch.maximum(m, a)
            return m * 0.5 + torch.sigmoid(d) * s

    return case(Model(), Everything(), *calls((1, 3, 6, 6)))


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 12, 1)
        self.l = nn.Linear(12, 10)

    def forward(self, x):
        y = F.max_pool2d(torch.relu(self.a(x)), 2)
        y = torch.relu(self.b(y)) + y
        return self.l(torch.relu(self.c(y)).mean((2, 3)))


def q_uint8() -> Case:
    """Activations of uint8."""
    return case(Small(), Everything("uint8"), *calls((1, 3, 8, 8)))


def q_int16() -> Case:
    """Activations of int16, weights of int8."""
    return case(Small(), Everything("int16"), *calls((1, 3, 8, 8)))


def q_bias() -> Case:
    """Biases quantized to int32."""
    return case(Small(), Everything(bias=True), *calls((1, 3, 8, 8)))


def q_attention() -> Case:
    """Attention, layer norm and gelu of a transformer's layer, all between integers."""

    class Model(nn.Module):
        def __init__(self, d=16, h=2):
            super().__init__()
            self.d, self.h = d, h
            self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
            self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
            self.f1, self.f2 = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

        def forward(self, x):
            y = self.n1(x)
            q, k, v = (f(y).reshape(1, 6, self.h, -1).permute(0, 2, 1, 3) for f in (self.q, self.k, self.v))
            a = torch.softmax(torch.matmul(q, k.transpose(-2, -1)) * 0.35, -1)
            x = x + self.o(torch.matmul(a, v).permute(0, 2, 1, 3).reshape(1, 6, self.d))
            return x + self.f2(F.gelu(self.f1(self.n2(x))))

    return case(Model(), Everything(), *calls((1, 6, 16)))


def q_decoder() -> Case:
    """The layer of a decoder: rms norm, rotary embedding, scaled_dot_product_attention as one operator, a gated product."""

    class Model(nn.Module):
        def __init__(self, d=16, h=2):
            super().__init__()
            self.h = h
            self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
            self.n1, self.n2 = nn.RMSNorm(d, eps=1e-5), nn.RMSNorm(d, eps=1e-5)
            self.g, self.u, self.d = nn.Linear(d, 2 * d, bias=False), nn.Linear(d, 2 * d, bias=False), nn.Linear(2 * d, d, bias=False)
            a = torch.arange(5)[:, None] / 10 ** (torch.arange(4) / 4)
            self.register_buffer("cos", torch.cat([a.cos(), a.cos()], -1))
            self.register_buffer("sin", torch.cat([a.sin(), a.sin()], -1))

        def turned(self, x):
            a, b = x.chunk(2, -1)
            return x * self.cos + torch.cat([-b, a], -1) * self.sin

        def forward(self, x):
            y = self.n1(x)
            q, k, v = (f(y).reshape(1, 5, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
            y = F.scaled_dot_product_attention(self.turned(q), self.turned(k), v, is_causal=True)
            x = x + self.o(y.transpose(1, 2).reshape(1, 5, -1))
            y = self.n2(x)
            return x + self.d(F.silu(self.g(y)) * self.u(y))

    return case(Model(), Everything(), *calls((1, 5, 16)))


def q_images() -> Case:
    """Transposed and grouped convolutions, nearest and bilinear upsampling, average pools of several windows."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.g, self.t = nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1, groups=2), nn.ConvTranspose2d(8, 4, 2, 2)

        def forward(self, x):
            y = torch.relu(self.g(torch.relu(self.a(x))))
            y = F.avg_pool2d(y, 2)
            u = F.interpolate(y, scale_factor=2, mode="nearest")
            b = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
            return torch.cat([u + b, self.t(y)], 1)

    return case(Model(), Everything(), *calls((1, 4, 8, 8)))


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = nn.LayerNorm(24), nn.RMSNorm(24, eps=1e-5), nn.LayerNorm([5, 24]), nn.RMSNorm([5, 24])
        for p in self.parameters():
            nn.init.uniform_(p, -1.5, 1.5)

    def forward(self, x):
        a, b = self.a(x), self.b(x)
        return a, b, self.c(a), self.d(b)


def q_norms() -> Case:
    """Layer norm and rms norm of int8, with weights and biases, over one dimension and over two."""
    return case(Norms(), Everything(), *calls((1, 4, 5, 24)))


def q_norms_int16() -> Case:
    """Norms of int16: sums of squares that int32 does not hold."""
    return case(Norms(), Everything("int16"), *calls((1, 4, 5, 24)))


def q_norms_channels() -> Case:
    """Group norms and an instance norm, whose weights are those of channels: a row has several."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.GroupNorm(3, 12), nn.GroupNorm(2, 12, affine=False), nn.InstanceNorm1d(12, affine=True)
            for p in self.parameters():
                nn.init.uniform_(p, -1.5, 1.5)

        def forward(self, x):
            a = self.a(x)
            return a, self.b(a), self.c(x.flatten(2))

    return case(Model(), Everything(), *calls((2, 12, 4, 5)))


def q_windows() -> Case:
    """Average pools whose windows are cut or differ, and resized images, between integers."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 1)

        def forward(self, x):
            y = self.a(x)
            a = F.avg_pool2d(y, 3, 2, 1, count_include_pad=False)
            b = F.avg_pool2d(y, 2, ceil_mode=True)
            c = self.b(F.interpolate(b, scale_factor=2, mode="bilinear"))
            d = F.interpolate(y, (9, 11), mode="bilinear", align_corners=True)
            return F.adaptive_avg_pool2d(c, (3, 5)), F.adaptive_avg_pool1d(a.flatten(2), 5), d, F.interpolate(a, scale_factor=1.6)

    return case(Model(), Everything(), *calls((1, 3, 7, 7)))


def q_moved_apart() -> Case:
    """Tensors of several scales that are put together and moved before they have one scale; parametric rectifiers by channel."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.p = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(3, 4, 1), nn.PReLU(4)
            nn.init.uniform_(self.p.weight, -0.3, 1.2)

        def forward(self, x):
            a, b = self.p(self.a(x)), self.b(x)
            return torch.cat([a, b, x], 1).permute(0, 2, 3, 1)[:, 1] * 0.7

    return case(Model(), Everything(names=("conv", "prelu", "mul")), *calls((1, 3, 5, 5)))


class Batch(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.s, self.n = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 1), nn.GroupNorm(2, 8)
        self.q, self.k, self.l, self.m, self.o = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 6), nn.BatchNorm1d(6), nn.Linear(6, 4)
        nn.init.uniform_(self.m.weight, -1.5, 1.5)
        self.m.running_mean.uniform_(-0.5, 0.5)

    def forward(self, x):
        y = F.relu6(self.a(x) * 4)
        y = torch.relu(self.n(y * torch.sigmoid(self.s(F.adaptive_avg_pool2d(y, 1)))))
        y = y.flatten(2).transpose(1, 2)
        q, k = (f(y).unflatten(-1, (2, 4)).transpose(1, 2) for f in (self.q, self.k))
        y = torch.softmax(torch.matmul(q, k.transpose(-2, -1)), -1).mean((1, 2))
        return self.o(torch.relu(self.m(self.l(y[:, :8])))), torch.relu(self.m(self.l(y[:, 1:9])))


def q_batch() -> Case:
    """A batch of any size: means over the rest are integer sums, and products of four dimensions, norms and what limits them are quantized at once; a batch norm that no layer takes in."""
    inputs = calls((3, 3, 4, 4))
    sizes = ({0: torch.export.Dim("batch", max=8)},)
    model = convert(Batch(), Everything(), inputs, dynamic_shapes=sizes)
    return Case(model, inputs[0], runs=[run(torch.randn(5, 3, 4, 4))], dynamic_shapes=(sizes,), core=False)


def q_cells() -> Case:
    """The cells of an LSTM and of a GRU by hand, all between integers."""

    class Model(nn.Module):
        def __init__(self, n=8):
            super().__init__()
            self.i, self.h = nn.Linear(6, 4 * n), nn.Linear(n, 4 * n)
            self.gi, self.gh = nn.Linear(n, 3 * n), nn.Linear(n, 3 * n)

        def forward(self, x, h, c):
            for t in range(3):
                i, f, g, o = (self.i(x[:, t]) + self.h(h)).chunk(4, -1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
            ir, iz, inn = self.gi(h).chunk(3, -1)
            hr, hz, hn = self.gh(c).chunk(3, -1)
            r, z = torch.sigmoid(ir + hr), torch.sigmoid(iz + hz)
            return (1 - z) * torch.tanh(inn + r * hn) + z * c

    return case(Model(), Everything(), *calls((1, 3, 6), (1, 8), (1, 8)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.LSTM(5, 8, batch_first=True), nn.GRU(8, 6, batch_first=True), nn.Linear(6, 3)

    def forward(self, x):
        return self.c(self.b(self.a(x)[0])[0])


def q_recurrent() -> Case:
    """nn.LSTM and nn.GRU, which the export wrote out as cells, all between integers."""
    return case(Recurrent(), Everything(), *calls((1, 2, 5)), cells=True)


def q_recurrent_dynamic() -> Case:
    """nn.LSTM and nn.GRU, whose linear layers quantize what they read by the call."""
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True))
    return case(Recurrent(), quantizer, *calls((1, 2, 5)), cells=True)


def q_recurrent_layers() -> Case:
    """nn.LSTM and nn.GRU as one operator each between integers; their weights and biases are quantized, too."""
    return case(Recurrent(), Everything(), *calls((1, 2, 5)))


def groups(w, size, lo, hi):
    """w in integers from lo to hi, with a scale for each group of columns."""
    g = w.detach().reshape(w.shape[0], -1, size)
    s = g.abs().amax(-1) / hi
    q = torch.round(g / s[..., None]).clamp(lo, hi).to(torch.int8).reshape(w.shape)
    return q, s


class Grouped(nn.Module):
    """A linear layer whose weight has a scale for each group of columns; its input is quantized by row if dynamic is set."""

    def __init__(self, n, k, size, bits=4, dynamic=False):
        super().__init__()
        self.size, self.lo, self.hi, self.dynamic = size, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, dynamic
        q, s = groups(torch.randn(n, k) / k**0.5, size, self.lo, self.hi)
        self.register_buffer("w", q)
        self.register_buffer("s", s)
        self.register_buffer("z", torch.zeros(s.shape, dtype=torch.int32))
        self.register_buffer("b", torch.randn(n))

    def forward(self, x):
        w = quantized.dequantize_per_channel_group(self.w, self.s, self.z, self.lo, self.hi, torch.int8, self.size, torch.float32)
        if self.dynamic:
            scale, zero = quantized.choose_qparams_per_token_asymmetric(x, torch.int8)
            q = quantized.quantize_per_token(x, scale, zero, -128, 127, torch.int8)
            x = quantized.dequantize_per_token(q, scale, zero, -128, 127, torch.int8, torch.float32)
        return F.linear(x, w, self.b)


class Scaled(nn.Module):
    """A weight of integers with a scale for each channel of dimension 0."""

    def __init__(self, *sizes, bits=8):
        super().__init__()
        w = torch.randn(*sizes) / torch.tensor(sizes[1:]).prod() ** 0.5
        self.hi = 2 ** (bits - 1) - 1
        self.lo = -self.hi if bits == 8 else -self.hi - 1
        s = w.reshape(sizes[0], -1).abs().amax(-1) / self.hi
        self.register_buffer("w", torch.round(w / s.reshape(-1, *[1] * (len(sizes) - 1))).clamp(self.lo, self.hi).to(torch.int8))
        self.register_buffer("s", s)
        self.register_buffer("z", torch.zeros(sizes[0], dtype=torch.int64))

    def forward(self):
        return quantized.dequantize_per_channel(self.w, self.s, self.z, 0, self.lo, self.hi, torch.int8)


class Swapped(Scaled):
    """A weight whose first two dimensions are swapped: it has a scale for each channel of dimension 1."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.w = self.w.transpose(0, 1).contiguous()

    def forward(self):
        return quantized.dequantize_per_channel(self.w, self.s, self.z, 1, self.lo, self.hi, torch.int8)


def q_lstm() -> Case:
    """An LSTM and a GRU whose weights alone are quantized: in the loops they are bytes."""

    class Model(nn.Module):
        def __init__(self, n=6, h=8):
            super().__init__()
            self.wi, self.wh, self.gi, self.gh = Scaled(4 * h, n), Scaled(4 * h, h), Scaled(3 * h, h), Scaled(3 * h, h)
            self.b, self.g = nn.Parameter(torch.randn(4 * h)), nn.Parameter(torch.randn(3 * h))
            self.register_buffer("h", torch.zeros(1, 1, h))

        def forward(self, x):
            y, _, _ = torch._VF.lstm(x, (self.h, self.h), [self.wi(), self.wh(), self.b, self.b], True, 1, 0.0, False, False, True)
            y, _ = torch._VF.gru(y, self.h, [self.gi(), self.gh(), self.g, self.g], True, 1, 0.0, False, False, True)
            return y

    return Case(Model(), *calls((1, 5, 6), n=1), core=False)


def weights_alone(bits):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.c, self.d, self.l, self.m = Scaled(50, 32, bits=bits), Scaled(32, 12, 3, 3, bits=bits), Scaled(32, 1, 3, 3, bits=bits), Scaled(24, 64, bits=bits), Scaled(12, 24, bits=bits)
            self.b = nn.Parameter(torch.randn(24))

        def forward(self, i):
            y = F.embedding(i, self.e()).reshape(1, 12, 4, 4)
            y = torch.relu(F.conv2d(y, self.c(), None, padding=1))
            y = torch.relu(F.conv2d(y, self.d(), None, padding=1, groups=32))
            y = torch.relu(F.linear(y.reshape(-1, 64), self.l(), self.b))
            return torch.mm(y, self.m().t())

    return Case(Model(), (torch.randint(0, 50, (1, 6)),), core=False)


def q_weights_int8() -> Case:
    """Weights alone are bytes: of an embedding, of convolutions, linear and mm."""
    return weights_alone(8)


def q_weights_int4() -> Case:
    """Weights alone are of 4 bits, by channel."""
    return weights_alone(4)


def q_weights_groups() -> Case:
    """Weights of 4 bits with scales for groups of 32, 64 and 128."""
    return Case(nn.Sequential(Grouped(64, 128, 32), nn.ReLU(), Grouped(128, 64, 64), nn.ReLU(), Grouped(10, 128, 128)), (torch.randn(3, 128),), core=False)


def q_dynamic_groups() -> Case:
    """Weights of 4 bits with scales for groups, and activations quantized by row."""
    return Case(nn.Sequential(Grouped(64, 128, 32, dynamic=True), nn.ReLU(), Grouped(10, 64, 32, dynamic=True)), (torch.randn(3, 128),), core=False)


def q_dynamic_layers() -> Case:
    """Activations quantized by the run for convolutions (an image has one scale in XNNPACK, too), one of them by channel, and for linear layers that share them; weights of 8 and 4 bits."""

    def dynamic(x):
        scale, zero = quantized.choose_qparams.tensor(x, -128, 127, 2**-12, torch.int8)
        return quantized.dequantize_per_tensor.tensor(quantized.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8), scale, zero, -128, 127, torch.int8)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.g, self.d = Scaled(8, 3, 3, 3), Scaled(8, 4, 3, 3), Scaled(8, 1, 3, 3)
            self.q, self.k, self.v = Scaled(16, 128), Scaled(16, 128, bits=4), Scaled(7, 16, bits=4)
            self.b = nn.Parameter(torch.randn(8))

        def forward(self, x):
            y = torch.relu(F.conv2d(dynamic(x), self.a(), self.b, padding=1))
            y = torch.relu(F.conv2d(dynamic(y), self.g(), self.b, stride=2, padding=1, groups=2))
            y = torch.relu(F.conv2d(dynamic(y), self.d(), self.b, padding=1, groups=8))
            y = dynamic(y.flatten(1))
            return F.linear(dynamic(torch.tanh(F.linear(y, self.q())) * F.linear(y, self.k())), self.v())

    torch.manual_seed(1)  # no quotient that is rounded lies at a half
    return Case(Model(), *calls((1, 3, 8, 8), n=1), core=False)


def q_transposed() -> Case:
    """Transposed convolutions whose weights have a scale for each channel of the result: an operand quantized by the run, one with a scale of its own, one in groups, one with a scale for each channel of the operand."""

    def dynamic(x):
        scale, zero = quantized.choose_qparams.tensor(x, -128, 127, 2**-12, torch.int8)
        return quantized.dequantize_per_tensor.tensor(quantized.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8), scale, zero, -128, 127, torch.int8)

    def static(x, scale):
        return quantized.dequantize_per_tensor(quantized.quantize_per_tensor(x, scale, 3, -128, 127, torch.int8), scale, 3, -128, 127, torch.int8)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.s = Swapped(5, 3, 3, 3), Swapped(4, 5, 2, 2)
            self.g, self.i = Swapped(3, 4, 3, 3), Scaled(3, 5, 3, 3)
            self.b = nn.Parameter(torch.randn(5))

        def forward(self, x):
            y = F.conv_transpose2d(dynamic(x), self.a(), self.b, stride=2, padding=1, output_padding=1)
            z = static(F.conv_transpose2d(static(y, 0.05), self.s(), stride=2), 0.05)
            return y, z, F.conv_transpose2d(dynamic(z), self.g(), groups=2), F.conv_transpose2d(dynamic(-x), self.i())

    torch.manual_seed(1)  # no quotient that is rounded lies at a half
    return Case(Model(), *calls((1, 3, 6, 5), n=1), core=False)


def q_static_half() -> Case:
    """Integers between operators of float16: XNNPACK computes in integers, and converts at the ends."""

    def q(x, scale):
        return quantized.dequantize_per_tensor(quantized.quantize_per_tensor(x, scale, 3, -128, 127, torch.int8), scale, 3, -128, 127, torch.int8, out_dtype=torch.float16)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.l = Scaled(4, 3, 3, 3), Scaled(6, 4)
            self.b = nn.Parameter(torch.randn(4))

        def weight(self, w):
            return quantized.dequantize_per_channel(w.w, w.s, w.z, 0, w.lo, w.hi, torch.int8, out_dtype=torch.float16)

        def forward(self, x):
            y = q(torch.relu(F.conv2d(q(x, 0.05), self.weight(self.a), self.b, padding=1)), 0.03)
            z = q(y + q(torch.sigmoid(y), 0.01), 0.05)
            return z, q(F.linear(q(z.mean((2, 3), keepdim=True), 0.05).flatten(1), self.weight(self.l)), 0.05)

    model = Model()
    model.b.data = model.b.data.half()
    x = torch.randn(1, 3, 5, 4).half()
    return Case(model, (x,), core=False)


def q_sequence() -> Case:
    """Convolutions of one dimension in integers: XNNPACK has those of two, with copies of integers around them."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv1d(3, 5, 3, padding=1), nn.Conv1d(5, 4, 3, stride=2)

        def forward(self, x):
            return self.b(torch.relu(self.a(x)))

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    return case(Model(), quantizer, *calls((1, 3, 11), n=1))


def q_scales_apart() -> Case:
    """Integers of a result that stand for a thousandth of what those of the operands do: XNNPACK has no kernels for that. Copies with one scale, and between two."""

    def q(x, scale):
        return quantized.dequantize_per_tensor(quantized.quantize_per_tensor(x, scale, 3, -128, 127, torch.int8), scale, 3, -128, 127, torch.int8)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = Scaled(8, 6)

        def forward(self, x):
            a, b = q(x, 1.0), q(-x, 1.0)
            y = q(a + b, 1e-3) + q(a * b, 2e-3) + q(a - b, 3.7)
            z = q(F.linear(a * 300, self.w()), 1e-3)
            c = q(F.max_pool2d(q(x, 0.05)[None], 2), 0.05)
            d = q(torch.cat([q(x, 0.05), q(x, 0.1)], 1), 0.05)
            return y, z, q(c.permute(0, 2, 3, 1), 0.05), q(torch.relu(d), 0.05)[:, 1:3]

    return Case(Model(), *calls((2, 4, 6), n=1), core=False)


def q_ties() -> Case:
    """Sums of tenths, of which one in ten is a half: with a fused multiply-add it rounds to another integer than with a product and a sum."""

    def of(x, scale):
        return quantized.dequantize_per_tensor(x, scale, 3, -128, 127, torch.int8)

    def q(x):
        return quantized.quantize_per_tensor(x, 1.0, 3, -128, 127, torch.int8)

    class Model(nn.Module):
        def forward(self, x, y):
            return of(q(of(x, 0.3) + of(y, 0.2)), 1.0)

    x, y = torch.arange(-32, 32, dtype=torch.int8)[:, None], torch.arange(-16, 16, dtype=torch.int8)
    return Case(Model(), (x.repeat(1, 32), y.repeat(64, 1)), core=False)


SCALE = torch.tensor(0.0317).item()  # as observers give it, which have float32


def standing(x, scale=SCALE, zero=3):
    """The floats that integers stand for."""
    i = torch.iinfo(x.dtype)
    return quantized.dequantize_per_tensor(x, scale, zero, i.min, i.max, x.dtype)


def rounded(x, scale=SCALE, zero=3, dtype=torch.int8):
    """The floats that integers stand for which x is quantized to."""
    i = torch.iinfo(dtype)
    return standing(quantized.quantize_per_tensor(x, scale, zero, i.min, i.max, dtype), scale, zero)


def q_functions_int16() -> Case:
    """Functions of int16 elements, with corners and without, of results of 16 and 8 bits."""

    class Model(nn.Module):
        def forward(self, x):
            xs, one = [standing(y, 2**-12, 0) for y in x], 2**-15
            a = rounded(torch.sigmoid(xs[0]), one, 0, torch.int16), rounded(torch.tanh(2 * xs[1]), one, 0, torch.int16), rounded(F.gelu(xs[2]), 2**-12, 0, torch.int16)
            b = rounded(F.silu(xs[3]), 0.0003, -50, torch.int16), rounded(F.hardswish(xs[4]), 0.0003, 0, torch.int16), rounded(F.elu(xs[5], 0.7), 0.0003, 0, torch.int16)
            return *a, *b, rounded(torch.exp(xs[6]), 0.11, 0, torch.int16), rounded(F.softplus(xs[7]), 0.03, -128)

    return Case(Model(), (torch.randint(-(2**15), 2**15, (8, 97), dtype=torch.int16),), core=False)


def q_halves() -> Case:
    """Results of which many lie in the middle of two integers, which floats round to either side: averages and resized images with the scale they had, a product, a sum and a PReLU whose scales have whole quotients. Limits and uint8 are among them. A result of int16, which the roundings of floats change."""
    of, q, S = standing, rounded, SCALE

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.PReLU(3)
            self.p.weight.data = torch.tensor([0.5, -0.25, 1.5])

        def forward(self, x, y):
            z, x, y = of(x, 0.25), of(x), of(y, S, 100)
            a = q(F.avg_pool2d(x, 2)), q(F.relu(F.avg_pool2d(y, 3, 2, 1)), S, 100, torch.uint8), q(F.adaptive_avg_pool2d(x, (3, 5)), S, -4)
            b = q(F.interpolate(z[:, :, None], (4, 12, 16), mode="trilinear"), 0.25), q(F.interpolate(x.flatten(2), 24, mode="linear"), 2 * S)
            rows = q(F.avg_pool2d(x, (1, 8))), q(F.avg_pool2d(x, (6, 8))), q(F.avg_pool2d(y, 2), S, 100, torch.uint8), q(x.mean(3)), q(2 * x[..., :4].mean(3), S, 5)
            wide = q(F.interpolate(x.flatten(2), 24, mode="linear"), S / 128, 0, torch.int16)
            return *a, *b, q(x * y, S * S * 20), q(x + y, 4 * S, 0), q(x - 0.5 * y), q(self.p(x)), *rows, wide, q(0.3 * x + y, S / 2)

    x, y = torch.randint(-128, 128, (2, 3, 6, 8), dtype=torch.int8), torch.randint(0, 256, (2, 3, 6, 8), dtype=torch.uint8)
    return Case(Model(), (x, y), core=False)


def q_one_scale() -> Case:
    """Weights, of a convolution and of a linear layer, with one scale for all channels of dequantize_per_channel: PyTorch broadcasts it."""

    class One(Scaled):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            self.s, self.z = self.s[:1].clone(), self.z[:1].clone()

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.l = One(8, 3, 3, 3), One(5, 8)

        def forward(self, x):
            x = dequantized(quantized.quantize_per_tensor(x, 0.03, 2, -128, 127, torch.int8), 0.03, 2)
            y = torch.relu(F.conv2d(x, self.a()))
            y = dequantized(quantized.quantize_per_tensor(y, 0.02, -128, -128, 127, torch.int8), 0.02, -128)
            y = dequantized(quantized.quantize_per_tensor(y.mean((2, 3)), 0.02, -128, -128, 127, torch.int8), 0.02, -128)
            return quantized.quantize_per_tensor(F.linear(y, self.l()), 0.05, 1, -128, 127, torch.int8)

    return Case(Model(), *calls((2, 3, 5, 5), n=1), core=False)


def dequantized(x, scale, zero):
    return quantized.dequantize_per_tensor(x, scale, zero, -128, 127, torch.int8)


def q_scores() -> Case:
    """scaled_dot_product_attention between integers: with all keys, those before, those of a mask; softmax by hand."""

    class Model(nn.Module):
        def __init__(self, d=8):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(d, d) for _ in range(3))
            self.register_buffer("few", torch.arange(5)[:, None] * 3 % 5 >= torch.arange(5))

        def forward(self, x):
            q, k, v = (f(x).reshape(2, 5, 2, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
            a = F.scaled_dot_product_attention(q, k, v)
            b = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            c = F.scaled_dot_product_attention(q, k, v, attn_mask=self.few)
            d = torch.softmax(q @ k.transpose(-2, -1) / 3, -1) @ v
            return a, b, c, d

    return case(Model(), Everything(names=("linear", "scaled_dot", "matmul")), *calls((2, 5, 8)))


def q_wide_int16() -> Case:
    """Sums of int16 that int32 does not hold, of a convolution, a linear layer and a product of two tensors."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(60, 4, 3), nn.Linear(600, 3)
            for p in self.a, self.b:
                p.weight.data = p.weight.sign() * p.weight.abs().max()

        def forward(self, x):
            y = self.a(x)
            return y, self.b(x.flatten(1)[:, :600]), torch.matmul(y, y.transpose(-2, -1))

    return case(Model(), Everything("int16"), *calls((1, 60, 5, 4)))


def q_windows_wide() -> Case:
    """Resized images whose weights are no fractions of small numbers, in two and three dimensions, and averages of windows whose size no int16 divides."""

    class Model(nn.Module):
        def forward(self, x):
            a = F.interpolate(x, (11, 13), mode="bicubic")
            b = F.interpolate(x[:, :, None], (3, 4, 9), mode="trilinear")
            return a, b, F.avg_pool1d(x.flatten(2).repeat(1, 1, 91), 4999, 40)

    return case(Model(), Everything(names=("upsample", "avg")), *calls((1, 2, 7, 8)))


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.n, self.b, self.m = nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3, groups=8), nn.BatchNorm2d(8)
        self.l = nn.Linear(8 * 4 * 4, 10)

    def forward(self, x):
        y = torch.relu(self.n(self.a(x)))
        y = torch.relu(self.m(self.b(y)))
        return self.l(y.flatten(1))


class NormedEverything(Everything):
    """Batch norms behind convolutions are part of these."""

    def annotate(self, model):
        model = super().annotate(model)
        for n in model.graph.nodes:
            if n.op != "call_function" or self.name(n) != "batch_norm":
                continue
            last = next(iter(n.users)) if len(n.users) == 1 else n
            last = last if self.name(last) in ("relu", "relu_") else n
            n.args[0].meta["quantization_annotation"].output_qspec = None
            for m in {n, last}:
                m.meta["quantization_annotation"] = QuantizationAnnotation({}, self.spec if m is last else None, _annotated=True)
        return model


def q_qat_bias() -> Case:
    """Trained quantized, with batch norms that convert folded and biases of int32: those of the convolutions are of the folded weights."""
    return case(Normed(), NormedEverything(bias=True), *calls((2, 3, 8, 8)), qat=True)


def q_int4() -> Case:
    """Weights of 4 bits and activations of 8: two weights are in a byte, that of a depthwise convolution apart."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(3, 12, 3, padding=1), nn.Conv2d(12, 12, 3, padding=1, groups=12)
            self.c, self.d, self.l = nn.Conv2d(12, 20, 1), nn.Conv2d(20, 6, 3, groups=2), nn.Linear(6 * 4 * 4, 10)

        def forward(self, x):
            return self.l(torch.relu(self.d(torch.relu(self.c(torch.relu(self.b(torch.relu(self.a(x)))))))).flatten(1))

    return case(Model(), Everything(weights=NIBBLES), *calls((1, 3, 6, 6)))


def q_qat() -> Case:
    """A model that was trained quantized, with batch norms that convert folded."""
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_qat=True))
    return case(Normed(), quantizer, *calls((2, 3, 8, 8)), qat=True)


def main(names):
    torch.set_num_threads(1)
    known = {n: f for n, f in globals().items() if inspect.isfunction(f) and inspect.signature(f).return_annotation is Case}
    for name in names or known:
        torch.manual_seed(zlib.crc32(name.encode()))
        c = known[name]()
        record(os.path.join(ROOT, "golden", "cases", name), c.model.eval(), c.args, c.kwargs, runs=c.runs, dynamic_shapes=c.dynamic_shapes, core=c.core, note=" ".join(known[name].__doc__.split()))
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
