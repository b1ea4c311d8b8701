#!/usr/bin/env python3
"""Runs programs that etgen delegates to XNNPACK in ExecuTorch's runtime with the real XNNPACK.

compare.py RUN ETGEN CASE...: RUN is what build.sh builds. A case with a model.pte is run as it is. All calls of meta.json are made, and
the results compared with eager mode's. The exit code is 1 if one differs by more than the tolerance, or is refused.
"""

import array
import glob
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

CODES = {"float32": "f", "float64": "d", "int64": "q", "int32": "i", "int16": "h", "int8": "b", "uint8": "B", "bool": "B"}
TOLERANCES = {"float16": 1e-2, "bfloat16": 1e-2}
KEEP = os.environ.get("KEEP")


def argument(case, x):
    if x["kind"] == "tensor":
        return os.path.join(case, x["file"]) + ":" + "x".join(map(str, x["shape"]))
    return x["kind"] + ":" + str(x.get("value", "")) if x["kind"] != "NoneType" else "none:"


def numbers(path, dtype):
    with open(path, "rb") as f:
        raw = f.read()
    if dtype == "float16":
        return struct.unpack(f"<{len(raw) // 2}e", raw)
    if dtype == "bfloat16":
        return array.array("f", b"".join(b"\0\0" + raw[i : i + 2] for i in range(0, len(raw), 2)))
    return array.array(CODES[dtype], raw) if dtype in CODES else raw


def difference(got, want):
    """The largest difference, of numbers larger than 1 relative to them; 2 ** 99 for other sizes."""
    if len(got) != len(want):
        return 2.0**99
    most = 0.0
    for a, b in zip(got, want):
        if a != b and not (math.isnan(a) and math.isnan(b)):
            d = abs(a - b) / max(1, abs(b))
            most = max(most, 2.0**98 if math.isnan(d) else d)
    return most


def compare(run, etgen, case, folder):
    """Returns a line, and whether all is right; None for a case of which XNNPACK takes nothing."""
    with open(os.path.join(case, "meta.json")) as f:
        meta = json.load(f)
    program, inside = os.path.join(case, "model.pte"), ""
    if not os.path.exists(program):
        made = subprocess.run([etgen, os.path.join(case, "model.pt2"), "--lang=pte", "--backend=xnnpack", "--show-backends", "--name=m", "-o", folder, *os.environ.get("FLAGS", "").split()],
                              capture_output=True, text=True)  # fmt: skip
        if made.returncode:
            return "etgen: " + made.stderr[:300], False
        with open(os.path.join(folder, "log"), "w") as f:
            f.write(made.stdout)
        found = re.search(r"xnnpack.*", made.stdout)
        program, inside = os.path.join(folder, "m.pte"), str(made.stdout.count("xnnpack"))
        with open(program, "rb") as f:
            if not found or b"XnnpackBackend" not in f.read():
                return None, True
    calls, args = [meta, *(r for r in meta.get("runs", []) if "refused" not in r)], []
    for c in calls:
        args += ["--", *(argument(case, x) for x in c["inputs"])]
    done = subprocess.run([run, program, folder, *args[1:]], capture_output=True, text=True, errors="replace")
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("E ") or ": error" in line]
        return "the runtime: " + " | ".join(errors or done.stderr.splitlines()[-1:])[:600], False
    most, equal = 0.0, True
    # What the method writes into its inputs comes before its results.
    made = len(glob.glob(os.path.join(folder, "output_*.bin")))
    ahead = max(made - sum(x["kind"] == "tensor" for x in meta["outputs"]), 0)
    for i, c in enumerate(calls):
        for k, x in enumerate(c["outputs"], ahead):
            if x["kind"] != "tensor":
                continue
            path = os.path.join(folder, (f"run{i}_" if i else "") + f"output_{k}.bin")
            if not os.path.exists(path):
                return f"call {i} has no result {k}", False
            got, want = numbers(path, x["dtype"]), numbers(os.path.join(case, x["file"]), x["dtype"])
            d = difference(got, want)
            most, equal = max(most, d), equal and d <= TOLERANCES.get(x["dtype"], 1e-4)
    return f"{inside} {len(calls)} calls, {most:.1e}", equal


def main():
    run, etgen, *cases = sys.argv[1:]
    bad = 0
    for case in map(os.path.normpath, cases):
        with tempfile.TemporaryDirectory() as folder:
            if KEEP:
                folder = os.path.join(KEEP, os.path.basename(case))
                shutil.rmtree(folder, ignore_errors=True)
                os.makedirs(folder)
            line, ok = compare(run, etgen, case, folder)
        if line is not None:
            print(("" if ok else "BAD ") + os.path.basename(case) + ": " + line, flush=True)
        bad += not ok
    sys.exit(min(bad, 1))


main()
