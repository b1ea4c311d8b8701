"""Records golden cases: a model as torch.export.save writes it, the calls made of it, and what PyTorch answered in eager mode.

    record("golden/cases/add", Add(), (x, y))

writes model.pt2, model.core.pt2, graph.core.txt, meta.json and the tensors as raw bytes. The form is described in README.md beside this file.
Every case is checked while it is written: both archives are loaded back, run, and compared with eager.
"""

import contextlib
import copy
import json
import os
import re
import shutil
from collections import Counter

import torch
import torch.fx.experimental._config
from torch.utils import _pytree as pytree

# What PyTorch says, in eager mode or of the exported program, of data that gives sizes the model does not have.
REFUSALS = ("Expected cond to be True", "Runtime assertion failed", "shape mismatch: ", "allocated size does not match", "positive", "not two in all", "split_with_sizes expects")

__all__ = ["record", "record_methods", "write_tensor"]

# Frames of model code below this folder are recorded relative to it: an archive must not depend on where the checkout lies.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def record(folder, model, args=(), kwargs=None, *, runs=(), dynamic_shapes=None, stateful=False, core=True, zero=False, note=None, label=None, extra=None):
    """Writes one case.

    args, kwargs: the call the model is exported with; recorded first. They are not changed.
    runs: further calls, each a dict with "args" and, where wanted, "kwargs" and "label". With stateful they follow the first call
        in order and the module keeps its buffers from one to the next; without, each starts from the module as it was exported.
    dynamic_shapes: as torch.export.export takes it.
    core: whether to write the program after run_decompositions() too; there are programs that it does not take.
    zero: whether dynamic sizes may be 0 and 1, which PyTorch else takes for other programs.
    label: what the first call stands for (a class name, a branch); goes into meta.json as it is.
    extra: further entries of meta.json.
    """
    if stateful:
        note = "stateful" if note is None else "stateful; " + note
    calls = [dict(args=args, kwargs=kwargs or {}, label=label)]
    calls += [dict(args=r["args"], kwargs=r.get("kwargs", {}), label=r.get("label")) for r in runs]

    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    # PyTorch 2.6 does not know the option.
    sizes = torch.fx.experimental._config.patch(backed_size_oblivious=True) if zero else contextlib.nullcontext()
    with torch.no_grad(), sizes:
        exported = torch.export.export(
            copy.deepcopy(model), _copy(calls[0]["args"]), _copy(calls[0]["kwargs"]), dynamic_shapes=dynamic_shapes
        )
        programs = {"model.pt2": exported}
        if core:
            programs["model.core.pt2"] = exported.run_decompositions()
        decomposed = programs.get("model.core.pt2", exported)
        for name, program in programs.items():
            _make_reproducible(program)
            torch.export.save(program, os.path.join(folder, name))
        with open(os.path.join(folder, "graph.core.txt"), "w") as f:
            f.write("\n".join(line.rstrip() for line in str(decomposed).splitlines()) + "\n")

        want = _run(model, calls, stateful)
        diff = 0.0
        for name in programs:
            loaded = torch.export.load(os.path.join(folder, name))
            got = _run(loaded.module(), calls, stateful)
            for i, g in enumerate(got):
                if isinstance(g, str):  # the program refuses what the model may take
                    want[i] = g
                elif isinstance(want[i], str):
                    raise AssertionError(f"{folder}/{name}: call {i} is taken, but eager refuses: {want[i]}")
            d = max(_compare(folder, name, w, g) for w, g in zip(want, got) if not isinstance(w, str))
            if name == "model.pt2":
                diff = d

    meta = {"name": os.path.basename(os.path.normpath(folder)), "torch_version": torch.__version__}
    if note is not None:
        meta["note"] = note
    meta.update(extra or {})
    first, *others = [_write_call(folder, i, call, result) for i, (call, result) in enumerate(zip(calls, want))]
    meta.update(first)
    if others:
        meta["runs"] = others
    meta["ops_before_decomp"] = _operators(exported)
    meta["ops"] = _operators(decomposed)
    meta["num_params"] = sum(p.numel() for p in model.parameters())
    meta["macs"] = _macs(decomposed)
    meta["range_constraints"] = {str(k): str(v).replace("int_oo", "oo") for k, v in exported.range_constraints.items()}
    meta["exported_vs_eager_max_abs_diff"] = diff
    with open(os.path.join(folder, "meta.json"), "w") as f:
        json.dump(meta, f, indent=1, allow_nan=False)
        f.write("\n")


