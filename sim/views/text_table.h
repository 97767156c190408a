// Aligned columns of text; used for every table on the terminal. Pure.
//
//   TextTable table({{"kernel", Align::kLeft}, {"time us", Align::kRight}});
//   table.add({"fusion.1", "12.5"});
//   std::string text = table.render();   // header, rule, rows; lines end with LF
#pragma once

#include <string>
#include <vector>

#include "hwdesc/units.h"

namespace tilecast::sim::views {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  std::size_t max_width = 48;  // longer cells are truncated and end with "~"
};

class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns);
  void add(std::vector<std::string> cells);  // one per column
  [[nodiscard]] std::string render() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

inline constexpr double kBytesPerMegabyte = 1e6;

// Seconds as microseconds with digits by magnitude: "0.0512", "12.35", "91234.6".
[[nodiscard]] std::string microseconds(double time_s);
// A number with about four significant digits and no exponent up to 1e15.
[[nodiscard]] std::string compact(double value);
// An integer without decimals, anything else as compact().
[[nodiscard]] std::string count(double value);
[[nodiscard]] std::string percent(double share);  // 0.123 -> "12.3"
// The same with a sign, + for values above 0.
[[nodiscard]] std::string signed_microseconds(Seconds time);
[[nodiscard]] std::string signed_percent(double share);

}  // namespace tilecast::sim::views
