// The single entry point for reading programs. The format is recognised by content, not by file
// name.
//
//   Module module = read_module("model.mlir.gz", {});
//
// Formats: HLO text; HloProto, HloModuleProto, HloSnapshot (binary); StableHLO text; ONNX; each
// also gzipped or in a zip archive; and XLA dump folders (the modules after optimisation). Throws
// Error; for an unknown format the message says what was tried and how to dump a supported one.
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
  std::optional<std::int64_t> bound;  // size for every `?` dimension; if absent, `?` is an error
  // Shapes of ONNX inputs with free dimensions: `input=1x3x224x224`.
  std::vector<std::pair<std::string, Dims>> input_shapes;
};

// A folder must hold exactly one module after optimisation; `-` is standard input.
[[nodiscard]] Module read_module(const std::string& path, const ReadOptions& options = {});
// Reads the bytes of a file, which may be gzipped; `file` names it in messages.
[[nodiscard]] Module read_module(base::SourceText file, const ReadOptions& options = {});

// The program files of a path: for a dump folder, the modules after optimisation and the files left
// out; any other path stands for itself.
struct ModuleFiles {
  std::vector<std::string> files;   // at least one
  std::vector<std::string> others;  // files of the folder that were left out
};
[[nodiscard]] ModuleFiles module_files(const std::string& path);

}  // namespace tilecast::ir
