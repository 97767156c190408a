#include "hybrid/bands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "measured/csv.h"

namespace tilecast::hybrid {
namespace {

constexpr double kOutside = 0.05;  // share of trials outside the band on either side

// The stratum and those that contain it, from fine to coarse.
std::array<Stratum, 6> around(const Stratum& s) {
  return {s,
          Stratum{s.regime, s.place, s.bound, SizeKind::kAny},
          Stratum{s.regime, 0, s.bound, s.size},
          Stratum{s.regime, s.place, BoundKind::kAny, SizeKind::kAny},
          Stratum{s.regime, 0, s.bound, SizeKind::kAny},
          Stratum{s.regime, 0, BoundKind::kAny, SizeKind::kAny}};
}

struct Weighted {
  double error = 0, weight = 1;
};

// The value above which less than a share `outside` of the weight lies, with the conformal
// correction for one future trial.
double beyond(std::vector<Weighted>& trials, double total, double outside) {
  std::ranges::sort(trials, std::ranges::greater{}, &Weighted::error);
  const double allowed = outside * (total + 1) - 1;
  double sum = 0;
  for (const Weighted& trial : trials) {
    sum += trial.weight;
    if (sum > allowed) return trial.error;
  }
  return trials.back().error;
}

// Rounds to the saved precision, so that a saved model equals the fitted one.
double rounded_up(double log_error) {
  constexpr double kSteps = 1e4;
  return std::ceil(std::max(0.0, log_error) * kSteps) / kSteps;
}

Band band_of(std::vector<Weighted> trials) {
  Band band;
  for (const Weighted& trial : trials) band.trials += trial.weight;
  band.high = rounded_up(beyond(trials, band.trials, kOutside));
  for (Weighted& trial : trials) trial.error = -trial.error;
  band.low = 0 - rounded_up(beyond(trials, band.trials, kOutside));
  return band;
}

template <class Kind, std::size_t N>
Kind kind_at(const measured::CsvTable& table, const measured::CsvRow& row, std::size_t column,
             const std::string_view (&names)[N]) {
  const auto* found = std::ranges::find(names, row.cells[column]);
  if (found != std::end(names)) return static_cast<Kind>(found - std::begin(names));
  throw Error(
      fmt::format("{}: got '{}'", table.where(row, table.columns[column]), row.cells[column]));
}

const std::vector<std::string> kColumns = {"regime", "place", "bound", "size",
                                           "trials", "low",   "high"};

}  // namespace

SizeKind size_kind(Seconds time) {
  return time.value < 5e-6    ? SizeKind::kBelow5us
         : time.value < 50e-6 ? SizeKind::kBelow50us
                              : SizeKind::kLonger;
}

Bands Bands::of(std::span<const BandTrial> trials) {
  std::map<std::pair<Stratum, std::uint32_t>, double> rows;  // number of rows by stratum and group
  for (const BandTrial& trial : trials) {
    for (const Stratum& stratum : around(trial.stratum)) rows[{stratum, trial.group}] += 1;
  }
  std::map<Stratum, std::vector<Weighted>> errors;
  for (const BandTrial& trial : trials) {
    for (const Stratum& stratum : around(trial.stratum)) {
      errors[stratum].push_back({trial.error, 1 / std::sqrt(rows.at({stratum, trial.group}))});
    }
  }
  Bands bands;
  for (auto& [stratum, all] : errors) {
    const Band band = band_of(std::move(all));
    const bool coarsest = stratum.place == 0 && stratum.bound == BoundKind::kAny;
    if (band.trials >= kLeastTrials || coarsest) bands.bands_[stratum] = band;
  }
  return bands;
}

Band Bands::at(Stratum stratum) const {
  for (const Stratum& each : around(stratum)) {
    const auto found = bands_.find(each);
    if (found != bands_.end()) return found->second;
  }
  return {};
}

std::string Bands::save() const {
  std::string text = measured::csv_line(kColumns);
  for (const auto& [s, band] : bands_) {
    text += measured::csv_line({std::string(kRegimes[static_cast<std::size_t>(s.regime)]),
                                fmt::format("{}", s.place),
                                std::string(kBoundKinds[static_cast<std::size_t>(s.bound)]),
                                std::string(kSizeKinds[static_cast<std::size_t>(s.size)]),
                                fmt::format("{:.1f}", band.trials), fmt::format("{}", band.low),
                                fmt::format("{}", band.high)});
  }
  return text;
}

Bands Bands::load(const std::string& text, const std::string& file) {
  const measured::CsvTable table = measured::read_csv(base::SourceText(file, text));
  if (table.columns != kColumns) {
    throw Error(
        fmt::format("{}:1: the columns are of another version: train the model again", file));
  }
  constexpr double kMost = 1000;
  Bands bands;
  for (const measured::CsvRow& row : table.rows) {
    const Stratum stratum{
        .regime = kind_at<Regime>(table, row, 0, kRegimes),
        .place = static_cast<std::uint32_t>(measured::number_cell(table, row, 1, 0, kMost)),
        .bound = kind_at<BoundKind>(table, row, 2, kBoundKinds),
        .size = kind_at<SizeKind>(table, row, 3, kSizeKinds)};
    bands.bands_[stratum] = {.low = measured::number_cell(table, row, 5, -kMost, 0),
                             .high = measured::number_cell(table, row, 6, 0, kMost),
                             .trials = measured::number_cell(table, row, 4, 0, 1e9)};
  }
  return bands;
}

}  // namespace tilecast::hybrid
