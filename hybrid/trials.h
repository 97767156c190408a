// Trials: predictions of a bag for measured kernels that it has not seen, compared with physics.
// Left-out groups (kernels or whole programs) are predicted by the members fitted without them,
// left-out sources by separately fitted bags. Internal to hybrid_fit.cpp; a report goes into the
// model's card.
#pragma once

#include <string>
#include <vector>

#include "hybrid/bag_fit.h"
#include "hybrid/bands.h"
#include "hybrid/known_kernels.h"
#include "hybrid/shrinkage.h"

namespace tilecast::hybrid {

struct TrialRows {
  BagRows bag = {};
  std::vector<std::string> kind = {};     // by row
  std::vector<Place> places = {};         // without kernels
  std::vector<std::uint32_t> place = {};  // by row
  std::size_t programs = 0;               // rows of programs, left out

  [[nodiscard]] const Shrinkage& rule_of(std::size_t row) const { return places[place[row]].same; }
};
// Sets and devices (one per set) must outlive the rows.
struct RowSource {
  std::span<const measured::SampleSet> sets;
  std::span<const hwdesc::Device> devices;
  learned::ValidateBy trial_by = learned::ValidateBy::kKernel;  // for sets with enough of them
  int jobs = 1;
};
// The rows of single kernels with an analytical estimate.
[[nodiscard]] TrialRows trial_rows(const analytical::CostModel& prior, const BagSpec& spec,
                                   const RowSource& source);

[[nodiscard]] std::vector<Trial> run_trials(const TrialRows& rows, const FittedBag& fitted);

// Trials on kernels near a place's that another source measured on the same device, predicted by a
// bag fitted without that source; by place. Other sources time differently and run other software
// versions, as a user's program does.
using TrialsByPlace = std::vector<std::vector<Trial>>;
struct CrossTrials {
  TrialsByPlace same, any;  // same: sources that timed as the place did; any: all
};
[[nodiscard]] CrossTrials cross_trials(const BagSpec& spec, const TrialRows& rows,
                                       const Known& known, int jobs);

// Errors of the places' rules on the trials they were chosen from, in percent of the measured time.
struct TrialReport {
  std::size_t rows = 0, units = 0;
  std::size_t believed = 0;      // rows whose rule applies a correction
  double before = 0, after = 0;  // MAPE of physics and of the corrected times
  // strata: groups of at least 5 rows with one source, device and bound; worse: those that the
  // correction made worse by more than a point; worst: the largest such change, in points.
  std::size_t strata = 0, worse = 0;
  double worst = 0;
  struct OfClass {
    std::string op_class;
    std::size_t rows = 0;
    double before = 0, after = 0;
  };
  std::vector<OfClass> classes = {};
};
[[nodiscard]] TrialReport report_of(std::span<const Trial> trials, const TrialRows& rows);

// Errors for Bands: of times corrected by the places' rules (near), and of physics alone.
[[nodiscard]] std::vector<BandTrial> band_trials(std::span<const Trial> trials,
                                                 const TrialRows& rows);

// Intraclass correlation of log errors within groups, 0 ... 1: the ANOVA estimator (Donner, 1986).
// 1 for fewer than 3 groups.
[[nodiscard]] double correlation_of(std::span<const Trial> trials, const TrialRows& rows);

}  // namespace tilecast::hybrid
