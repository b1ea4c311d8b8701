#!/bin/bash
# Counts the instructions of one call of MLPerf Tiny's networks in TFLM with its reference
# kernels, in QEMU, all of them, as golden/boards does for etgen's C:
#
# count.sh TFLM FLATBUFFERS GEMMLOWP RUY BUILD NETWORK.tflite...
#
# The first four are checkouts of tensorflow/tflite-micro, google/flatbuffers, google/gemmlowp and
# google/ruy; networks are in benchmark/training of mlcommons/tiny. BUILD keeps what is compiled.
# A line has the core, the network, instructions, bytes of code and of the arena, and the first
# bytes of the output. It needs what golden/boards needs, and libstdc++-arm-none-eabi-dev: its
# headers serve RISC-V too, for which Debian has none.
set -e
here=$(cd "$(dirname "$0")" && pwd)
support=$here/../../baremetal/support
tflm=$(cd "$1" && pwd) flatbuffers=$(cd "$2" && pwd)
gemmlowp=$(cd "$3" && pwd) ruy=$(cd "$4" && pwd)
build=$5
shift 5
mkdir -p "$build"
build=$(cd "$build" && pwd)
gcc -O2 -shared -fPIC -o "$build/count.so" "$support/count.c"

# The schema's code refuses headers of a release other than its own; any will do here.
mkdir -p "$build/include/tensorflow/lite/schema"
sed '/^static_assert(FLATBUFFERS_VERSION_MAJOR/,/);/d' \
  "$tflm/tensorflow/lite/schema/schema_generated.h" \
  >"$build/include/tensorflow/lite/schema/schema_generated.h"

lite=$tflm/tensorflow/lite
kernels=()
for k in conv depthwise_conv fully_connected pooling reshape softmax add; do
  kernels+=("$lite/micro/kernels/$k.cc" "$lite/micro/kernels/${k}_common.cc")
done
sources=$(ls "$lite"/core/api/*.cc "$lite"/core/c/common.cc "$lite"/kernels/*.cc \
  "$lite"/kernels/internal/*.cc "$lite"/kernels/internal/reference/portable_tensor_utils.cc \
  "$lite"/micro/*.cc "$lite"/micro/arena_allocator/*.cc "$lite"/micro/memory_planner/*.cc \
  "$lite"/micro/tflite_bridge/*.cc "$lite/micro/kernels/kernel_util.cc" "${kernels[@]}" \
  "$tflm"/tensorflow/compiler/mlir/lite/schema/schema_utils.cc |
  grep -v '_test\.cc\|test_helper\|mock_\|fake_\|debug_log\|compression')

# core CORE TOOL LINKER-SCRIPT EMULATOR START FLAGS...
core() {
  core=$1 tool=$2 memory=$3 emulator=$4 start=$5
  shift 5
  local flags=("$@" -O3 -ffunction-sections -fdata-sections)
  local cxx=("${flags[@]}" -std=c++17 -w -fno-exceptions -fno-rtti -fno-threadsafe-statics
    -fno-unwind-tables -DNDEBUG -DTF_LITE_STATIC_MEMORY -DTF_LITE_STRIP_ERROR_STRINGS
    "-I$build/include" "-I$tflm" "-I$flatbuffers/include" "-I$gemmlowp" "-I$ruy")
  local objects=$build/$core
  mkdir -p "$objects"
  for s in $sources; do
    o=$objects/$(echo "${s#"$tflm/tensorflow/"}" | tr / _).o
    [ -f "$o" ] || echo "$s $o"
  done | xargs -r -P"$(nproc)" -L1 sh -c "${tool}g++ ${cxx[*]} -c \$0 -o \$1"
  "${tool}g++" "${cxx[@]}" "-I$support" -c "$here/run.cc" -o "$objects/harness_run.o"
  for s in $start harness_support.c; do
    "${tool}gcc" "${flags[@]}" -c "$support/$s" -o "$objects/harness_${s%.*}.o"
  done
  for network in "${networks[@]}"; do
    local elf=$objects/$(basename "$network" .tflite).elf
    echo ".section .rodata.network, \"a\"
      .balign 16
      .global network
      network: .incbin \"$network\"" | "${tool}gcc" "${flags[@]}" -x assembler -c - \
      -o "$objects/network.o"
    "${tool}gcc" "${flags[@]}" -nostartfiles -T "$memory" -L "$support" \
      -Wl,--gc-sections,--no-warn-rwx-segments,--defsym=end=bss_end -o "$elf" "$objects"/*.o -lm
    at() { "${tool}nm" "$elf" | sed -n "s/^\\([0-9a-f]*\\) . $1\$/0x\\1/p"; }
    read -r size text < <("${tool}readelf" -SW "$elf" |
      sed -n 's/.* \.text *PROGBITS *\([0-9a-f]*\) [0-9a-f]* \([0-9a-f]*\) .*/\2 \1/p')
    args="lo=0x$text,hi=$((0x$text + 0x$size))"
    args+=",begin=$(at harness_paint_stack),end=$(at harness_stack_used)"
    # shellcheck disable=SC2086
    out=$($emulator -display none -serial none -monitor none -chardev stdio,id=c,mux=off \
      -semihosting-config enable=on,target=native,chardev=c -kernel "$elf" \
      -plugin "$build/count.so,$args,to=$objects/counted")
    echo "$core $(basename "$network" .tflite) $(cat "$objects/counted") code $((0x$size)) $out"
  done
}

newlib=$(echo /usr/include/newlib/c++/*)
networks=()
for n in "$@"; do
  networks+=("$(realpath "$n")")
done
core m0plus arm-none-eabi- "$support/mps2.ld" "qemu-system-arm -M mps2-an386" \
  "harness_reset.S harness_start.c" -mcpu=cortex-m0plus -mthumb -mfloat-abi=soft
core rv32imac riscv64-unknown-elf- "$support/virt.ld" "qemu-system-riscv32 -M virt -bios none" \
  "harness_reset_riscv.S harness_start_riscv.c" -march=rv32imac -mabi=ilp32 -mcmodel=medany \
  --specs=picolibc.specs "-isystem$newlib" "-isystem$newlib/arm-none-eabi/thumb/v6-m/nofp"
