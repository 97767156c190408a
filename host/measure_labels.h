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
