#!/bin/bash
# Compares what ExecuTorch's stock runtime with its Cortex-M kernels computes from a .pte that
# etgen writes with --dialect=cortex_m with what C computes with --requantize=cmsis-nn. Integers
# have to be equal to the bit; of the rest it shows the largest difference.
#
# compare.sh build EXECUTORCH CMSIS_NN BUILD   builds the runtime for this host in the folder BUILD
# compare.sh BUILD CASE...                     compares cases; QUANTIZE="--calibrate=…" quantizes
#
# EXECUTORCH is a checkout (1.5, of August 2026) with the submodules flatbuffers, flatcc, json,
# gflags and FXdiv; empty folders with an empty CMakeLists.txt will do for json and gflags, and for
# FXdiv one that says add_library(fxdiv INTERFACE). python3 needs torchgen and yaml. ETGEN is the
# etgen to use.
set -e
here=$(cd "$(dirname "$0")" && pwd)
etgen=${ETGEN:-etgen}

if [ "$1" = build ]; then
  et=$(cd "$2" && pwd) nn=$(cd "$3" && pwd)
  mkdir -p "$4/headers" && cd "$4"
  cmake "$et" -DPYTHON_EXECUTABLE="$(command -v python3)" -DCMAKE_BUILD_TYPE=Release \
    -DEXECUTORCH_BUILD_CORTEX_M=ON -DCMSIS_NN_LOCAL_PATH="$nn" \
    -DEXECUTORCH_BUILD_KERNELS_QUANTIZED=ON -DEXECUTORCH_BUILD_EXTENSION_DATA_LOADER=ON \
    -DEXECUTORCH_BUILD_EXECUTOR_RUNNER=OFF -DEXECUTORCH_BUILD_CPUINFO=OFF \
    -DEXECUTORCH_BUILD_PTHREADPOOL=OFF -DEXECUTORCH_ENABLE_LOGGING=ON
  make -j"$(nproc)" executorch portable_ops_lib quantized_ops_lib cortex_m_ops_lib \
    extension_data_loader
  ln -sfn "$et" headers/executorch
  g++ -std=c++17 -O1 -w -DC10_USING_CUSTOM_GENERATED_MACROS -Iheaders \
    -I"$et/runtime/core/portable_type/c10" "$here/run.cpp" -o run \
    -Wl,--whole-archive backends/cortex_m/libcortex_m_ops_lib.a \
    kernels/portable/libportable_ops_lib.a kernels/quantized/libquantized_ops_lib.a \
    libexecutorch.a -Wl,--no-whole-archive backends/cortex_m/libcortex_m_kernels.a \
    kernels/portable/libportable_kernels.a kernels/quantized/libquantized_kernels.a \
    backends/cortex_m/cmsis_nn-build/libcmsis-nn.a \
    kernels/portable/cpu/util/libkernels_util_all_deps.a \
    extension/data_loader/libextension_data_loader.a libexecutorch_core.a
  exit
fi

build=$1 bad=0
shift
for case in "$@"; do
  d=$(mktemp -d)
  model=$case/model.pt2 quantized=()
  [ -f "$model" ] || model=$case/model.pte
  if [ -n "$QUANTIZE" ]; then
    "$etgen" quantize "$model" $QUANTIZE -o "$d/recipe.json" >"$d/log"
    quantized=("--quantize=$d/recipe.json")
  fi
  "$etgen" "$model" "${quantized[@]}" --lang=pte --dialect=cortex_m --name=m -o "$d/pte"
  calls=0 equal=0 most=0
  for first in "$case"/*input_0.bin; do
    ins=("${first%input_0.bin}"input_*.bin) args=()
    for i in "${ins[@]}"; do args+=(-i "$i"); done
    rm -rf "$d/et" "$d/c" && mkdir "$d/et" "$d/c"
    "$build/run" "$d/pte/m.pte" "$d/et" "${ins[@]}" 2>"$d/log" ||
      { echo "$case: the runtime fails:" && head -3 "$d/log" && bad=1 && continue; }
    "$etgen" run "$model" "${quantized[@]}" --requantize=cmsis-nn --via=c "${args[@]}" \
      -o "$d/c" >"$d/log"
    calls=$((calls + 1)) same=1
    for o in "$d"/c/output_*.bin; do cmp -s "$o" "$d/et/${o##*/}" || same=0; done
    equal=$((equal + same))
    [ $same = 1 ] || most=$(python3 - "$d" "$most" <<'P'
import array, glob, os, sys
most = float(sys.argv[2])
for f in glob.glob(sys.argv[1] + "/c/output_*.bin"):
    a, b = (array.array("f", open(p, "rb").read()) for p in (f, f.replace("/c/", "/et/")))
    most = max([most] + [abs(x - y) for x, y in zip(a, b)])
print(most)
P
)
  done
  echo "$case: $equal of $calls calls equal to the bit, float32 differs by $most at most"
  rm -rf "$d"
done
exit $bad
