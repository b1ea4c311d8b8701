"""Writes cases of ../delegated: programs that ExecuTorch's exporter gives to XNNPACK, and what PyTorch answers in eager mode.

Needs ExecuTorch's and torchao's Python packages on PYTHONPATH. The other cases there are of the collection beside this repository.
"""

import json
import os
import shutil
import sys

import torch
from executorch.backends.xnnpack import XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from torch import nn
from torch.export import Dim

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


CASES = {f.__name__: f for f in (sizes,)}


def write(name):
    torch.manual_seed(0)
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
    made.get_etrecord().save(os.path.join(folder, "model.etrecord"))
    calls = [dict(args=c, kwargs={}, label=None) for c in calls]
    first, *others = [record._write_call(folder, i, c, x) for i, (c, x) in enumerate(zip(calls, record._run(model, calls, False)))]
    with open(os.path.join(folder, "meta.json"), "w") as f:
        json.dump({"name": name, "torch_version": torch.__version__, **first, "runs": others}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    with torch.no_grad():
        for case in sys.argv[1:] or CASES:
            write(case)
