"""Writes cases of ../delegated: programs that ExecuTorch's exporter gives to XNNPACK, and what PyTorch answers in eager mode. Writes
cases of ../conform/testdata/xnnpack too: models that etgen gives to XNNPACK.

Needs ExecuTorch's and torchao's Python packages on PYTHONPATH. The other cases there are of the collection beside this repository.
"""

import json
import os
import shutil
import sys

import torch
from executorch.backends.xnnpack import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted
from torch import nn
from torch.export import Dim
from torch.nn import functional as F
from torchao.quantization.granularity import PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.utils import unwrap_tensor_subclass

import record

FOLDER = os.path.join(record.ROOT, "golden", "delegated")


class Sizes(nn.Module):
    """The payload reshapes [2, 3, n] to [2, 3, -1, 1]: each of the sizes might vary. The other input has a size of 1 or 2."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 2, 3, padding=1)

    def forward(self, x, y):
        return self.conv(x).relu(), y * 2


def sizes():
    n, b = Dim("n", min=5, max=30), Dim("b", min=1, max=2)
    calls = [(torch.randn(2, 3, k), torch.randn(j, 3)) for k, j in ((9, 2), (5, 1), (30, 2))]
    return Sizes().eval(), calls, ({2: n}, {0: b})


class Indices(nn.Module):
    """Indices, and what is added there: no size of one may be larger than the other's, which the program does not say."""

    def forward(self, x, i, y):
        return torch.scatter_add(x * 2, 0, i, y.relu())


def indices():
    n, m = Dim("n", min=2, max=8), Dim("m", min=1, max=4)
    calls = [(torch.randn(9, 4), torch.randint(0, 9, (k, j)), torch.randn(k, j)) for k, j in ((5, 2), (2, 1), (8, 4))]
    return Indices().eval(), calls, (None, {0: n, 1: m}, {0: n, 1: m})


class MaxRows(nn.Module):
    """Maxima over rows and columns, which are poolings. Of one the indices are results, too."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        y = self.conv(x)
        ones = y.amax((2, 3), keepdim=True) * 2, x.amax(2, keepdim=True), x.max(3, keepdim=True)[0].relu(), y.amax(3)
        return *ones, *torch.max(y, 2, keepdim=True), F.max_pool2d(y, 2, 2)


def max_rows():
    return MaxRows().eval(), (torch.randn(2, 3, 7, 8),)


class FourBits(nn.Module):
    """Weights of four bits, an odd number of inputs, and one row, so that a scale for all is one for each row."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(6, 9), nn.Linear(9, 8), nn.Linear(8, 5, bias=False)

    def forward(self, x):
        return self.c(self.b(self.a(x).relu()))


def four_bits():
    args = (torch.randn(1, 6),)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True, weight_qmin=-8, weight_qmax=7))
    model = prepare_pt2e(torch.export.export(FourBits().eval(), args).module(), quantizer)
    model(*args)
    return convert_pt2e(model), args


class Half(nn.Module):
    """Layers in half precision: their weights stay so, but for those of convolutions."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv1d(3, 4, 3), nn.Conv2d(1, 4, 1), nn.Linear(5, 3)
        self.p = nn.PReLU()

    def forward(self, x):
        y = self.a(x)
        return self.c(self.p(self.b(y.unsqueeze(1))).amax(2)) + 0.1, F.gelu(y)


def half():
    return Half().half().eval(), (torch.randn(2, 3, 7).half(),)


class External(nn.Module):
    """The payload's constants are in a file beside the program, but for the bias, which is in the program."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 3, bias=False)

    def forward(self, x):
        return self.b(self.a(x).relu()).cumsum(1)


def external():
    args = (torch.randn(2, 6),)
    model = torch.export.export(External().eval(), args).module()
    delegate_external_constants_pass_unlifted(model, lambda n: None if "bias" in n.name else "weights")
    return model, [args], None


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(64, 3)

    def forward(self, x):
        return self.a(x)


def half_groups():
    """float16 that the run quantizes, weights of four bits in groups, and a bias of float32."""
    model = Layer().half()
    quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32)))
    unwrap_tensor_subclass(model)
    return model, [(torch.randn(2, 64).half(),)], None


def transposed():
    """A transposed convolution of what the run quantizes: ExecuTorch writes sizes of these integers in another order."""
    args = (torch.randn(1, 2, 3, 4),)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True))
    model = prepare_pt2e(torch.export.export(nn.ConvTranspose2d(2, 3, 2), args).module(), quantizer)
    model(*args)
    return convert_pt2e(model), [args], None


