// run PROGRAM OUTDIR INPUT...: the stock ExecuTorch runtime calls the method forward of a program
// with raw inputs and writes OUTDIR/output_K.bin. compare.sh builds it.
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace executorch::runtime;

static int fail(const char* what, int error) {
  fprintf(stderr, "%s: error %d\n", what, error);
  return 1;
}

int main(int argc, char** argv) {
  runtime_init();
  auto loader = executorch::extension::FileDataLoader::from(argv[1]);
  if (!loader.ok()) return fail(argv[1], (int)loader.error());
  auto program = Program::load(&loader.get(), Program::Verification::InternalConsistency);
  if (!program.ok()) return fail("load", (int)program.error());
  auto meta = program->method_meta("forward");
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
  auto method = program->load_method("forward", &manager);
  if (!method.ok()) return fail("load_method", (int)method.error());

  for (int i = 3; i < argc; i++) {
    std::ifstream f(argv[i], std::ios::binary);
    std::vector<char> data((std::istreambuf_iterator<char>(f)), {});
    auto info = meta->input_tensor_meta(i - 3);
    auto& in = method->mutable_input(i - 3);
    if (!info.ok() || info->nbytes() != data.size() || !in.isTensor())
      return fail(argv[i], (int)data.size());
    memcpy(in.toTensor().mutable_data_ptr(), data.data(), data.size());
    const auto e = method->set_input(in, i - 3);
    if (e != Error::Ok) return fail(argv[i], (int)e);
  }
  const auto e = method->execute();
  if (e != Error::Ok) return fail("execute", (int)e);
  for (size_t k = 0; k < method->outputs_size(); k++) {
    auto& out = method->get_output(k);
    if (!out.isTensor()) continue;
    std::ofstream f(argv[2] + ("/output_" + std::to_string(k)) + ".bin", std::ios::binary);
    f.write((const char*)out.toTensor().const_data_ptr(), out.toTensor().nbytes());
  }
  return 0;
}
