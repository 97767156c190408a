// Journal of the hardware times of a search, so that an interrupted search can resume.
//
//   TuningJournal journal(file, space.program_hash());
//   HardwareTrials trials(hardware, journal, now);
//   std::vector<HardwareTime> times = trials.time(wanted, reference);
//
// Every time is written to the journal as soon as it is known. A resumed search requests the same
// trials, gets the same times, and ends like an uninterrupted one. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "measured/growing_csv.h"
#include "search/hardware.h"

namespace tilecast::search {

// Times and hardware cost of trials, by name, in a file (measured/growing_csv.h); in memory only if
// the file name is empty.
class TuningJournal {
 public:
  struct Row {
    std::string trial;
    HardwareTime time;
    double spent_s = 0;  // hardware time, preparation included
  };
  // Throws Error if the file belongs to another program.
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
  std::string name;  // unique key in the journal
  std::function<HardwareJob()> job;
};

class HardwareTrials {
 public:
  // `now`: seconds of a monotonic clock. Hardware and journal must outlive this.
  HardwareTrials(Hardware& hardware, TuningJournal& journal, std::function<double()> now)
      : hardware_(hardware), journal_(journal), now_(std::move(now)) {}

  // `reference` defines the correct results of these trials. If it has not just run (after a
  // resume), it runs again outside the budget. Trials in the journal are not run.
  [[nodiscard]] std::vector<HardwareTime> time(std::span<const HardwareTrial> asked,
                                               const HardwareTrial& reference);
  // Hardware time of all requested trials, including those from the journal; each counts once.
  [[nodiscard]] double spent_s() const { return spent_s_; }
  [[nodiscard]] const Hardware& hardware() const { return hardware_; }

 private:
  Hardware& hardware_;
  TuningJournal& journal_;
  std::function<double()> now_;
  double spent_s_ = 0;
  std::set<std::string> counted_;  // trials included in spent_s_
  std::string referenced_;         // name of the current reference
};

// Runs several programs that compute the same, each in kSittings sittings, and returns their median
// times, which are robust to a disturbed sitting. A program that fails once counts as failed. The
// first is the reference. `sitting` is appended to the trials' names.
inline constexpr int kSittings = 5;
[[nodiscard]] std::vector<HardwareTime> median_of_sittings(HardwareTrials& trials,
                                                           std::vector<HardwareTrial> asked,
                                                           const std::string& sitting);

}  // namespace tilecast::search
