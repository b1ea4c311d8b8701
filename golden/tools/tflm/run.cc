// Calls a network in TFLM once between the marks at which count.c counts, and prints the bytes of
// the arena that are used and the first bytes of the output.
#include "tensorflow/lite/micro/debug_log.h"
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/schema/schema_generated.h"

extern "C" {
#include "harness_support.h"
extern const unsigned char network[];

void abort() { harness_exit(3); }
}

void DebugLog(const char *, va_list) {}

alignas(16) static uint8_t arena[512 * 1024];

extern "C" int harness_main() {
  tflite::MicroMutableOpResolver<7> operators;
  operators.AddConv2D();
  operators.AddDepthwiseConv2D();
  operators.AddFullyConnected();
  operators.AddAveragePool2D();
  operators.AddReshape();
  operators.AddSoftmax();
  operators.AddAdd();
  tflite::MicroInterpreter model(tflite::GetModel(network), operators, arena, sizeof arena);
  if (model.AllocateTensors() != kTfLiteOk) {
    return 1;
  }
  TfLiteTensor *in = model.input(0);
  uint32_t seed = 1;
  for (size_t i = 0; i < in->bytes; i++) {
    seed = seed * 1664525u + 1013904223u;
    in->data.uint8[i] = static_cast<uint8_t>(seed >> 24);
  }
  harness_paint_stack();
  TfLiteStatus status = model.Invoke();
  uint32_t stack = harness_stack_used();
  if (status != kTfLiteOk) {
    return 2;
  }
  harness_print("arena ");
  harness_print_int(static_cast<int32_t>(model.arena_used_bytes()));
  harness_print(" stack ");
  harness_print_int(static_cast<int32_t>(stack));
  harness_print(" output ");
  harness_print_bytes(model.output(0)->data.raw, 16);
  return 0;
}
