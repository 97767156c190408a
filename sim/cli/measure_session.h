// Shared by `measure host` and `measure repeat`: the folder, the device, and a session that can be
// interrupted and shows its progress.
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

struct MeasureArguments {
  std::string out, device, cache = "cold", budget, longest = "100 ms", format = "table";
  std::size_t tiles = 128, limit = 0;
  std::uint64_t seed = 1;
  int jobs = 2, core = -1;
};
void add_measure_options(CLI::App& verb, MeasureArguments& arguments);

// Parse "10m", "90s", "1.5h", and --longest. Throw UsageError.
[[nodiscard]] Seconds parse_budget(const std::string& text);
[[nodiscard]] Seconds longest_of(const MeasureArguments& arguments);

// A description, and its name in the folder's manifest.
struct ChosenDevice {
  hwdesc::Device device;
  std::string in_manifest;
};
// `name_or_path`, copied into the folder if it is a path; else the device of the set in the folder;
// else host.yaml in the folder, probed first if it does not exist.
[[nodiscard]] ChosenDevice choose_device(const std::string& folder,
                                         const std::string& name_or_path);

struct MeasureTask {
  std::span<const host::WorkItem> plan;
  const ChosenDevice& device;
  const host::Bench& bench;
  std::string name, description;  // of the measurement set
  double spent_s = 0;             // part of the budget that is already used
  bool unroll = false;            // whether the plan unrolls
};
// Prints notes and the outcome to stderr.
[[nodiscard]] host::SessionReport run_session(const MeasureTask& task,
                                              const MeasureArguments& arguments);

// The same for labels instead of times.
struct LabelTask {
  std::span<const host::WorkItem> plan;
  const ChosenDevice& device;
  const host::LabelBench& bench;
};
[[nodiscard]] host::SessionReport run_labels(const LabelTask& task,
                                             const MeasureArguments& arguments);

}  // namespace tilecast::sim::cli
