// Reads ONNX graphs as a Module, op by op. The reader is a plugin that is loaded on first use,
// because libonnx and its schemas would cost every process 12 ms.
//
// Shapes are computed op by op; free dimensions need ReadOptions::input_shapes. Throws Error, also
// for unsupported ops: the message names them with their number of nodes. Thread-safe. Source:
// onnx.ai/onnx/operators.
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
