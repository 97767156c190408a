// The one way in for programs: a file of any form we read, told by its content, not its name.
//
//   Module module = read_module("model.mlir.gz", {});
//
// Forms: HLO text; HloProto, HloModuleProto, HloSnapshot (binary); StableHLO text; ONNX; each also
// gzipped or in a zip archive; a folder that XLA dumped into (the modules after optimisation).
// Throws Error; of an unknown form it says what was tried and how to dump one that is known.
// Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/hlo.h"

namespace tilecast::ir {

struct ReadOptions {
  bool strict = false;                // unknown HLO attributes are errors
  std::optional<std::int64_t> bound;  // size of every dimension that is `?`; without it: an error
  // Shapes of ONNX inputs with free dimensions: `input=1x3x224x224`.
  std::vector<std::pair<std::string, Dims>> input_shapes;
};

[[nodiscard]] Module read_module(const std::string& path, const ReadOptions& options);
// Each module of a dump folder, or the one of a file.
[[nodiscard]] std::vector<std::string> module_files(const std::string& path);

}  // namespace tilecast::ir
