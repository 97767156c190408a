// Rows and sides of a comparison while they are collected.
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
  explicit ComparisonBuilder(const CompareSetup& setup);  // the models' sides come first

  std::size_t add_group(std::string name, std::string file);
  // The row of this key in the group; a new one is `row`.
  std::size_t row(std::size_t group, const std::string& key, CompareRow row);
  void set(std::size_t row, std::size_t side, CompareCell cell);
  [[nodiscard]] bool has(std::size_t row, std::size_t side) const;
  void set_whole(std::size_t group, std::size_t side, Seconds time);
  // Sides besides the models', made at first use.
  std::size_t compiler();
  // `name`: what a set calls device `device` of the setup; its models are held against this side.
  std::size_t measured(const std::string& name, std::size_t device);
  // What of a set is left out on a device, or is about another one.
  void note_samples(const measured::SampleSet& samples, const hwdesc::Device& device);
  void note(std::string what);                     // once, however often it is said
  void reads_modules() { reads_modules_ = true; }  // which may carry the compiler's estimates
  [[nodiscard]] Comparison& comparison() { return comparison_; }

  // Names the sides, fills up cells, says what each side does not answer. Throws Error when no side
  // has anything to say.
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

// The compiler's estimate; nullopt where the dump has none that is a time.
[[nodiscard]] std::optional<Seconds> compiler_time(const ir::Kernel& kernel, Hertz clock);
// The tile the compiler chose; empty where the dump does not say.
[[nodiscard]] analytical::TileConfig compiler_choice(const ir::Kernel& kernel);

// Is this the answer about a call of which no more than its arrays is known?
[[nodiscard]] bool is_opaque(const analytical::Estimate& estimate);

// What a model answered: its time as a measurement would hold it, and the interval likewise.
[[nodiscard]] CompareCell cell_of(const measured::Prediction& answer);

[[nodiscard]] std::string count_of(std::size_t n, std::string_view thing);  // "1 row", "2 rows"

}  // namespace tilecast::sim
