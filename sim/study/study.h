// A study: the machines, programs and models to compare, and the criteria. Read from strict YAML:
//
//   format: tilecast.study/1
//   name: next_tpu
//   devices: [tpu_v5e]                    # presets, or files beside the study
//   programs: [../programs/mlp_train.hlo]
//   models: [analytical]                  # as of --model; default: default
//   axes:                                 # keys of the description, as of --set
//     hbm.bandwidth: {list: [819 GB/s, 1.6 TB/s]}
//     clock: {range: [1 GHz, 2 GHz], points: 5}
//     vmem.capacity: {log: [32 MiB, 256 MiB], points: 4}
//     matrix.count: {sobol: [2, 16]}      # or latin; scale: log
//   samples: 64                           # of the latin and sobol axes together; seed: 1
//   derive: {area: 200 + 30 * matrix.count}
//   constraints: [area <= 500]
//   objectives: [time_s, area]            # smaller is better; a minus before: larger
//   unknown_op: skip                      # default: error
//
// A point is one device with one combination of values of the grid axes (list, range, log) and one
// sample. Formulas (base/formula.h) may name axes and numbers of the description (SI base units),
// peak.bf16 (FLOP/s per core; any dtype), peak.vector, results (study_results()) and
// earlier derived values. Errors contain file:line:col. Thread-safe once read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/formula.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/device_yaml.h"
#include "sim/simulator.h"

namespace tilecast::sim {

struct StudyDevice {
  std::string name;  // as in load_device()
  hwdesc::DeviceSource source;
  hwdesc::Device device;
  std::vector<hwdesc::DeviceNumber> numbers;
};

struct StudyAxis {
  enum class Kind { kGrid, kLatin, kSobol } kind = Kind::kGrid;
  std::string key;
  bool numeric = false;  // the axis is a number of the description, with this unit
  hwdesc::UnitKind unit = hwdesc::UnitKind::kCount;
  bool integer = false;
  std::vector<std::string> values;  // kGrid: as in overrides
  double low = 0, high = 0;         // for all forms but list
  bool logarithmic = false;
  [[nodiscard]] bool is_range() const { return low < high; }
};

struct StudyFormula {
  std::string name;
  base::Formula formula;
  bool needs_results = false;  // false: depends on the description only
};

struct StudyObjective {
  std::string column;
  bool larger = false;  // is better
};

struct Study {
  std::string name, file, text;
  std::vector<StudyDevice> devices;
  std::vector<std::string> programs, models;
  std::vector<StudyAxis> axes;
  std::size_t samples = 1;
  std::uint64_t seed = 1;
  std::vector<StudyFormula> derived, constraints;  // in the order written
  std::vector<StudyObjective> objectives;
  bool skip_unknown_ops = false;
};

// Paths in the study are relative to its folder. Throws Error.
[[nodiscard]] Study read_study(const std::string& text, const std::string& file);
[[nodiscard]] Study load_study(const std::string& file);

// The result columns of a study, for one program, machine and model: one list, so that tables,
// formulas and objectives use the same names. Names end in their unit; shares are fractions of 1.
struct StudyResult {
  std::string name;
  std::function<std::optional<double>(const Simulation&)> value;  // nullopt: unknown
};

// time_s, timeline_s, host_dispatch_s; low_s, high_s (90 %, for models that learned); energy_J,
// average_power_W (if the device describes energy); peak_memory_bytes, memory_capacity_bytes (main
// memory); devices (that a program is for), slice_devices, communication_s and
// hidden_communication_s (for programs with collectives); share_BOUND: share of time_s in kernels
// with this bound; share_k_above_half, share_k_up_to_half, share_physics_alone: share of time_s in
// kernels with a correction weight k above 0.5, in (0, 0.5], and of 0; skipped_kernels.
[[nodiscard]] const std::vector<StudyResult>& study_results();
[[nodiscard]] std::vector<std::string_view> study_result_names();

// The bound with the largest share of the time.
[[nodiscard]] std::string main_bound(const Simulation& run);

}  // namespace tilecast::sim
