#include "ir/onnx/onnx.h"

#include "tests/fuzz/targets.h"

void tilecast::fuzz::onnx(Bytes bytes) {
  (void)ir::is_onnx(bytes);
  answer_or_error([&] { (void)ir::read_onnx(bytes, "fuzz.onnx", {.bound = 8}); });
}
