// ONNX graphs -> Module, op by op. The reader stands in a module of its own that is loaded on first
// use (libonnx and its schemas cost every process 12 ms).
//
// Shapes are computed op by op; free dimensions need ReadOptions::input_shapes. Throws Error;
// ops that have no mapping are named with the number of nodes that were lost. Thread-safe.
// Source: onnx.ai/onnx/operators.
#pragma once

#include <string>
#include <string_view>

#include "ir/hlo.h"
#include "ir/read_module.h"

namespace tilecast::ir {

// Whether the bytes look like an ONNX ModelProto: cheap, never throws, loads nothing.
[[nodiscard]] bool is_onnx(std::string_view bytes);
[[nodiscard]] Module read_onnx(std::string_view bytes, const std::string& file,
                               const ReadOptions& options);

}  // namespace tilecast::ir
