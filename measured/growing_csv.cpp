#include "measured/growing_csv.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace tilecast::measured {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

// Parses `text` after removing an incomplete last line and a malformed last row (a power failure
// leaves zeros).
CsvTable read_whole_rows(const std::string& file, std::string& text) {
  text.resize(text.rfind('\n') + 1);  // npos + 1 is 0
  try {
    return read_csv(base::SourceText(file, text));
  } catch (const Error&) {
    text.resize(text.rfind('\n', text.size() - 2) + 1);
    return read_csv(base::SourceText(file, text));
  }
}

}  // namespace

GrowingCsv::GrowingCsv(std::string file, std::vector<std::string> columns)
    : known_{std::move(file), std::move(columns), {}} {
  const std::string& name = known_.file;
  if (name.empty()) return;
  const std::string header = csv_line(known_.columns);
  out_.emplace(name, base::GrowingFile::Begin::kNewOrOn);
  std::string text = out_->contents();
  const std::size_t before = text.size();
  if (header.starts_with(text) && text != header) {  // new, or incomplete first line
    out_->cut(0);
    add_durably(header);
    return;
  }
  if (!text.starts_with(header)) {
    throw Error(fmt::format("{}:1: expected the columns {}", name, base::trim(header, " \r\n")));
  }
  known_ = read_whole_rows(name, text);
  dropped_ = before - text.size();
  if (dropped_ > 0) out_->cut(text.size());
}

void GrowingCsv::write(std::string_view lines) {
  if (out_) out_->append(lines);
}

void GrowingCsv::add_durably(std::string_view lines) {
  write(lines);
  if (out_) out_->flush();
}

std::optional<double> time_ns_cell(const CsvTable& table, const CsvRow& row,
                                   std::string_view column) {
  const std::string_view text = table.cell(row, column);
  if (text.empty()) return std::nullopt;
  const std::optional<double> time_ns = base::parse_number(text);
  if (!(time_ns > 0.0)) {
    throw Error(fmt::format("{}: got '{}', expected a time above 0, or nothing",
                            table.where(row, column), text));
  }
  return *time_ns / kNanosecondsPerSecond;
}

std::string time_ns_text(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{}", *seconds * kNanosecondsPerSecond) : "";
}

}  // namespace tilecast::measured