def affine():
    """torchao's operators: weights of four bits in groups with scales of bfloat16."""
    model = Layer()
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32), weight_scale_dtype=torch.bfloat16)
    quantize_(model, config)
    unwrap_tensor_subclass(model)
    return model, (torch.randn(2, 64),)


class Numbers(nn.Module):
    """Numbers without dimensions between nodes, and among the results."""

    def __init__(self):
        super().__init__()
        self.k = nn.Parameter(torch.tensor(0.7))

    def forward(self, s, t, y):
        a = (s * t).sigmoid()
        b = (s - self.k).exp().clamp(0.1, 2)
        c = (s + t).relu()
        d, e = (y[:1] @ y[1:].t()).view(()), s.neg().permute(())
        return a + y, d * y, e.unsqueeze(0), b.unsqueeze(0), torch.softmax(s * 2, 0) * y, torch.maximum(s, t).neg().view(1, 1), c, c * y, (t * t).abs() * s


def numbers():
    return Numbers(), (torch.tensor(0.3), torch.tensor(-1.25), torch.randn(2, 3))


class LastInputs(nn.Module):
    """Inputs with channels last in memory: XNNPACK and others read one, one is changed and returned, one is taken apart."""

    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x, y, z):
        x.mul_(0.5)
        return self.a(x).relu(), y.cumsum(1), x * y, y.sigmoid().permute(0, 2, 3, 1), z[:, 1:], torch.cat([y, z], 1), x


def last_inputs():
    x, y, z = (torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last) for _ in range(3))
    return LastInputs().eval(), (x, y, z)


class Lines(nn.Module):
    """Pools over lines, norms by channels that no convolution takes, slopes of matrices and lines, and numbers that the run computes."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.BatchNorm1d(6), nn.BatchNorm1d(4, affine=False), nn.BatchNorm2d(3, eps=0.01)
        for norm in self.a, self.b, self.c:
            nn.init.normal_(norm.running_mean)
            nn.init.uniform_(norm.running_var, 0.5, 2)
        nn.init.normal_(self.a.weight)
        nn.init.normal_(self.a.bias)
        self.one, self.each = nn.PReLU(), nn.PReLU(6)
        nn.init.normal_(self.each.weight)

    def forward(self, x, y, z, n):
        k, half = n.item(), n.item() / 2
        line = F.avg_pool1d(self.b(y), 3, 2, 1, count_include_pad=False)
        image = self.c(F.max_pool2d(z, 2, 1)).relu()
        flat = F.adaptive_avg_pool1d(self.one(y), 1).squeeze(-1)
        return self.a(x).relu(), self.each(x) * k, line.tanh(), flat, image, F.avg_pool1d(y, 2, ceil_mode=True), image - half, self.c(z).sigmoid()


def lines():
    torch.manual_seed(3)
    return Lines().eval(), (torch.randn(5, 6), torch.randn(2, 4, 9), torch.randn(2, 3, 5, 4), torch.tensor(3))


CASES = {f.__name__: f for f in (sizes, indices, external, half_groups, transposed)}
MODELS = {f.__name__: f for f in (max_rows, four_bits, half, affine, numbers, last_inputs, lines)}


def write(name):
    torch.manual_seed(0)
    if name in MODELS:
        model, args = MODELS[name]()
        record.record(os.path.join(record.ROOT, "golden", "conform", "testdata", "xnnpack", name), model, args, core=False)
        return
    model, calls, dynamic = CASES[name]()
    program = torch.export.export(model, calls[0], dynamic_shapes=dynamic)
    config = EdgeCompileConfig(_check_ir_validity=False)
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()], compile_config=config, generate_etrecord=True)
    made = edge.to_executorch()
    folder = os.path.join(FOLDER, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(os.path.join(folder, "model.pte"), "wb") as f:
        f.write(made.buffer)
    made.write_tensor_data_to_file(folder)
    if dynamic:
        made.get_etrecord().save(os.path.join(folder, "model.etrecord"))
    calls = [dict(args=c, kwargs={}, label=None) for c in calls]
    first, *others = [record._write_call(folder, i, c, x) for i, (c, x) in enumerate(zip(calls, record._run(model, calls, False)))]
    with open(os.path.join(folder, "meta.json"), "w") as f:
        json.dump({"name": name, "torch_version": torch.__version__, **first, **({"runs": others} if others else {})}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    with torch.no_grad():
        for case in sys.argv[1:] or [*CASES, *MODELS]:
            write(case)
