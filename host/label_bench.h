// Tools of a labelling session: labels of kernels from a compiler, without running them.
//
//   const LabelBench bench = label_bench();
//   LabelledFile file = bench.label(source, {"kernel_0", "kernel_1"});
//
// The target is fixed (znver3, 16 vector registers of 32 bytes), so labels depend only on the
// compiler's version and flags, not on the machine. Optimisations that make a function's code
// depend on others in the file are off: folding equal functions, cloning for one caller, limits on
// file growth. Vector spills are recognised by -fverbose-asm comments. Thread-safe.
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

// The labels, in the order of LabelValues. kernel_labels.h defines the hottest loop.
[[nodiscard]] std::vector<measured::Quantity> label_quantities();
// Labels of one kernel; nullopt: it has no loop, or llvm-mca does not support it.
using LabelValues = std::vector<std::optional<double>>;

struct LabelledFile {
  std::vector<LabelValues> kernels;  // by function; empty on error
  std::string error;                 // compiler output
};

// What a labelling session calls; replaceable in tests.
struct LabelBench {
  std::string tools;  // compiler with version and flags; llvm-mca
  std::function<std::variant<CKernel, Unsupported>(const ir::Kernel&, const analytical::TileConfig&,
                                                   const std::string&)>
      generate;
  // `source` includes the prelude. Must be thread-safe.
  std::function<LabelledFile(const std::string& source, std::span<const std::string> functions)>
      label;
};
// Uses `cc` or $CC, which must be gcc for x86-64, and llvm-mca. Throws Error naming what is
// missing.
[[nodiscard]] LabelBench label_bench();

}  // namespace tilecast::host
