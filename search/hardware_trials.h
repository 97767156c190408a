// What was timed on hardware in a search, so that it can be broken off at any time.
//
//   TuningJournal journal(file, space.program_hash());
//   HardwareTrials trials(hardware, journal, now);
//   std::vector<HardwareTime> times = trials.time(asked);       // of the journal, or timed now
//
// Every time stands in the journal as soon as it is known: a search that was broken off asks the
// same again, is told the same, and ends as an unbroken one. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "measured/growing_csv.h"
#include "search/hardware.h"

namespace tilecast::search {

// Trials by name: seconds, what that took of hardware. A file that a broken search goes on from
// (measured/growing_csv.h); without a file name in memory only.
class TuningJournal {
 public:
  struct Row {
    std::string trial;
    HardwareTime time;
    double spent_s = 0;  // preparation included
  };
  // Throws Error for a file of another program.
  TuningJournal(const std::string& file, const std::string& program_hash);

  [[nodiscard]] const Row* find(const std::string& trial) const;
  void add(Row row);
  [[nodiscard]] std::size_t size() const { return rows_.size(); }

 private:
  measured::GrowingCsv file_;
  std::string program_;
  std::map<std::string, Row> rows_;
};

struct HardwareTrial {
  std::string name;  // in the journal: different for what is different
  std::function<HardwareJob()> job;
};

class HardwareTrials {
 public:
  // `now`: seconds of a clock that never goes back. Hardware and journal outlive this.
  HardwareTrials(Hardware& hardware, TuningJournal& journal, std::function<double()> now)
      : hardware_(hardware), journal_(journal), now_(std::move(now)) {}

  // `reference`: says what the results of these must be, where it did not just run: after a break
  // it runs once more, outside the budget. Trials already in the journal are not run.
  [[nodiscard]] std::vector<HardwareTime> time(std::span<const HardwareTrial> asked,
                                               const HardwareTrial& reference);
  // Of hardware by all trials asked for, those of the journal included; each once.
  [[nodiscard]] double spent_s() const { return spent_s_; }
  [[nodiscard]] const Hardware& hardware() const { return hardware_; }

 private:
  Hardware& hardware_;
  TuningJournal& journal_;
  std::function<double()> now_;
  double spent_s_ = 0;
  std::set<std::string> counted_;  // trials
  std::string referenced_;         // name of the reference whose results hold
};

// Of several programs that compute the same, each run in kSittings sittings, the median time: what
// a neighbour of the machine does to a sitting it does not do to most. A program that fails once
// has failed. The first is the reference. `sitting`: what the trials are called, behind their own
// names.
inline constexpr int kSittings = 5;
[[nodiscard]] std::vector<HardwareTime> median_of_sittings(HardwareTrials& trials,
                                                           std::vector<HardwareTrial> asked,
                                                           const std::string& sitting);

}  // namespace tilecast::search
