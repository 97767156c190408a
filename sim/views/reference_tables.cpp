#include <fmt/format.h>

#include <algorithm>

#include "sim/views/evaluation.h"

namespace tilecast::sim::views {
namespace {

using measured::ReferenceRow;

constexpr const char* kHeading =
    "Others' published numbers, on others' data, kernels and machines: not to be read against the "
    "rows above";

bool sums_up(const ReferenceRow& row) {
  return row.subject == "Mean" || row.subject == "Median" || row.subject == "Average";
}

bool same_table(const ReferenceRow& a, const ReferenceRow& b) {
  return a.source == b.source && a.where == b.where && a.metric == b.metric &&
         a.hardware == b.hardware && a.data == b.data && a.split == b.split;
}

// Rows of one table stand together in their file: ranges of them, with what of each is shown.
std::vector<std::vector<ReferenceRow>> tables(std::span<const ReferenceRow> rows) {
  std::vector<std::vector<ReferenceRow>> tables;
  for (const ReferenceRow& row : rows) {
    if (tables.empty() || !same_table(tables.back().front(), row)) tables.emplace_back();
    tables.back().push_back(row);
  }
  for (auto& table : tables) {
    if (std::ranges::any_of(table, sums_up)) {
      std::erase_if(table, [](const ReferenceRow& row) { return !sums_up(row); });
    }
  }
  return tables;
}

std::string values(const std::vector<ReferenceRow>& table) {
  std::string out, subject;
  for (const ReferenceRow& row : table) {
    if (row.subject != subject) {
      out += fmt::format("{}{}:", out.empty() ? "" : "; ", row.subject);
      subject = row.subject;
    } else {
      out += ",";
    }
    out += fmt::format(" {} {}", row.column, row.value);
  }
  return out;
}

std::string caveats(const ReferenceRow& row) {
  std::string out = row.note;
  const auto add = [&out](std::string_view text) {
    out += fmt::format("{}{}", out.empty() ? "" : "; ", text);
  };
  if (row.read_off_plot) add("read off a plot");
  if (row.second_hand) add("second hand");
  return out;
}

std::string setting(const ReferenceRow& row) {
  return fmt::format("{}, {}, split: {}", row.hardware, row.data, row.split);
}

}  // namespace

std::string reference_text(std::span<const ReferenceRow> rows) {
  std::string out = fmt::format("{}\n", kHeading), source;
  for (const auto& table : tables(rows)) {
    const ReferenceRow& first = table.front();
    if (first.source != source) out += fmt::format("{}\n", first.source);
    source = first.source;
    out += fmt::format("  {}: {}{} ({})\n    {}\n", first.where, first.metric,
                       first.unit == "%" ? " %" : "", setting(first), values(table));
    if (const std::string text = caveats(first); !text.empty()) {
      out += fmt::format("    note: {}\n", text);
    }
  }
  return out;
}

std::string reference_markdown(std::span<const ReferenceRow> rows) {
  std::string out = fmt::format("{}.\n", kHeading), source;
  for (const auto& table : tables(rows)) {
    const ReferenceRow& first = table.front();
    if (first.source != source) {
      out +=
          fmt::format("\n{}\n\n| where | metric | on | figures | note |\n|---|---|---|---|---|\n",
                      first.source);
    }
    source = first.source;
    out +=
        fmt::format("| {} | {}{} | {} | {} | {} |\n", first.where, first.metric,
                    first.unit == "%" ? " %" : "", setting(first), values(table), caveats(first));
  }
  return out;
}

}  // namespace tilecast::sim::views
