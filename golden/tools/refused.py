"""Writes models of golden/refused that are right, and that etgen refuses, rank_of_pte as a .pte alone."""

import os

import torch
from record import ROOT, _make_reproducible
from torch.export import Dim


class OldValue(torch.nn.Module):
    """What is returned is a copy of an input that is written to."""

    def forward(self, x):
        old = x + 0
        x.add_(1)
        return old


class Spectrum(torch.nn.Module):
    def forward(self, x):
        spectrum = torch.stft(x, 16, window=torch.hann_window(16), return_complex=True)
        return torch.view_as_real(torch.linalg.inv(spectrum[..., :9]))


class ComplexView(torch.nn.Module):
    """A write to complex numbers that lie in the memory of real ones."""

    def forward(self, x):
        y = x.clone()
        torch.view_as_complex(y).mul_(2)
        return y


class ComplexTransposed(torch.nn.Module):
    """A write to complex numbers whose memory holds their conjugates."""

    def forward(self, x):
        y = torch.complex(x, x)
        y.mH.mul_(2j)
        return torch.view_as_real(y)


class Sum(torch.nn.Module):
    """Both inputs have a dimension more than ExecuTorch's runtime loads."""

    def forward(self, x, y):
        return x + y


def main():
    many = torch.ones([1] * 16 + [2])
    dynamic = ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC},)
    programs = {
        "size_without_bound": torch.export.export(OldValue(), (torch.ones(3, 4),), dynamic_shapes=dynamic),
        "rank_of_pte": torch.export.export(Sum(), (many, many)),
        "complex_view_written": torch.export.export(ComplexView(), (torch.ones(3, 2),)),
        "complex_transposed_written": torch.export.export(ComplexTransposed(), (torch.ones(3, 2),)),
        "complex_operators": torch.export.export(Spectrum(), (torch.ones(1, 64),)),
    }
    for name, program in programs.items():
        _make_reproducible(program)
        folder = os.path.join(ROOT, "golden/refused", name)
        os.makedirs(folder, exist_ok=True)
        torch.export.save(program, os.path.join(folder, "model.pt2"))


if __name__ == "__main__":
    main()
