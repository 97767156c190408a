// A labelling session: kernels and tiles to C, compiled, labels read off the assembly, rows on
// disk. Nothing runs.
//
//   GrowingSet set("labels", manifest, settings);      // of timing: none, label_quantities()
//   SessionReport report = make_labels(plan, device, set, label_bench(), {.jobs = 2});
//
// The plan is cut into files of LabelOptions::kernels_per_file items, each compiled as one, every
// unroll factor beside the others; rows come in the plan's order. A session that was stopped makes
// the whole file again where only some of its rows are on disk, so that labels and their order are
// those of a session that was not stopped, whatever `jobs`. Reasons of skipped items: unsupported,
// not readable, compile error (measure.h).
#pragma once

#include <span>
#include <vector>

#include "host/label_bench.h"
#include "host/measure.h"

namespace tilecast::host {

struct LabelOptions {
  // What the compiler is asked to unroll the loops by that the generator marks as parallel
  // (#pragma GCC unroll N); 1: nothing is asked. At least one, each once.
  std::vector<int> unroll = {1};
  std::size_t kernels_per_file = 16;
  int jobs = 2;                   // compilers at once
  std::optional<Seconds> budget;  // no new files after this
};

// The report's items are (kernel, tile, unroll); `timing` is 0. Thread-compatible.
[[nodiscard]] SessionReport make_labels(std::span<const WorkItem> plan,
                                        const hwdesc::Device& device, GrowingSet& set,
                                        const LabelBench& bench, const LabelOptions& options = {},
                                        const SessionEvents& events = {});

// C as generate_c() writes it, its parallel innermost loops to be unrolled by `factor`.
[[nodiscard]] std::string unrolled(std::string source, int factor);

}  // namespace tilecast::host