def record_methods(folder, model, methods, calls, *, share, note):
    """Writes a case of a model of which several methods are exported: METHOD.pt2 and METHOD.core.pt2 for each.

    methods: their names, in the order of the program.
    calls: dicts with "method" and "args", made one after the other; the module keeps its buffers from one to the next.
    share: whether what one method leaves in a buffer is there for the others; else each method is of a copy of the module.
    """
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)

    def one(method):
        part = copy.deepcopy(model)
        part.forward = getattr(part, method)
        return part

    worst = 0.0
    with torch.no_grad():
        eager = copy.deepcopy(model)
        apart = {m: copy.deepcopy(model) for m in methods}
        want = []
        for c in calls:
            args = _copy(c["args"])
            output = getattr(eager if share else apart[c["method"]], c["method"])(*args)
            want.append((_copy(_flat(output)), _flat((args, {}))))
        for m in methods:
            of_m = [dict(args=c["args"], kwargs={}) for c in calls if c["method"] == m]
            exported = torch.export.export(one(m), _copy(of_m[0]["args"]))
            core = exported.run_decompositions()
            alone = _run(one(m), of_m, True)
            for program, name in ((exported, m + ".pt2"), (core, m + ".core.pt2")):
                _make_reproducible(program)
                torch.export.save(program, os.path.join(folder, name))
                got = _run(torch.export.load(os.path.join(folder, name)).module(), of_m, True)
                worst = max([worst] + [_compare(folder, "model.pt2", w, g) for w, g in zip(alone, got)])

    meta = {"name": os.path.basename(os.path.normpath(folder)), "torch_version": torch.__version__, "note": "stateful; " + note}
    meta["methods"] = list(methods)
    meta["share_mutable_buffers"] = share
    parts = []
    for i, (c, result) in enumerate(zip(calls, want)):
        parts.append({"method": c["method"], **_write_call(folder, i, {"label": None, "args": c["args"], "kwargs": {}}, result)})
    meta.update(parts[0])
    meta["runs"] = parts[1:]
    meta["exported_vs_eager_max_abs_diff"] = worst
    with open(os.path.join(folder, "meta.json"), "w") as f:
        json.dump(meta, f, indent=1, allow_nan=False)
        f.write("\n")


def write_tensor(path, t):
    """Writes t's elements, little endian, in logical row-major order whatever its strides: bool as one byte, bfloat16 as two."""
    t = t.detach().resolve_conj().contiguous()
    with open(path, "wb") as f:
        if t.numel():
            f.write(t.reshape(-1).view(torch.uint8).numpy().tobytes())


def _copy(tree):
    """Deep copy that keeps strides and offsets, which clone() does not for a view with gaps."""

    def one(x):
        if not isinstance(x, torch.Tensor):
            return copy.deepcopy(x)
        x = x.resolve_conj()
        return torch.empty(0, dtype=x.dtype).set_(x.untyped_storage().clone(), x.storage_offset(), x.shape, x.stride())

    return pytree.tree_map(one, tree)


def _run(module, calls, stateful):
    """Makes the calls; returns for each the flat outputs and the flat inputs as they are after it, or why it is refused."""
    results = []
    current = copy.deepcopy(module)
    for i, call in enumerate(calls):
        if i and not stateful:
            current = copy.deepcopy(module)
        args, kwargs = _copy(call["args"]), _copy(call["kwargs"])
        try:
            output = current(*args, **kwargs)
        except (AssertionError, RuntimeError) as e:
            if not str(e).startswith(("Guard failed: ", *REFUSALS)):
                raise
            results.append(str(e).splitlines()[0])
            continue
        # An output may be a view of state that the next call changes.
        results.append((_copy(_flat(output)), _flat((args, kwargs))))
    return results


def _flat(tree):
    """[(path, leaf)] in pytree order."""
    leaves, _ = pytree.tree_flatten_with_path(tree)
    return [(pytree.keystr(path), leaf) for path, leaf in leaves]


def _compare(folder, model, want, got):
    """Largest absolute difference between two results of _run; raises where they differ in more than rounding."""
    worst = 0.0
    for side, w, g in (("output", want[0], got[0]), ("input after the call", want[1], got[1])):
        if [path for path, _ in w] != [path for path, _ in g]:
            raise AssertionError(f"{folder}/{model}: {side} structure {w} became {g}")
        for (path, a), (_, b) in zip(w, g):
            where = f"{folder}/{model}: {side} {path}"
            if not isinstance(a, torch.Tensor):
                if a != b or type(a) is not type(b):
                    raise AssertionError(f"{where}: {a!r} became {b!r}")
                continue
            torch.testing.assert_close(b, a, equal_nan=True, msg=lambda m: f"{where}: {m}")
            # Decompositions may lay out a result otherwise.
            if model == "model.pt2" and a.stride() != b.stride():
                raise AssertionError(f"{where}: strides {a.stride()} became {b.stride()}")
            if a.dtype.is_floating_point and a.numel():
                gap = (a.double() - b.double()).abs()
                gap[a == b] = 0  # infinities
                worst = max(worst, gap.nan_to_num(nan=0.0).max().item())
    return worst


