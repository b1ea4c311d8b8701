"""Counts what ExecuTorch's partitioner for XNNPACK and etgen's take of exported models, as a table for docs/backends.md.

xnnpack_counts.py ETGEN CASE...: of each case's model.pt2 a line has the operators outside of payloads, those inside, and the payloads, of
ExecuTorch and of etgen each. Operators in branches and loops count too, getitem does not. Where ExecuTorch's lowering fails, its line has the
operators that its partitioner takes alone. Needs ExecuTorch's and torchao's Python packages on PYTHONPATH.
"""

import collections
import operator
import os
import subprocess
import sys
import tempfile

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower

CONFIG = EdgeCompileConfig(_check_ir_validity=False)
NT = collections.namedtuple("NT", ["a", "b"])  # of namedtuple_io
torch.library.define("refzoo::scale_add", "(Tensor x, Tensor y, float k) -> Tensor")  # of custom_op
torch.library.impl("refzoo::scale_add", "CompositeExplicitAutograd")(lambda x, y, k: x * k + y)
torch.library.register_fake("refzoo::scale_add")(lambda x, y, k: torch.empty_like(x))


def calls(module):
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target is not operator.getitem:
            yield node
    for _, part in module.named_children():
        if isinstance(part, torch.fx.GraphModule):
            yield from calls(part)


def lowered(program):
    """Operators outside and inside, and payloads."""
    made = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()], compile_config=CONFIG)
    outside = inside = payloads = 0
    for node in calls(made.exported_program().graph_module):
        if getattr(node.target, "__name__", "") != "executorch_call_delegate":
            outside += 1
            continue
        payloads += 1
        inside += sum(1 for _ in calls(getattr(node.graph.owning_module, node.args[0].target).original_module.graph_module))
    return outside, inside, payloads


def partitioned(program):
    whole, _ = XnnpackPartitioner().ops_to_not_decompose(program)
    edge = to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False, preserve_ops=whole))
    tagged = XnnpackPartitioner().partition(edge.exported_program()).tagged_exported_program
    tags = [n.meta.get("delegation_tag") for n in calls(tagged.graph_module)]
    return tags.count(None), len(tags) - tags.count(None), len(set(tags) - {None})


def executorch(path):
    for count in lowered, partitioned:
        try:
            return *count(torch.export.load(path)), "" if count is lowered else "*"
        except Exception as e:
            print(f"{path}: {type(e).__name__}: {str(e)[:200]}", file=sys.stderr)
    return "-", "-", "-", ""


def etgen(binary, path):
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([binary, path, "--lang=pte", "--backend=xnnpack", "--show-backends", "-o", folder], capture_output=True, text=True, check=True)
    rows = [line.split() for line in made.stdout.splitlines()[1:]]
    rows = [r for r in rows if r and r[-1] != "nodes"]
    inside = [r[1] for r in rows if r[0] == "xnnpack"]
    return len(rows) - len(inside), len(inside), len(set(inside))


def main():
    binary, *cases = sys.argv[1:]
    print("| model | outside, ExecuTorch | etgen | inside, ExecuTorch | etgen | payloads, ExecuTorch | etgen |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for case in map(os.path.normpath, cases):
        path = os.path.join(case, "model.pt2")
        *theirs, mark = executorch(path)
        ours = etgen(binary, path)
        print(f"| {os.path.basename(case)}{mark} | " + " | ".join(f"{a} | {b}" for a, b in zip(theirs, ours)) + " |", flush=True)


if __name__ == "__main__":
    main()
