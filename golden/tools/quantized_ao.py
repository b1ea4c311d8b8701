"""Makes the cases q_ao_* of golden/cases: python3 quantized_ao.py [NAME...], all of them without names.

It needs torchao's Python package on PYTHONPATH (github.com/pytorch/ao, folder torchao; commit 36027d82d1ad made what is checked in) and
PyTorch 2.14. Nothing of it has to be built. Each function that returns a Case is one; its name is the folder, its docstring becomes the note.
"""

import os
import sys
import warnings
import zlib

import torch
import torch.nn.functional as F
from torch import nn
from torchao.quantization.granularity import PerAxis, PerGroup, PerTensor
from torchao.quantization.pt2e import move_exported_model_to_eval
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86
from torchao.quantization.quant_api import Int8DynamicActivationInt8WeightConfig, Int8DynamicActivationIntxWeightConfig, Int8WeightOnlyConfig, IntxWeightOnlyConfig, quantize_
from torchao.quantization.quant_primitives import MappingType
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from torchao.utils import unwrap_tensor_subclass

from families.case import Case, Converted
from record import ROOT, record


def convert(model, quantizer, *sizes, qat=False):
    """The case of a model quantized with four random inputs."""
    calls = [tuple(torch.randn(*s) for s in sizes) for _ in range(4)]
    exported = torch.export.export(model.train() if qat else model.eval(), calls[0]).module()
    prepared = (prepare_qat_pt2e if qat else prepare_pt2e)(exported, quantizer)
    for c in calls:
        prepared(*c)
    if qat:
        move_exported_model_to_eval(prepared)
    return Case(Converted(convert_pt2e(prepared)), calls[0], core=False)


class Layers(nn.Module):
    """Linear layers one after another, each with a configuration of its own."""

    def __init__(self, *configs, size=32, dtype=torch.float32):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(size, size, bias=i > 0, dtype=dtype) for i in range(len(configs)))
        for i, config in enumerate(configs):
            quantize_(self, config, lambda m, name: name == f"layers.{i}")
        unwrap_tensor_subclass(self)

    def forward(self, x):
        for f in self.layers:
            x = torch.tanh(f(x))
        return x


def q_ao_weights() -> Case:
    """Weights alone are quantized: products with bytes that are converted, scaled behind; integers of 4 bits with zero points for rows."""
    uneven = IntxWeightOnlyConfig(torch.int4, PerAxis(0), mapping_type=MappingType.ASYMMETRIC)
    return Case(Layers(Int8WeightOnlyConfig(), Int8WeightOnlyConfig(granularity=PerTensor()), uneven), (torch.randn(1, 3, 32),), core=False)


def q_ao_groups() -> Case:
    """Weights of groups, of 8 bits, and of 4 bits with and without zero points, and of rows of 4 bits; what they multiply is floats, or what the call quantized by rows."""
    uneven, groups = MappingType.ASYMMETRIC, PerGroup(16)
    model = Layers(
        Int8WeightOnlyConfig(granularity=groups),
        IntxWeightOnlyConfig(torch.int4, groups, mapping_type=uneven),
        Int8DynamicActivationIntxWeightConfig(torch.int4, PerAxis(0)),
        Int8DynamicActivationIntxWeightConfig(torch.int4, groups),
        Int8DynamicActivationIntxWeightConfig(torch.int4, groups, weight_mapping_type=uneven),
    )
    return Case(model, (torch.randn(1, 3, 32),), core=False)


def q_ao_dynamic_groups() -> Case:
    """What ExecuTorch's language models have (8da4w): activations that the call quantizes by rows, times weights of 4 bits in groups, with and without zero points, and of 8 bits."""
    def config(size, bits=torch.int4, mapping=MappingType.SYMMETRIC):
        return Int8DynamicActivationIntxWeightConfig(bits, PerGroup(size), weight_mapping_type=mapping)

    model = Layers(config(32), config(32, mapping=MappingType.ASYMMETRIC), config(32, torch.int8), config(64), size=64)
    return Case(model, (torch.randn(1, 3, 64),), core=False)


def q_ao_dynamic_half() -> Case:
    """A network of bfloat16: weights alone are quantized, in groups, and as a whole; groups of weights and activations that the call quantizes; rows of both."""
    groups = PerGroup(16)
    model = Layers(
        IntxWeightOnlyConfig(torch.int4, groups),
        Int8WeightOnlyConfig(),
        Int8DynamicActivationIntxWeightConfig(torch.int4, groups),
        Int8DynamicActivationInt8WeightConfig(),
        dtype=torch.bfloat16,
    )
    return Case(model, (torch.randn(1, 3, 32, dtype=torch.bfloat16),), core=False)


def q_ao_dynamic() -> Case:
    """Products of bytes in int32, one operand quantized by the call, by rows or as a whole, with and without zero points. Nothing is dequantized by an operator."""
    model = Layers(
        Int8DynamicActivationInt8WeightConfig(),
        Int8DynamicActivationInt8WeightConfig(act_mapping_type=MappingType.ASYMMETRIC),
        Int8DynamicActivationInt8WeightConfig(granularity=PerTensor()),
    )
    return Case(model, (torch.randn(1, 3, 32),), core=False)


class Inverted(nn.Module):
    """A block of MobileNetV2."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False), nn.Conv2d(8, 8, 1, bias=False)
        self.n = nn.ModuleList(nn.BatchNorm2d(8) for _ in range(3))
        self.l = nn.Linear(8, 4)
        for n in self.n:
            nn.init.uniform_(n.weight, 0.5, 1.5), nn.init.uniform_(n.bias, -0.5, 0.5)

    def forward(self, x):
        y = F.relu6(self.n[0](self.a(x)))
        y = y + self.n[2](self.c(F.relu6(self.n[1](self.b(y)))))
        return self.l(F.adaptive_avg_pool2d(y, 1).flatten(1))


def q_ao_qat() -> Case:
    """A block of MobileNetV2, trained with the rounding, whose batch norms are folded."""
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_qat=True))
    return convert(Inverted(), quantizer, (2, 3, 8, 8), qat=True)


def q_ao_x86() -> Case:
    """The quantizer for x86: uint8; the sum of a convolution and a tensor is quantized, the convolution is not."""
    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    return convert(Inverted(), quantizer, (2, 3, 8, 8))


def q_ao_dynamic_x86() -> Case:
    """The quantizer for x86, which takes ranges from the call, as uint8."""
    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config(is_dynamic=True))
    return convert(nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4)), quantizer, (3, 16))


if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    cases = {name: f for name, f in globals().items() if name.startswith("q_ao_")}
    for name in sys.argv[1:] or cases:
        torch.manual_seed(zlib.crc32(name.encode()))
        case = cases[name]()
        record(os.path.join(ROOT, "golden", "cases", name), case.model, case.args, core=case.core, note=" ".join(cases[name].__doc__.split()))
        print(name)
