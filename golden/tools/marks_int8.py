"""Prints what etgen, XNNPACK and ONNX Runtime take for models quantized to int8: the table in docs/comparison.md.

python3 marks_int8.py [--rounds N] [--for SECONDS] ETGEN RUN SID [CASE...]

ETGEN is the command, RUN the runtime that xnnpack_runtime/build.sh makes, SID Debian sid in a folder (see README.md) with
python3-onnx and python3-onnxruntime. A case is a folder's end, models/lenet or cases/mlp784. The first input calibrates all:
etgen's C and Go and XNNPACK have the same recipe, of `etgen quantize --backend=xnnpack`; ONNX Runtime quantizes the net by itself,
to QLinear operators with a scale for each channel. One thread; the ways take turns, and the least time counts, in µs.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CASES = ["models/trained_ic01", "models/trained_kws01", "models/trained_vww01", "models/lenet", "models/trained_ad01", "models/tv_mobilenet_v2", "cases/mlp784"]

# Several programs: in Debian, what onnx and ONNX Runtime register of ONNX's operators is not the same, and inferring shapes crashes.
BEGIN = '''
import sys, time, numpy
folder, shape, seconds = sys.argv[1], [int(n) for n in sys.argv[2].split("x")], float(sys.argv[3])
x = numpy.fromfile(folder + "/input_0.bin", numpy.float32).reshape(shape)
'''
EXPORT = BEGIN + '''
import torch
module, args = torch.export.load(folder + "/model.pt2").module(), (torch.from_numpy(x),)
with torch.inference_mode():
    traced = torch.jit.trace(module, args, check_trace=False)
    torch.onnx.export(traced, args, folder + "/float.onnx", dynamo=False, opset_version=17, input_names=["x"])
'''
FOLD = BEGIN + '''
import onnxruntime
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
options.optimized_model_filepath = folder + "/folded.onnx"
onnxruntime.InferenceSession(folder + "/float.onnx", options, providers=["CPUExecutionProvider"])
'''
SHAPES = BEGIN + '''
import onnx
onnx.shape_inference.infer_shapes_path(folder + "/folded.onnx", folder + "/plain.onnx")
'''
QUANTIZE = BEGIN + '''
import shutil, onnx.shape_inference
onnx.shape_inference.infer_shapes_path = lambda path, to, *rest, **more: shutil.copy(path, to)
onnx.shape_inference.infer_shapes = lambda model, *rest, **more: model
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
class Reader(CalibrationDataReader):
    left = [{"x": x}]
    def get_next(self): return self.left.pop() if self.left else None
quantize_static(folder + "/plain.onnx", folder + "/int8.onnx", Reader(), quant_format=QuantFormat.QOperator, per_channel=True)
'''
TIME = BEGIN + '''
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(folder + "/int8.onnx", options, providers=["CPUExecutionProvider"])
binding = session.io_binding()
binding.bind_cpu_input("x", x)
for out in session.get_outputs(): binding.bind_output(out.name)
least, end = 1e30, time.perf_counter() + seconds
while time.perf_counter() < end:
    start = time.perf_counter_ns()
    session.run_with_iobinding(binding)
    least = min(least, (time.perf_counter_ns() - start) / 1e3)
print(least)
'''


def run(*args, **env):
    done = subprocess.run(args, env={**os.environ, **env}, capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line and "Schema error" not in line]  # of Debian's onnx
        raise RuntimeError(f"{args[0]}: " + " ".join(said)[-1000:])
    return done.stdout


class Ways:
    """The ways of a case by their names, each a function of seconds that returns the least time of a call."""

    def __init__(self, opt, name, scratch):
        case = os.path.join(ROOT, "golden", name) if name.startswith("cases/") else os.path.join(ROOT, "..", "shared", name)
        self.folder, model = scratch, os.path.join(scratch, "model.pt2")
        for file in os.listdir(case):
            if file.endswith((".bin", ".json")) or file == "model.pt2":
                shutil.copy(os.path.join(case, file), scratch)
        with open(os.path.join(case, "meta.json")) as f:
            shape = json.load(f)["inputs"][0]["shape"]
        recipe = os.path.join(scratch, "recipe.json")
        run(opt.etgen, "quantize", model, "--calibrate=" + case, "--backend=xnnpack", "-o", recipe)
        program = os.path.join(scratch, "model.pte", "model.pte")
        run(opt.etgen, model, "--quantize=" + recipe, "--backend=xnnpack", "--lang=pte", "-o", os.path.dirname(program))

        def bench(seconds, *flags):
            out = json.loads(run(opt.etgen, "bench", scratch, f"--for={seconds}s", "--json", *flags))
            return out["ways"][0]["best_us"]

        native = ("--via=c", "--cflags=-O3 -march=native")
        self.ways = {
            "XNNPACK int8": lambda s: float(run(opt.run, program, scratch, os.path.join(scratch, "input_0.bin"), SECONDS=str(s))),
            "C int8": lambda s: bench(s, *native, "--quantize=" + recipe),
            "C float32": lambda s: bench(s, *native),
            "Go int8": lambda s: bench(s, "--via=go", "--quantize=" + recipe),
            "Go float32": lambda s: bench(s, "--via=go"),
        }
        inside = os.path.join(opt.sid, scratch.lstrip("/"))
        shutil.copytree(scratch, inside)

        def onnx(program, seconds=0):
            return run("chroot", opt.sid, "python3", "-c", program, scratch, "x".join(map(str, shape)), str(seconds))

        try:
            for step in (EXPORT, FOLD, SHAPES, QUANTIZE):
                onnx(step)
        except RuntimeError as e:  # it does not quantize channels whose weights are nearly zeros
            print(f"{name}: ONNX Runtime: {str(e)[-300:]}", file=sys.stderr)
            return
        self.ways["ONNX Runtime int8"] = lambda s: float(onnx(TIME, s))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("etgen")
    p.add_argument("run")
    p.add_argument("sid")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--for", type=float, default=0.5, dest="span", help="seconds of a way's turn")
    p.add_argument("cases", nargs="*", default=CASES)
    opt = p.parse_args()
    for name in opt.cases:
        with tempfile.TemporaryDirectory() as scratch:
            folder = os.path.join(scratch, "case")
            os.mkdir(folder)
            try:
                ways, least = Ways(opt, name, folder).ways, {}
                for _ in range(opt.rounds):
                    for label, time in ways.items():
                        least[label] = min(least.get(label, 1e30), time(opt.span))
            finally:
                shutil.rmtree(os.path.join(opt.sid, scratch.lstrip("/")), ignore_errors=True)
            print(name, *(f"{label} {t:.4g}" for label, t in least.items()), sep="\t", flush=True)


if __name__ == "__main__":
    main()
