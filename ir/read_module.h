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
#include <utility>
#include <vector>

#include "base/source_text.h"
#include "ir/hlo.h"

namespace tilecast::ir {

struct ReadOptions {
  bool strict = false;                // unknown HLO attributes are errors
  std::optional<std::int64_t> bound;  // size of every dimension that is `?`; without it: an error
  // Shapes of ONNX inputs with free dimensions: `input=1x3x224x224`.
  std::vector<std::pair<std::string, Dims>> input_shapes;
};

// A folder must hold one module after optimisation; `-` is standard input.
[[nodiscard]] Module read_module(const std::string& path, const ReadOptions& options = {});
// The bytes of a file, perhaps gzipped; `file` names them in messages.
[[nodiscard]] Module read_module(base::SourceText file, const ReadOptions& options = {});

// The files of a path that are programs: those after optimisation of a dump folder, and how many
// others it holds; any other path is its own.
struct ModuleFiles {
  std::vector<std::string> files;   // at least one
  std::vector<std::string> others;  // of the folder, left out
};
[[nodiscard]] ModuleFiles module_files(const std::string& path);

}  // namespace tilecast::ir
