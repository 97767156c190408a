// What `measure host` and `measure repeat` share: the folder, the device, and a session that can be
// interrupted and shows how far it is.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/measure.h"
#include "host/measure_labels.h"
#include "hwdesc/device.h"

namespace CLI {
class App;
}

namespace tilecast::sim::cli {

// Of all that times something here.
struct TimingArguments {
  std::string budget, longest = "100 ms", format = "table";
  std::uint64_t seed = 1;
  int core = -1;
};
void add_timing_options(CLI::App& verb, TimingArguments& arguments);

struct MeasureArguments : TimingArguments {
  std::string out, device, cache = "cold";
  std::size_t tiles = 128, limit = 0;
  int jobs = 2;
};
void add_measure_options(CLI::App& verb, MeasureArguments& arguments);

// "10m", "90s", "1.5h", and --longest. Throw UsageError.
[[nodiscard]] Seconds parse_budget(const std::string& text);
[[nodiscard]] Seconds longest_of(const TimingArguments& arguments);

// A description, and what a manifest in the folder calls it.
struct ChosenDevice {
  hwdesc::Device device;
  std::string in_manifest;
};
// `name_or_path`, copied into the folder when it is a path; else that of the set in the folder;
// else host.yaml in the folder, which is measured when it is not there.
[[nodiscard]] ChosenDevice choose_device(const std::string& folder,
                                         const std::string& name_or_path);

struct MeasureTask {
  std::span<const host::WorkItem> plan;
  const ChosenDevice& device;
  const host::Bench& bench;
  std::string name, description;  // of the set
  double spent_s = 0;             // of the budget, before this
  bool unroll = false;            // does the plan unroll?
};
// Notes and how it ended go to stderr.
[[nodiscard]] host::SessionReport run_session(const MeasureTask& task,
                                              const MeasureArguments& arguments);

// Labels instead of times.
struct LabelTask {
  std::span<const host::WorkItem> plan;
  const ChosenDevice& device;
  const host::LabelBench& bench;
};
[[nodiscard]] host::SessionReport run_labels(const LabelTask& task,
                                             const MeasureArguments& arguments);

}  // namespace tilecast::sim::cli
