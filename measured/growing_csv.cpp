#include "measured/growing_csv.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

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
  const std::string header = csv_line(known_.columns);
  out_.emplace(name, base::GrowingFile::Begin::kNewOrOn);
  std::string text = out_->contents();
  if (!text.starts_with(header) && !header.starts_with(text)) {
    throw Error(fmt::format("{}:1: expected the columns {}", name, base::trim(header, " \r\n")));
  }
  const std::size_t whole = text.find_last_of('\n') + 1;  // npos + 1 = 0: not one whole line
  if (whole < text.size()) out_->cut(whole);
  text.resize(whole);
  if (text.empty()) {
    out_->append(header);
  } else {
    known_ = read_csv(base::SourceText(name, text));
  }
}

void GrowingCsv::add(const std::vector<std::string>& cells) {
  if (out_) out_->append(csv_line(cells));
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
