// The ABI between the program and the plugin tilecast_onnx, so that a plugin of another build is
// rejected. The plugin exports these C symbols:
//
//   std::uint64_t tilecast_onnx_module_abi();  // its kOnnxModuleAbi
//   void* tilecast_onnx_module();              // an OnnxReader
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/plugin.h"
#include "ir/hlo.h"
#include "ir/read_module.h"

namespace tilecast::ir {

// Throws Error; messages begin with the file. Thread-safe.
using OnnxReader = Module(std::string_view bytes, const std::string& file,
                          const ReadOptions& options);

// Increment when the meaning of a field of these types changes.
inline constexpr std::uint64_t kOnnxModuleVersion = 1;

inline constexpr std::uint64_t kOnnxModuleAbi =
    base::plugin_abi(kOnnxModuleVersion, {sizeof(Module), sizeof(Computation), sizeof(Instruction),
                                          sizeof(OpAttrs), sizeof(Shape), sizeof(ReadOptions)});

}  // namespace tilecast::ir
