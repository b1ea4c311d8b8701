#!/bin/sh
# Records what CMSIS-NN's plain C code computes for random calls of ExecuTorch's
# cortex_m operators: record.sh CMSIS-NN-FOLDER writes
# kernels/interp/testdata/cortex_m/*.txt. It needs a C compiler of the host.
set -eu
cmsis=$1
here=$(cd "$(dirname "$0")" && pwd)
to=$here/../../../kernels/interp/testdata/cortex_m
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$to"
(cd "$tmp" && cc -O1 -fwrapv -c -I"$cmsis/Include" "$cmsis"/Source/*/*_s8*.c "$cmsis"/Source/*/arm_q7*.c && ar rc all.a ./*.o)
for f in convolution elementwise product softmax window; do
    cc -O1 -fwrapv -ffp-contract=off -Wall -Wextra -Wno-unused-function -I"$cmsis/Include" -I"$here" "$here/$f.c" "$tmp/all.a" -lm -o "$tmp/$f"
    "$tmp/$f" >"$to/$f.txt"
done
