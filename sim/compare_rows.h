// Collects the rows and sides of a comparison.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/kernel.h"
#include "ir/kernels/kernel_fingerprint.h"
#include "ir/program.h"
#include "measured/samples.h"
#include "sim/compare.h"
#include "sim/compare_inputs.h"

namespace tilecast::sim {

class ComparisonBuilder {
 public:
  explicit ComparisonBuilder(const CompareSetup& setup);  // adds the models' sides first

  std::size_t add_group(std::string name, std::string file);
  // The row with this key in the group; adds `row` if there is none.
  std::size_t row(std::size_t group, const std::string& key, CompareRow row);
  void set(std::size_t row, std::size_t side, CompareCell cell);
  [[nodiscard]] bool has(std::size_t row, std::size_t side) const;
  void set_whole(std::size_t group, std::size_t side, Seconds time);
  // Sides other than the models', created on first use.
  std::size_t compiler();
  // `name`: the name that a set uses for device `device` of the setup; the device's models are
  // compared with this side.
  std::size_t measured(const std::string& name, std::size_t device);
  // Notes which rows of a set are left out on a device or belong to another one.
  void note_samples(const measured::SampleSet& samples, const hwdesc::Device& device);
  void note(std::string what);  // repeated notes are added once
  template <class First, class... Rest>
  void note(fmt::format_string<First, Rest...> what, First&& first, Rest&&... rest) {
    note(fmt::format(what, std::forward<First>(first), std::forward<Rest>(rest)...));
  }
  void reads_modules() { reads_modules_ = true; }  // modules may contain the compiler's estimates
  [[nodiscard]] Comparison& comparison() { return comparison_; }

  // Names the sides, fills up cells and notes what each side has no time for. Throws Error if no
  // side has any time.
  [[nodiscard]] Comparison finish();

 private:
  void name_groups();
  void name_sides();
  void note_gaps();
  void note_opaque(std::size_t side);

  const CompareSetup* setup_;
  Comparison comparison_;
  bool reads_modules_ = false;
  std::unordered_map<std::string, std::size_t> row_of_;
};

// The compiler's estimate; nullopt if the dump has none or its value is not a time.
[[nodiscard]] std::optional<Seconds> compiler_time(const ir::Kernel& kernel, Hertz clock);
// The tile that the compiler chose; empty if the dump has none.
[[nodiscard]] analytical::TileConfig compiler_choice(const ir::Kernel& kernel);

// Whether this is the estimate of a call of which only the arrays are known.
[[nodiscard]] bool is_opaque(const analytical::Estimate& estimate);

// A model's time and interval, converted to be comparable with measurements.
[[nodiscard]] CompareCell cell_of(const measured::Prediction& answer);

[[nodiscard]] std::string count_of(std::size_t n, std::string_view thing);  // "1 row", "2 rows"

// Finds the rows of one measurement set on one device by kernel; sim/compare_inputs.h joins
// programs with them. Not thread-safe: it records which rows were found.
struct MeasuredKernel {
  Seconds time = {};           // on the device, minus the dispatch floor if the row has one
  Seconds spread = {};         // of the runs; 0: not known
  bool own = true;             // false: equal work under another name
  bool same = true;            // false: another kernel with equal name and file name
  std::size_t tiles = 1;       // number of its rows
  bool is_of_compiler = true;  // false: the fastest of `tiles`
};

class MeasuredKernels {
 public:
  MeasuredKernels(const measured::MeasurementSet& set, measured::SampleSet samples,
                  const hwdesc::Device& device);

  // `stem`: of the program's file.
  [[nodiscard]] std::optional<MeasuredKernel> find(const ir::Kernel& kernel,
                                                   const std::string& stem);
  // The measured run of the whole program.
  [[nodiscard]] std::optional<MeasuredKernel> find(const ir::Program& program,
                                                   const std::string& stem);
  // The workloads that were never found, each with its fastest row.
  [[nodiscard]] std::vector<Unmatched> unmatched() const;
  [[nodiscard]] const measured::SampleSet& samples() const { return samples_; }
  // Rows whose dispatch is as long as the whole run; they are not usable.
  [[nodiscard]] std::size_t all_dispatch() const { return all_dispatch_; }

 private:
  struct Rows {  // rows of one workload
    std::string stem;
    bool is_program = false, found = false;
    std::vector<std::size_t> samples;
  };
  [[nodiscard]] std::optional<Seconds> time_of(const measured::Sample& sample) const;
  [[nodiscard]] std::optional<MeasuredKernel> choose(std::size_t work,
                                                     const analytical::TileConfig& wanted);

  measured::SampleSet samples_;
  const hwdesc::Device* device_;
  std::vector<Rows> works_;
  std::map<ir::Fingerprint, std::vector<std::size_t>> by_print_;  // workloads per kernel
  std::unordered_map<std::string, std::vector<std::size_t>> by_name_;
  std::size_t all_dispatch_ = 0;
};

}  // namespace tilecast::sim
