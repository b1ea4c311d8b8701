"""Writes the models of golden/refused/overlapping_*: they write to tensors, several elements of which lie at one place.

PyTorch shows what is written to one in the others; a program of values cannot say that.
"""

import os

import torch
from record import ROOT, _make_reproducible


class State(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.ones(1, 4).expand(3, 4))

    def forward(self, x):
        self.rows[0].add_(x[0])
        return self.rows * 1


class Input(torch.nn.Module):
    def forward(self, x):
        x[0].add_(1)
        return x * 2


class Window(torch.nn.Module):
    def forward(self, x):
        base = x.clone()
        windows = base.unfold(0, 4, 2)
        windows[1].mul_(10)
        return windows * 1


def main():
    state = torch.export.export(State(), (torch.ones(3, 4),))
    programs = {
        "overlapping_state": state,
        "overlapping_state_core": state.run_decompositions(),
        "overlapping_input": torch.export.export(Input(), (torch.ones(1, 4).expand(3, 4),)),
        "overlapping_window": torch.export.export(Window(), (torch.ones(8),)),
    }
    for name, program in programs.items():
        _make_reproducible(program)
        torch.export.save(program, os.path.join(ROOT, "golden/refused", name, "model.pt2"))


if __name__ == "__main__":
    main()
