#include "measured/growing_csv.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"

namespace tilecast::measured {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

}  // namespace

GrowingCsv::GrowingCsv(std::string file, std::vector<std::string> columns)
    : known_{std::move(file), std::move(columns), {}} {
  const std::string& name = known_.file;
  if (name.empty()) return;
  const bool begun = std::filesystem::exists(name);
  std::string text;
  if (begun) {
    text = base::SourceText::read_file(name).text();
    text.resize(text.find_last_of('\n') + 1);  // npos + 1 = 0: not one whole line
  }
  if (!text.empty()) {
    CsvTable table = read_csv(base::SourceText(name, text));
    if (table.columns != known_.columns) {
      throw Error(fmt::format("{}:1: expected the columns {}", name,
                              base::trim(csv_line(known_.columns), " \r\n")));
    }
    known_ = std::move(table);
  }
  if (begun) std::filesystem::resize_file(name, text.size());
  out_ = std::fopen(name.c_str(), "a");
  if (out_ == nullptr) throw Error(fmt::format("{}: cannot be written", name));
  if (text.empty()) add(known_.columns);
}

GrowingCsv::~GrowingCsv() {
  if (out_ != nullptr) std::fclose(out_);
}

void GrowingCsv::add(const std::vector<std::string>& cells) {
  if (out_ == nullptr) return;
  const std::string line = csv_line(cells);
  if (std::fwrite(line.data(), 1, line.size(), out_) != line.size() || std::fflush(out_) != 0) {
    throw Error(fmt::format("{}: cannot be written", known_.file));
  }
}

std::optional<double> time_ns_cell(const CsvTable& table, const CsvRow& row,
                                   std::string_view column) {
  const std::string_view text = table.cell(row, column);
  if (text.empty()) return std::nullopt;
  double time_ns = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), time_ns);
  if (failure != std::errc{} || end != text.data() + text.size() || !(time_ns > 0) ||
      !std::isfinite(time_ns)) {
    throw Error(fmt::format("{}: got '{}', expected a time above 0, or nothing",
                            table.where(row, column), text));
  }
  return time_ns / kNanosecondsPerSecond;
}

std::string time_ns_text(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{}", *seconds * kNanosecondsPerSecond) : "";
}

}  // namespace tilecast::measured
