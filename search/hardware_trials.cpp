#include "search/hardware_trials.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ir/op_hash.h"

namespace tilecast::search {

TuningJournal::TuningJournal(const std::string& file, const std::string& program_hash)
    : file_(file, {"program", "trial", "measured_ns", "spent_ns", "failure"}),
      program_(program_hash) {
  const measured::CsvTable& table = file_.known();
  for (const measured::CsvRow& row : table.rows) {
    if (table.cell(row, "program") != program_) {
      throw Error(fmt::format("{}: got {}, expected {}: the journal is of another program",
                              table.where(row, "program"), table.cell(row, "program"), program_));
    }
    std::string trial(table.cell(row, "trial"));
    HardwareTime time{measured::time_ns_cell(table, row, "measured_ns"),
                      std::string(table.cell(row, "failure"))};
    const double spent_s = measured::time_ns_cell(table, row, "spent_ns").value_or(0);
    rows_[trial] = {trial, std::move(time), spent_s};
  }
}

const TuningJournal::Row* TuningJournal::find(const std::string& trial) const {
  const auto found = rows_.find(trial);
  return found == rows_.end() ? nullptr : &found->second;
}

void TuningJournal::add(Row row) {
  const std::optional<double> spent = row.spent_s > 0 ? std::optional(row.spent_s) : std::nullopt;
  file_.add({program_, row.trial, measured::time_ns_text(row.time.seconds),
             measured::time_ns_text(spent), row.time.failure});
  rows_[row.trial] = std::move(row);
}

std::vector<HardwareTime> HardwareTrials::time(std::span<const HardwareTrial> asked,
                                               const HardwareTrial& reference) {
  std::vector<HardwareTime> times(asked.size());
  std::vector<std::size_t> open;
  std::vector<HardwareJob> jobs;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (const TuningJournal::Row* known = journal_.find(asked[i].name)) {
      times[i] = known->time;
      if (counted_.insert(known->trial).second) spent_s_ += known->spent_s;
    } else {
      open.push_back(i);
      jobs.push_back(asked[i].job());
    }
  }
  if (open.empty()) return times;
  const bool is_first = asked[open.front()].name == reference.name;
  if (referenced_ != reference.name && !is_first) {
    const std::vector<HardwareJob> first = {reference.job()};
    static_cast<void>(hardware_.time(first));
  }
  referenced_ = reference.name;
  const double begin = now_();
  std::vector<HardwareTime> got = hardware_.time(jobs);
  const double each = (now_() - begin) / static_cast<double>(open.size());
  for (std::size_t i = 0; i < open.size(); ++i) {
    journal_.add({asked[open[i]].name, got[i], each});
    if (counted_.insert(asked[open[i]].name).second) spent_s_ += each;
    times[open[i]] = std::move(got[i]);
  }
  return times;
}

std::vector<HardwareTime> median_of_sittings(HardwareTrials& trials,
                                             std::vector<HardwareTrial> asked,
                                             const std::string& sitting) {
  std::vector<std::string> names;
  ir::Hash128 together;  // only trials that ran together are comparable
  for (const HardwareTrial& trial : asked) {
    names.push_back(trial.name);
    together.add(std::string_view(trial.name));
  }
  std::vector<std::vector<double>> times(asked.size());
  std::vector<HardwareTime> medians(asked.size());
  for (int number = 1; number <= kSittings; ++number) {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      asked[i].name = fmt::format("{} {} {:08x} {}", names[i], sitting,
                                  static_cast<std::uint32_t>(together.result()[0]), number);
    }
    const std::vector<HardwareTime> got = trials.time(asked, asked.front());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i].seconds) times[i].push_back(*got[i].seconds);
      if (!got[i].seconds)
        medians[i].failure = got[i].failure.empty() ? "it failed" : got[i].failure;
    }
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!medians[i].failure.empty()) continue;
    const auto middle = times[i].begin() + kSittings / 2;
    std::ranges::nth_element(times[i], middle);
    medians[i].seconds = *middle;
  }
  return medians;
}

}  // namespace tilecast::search
