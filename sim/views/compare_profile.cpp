#include "sim/views/compare_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilecast::sim::views {
namespace {

constexpr std::size_t kNamed = 3;  // items of a list in one line
constexpr double kMega = 1e6;

std::string us(Seconds time) {
  return microseconds(time.value) + " us";
}

std::string joined_line(const ProfileSummary& profile) {
  std::string out = fmt::format(
      "joined  {} % of device time to instructions of {} program{}",
      profile.device_time.value > 0 ? percent(profile.joined / profile.device_time) : "0",
      profile.programs.size(), profile.programs.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < profile.left_over.size(); ++i) {
    const ProfileLeftOver& left = profile.left_over[i];
    out += fmt::format("{} {} {} in {} events", i == 0 ? "; left:" : ",", left.category,
                       us(left.time), count(left.events));
  }
  return out + "\n";
}

std::string total_line(const Comparison& c) {
  std::string out = fmt::format("total   measured {}", us(c.totals[c.reference].time));
  for (std::size_t side = 0; side < c.sides.size(); ++side) {
    if (c.sides[side].kind != CompareSide::Kind::kModel) continue;
    const SideTotal& total = c.totals[side];
    out += fmt::format(", {} predicts {}", c.sides[side].name, us(total.shared_time));
    if (total.reference.value > 0) {
      out += fmt::format(" ({} %)", signed_percent(total.difference() / total.reference));
    }
  }
  return out + "\n";
}

// The categories and rows with the largest differences.
std::string lost_lines(const Comparison& c) {
  const Seconds all = c.totals[c.sorted_by].lost;
  if (!(all.value > 0)) return "";
  std::string out = fmt::format("lost    {} in all by {}:", us(all), c.sides[c.sorted_by].name);
  for (std::size_t i = 0; i < std::min(kNamed, c.categories.size()); ++i) {
    out += fmt::format("{} {} {} %", i == 0 ? "" : ",", c.categories[i].category,
                       percent(c.categories[i].lost / all));
  }
  out += "; most in";
  std::size_t named = 0;
  for (const CompareRow& row : c.rows) {
    const auto time = lost(c, row, c.sorted_by);
    if (!time || row.overlaps) continue;
    out += fmt::format("{} {} of {} ({} us", named == 0 ? "" : ",", row.name,
                       c.groups[row.group].name, signed_microseconds(*time));
    const auto& bound = row.cells[c.sorted_by]->bound;
    out += bound ? fmt::format(", {})", analytical::name(*bound)) : ")";
    if (++named == kNamed) break;
  }
  return out + "\n";
}

std::string program_table(const Comparison& c, std::size_t top) {
  const std::vector<ProfileProgram>& all = c.profile->programs;
  std::vector<Column> columns{{"program", Align::kLeft, 40},
                              {"runs", Align::kRight},
                              {"measured us", Align::kRight},
                              {"all runs us", Align::kRight}};
  for (const CompareSide& side : c.sides) {
    if (side.kind != CompareSide::Kind::kModel) continue;
    columns.push_back({side.name + " us", Align::kRight});
    columns.push_back({"%", Align::kRight});
  }
  TextTable table(columns);
  const std::size_t shown = std::min(top, all.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ProfileProgram& program = all[i];
    std::vector<std::string> cells{c.groups[program.group].name, count(program.runs),
                                   microseconds(program.median.value),
                                   microseconds(program.total.value)};
    for (std::size_t side = 0; side < c.sides.size(); ++side) {
      if (c.sides[side].kind != CompareSide::Kind::kModel) continue;
      const Seconds predicted = program.predicted[side].value_or(Seconds{0});
      cells.push_back(microseconds(predicted.value));
      cells.push_back(program.median.value > 0 ? signed_percent(predicted / program.median - 1)
                                               : "");
    }
    table.add(std::move(cells));
  }
  std::string out = "\n" + table.render();
  if (shown < all.size()) out += fmt::format("... {} more programs\n", all.size() - shown);
  return out + "measured: median of the runs; predicted: one run, copies beside other kernels\n";
}

std::string category_table(const Comparison& c, std::size_t top) {
  TextTable table({{"category", Align::kLeft, 40},
                   {"rows", Align::kRight},
                   {"measured us", Align::kRight},
                   {c.sides[c.sorted_by].name + " us", Align::kRight},
                   {"difference us", Align::kRight},
                   {"lost us", Align::kRight},
                   {"of lost %", Align::kRight}});
  const Seconds all = c.totals[c.sorted_by].lost;
  for (std::size_t i = 0; i < std::min(top, c.categories.size()); ++i) {
    const CategoryTotal& total = c.categories[i];
    table.add({total.category, std::to_string(total.rows), microseconds(total.reference.value),
               microseconds(total.time.value), signed_microseconds(total.time - total.reference),
               microseconds(total.lost.value), all.value > 0 ? percent(total.lost / all) : ""});
  }
  return "\n" + table.render();
}

std::string millions(const std::optional<double>& value) {
  return value ? compact(*value / kMega) : "";
}

std::string mark(const std::optional<double>& ours, const std::optional<double>& theirs) {
  if (!ours || !theirs) return "";
  return std::abs(*ours - *theirs) > kCountTolerance * std::abs(*theirs) ? "*" : "";
}

}  // namespace

std::string profile_header(const Comparison& c) {
  const ProfileSummary& profile = *c.profile;
  std::string out = fmt::format("profile {}: {}, {} of device time", profile.file, profile.device,
                                us(profile.device_time));
  if (profile.steps > 0) {
    out += fmt::format(", {} steps of {}", count(profile.steps), us(profile.step_median));
  }
  out += "\n";
  if (!profile.guess.empty()) out += fmt::format("device  {}\n", profile.guess);
  return out + joined_line(profile) + total_line(c) + lost_lines(c);
}

std::string profile_tables(const Comparison& c, std::size_t top) {
  return program_table(c, top) + category_table(c, top);
}

std::vector<Column> profile_columns(bool profile_counts) {
  if (!profile_counts) {
    return {{"median us", Align::kRight}, {"Mflop", Align::kRight}, {"MB", Align::kRight}};
  }
  return {{"category", Align::kLeft, 24},
          {"median us", Align::kRight},
          {"Mflop", Align::kRight},
          {"profile", Align::kRight},
          {"", Align::kLeft},
          {"MB", Align::kRight},
          {"profile", Align::kRight},
          {"", Align::kLeft}};
}

std::vector<std::string> profile_cells(const ProfileCounts& counts, bool profile_counts) {
  const std::string median = microseconds(counts.median.value);
  if (!profile_counts) return {median, millions(counts.flops), millions(counts.bytes)};
  return {counts.category,
          median,
          millions(counts.flops),
          millions(counts.profile_flops),
          mark(counts.flops, counts.profile_flops),
          millions(counts.bytes),
          millions(counts.profile_bytes),
          mark(counts.bytes, counts.profile_bytes)};
}

std::string profile_footer(const Comparison& c) {
  return fmt::format(
      "measured: mean; transfers overlap other rows and are in no total; Mflop, MB: of one "
      "launch,\n"
      "by Tilecast and, where it counts, the profile; *: they differ by more than {} %\n\n"
      "next: {}\n",
      percent(kCountTolerance), c.profile->next);
}

}  // namespace tilecast::sim::views
