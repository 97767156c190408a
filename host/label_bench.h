// Labels of kernels from a compiler, without running: the tools of a labelling session.
//
//   const LabelBench bench = label_bench();
//   LabelledFile made = bench.label(source, {"kernel_0", "kernel_1"});
//
// The target is fixed (znver3, 16 vector registers of 32 bytes), so that labels are those of the
// compiler's version and flags on whatever machine it runs. What would make the code of a function
// depend on its neighbours in a file is switched off: folding equal functions, clones for one
// caller, limits on how much a file may grow. Vector spills are told by -fverbose-asm. Thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "analytical/tile.h"
#include "host/c_kernel.h"
#include "ir/kernel.h"
#include "measured/measurement_set.h"

namespace tilecast::host {

// What a label is, in the order of values: host/kernel_labels.h defines the loop.
[[nodiscard]] std::vector<measured::Quantity> label_quantities();
// Of one kernel; nullopt: it has no loop, or llvm-mca does not know it.
using LabelValues = std::vector<std::optional<double>>;

struct LabelledFile {
  std::vector<LabelValues> kernels;  // by function; empty when there is an error
  std::string error;                 // what the compiler said
};

// What a session needs; tests give their own.
struct LabelBench {
  std::string tools;  // compiler, version, flags; llvm-mca
  std::function<std::variant<CKernel, Unsupported>(const ir::Kernel&, const analytical::TileConfig&,
                                                   const std::string&)>
      generate;
  // Of C with its prelude; may be called by several threads.
  std::function<LabelledFile(const std::string& source, std::span<const std::string> functions)>
      label;
};
// `cc` or $CC, which must be gcc for x86-64, and llvm-mca. Throws Error that names what is missing.
[[nodiscard]] LabelBench label_bench();

}  // namespace tilecast::host
