// A labelling session: kernels with tiles are written as C and compiled; labels are read from the
// assembly and stored as rows. Nothing is executed.
//
//   GrowingSet set("labels", manifest, settings);      // manifest: timing none, label_quantities()
//   SessionReport report = make_labels(plan, device, set, label_bench(), {.jobs = 2});
//
// The plan is split into files of LabelOptions::kernels_per_file items; rows are in the plan's
// order. If only some rows of a file are on disk after a stop, the next session compiles the whole
// file again, so labels and their order do not depend on interruptions or on `jobs`. Reasons of
// skipped items: unsupported, not readable, compile error (measure.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "analytical/tile.h"
#include "host/c_kernel.h"
#include "host/measure.h"
#include "ir/kernel.h"
#include "measured/measurement_set.h"

namespace tilecast::host {

// Tools of a labelling session: labels of kernels from a compiler, without running them.
//
//   const LabelBench bench = label_bench();
//   LabelledFile file = bench.label(source, {"kernel_0", "kernel_1"});
//
// The target is fixed (znver3, 16 vector registers of 32 bytes), so labels depend only on the
// compiler's version and flags, not on the machine. Optimisations that make a function's code
// depend on others in the file are off: folding equal functions, cloning for one caller, limits on
// file growth. Vector spills are recognised by -fverbose-asm comments. Thread-safe.

// The labels, in the order of LabelValues. assembly.h defines the hottest loop.
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

// Static analysis of compiled code: llvm-mca on loops, and function sizes of an object file.
//
//   McaTool mca("znver3");                              // finds llvm-mca, or llvm-mca-14
//   std::vector<std::optional<McaAnswer>> answers = mca.analyse(loops, folder);
//
// Thread-safe: each call starts its own process.

// Result for one loop, iterated 100 times in llvm-mca's core model: caches always hit, no branch is
// mispredicted, a call takes 100 cycles.
struct McaAnswer {
  double cycles_per_iteration = 0;
  double vector_utilisation = 0;  // busy share of the vector pipes, 0 ... 1
};

class McaTool {
 public:
  // `cpu` must be one whose vector pipes are known here: znver3. Throws Error if llvm-mca is not
  // found, naming the package to install.
  explicit McaTool(std::string cpu);
  [[nodiscard]] const std::string& description() const { return description_; }

  // Each loop is given as instructions, one per line. nullopt: llvm-mca does not know an
  // instruction. `folder`: for temporary files. Throws Error if llvm-mca cannot be run.
  [[nodiscard]] std::vector<std::optional<McaAnswer>> analyse(std::span<const std::string> loops,
                                                              const std::string& folder) const;

 private:
  [[nodiscard]] std::vector<std::optional<McaAnswer>> run(std::span<const std::string> loops,
                                                          const std::string& folder) const;

  std::string tool_, cpu_, description_;
};

// Function sizes in bytes of an x86-64 ELF object, by name. Throws Error for any other file.
[[nodiscard]] std::map<std::string, std::int64_t> function_sizes(const std::string& object_file);

// --- the session

struct LabelOptions {
  std::size_t kernels_per_file = 64;
  int jobs = 2;                   // compilers at once
  std::optional<Seconds> budget;  // no new files after this
};

// The report's `timing` is 0. Thread-compatible.
[[nodiscard]] SessionReport make_labels(std::span<const WorkItem> plan,
                                        const hwdesc::Device& device, GrowingSet& set,
                                        const LabelBench& bench, const LabelOptions& options = {},
                                        const SessionEvents& events = {});

}  // namespace tilecast::host
