// What the program and the module tilecast_onnx agree on, so that a module of another build is
// refused instead of misread. Exported by the module as C symbols:
//
//   std::uint64_t tilecast_onnx_module_abi();  // kOnnxModuleAbi of its build
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

// To be raised when a field of these changes its meaning.
inline constexpr std::uint64_t kOnnxModuleVersion = 1;

inline constexpr std::uint64_t kOnnxModuleAbi =
    base::plugin_abi(kOnnxModuleVersion, {sizeof(Module), sizeof(Computation), sizeof(Instruction),
                                          sizeof(OpAttrs), sizeof(Shape), sizeof(ReadOptions)});

}  // namespace tilecast::ir
