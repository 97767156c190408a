// Reads a trace of PyTorch's profiler (*.pt.trace.json, may be gzipped): the time of every operator
// on the device, with the shapes that it was called with.
//
//   TorchTrace trace = read_torch_trace("step.pt.trace.json.gz");
//   trace.ops.front().name   // "aten::addmm"
//
// Kernels, memsets and copies are of the operator that launched them: of the CPU's event with the
// same "External id", else of the one whose launch has the same "correlation" (kineto's format).
// All that one call launched is one occurrence. Calls of one operator with equal shapes, types and
// lists of numbers (strides, dimensions ...) are one. Memory grows with the number of calls.
// Throws Error. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/shape.h"
#include "measured/importers/xplane.h"

namespace tilecast::measured {

struct TorchArgument {
  std::string type;              // "c10::BFloat16", "TensorList", "ScalarList", "Scalar"; or empty
  std::vector<ir::Dims> shapes;  // of a tensor, or those of a list; empty: no array
  bool transposed = false;       // a matrix that is stored column by column
  std::string value;             // of a number or a list, as written: "[2, 2]", "True"
};

struct TorchOp {
  std::string name;                      // "aten::addmm"; a kernel's if nothing says what called it
  std::vector<TorchArgument> arguments;  // empty if shapes were not recorded
  XplaneTimes times;                     // per call; category: "kernel", "memcpy" or "memset"

  // Whether the shape of any argument is known.
  [[nodiscard]] bool has_shapes() const;
  // "aten::sum bf16[16384,2048] [0]"
  [[nodiscard]] std::string describe() const;
};

struct TorchTrace {
  XplaneDevice device;
  std::vector<TorchOp> ops;  // most time first
  Seconds device_time;       // of all ops; without copies to and from the host
  std::vector<std::string> notes;
};

// Whether the file is such a trace, by its first bytes; false if it cannot be read.
[[nodiscard]] bool is_torch_trace(const std::string& path);

[[nodiscard]] TorchTrace read_torch_trace(
    const std::string& path, const std::function<void(double)>& progress = [](double) {});

// The HLO name of a type of PyTorch: "bf16" of "c10::BFloat16"; empty if there is none.
[[nodiscard]] std::string hlo_type(std::string_view type);

}  // namespace tilecast::measured
