// Collects the rows and sides of a comparison.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "ir/kernel.h"
#include "measured/samples.h"
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
  void note(std::string what);                     // repeated notes are added once
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

}  // namespace tilecast::sim
