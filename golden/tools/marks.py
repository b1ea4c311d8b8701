"""Prints the marks of golden/bench/marks.tsv for the machine it runs on: what other runtimes take for the models that have marks.

python3 marks.py [--rounds N] [--for SECONDS] [--keep FOLDER] [--only RUNTIME,...] [--etgen COMMAND] [CASE...]

A case is a folder's end as in marks.tsv, models/lenet or cases/mlp784. Each runtime gets the exported program of model.pt2 and the
tensors of input_K.bin, and one thread; what it answers is held against output_K.bin before it is timed. Rounds go through all runtimes
of all cases, so that a busy moment of the machine falls on everyone; interrupted, the script prints what it has. What a runtime cannot do is said on standard error.
FOLDER keeps what was compiled, for a second run; else it is a temporary one. Whether PyTorch's own matrix product is a fast one depends
on the BLAS it finds: Debian's is the reference, until libopenblas0-pthread is installed or stands first in LD_LIBRARY_PATH.
"""

import argparse
import ctypes
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import torch
from torch.utils import _pytree as pytree

import xnnpack
from record import ROOT

CASES = [
    *("models/" + name for name in ("tv_mobilenet_v2", "tv_resnet18", "trained_ic01", "trained_kws01", "trained_vww01", "trained_ad01")),
    *("models/lenet", "cases/mlp784", "models/hf_bert", "models/nanogpt_sdpa", "models/transformer_encoder"),
]


class Case:
    """A recorded case; args are what its first call is made with, flat are args and keyword arguments in a row."""

    def __init__(self, name, scratch):
        self.name = name
        self.folder = os.path.join(ROOT, "golden", name) if name.startswith("cases/") else os.path.join(ROOT, "..", "shared", name)
        self.scratch = os.path.join(scratch, name)
        os.makedirs(self.scratch, exist_ok=True)
        with open(os.path.join(self.folder, "meta.json")) as f:
            meta = json.load(f)
        self.flat = [self.value(entry) for entry in meta["inputs"]]
        self.want = [self.value(entry) for entry in meta["outputs"]]
        self.args, self.kwargs = pytree.tree_unflatten(self.flat, self.program().call_spec.in_spec)

    def program(self):
        return torch.export.load(os.path.join(self.folder, "model.pt2"))

    def module(self):
        return self.program().module()

    def value(self, entry):
        if entry["kind"] != "tensor":
            return entry.get("value")
        with open(os.path.join(self.folder, entry["file"]), "rb") as f:
            data = bytearray(f.read())
        return torch.frombuffer(data, dtype=getattr(torch, entry["dtype"])).reshape(entry["shape"])

    def traced(self):
        """The program as TorchScript. Assertions that the exported program makes of its inputs would be traced as constants."""
        if self.kwargs:
            raise ValueError("TorchScript takes no keyword arguments")
        return torch.jit.trace(self.module(), self.args, check_trace=False)

    def check(self, got):
        got = [torch.as_tensor(x) for x in pytree.tree_leaves(got)]
        for g, w in zip(got, self.want, strict=True):
            torch.testing.assert_close(g, w, rtol=1e-3, atol=1e-4 * (1 + float(w.abs().max())) if w.is_floating_point() else 0)


def eager(case):
    module, args, kwargs = case.module(), case.args, case.kwargs
    return lambda: module(*args, **kwargs)


def inductor(case, label, **config):
    """AOTInductor, with the weights constants; called as flat tensors, without the tree of arguments around it."""
    path = os.path.join(case.scratch, label + ".pt2")
    if not os.path.exists(path):
        config = {"freezing": True, **config}
        torch._inductor.aoti_compile_and_package(case.program(), package_path=path, inductor_configs=config)
    runner = torch._inductor.aoti_load_package(path).loader
    flat = [x for x in case.flat if isinstance(x, torch.Tensor)]
    return lambda: runner.boxed_run(list(flat))


def torchscript(case):
    """TorchScript with oneDNN's convolutions and fused bias and activation."""
    module = torch.jit.optimize_for_inference(torch.jit.freeze(case.traced().eval()))
    return lambda: module(*case.args)


def mobile(case):
    """TorchScript with XNNPACK's convolutions and linear layers, as PyTorch's mobile optimizer puts them in."""
    from torch.utils.mobile_optimizer import optimize_for_mobile

    module = optimize_for_mobile(case.traced().eval())
    if not any("prepacked::" in node.kind() for node in module.graph.nodes()):
        raise ValueError("XNNPACK takes nothing of it")
    return lambda: module(*case.args)


def onnx_runtime(case):
    import onnxruntime

    path = os.path.join(case.scratch, "model.onnx")
    if not os.path.exists(path):
        names = [f"input_{k}" for k in range(len(case.args))]
        torch.onnx.export(case.traced(), case.args, path, dynamo=False, opset_version=17, input_names=names)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    taken = {x.name for x in session.get_inputs()}
    for k, x in enumerate(case.flat):
        if f"input_{k}" in taken:
            binding.bind_cpu_input(f"input_{k}", x.contiguous().numpy())
    for out in session.get_outputs():
        binding.bind_output(out.name)

    def call():
        session.run_with_iobinding(binding)
        return binding

    call.outputs = lambda: binding.copy_outputs_to_cpu()
    return call


def xnnpack_alone(case):
    network = xnnpack.Network(case.program())
    call = network.bind(case.flat[0])
    call.outputs = lambda: network.out
    return call


