"""Records golden/cases/mlp784: a net of three linear layers, 784-128-64-10, for one image, whose speed golden/bench has a mark for.

Only the archive straight out of torch.export.export is kept: each holds the 440 KB of weights.
"""

import os

import torch
from torch import nn

from record import ROOT, record

if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)).eval()
    folder = os.path.join(ROOT, "golden", "cases", "mlp784")
    record(folder, model, (torch.randn(1, 784),), note="Three linear layers, 784-128-64-10, one image.")
    os.remove(os.path.join(folder, "model.core.pt2"))
