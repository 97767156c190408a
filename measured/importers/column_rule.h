// How one column of a measurement set comes from the columns of somebody's table. In YAML:
//
//   m: M                                                    a column
//   elements: B*H                                           an expression (expression.h)
//   op: {constant: matmul}                                  the same text for every row
//   device: {column: Device, map: {Tesla T4: t4}}           a column, its values renamed
//   device: {file: {"*_T4.*": t4}}                          from the name of the file, by pattern
//   runtime: {column: latency_ms, unit: ms}                 a time ("1.5" or "1.5ms" in the cell);
//                                                           also {value: EXPRESSION, unit}
//   runtime: {work: m*n, per: gelem_per_s, unit: Gelem/s}   a time from a rate
//   output_bounds: [block_x*tile_x, block_y]                a tile
//
// The target decides what a value must be: times (runtime, dispatch, spread) need a unit and become
// nanoseconds above zero; extents are whole numbers of at least 1; op, dtype, device, class,
// family, split, padding and x_* are text as it stands; kernel and program name an HLO file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hwdesc/config_reader.h"
#include "measured/importers/expression.h"

namespace tilecast::measured {

class ColumnRule {
 public:
  // `node`: the entry of `columns:`, its key the target. Throws Error.
  static ColumnRule read(const hwdesc::ConfigNode& node);
  // A column kept as it is, as x_<name in lower case>.
  static ColumnRule keep(const hwdesc::ConfigNode& node);
  // A column of numbers (or empty cells), as p_<name in lower case>.
  static ColumnRule parameter(const hwdesc::ConfigNode& node);

  // A column that is written as the set writes it, under the set's name `target` unless told; its
  // cells may be empty, but for the time. `at`: the file, for messages.
  static ColumnRule as_named(const std::string& target, const hwdesc::ConfigNode& at,
                             const std::string& column = {});

  // As measurements.csv names it: "runtime_ns" for runtime.
  [[nodiscard]] const std::string& target() const { return target_; }
  [[nodiscard]] bool is_by_file_name() const { return kind_ == Kind::kFile; }
  // Of text: the cells it can write, where the rule says (a constant, a map); else empty.
  [[nodiscard]] std::vector<std::string> possible_texts() const;
  // Of text: other cells of the source are errors, unless there is a map already.
  void allow_only(const std::vector<std::string>& texts);
  // Finds the columns in a source; throws Error.
  void bind(const std::vector<std::string>& columns, const std::string& file);
  // The cell's text into `out` (replaced). Throws Error naming the column, not the row.
  void apply(const std::vector<std::string_view>& cells, std::string& out) const;

 private:
  enum class Kind { kConstant, kFile, kText, kWhole, kTime, kTile };
  friend class RuleReader;

  // Text as it is, under `prefix` and the column's name; `key` of the mapping that lists it.
  static ColumnRule copied(const hwdesc::ConfigNode& node, std::string_view key,
                           std::string_view prefix);
  void apply_text(std::string_view cell, std::string& out) const;
  void apply_time(const std::vector<std::string_view>& cells, std::string& out) const;
  void append_whole(const Expression& expression, const std::vector<std::string_view>& cells,
                    std::string& out) const;

  Kind kind_ = Kind::kConstant;
  std::string target_, where_;  // where: of the rule, for messages
  std::string constant_, column_;
  std::size_t index_ = 0;                                 // of column_, once bound
  std::vector<std::pair<std::string, std::string>> map_;  // of values, or of patterns of file names
  std::vector<Expression> values_;                        // one, or one per bound of a tile
  std::vector<Expression> per_;                           // kTime from a rate: work / per
  std::string unit_;                                      // of a time, as cells may spell it
  double scale_ = 1;                                      // ns per unit, or units per second
  bool may_be_empty_ = false;                             // an empty cell stays empty
  bool is_number_ = false;                                // text that must be a finite number
  bool is_bounds_ = false;                                // text that must be whole numbers
};

}  // namespace tilecast::measured
