// How a group of columns is declared: one row per member of the struct that holds its values, so
// that names and numbers cannot get out of step. Internal to learned/table_features.h.
//
//   struct Facts { double ops = 0; ListValues dims{}; };
//   constexpr auto kRows = std::to_array<ColumnRow<Facts>>({
//       column<&Facts::ops>("ops.count", "1", "Number of ops."),
//       column<&Facts::dims>("shape.output", "1", "Sizes of the output's dimensions")});
//
// A list is eight columns: its first six entries (0 where it is shorter), its sum, its product
// (Kaufman et al., MLSys 2021, section 3.1).
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/shape.h"
#include "learned/feature_schema.h"

namespace tilecast::learned {

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
inline constexpr std::size_t kListEntries = 6;
using ListValues = std::array<double, kListEntries + 2>;

[[nodiscard]] constexpr ListValues missing_list() {
  ListValues values{};
  for (double& value : values) value = kMissing;
  return values;
}

// Columns of one member that is an array: what each part is called.
struct PartName {
  std::string name, doc;
};
using PartNames = PartName (*)(std::size_t);
[[nodiscard]] PartName list_part(std::size_t part);  // "0" ... "5", "sum", "product"

template <class Facts>
struct ColumnRow {
  std::string_view name, unit, doc;  // without full stop where there are parts
  double (*value)(const Facts&, std::size_t part) = nullptr;
  std::size_t parts = 0;  // 0: a number, no array
  PartNames part_names = nullptr;
};

template <class Facts, class Member>
Facts facts_of(Member Facts::*);
template <class Facts, class Member>
Member member_of(Member Facts::*);

template <auto kMember>
constexpr auto column(std::string_view name, std::string_view unit, std::string_view doc,
                      PartNames parts = list_part) {
  using Facts = decltype(facts_of(kMember));
  using Member = decltype(member_of(kMember));
  if constexpr (std::is_same_v<Member, double>) {
    return ColumnRow<Facts>{name, unit, doc,
                            [](const Facts& facts, std::size_t) { return facts.*kMember; }};
  } else {
    return ColumnRow<Facts>{
        name,
        unit,
        doc,
        [](const Facts& facts, std::size_t part) { return (facts.*kMember)[part]; },
        std::tuple_size_v<Member>,
        parts};
  }
}

// As a column: never infinite.
[[nodiscard]] inline float feature_value(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(value > kMost ? kMost : value < -kMost ? -kMost : value);
}

template <class Facts>
void append_columns(std::span<const ColumnRow<Facts>> rows, FeatureGroup group,
                    std::vector<FeatureColumn>& columns) {
  for (const ColumnRow<Facts>& row : rows) {
    if (row.parts == 0) {
      columns.push_back(
          {std::string(row.name), std::string(row.unit), std::string(row.doc), group});
    }
    for (std::size_t part = 0; part < row.parts; ++part) {
      const PartName part_name = row.part_names(part);
      columns.push_back({std::string(row.name) + "." + part_name.name, std::string(row.unit),
                         std::string(row.doc) + ": " + part_name.doc + ".", group});
    }
  }
}

// Writes the columns in the order of append_columns; returns how many.
template <class Facts>
std::size_t write_columns(std::span<const ColumnRow<Facts>> rows, const Facts& facts,
                          std::span<float> out) {
  std::size_t at = 0;
  for (const ColumnRow<Facts>& row : rows) {
    const std::size_t parts = row.parts == 0 ? 1 : row.parts;
    for (std::size_t part = 0; part < parts; ++part) {
      out[at++] = feature_value(row.value(facts, part));
    }
  }
  return at;
}

// NaN where `b` is no positive number.
[[nodiscard]] inline double ratio(double a, double b) {
  return b > 0 ? a / b : kMissing;
}

// A list, entry by entry. `empty_product`: what TpuGraphs says of a list without entries, 1 in
// nodes and 0 in tiles.
class ListBuilder {
 public:
  explicit ListBuilder(double empty_product) { values_[kListEntries + 1] = empty_product; }
  void add(std::int64_t entry) {
    const auto value = static_cast<double>(entry);
    double& product = values_[kListEntries + 1];
    if (count_ < kListEntries) values_[count_] = value;
    values_[kListEntries] += value;
    product = count_ == 0 ? value : product * value;
    ++count_;
  }
  [[nodiscard]] const ListValues& values() const { return values_; }

 private:
  ListValues values_{};
  std::size_t count_ = 0;
};

}  // namespace tilecast::learned