def etgen(case, command):
    """etgen's own C, to measure it by turns with the others. It has the time of a call by ctypes, about a microsecond, against it."""
    if case.kwargs or any(x.dtype not in (torch.float32, torch.int64) for x in case.flat + case.want):
        raise ValueError("the call is written for positional float32 and int64 tensors")
    folder, name = os.path.join(case.scratch, "etgen"), "model"
    subprocess.run([command, os.path.join(case.folder, "model.pt2"), "--lang=c", "--name=" + name, "-o", folder], check=True, capture_output=True)
    with open(os.path.join(folder, name + ".h")) as f:
        size = int(re.search(r"MODEL_ARENA_SIZE +(\d+)", f.read()).group(1))
    sources = [os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.endswith((".c", ".S"))]
    shared = os.path.join(folder, "model.so")
    subprocess.run(["gcc", "-std=c99", "-O3", "-march=native", "-fPIC", "-shared", "-o", shared, *sources], check=True, cwd=folder)
    out, inputs = [torch.empty_like(x) for x in case.want], [x.contiguous() for x in case.flat]
    arena = torch.empty(size + 4096, dtype=torch.uint8)
    start = -(-arena.data_ptr() // 4096) * 4096
    forward = ctypes.CDLL(shared).model_forward
    args = [ctypes.c_void_p(x) for x in (*(x.data_ptr() for x in inputs + out), start)]

    def call():
        return forward(*args)

    call.outputs, call.keep = lambda: out, (arena, inputs)
    return call


def version(module):
    try:
        return __import__(module).__version__
    except ImportError:
        return "none"


RUNTIMES = {
    "eager": ("PyTorch eager " + torch.__version__, eager),
    "inductor": ("AOTInductor " + torch.__version__, lambda case: inductor(case, "inductor")),
    "autotune": (
        "AOTInductor max_autotune " + torch.__version__,
        lambda case: inductor(case, "autotune", max_autotune=True, max_autotune_gemm_backends="CPP,ATEN"),
    ),
    "torchscript": ("TorchScript, oneDNN, " + torch.__version__, torchscript),
    "mobile": ("TorchScript, XNNPACK, " + torch.__version__, mobile),
    "xnnpack": ("XNNPACK " + xnnpack.version(), xnnpack_alone),
    "onnx": ("ONNX Runtime " + version("onnxruntime"), onnx_runtime),
}


def prepare(case, build):
    """Returns the call of a case, checked; raises what keeps it from being one."""
    call = build(case)
    got = call()
    case.check(call.outputs() if hasattr(call, "outputs") else got)
    return call


def run(call, span):
    """Calls for so many seconds, and at least thrice; returns the times in µs.

    A call that other processes interrupt counts with the time that it had the processor: a long one is hardly ever left alone on a
    busy machine. Others count with the time that passed, as the clock of the processor's time is slow itself.
    """
    times, end = [], time.perf_counter_ns() + int(span * 1e9)
    while len(times) < 3 or time.perf_counter_ns() < end:
        had, start = time.thread_time_ns(), time.perf_counter_ns()
        call()
        passed = time.perf_counter_ns() - start
        times.append(min(passed, time.thread_time_ns() - had) / 1e3)
    return times


class Peak:
    """The core's multiply-add peak, GFLOP/s, as etgen's own bench measures it."""

    def __init__(self, scratch):
        self.exe, self.best = os.path.join(scratch, "peak"), 0.0
        source = os.path.join(ROOT, "golden", "measure", "support", "peak.c")
        subprocess.run(["gcc", "-std=gnu99", "-O3", "-march=native", "-o", self.exe, source], check=True)

    def measure(self):
        self.best = max(self.best, float(subprocess.run([self.exe], check=True, capture_output=True).stdout))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=20)
    p.add_argument("--for", type=float, default=0.1, dest="span", help="seconds of a runtime's turn")
    p.add_argument("--etgen", help="an etgen command, whose C is measured along with the others")
    p.add_argument("--keep", help="folder for what is compiled")
    p.add_argument("--only", default=",".join(RUNTIMES), help="the runtimes: of " + ", ".join(RUNTIMES))
    p.add_argument("cases", nargs="*", default=CASES)
    opt = p.parse_args()
    runtimes = {key: RUNTIMES[key] for key in opt.only.split(",")}
    if opt.etgen:
        runtimes["etgen"] = "etgen C", lambda case: etgen(case, opt.etgen)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch, torch.inference_mode():
        keep = opt.keep or scratch
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(keep, "inductor")
        peak, calls, times = Peak(scratch), {}, {}
        peak.measure()
        try:
            for name in opt.cases:
                case = Case(name, keep)
                for label, build in runtimes.values():
                    try:
                        call = prepare(case, build)
                    except Exception as e:  # a runtime's own, of any kind
                        print(f"{name}: {label}: {type(e).__name__}: {' '.join(str(e).split())[:300]}", file=sys.stderr)
                        continue
                    calls[name, label], times[name, label] = call, run(call, opt.span)
            for _ in range(opt.rounds):
                peak.measure()
                for k, call in calls.items():
                    times[k] += run(call, opt.span)
        except KeyboardInterrupt:
            pass
        print("# case\tleast µs\tmedian µs\tpeak GF/s\truntime")
        for (name, label), t in times.items():
            print(f"{name}\t{min(t):.4g}\t{statistics.median(t):.4g}\t{peak.best:.0f}\t{label}")


if __name__ == "__main__":
    main()
