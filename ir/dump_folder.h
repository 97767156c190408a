// Lists the modules in an XLA dump folder (XLA_FLAGS=--xla_dump_to=DIR) and the compilation stage
// of each.
//
//   module_0001.jit_f.cl_123.before_optimizations.txt                       before
//   module_0001.jit_f.sm_8.0_gpu_after_optimizations.txt                    after
//   module_0001.jit_f.sm_8.0_gpu_after_optimizations-buffer-assignment.txt  no module
#pragma once

#include <string>
#include <vector>

namespace tilecast::ir {

struct DumpedModule {
  std::string path;
  std::string name;   // jit_f
  int id = 0;         // 1 of module_0001
  std::string stage;  // `after_optimizations`, `after_optimizations_after_buffer_assignment` ...
};

struct DumpFolder {
  // Each module once, ordered by id, at the last stage dumped after optimisation; before
  // optimisation if the folder has no optimised module. Text is preferred over a proto of the same
  // stage.
  std::vector<DumpedModule> modules;
  std::vector<std::string> others;  // all other files, sorted by path
};

// Throws Error if the folder cannot be read or holds no module. Thread-safe.
[[nodiscard]] DumpFolder read_dump_folder(const std::string& folder);

}  // namespace tilecast::ir
