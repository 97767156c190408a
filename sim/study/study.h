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
// peak.bf16 (FLOP/s per core; any dtype), peak.vector, results (sim/study/study_columns.h) and
// earlier derived values. Errors contain file:line:col. Thread-safe once read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/formula.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/device_yaml.h"

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

// Parses the axes of a study; is_study_number() says which numbers formulas and options may name.
[[nodiscard]] std::vector<StudyAxis> read_study_axes(const hwdesc::ConfigNode& axes,
                                                     const StudyDevice& device);
[[nodiscard]] bool is_study_number(const Study& study, std::string_view name);

}  // namespace tilecast::sim
