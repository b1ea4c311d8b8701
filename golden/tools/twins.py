"""Writes ../delegate/twins: programs that ExecuTorch's exporter gives to its demonstrations of backends, each of which is the file of several
models, byte for byte, and what these models answer in eager mode. So nothing in such a file says which of the models it is.

Needs ExecuTorch's Python packages on PYTHONPATH.
"""

import json
import os

import torch
from executorch.exir import EdgeCompileConfig, to_edge
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.test.backend_with_delegate_mapping_demo import BackendWithDelegateMappingDemo
from executorch.exir.backend.test.op_partitioner_demo import AddAttributePartitionerDemo, AddMulPartitionerDemo
from torch import nn

import record

FOLDER = os.path.join(record.ROOT, "golden", "delegate", "twins")


class Of(nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.function = forward

    def forward(self, x, y):
        return self.function(x, y)


class Plus(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.k = nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4))

    def forward(self, x):
        return x + self.w + self.k


class Tan(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, x):
        return torch.tan(torch.relu(self.conv(x)))


def partitioned(partitioner):
    return lambda edge: edge.to_backend(partitioner()).to_executorch().buffer


def whole(edge):
    return to_backend(BackendWithDelegateMappingDemo.__name__, edge.exported_program(), []).buffer()


def square(*models):
    return {name: Of(forward) for name, forward in models}, lambda: (torch.randn(2, 2), torch.randn(2, 2)), partitioned(AddMulPartitionerDemo)


TWINS = {
    "product_and_sum": lambda: square(
        ("x @ y + y", lambda x, y: x.mm(y) + y),
        ("x @ y + x", lambda x, y: x.mm(y) + x),
        ("x @ y + x @ y", lambda x, y: (lambda z: z + z)(x.mm(y))),
        ("y @ x + x", lambda x, y: y.mm(x) + x),
        ("x @ x + y", lambda x, y: x.mm(x) + y),
    ),
    "product": lambda: square(("x @ y", lambda x, y: x.mm(y)), ("y @ x", lambda x, y: y.mm(x))),
    "parameters": lambda: ({"some": Plus(), "others": Plus()}, lambda: (torch.randn(4),), partitioned(AddAttributePartitionerDemo)),
    "names": lambda: ({"some": Tan(), "others": Tan()}, lambda: (torch.randn(1, 1, 2, 3),), whole),
}


def write(name):
    torch.manual_seed(0)
    models, inputs, lower = TWINS[name]()
    args, files, results, weights = inputs(), set(), {}, {}
    for label, model in models.items():
        edge = to_edge(torch.export.export(model, args), compile_config=EdgeCompileConfig(_check_ir_validity=False))
        files.add(bytes(lower(edge)))
        results[label] = model(*args).flatten().tolist()
        weights[label] = [p.flatten().tolist() for p in model.parameters()]
    assert len(files) == 1, f"{name}: {len(files)} files"
    with open(os.path.join(FOLDER, name + ".pte"), "wb") as f:
        f.write(files.pop())
    with open(os.path.join(FOLDER, name + ".json"), "w") as f:
        inputs = [{"shape": list(a.shape), "data": a.flatten().tolist()} for a in args]
        json.dump({"inputs": inputs, "results": results, "weights": weights}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    os.makedirs(FOLDER, exist_ok=True)
    with torch.no_grad():
        for name in TWINS:
            write(name)
