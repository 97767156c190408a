// A labelling session: kernels and tiles to C, compiled, labels read off the assembly, rows on
// disk. Nothing runs.
//
//   GrowingSet set("labels", manifest, settings);      // of timing: none, label_quantities()
//   SessionReport report = make_labels(plan, device, set, label_bench(), {.jobs = 2});
//
// The plan is cut into files of LabelOptions::kernels_per_file items, each compiled as one; rows
// come in the plan's order. A session that was stopped makes
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