def _write_call(folder, index, call, result):
    """Writes the tensors of one call; returns its part of meta.json."""
    prefix = f"run{index}_" if index else ""
    refused = result if isinstance(result, str) else None
    outputs, after = ([], _flat((call["args"], call["kwargs"]))) if refused else result
    part = {"label": call["label"]} if call["label"] is not None else {}
    part["inputs"] = []
    for k, ((path, before), (_, changed)) in enumerate(zip(_flat((call["args"], call["kwargs"])), after)):
        entry = _write_value(folder, f"{prefix}input_{k}.bin", path, before)
        if isinstance(before, torch.Tensor) and not _same_bits(before, changed):
            entry["mutated_file"] = f"{prefix}mutated_input_{k}.bin"
            write_tensor(os.path.join(folder, entry["mutated_file"]), changed)
        part["inputs"].append(entry)
    part["outputs"] = [_write_value(folder, f"{prefix}output_{k}.bin", path, x) for k, (path, x) in enumerate(outputs)]
    if refused:
        part["refused"] = refused
    return part


def _write_value(folder, file, path, x):
    if not isinstance(x, torch.Tensor):
        return {"path": path, "kind": type(x).__name__, "value": x}
    write_tensor(os.path.join(folder, file), x)
    return {
        "path": path,
        "kind": "tensor",
        "dtype": str(x.dtype).removeprefix("torch."),
        "shape": list(x.shape),
        "strides": list(x.stride()),
        "file": file,
    }


def _same_bits(a, b):
    a, b = a.contiguous().reshape(-1), b.contiguous().reshape(-1)
    return a.numel() == 0 or torch.equal(a.view(torch.uint8), b.view(torch.uint8))


def _nodes(program):
    """Nodes of the graph and of the graphs nested in it."""
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            yield from module.graph.nodes


def _make_reproducible(program):
    """Takes from the nodes' history what differs from run to run: absolute paths, and the names of graphs (memory addresses, counters)."""
    numbers = {}  # address -> order of appearance
    captured = {}  # counter of a file name that captured source goes by -> order of appearance
    done = set()  # sources are shared between nodes

    def number(source):
        if id(source) in done:
            return
        done.add(id(source))
        if source.node_info is not None:
            source.node_info.graph_id = numbers.setdefault(source.node_info.graph_id, len(numbers))
            source._dict = None  # what it was printed from
        for older in source.from_node:
            number(older)

    def rename(match):
        file = match[1]
        if file.startswith("<eval_with_key>"):
            return f'File "<eval_with_key>.{captured.setdefault(file, len(captured))}"'
        file = os.path.normpath(file)
        return f'File "{file.removeprefix(ROOT + os.sep)}"'

    for node in _nodes(program):
        if node.meta.get("stack_trace"):
            node.meta["stack_trace"] = re.sub(r'File "([^"]*)"', rename, node.meta["stack_trace"])
        for source in node.meta.get("from_node") or ():
            number(source)


def _operators(program):
    def name(target):
        return str(target) if isinstance(target, torch._ops.OpOverload) else getattr(target, "__name__", str(target))

    return dict(sorted(Counter(name(n.target) for n in _nodes(program) if n.op == "call_function").items()))


def _macs(program):
    """Multiply-accumulates of the matrix products and convolutions, each nested graph counted once, symbolic sizes as exported with."""
    aten = torch.ops.aten

    def size(x):
        return int(x.node.hint) if isinstance(x, torch.SymInt) else int(x)

    def numel(x):
        n = 1
        for s in x.shape:
            n *= size(s)
        return n

    total = 0
    for n in _nodes(program):
        value = [a.meta.get("val") if isinstance(a, torch.fx.Node) else a for a in n.args]
        if n.target in (aten.mm.default, aten.bmm.default):
            total += numel(n.meta["val"]) * size(value[0].shape[-1])
        elif n.target is aten.addmm.default:
            total += numel(n.meta["val"]) * size(value[1].shape[-1])
        elif n.target is aten.convolution.default:
            transposed = value[6]
            spread = value[0] if transposed else n.meta["val"]
            total += numel(spread) * numel(value[1]) // size(value[1].shape[0])
    return total
