#!/bin/bash
# Builds ExecuTorch's runtime for this host with its XNNPACK backend and Debian's XNNPACK:
# build.sh BUILD SID writes BUILD/xnnpack/run. BUILD is a folder that ../cortex_m/compare.sh build
# has made, SID Debian sid in a folder (see ../README.md) with libxnnpack-dev installed and the
# header of libpthreadpool-dev, whose version another package asks for: apt-get download and dpkg -x.
# Only headers and libraries of SID are used, and its dynamic linker.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
et=$(readlink -f headers/executorch)
lib=$(echo "$2"/usr/lib/*-linux-gnu)
mkdir -p xnnpack/include/executorch/{extension/{threadpool,flat_tensor/serialize},backends/xnnpack/serialization}
# One thread: all results come in one order.
cat >xnnpack/include/executorch/extension/threadpool/threadpool.h <<'H'
#include <pthreadpool.h>
namespace executorch::extension::threadpool {
inline pthreadpool_t get_pthreadpool() { return nullptr; }
}
H
cp "$2"/usr/include/{xnnpack,pthreadpool}.h xnnpack/include
third-party/flatc_ep/bin/flatc --cpp --cpp-std c++11 --scoped-enums -o xnnpack \
  "$et/backends/xnnpack/serialization/runtime_schema.fbs"
mv xnnpack/runtime_schema_generated.h \
  xnnpack/include/executorch/backends/xnnpack/serialization/schema_generated.h
third-party/flatc_ep/bin/flatc --cpp --cpp-std c++11 --scoped-enums \
  -o xnnpack/include/executorch/extension/flat_tensor/serialize \
  "$et"/extension/flat_tensor/serialize/{flat_tensor,scalar_type}.fbs
for f in "$et"/backends/xnnpack/runtime/{,*/}*.cpp "$et"/extension/flat_tensor/{,serialize/}flat*.cpp \
  "$here/../cortex_m/run.cpp"; do
  g++ -std=c++17 -O1 -w -DDATA -DC10_USING_CUSTOM_GENERATED_MACROS -DET_LOG_ENABLED=1 -Ixnnpack/include \
    -Iheaders -I"$et/runtime/core/portable_type/c10" -Ithird-party/flatc_ep/include \
    -I"$et/third-party/json/single_include" -c "$f" -o "xnnpack/$(basename "$f" .cpp).o"
done
g++ xnnpack/*.o -o xnnpack/run -Wl,--whole-archive kernels/portable/libportable_ops_lib.a \
  kernels/quantized/libquantized_ops_lib.a libexecutorch.a -Wl,--no-whole-archive \
  kernels/portable/libportable_kernels.a kernels/quantized/libquantized_kernels.a \
  kernels/portable/cpu/util/libkernels_util_all_deps.a \
  extension/data_loader/libextension_data_loader.a libexecutorch_core.a \
  "$lib"/{libXNNPACK.so,libpthreadpool.so.0,libcpuinfo.so.0} -Wl,--allow-shlib-undefined \
  -Wl,--dynamic-linker="$(echo "$lib"/ld-linux-*.so.*)" -Wl,--disable-new-dtags,-rpath,"$lib"
