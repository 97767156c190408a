// A folder that XLA dumped into (XLA_FLAGS=--xla_dump_to=DIR): which files are modules, of which
// stage of compilation.
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
  // Each module once, by id, at the last stage that was dumped after optimisation, as text where
  // there is text and proto; before optimisation in a folder without any after.
  std::vector<DumpedModule> modules;
  std::vector<std::string> others;  // every other file, by path
};

// Throws Error where the folder cannot be read or holds no module. Thread-safe.
[[nodiscard]] DumpFolder read_dump_folder(const std::string& folder);

}  // namespace tilecast::ir
