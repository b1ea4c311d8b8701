// run PROGRAM OUTDIR INPUT... [-- INPUT...]...: the stock ExecuTorch runtime calls the first method
// of a program with raw inputs, and writes OUTDIR/output_K.bin, for further calls
// OUTDIR/runN_output_K.bin. An input is FILE or, where its sizes vary, FILE:2x3; int:N, float:X and
// bool:N are numbers, none: is nothing. With SECONDS in the environment it repeats the last call for so
// long and prints the least time, in µs. compare.sh builds it.
#include <executorch/extension/data_loader/file_data_loader.h>
#ifdef DATA
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#endif
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <vector>

using namespace executorch::runtime;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;

static int fail(const std::string& what, int error) {
  fprintf(stderr, "%s: error %d\n", what.c_str(), error);
  return 1;
}

// What inputs keep until the call is done.
struct Input {
  std::vector<char> data, memory;
  std::vector<int32_t> sizes, strides;
  std::vector<uint8_t> order;
  std::unique_ptr<TensorImpl> impl;
};

// Copies elements between logical order and a tensor's order in memory.
static void copy(const Tensor& t, char* logical, bool out) {
  const size_t size = t.element_size();
  std::vector<int32_t> at(t.dim());
  for (ssize_t i = 0; i < t.numel(); i++) {
    ssize_t offset = 0;
    for (ssize_t d = 0; d < t.dim(); d++) offset += at[d] * t.strides()[d];
    char* memory = (char*)t.mutable_data_ptr() + offset * size;
    memcpy(out ? logical + i * size : memory, out ? memory : logical + i * size, size);
    for (ssize_t d = t.dim(); d-- > 0 && ++at[d] == t.sizes()[d];) at[d] = 0;
  }
}

static Error set(Method& method, const std::string& arg, size_t i, Input& in) {
  const size_t colon = arg.find(':');
  const std::string kind = arg.substr(0, colon), rest = arg.substr(colon + 1);
  if (kind == "int") return method.set_input(EValue((int64_t)atoll(rest.c_str())), i);
  if (kind == "bool") return method.set_input(EValue(rest != "0"), i);
  if (kind == "float") return method.set_input(EValue(atof(rest.c_str())), i);
  if (kind == "none") return method.set_input(EValue(), i);
  if (!method.get_input(i).isTensor()) return Error::InvalidArgument;
  const Tensor to = method.get_input(i).toTensor();
  in.order.assign(to.dim_order().begin(), to.dim_order().end());
  in.sizes.assign(to.sizes().begin(), to.sizes().end());
  if (colon != std::string::npos) {
    in.sizes.clear();
    for (const char* p = rest.c_str(); *p; p += *p == 'x')
      in.sizes.push_back(strtol(p, const_cast<char**>(&p), 10));
  }
  std::ifstream f(kind, std::ios::binary);
  in.data.assign((std::istreambuf_iterator<char>(f)), {});
  in.strides.resize(in.sizes.size());
  int32_t n = 1;
  for (size_t d = in.sizes.size(); d-- > 0;) {
    in.strides[in.order[d]] = n;
    n *= in.sizes[in.order[d]];
  }
  in.memory.resize(in.data.size());
  in.impl = std::make_unique<TensorImpl>(to.scalar_type(), in.sizes.size(), in.sizes.data(),
      in.memory.data(), in.order.data(), in.strides.data(), TensorShapeDynamism::DYNAMIC_UNBOUND);
  if (in.impl->nbytes() != in.data.size()) return Error::InvalidArgument;
  copy(Tensor(in.impl.get()), in.data.data(), false);
  return method.set_input(EValue(Tensor(in.impl.get())), i);
}

int main(int argc, char** argv) {
  runtime_init();
  auto loader = executorch::extension::FileDataLoader::from(argv[1]);
  if (!loader.ok()) return fail(argv[1], (int)loader.error());
  auto program = Program::load(&loader.get(), Program::Verification::InternalConsistency);
  if (!program.ok()) return fail("load", (int)program.error());
  const char* name = program->get_method_name(0).get();
  auto meta = program->method_meta(name);
  if (!meta.ok()) return fail("method_meta", (int)meta.error());

  // Memory starts with garbage: what a kernel does not write shows.
  constexpr size_t align = 64;
  std::vector<std::vector<uint8_t>> buffers;
  std::vector<Span<uint8_t>> spans;
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); i++) {
    const size_t size = meta->memory_planned_buffer_size(i).get();
    buffers.emplace_back(size + align, 0xA5);
    auto at = ((uintptr_t)buffers.back().data() + align - 1) / align * align;
    spans.emplace_back((uint8_t*)at, size);
  }
  HierarchicalAllocator planned({spans.data(), spans.size()});
  std::vector<uint8_t> pool(64 << 20), temp(64 << 20);
  MemoryAllocator pools(pool.size(), pool.data()), temps(temp.size(), temp.data());
  MemoryManager manager(&pools, &planned, &temps);
  NamedDataMap* data = nullptr;
#ifdef DATA
  // Weights that are outside of the program lie beside it, in NAME.ptd.
  using executorch::extension::FlatTensorDataMap;
  const auto beside = std::string(argv[1]).replace(strlen(argv[1]) - 3, 3, "ptd");
  const bool there = std::ifstream(beside).good();
  auto outside = executorch::extension::FileDataLoader::from(there ? beside.c_str() : argv[1]);
  if (!outside.ok()) return fail(beside, (int)outside.error());
  auto map = there ? FlatTensorDataMap::load(&outside.get()) : Result<FlatTensorDataMap>(Error::NotFound);
  if (map.ok()) data = &map.get();
  else if (there) return fail(beside, (int)map.error());
#endif
  auto method = program->load_method(name, &manager, nullptr, data);
  if (!method.ok()) return fail("load_method", (int)method.error());

  int arg = 3;
  for (int call = 0; call == 0 || arg < argc; call++) {
    std::list<Input> inputs;
    for (size_t i = 0; arg < argc && strcmp(argv[arg], "--"); i++, arg++) {
      inputs.emplace_back();
      const auto e = set(*method, argv[arg], i, inputs.back());
      if (e != Error::Ok) return fail(argv[arg], (int)e);
    }
    arg++;
    const auto e = method->execute();
    if (e != Error::Ok) return fail("execute", (int)e);
    const std::string run = call == 0 ? "/" : "/run" + std::to_string(call) + "_";
    for (size_t k = 0; k < method->outputs_size(); k++) {
      auto& out = method->get_output(k);
      if (!out.isTensor()) continue;
      std::ofstream f(argv[2] + run + "output_" + std::to_string(k) + ".bin", std::ios::binary);
      std::vector<char> data(out.toTensor().nbytes());
      copy(out.toTensor(), data.data(), true);
      f.write(data.data(), data.size());
    }
    // Programs without state, whose inputs execute leaves as they are.
    if (const char* seconds = getenv("SECONDS"); seconds && arg >= argc) {
      using clock = std::chrono::steady_clock;
      using microseconds = std::chrono::duration<double, std::micro>;
      double least = 1e30;
      for (auto end = clock::now() + std::chrono::duration<double>(atof(seconds)); clock::now() < end;) {
        const auto start = clock::now();
        if (method->execute() != Error::Ok) return fail("execute", 0);
        least = std::min(least, microseconds(clock::now() - start).count());
      }
      printf("%g\n", least);
    }
  }
  return 0;
}
