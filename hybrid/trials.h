// Trials: what a bag says of measured kernels it has not seen, and how that did beside physics.
// Groups (kernels, or whole programs) are left out by the members that were fitted without them,
// sources by bags of their own.
//
// Internal to hybrid_fit.cpp; a report of them goes into the model's card.
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
  std::size_t programs = 0;               // rows left out

  [[nodiscard]] const Shrinkage& rule_of(std::size_t row) const { return places[place[row]].same; }
};
// Sets and devices (one per set) must outlive the rows.
struct RowSource {
  std::span<const measured::SampleSet> sets;
  std::span<const hwdesc::Device> devices;
  learned::ValidateBy trial_by = learned::ValidateBy::kKernel;  // of sets with enough of them
  int jobs = 1;
};
// The rows of single kernels that physics answers.
[[nodiscard]] TrialRows trial_rows(const analytical::CostModel& prior, const BagSpec& spec,
                                   const RowSource& source);

[[nodiscard]] std::vector<Trial> run_trials(const TrialRows& rows, const FittedBag& fitted);

// Where another source measured kernels near a place's on the same device: what a bag that was
// fitted without that source says of them, by place. Another source times in another way, runs
// other versions, and a user's program is always another source.
using TrialsByPlace = std::vector<std::vector<Trial>>;
struct CrossTrials {
  TrialsByPlace same, any;  // by sources that timed as the place did, by all
};
[[nodiscard]] CrossTrials cross_trials(const BagSpec& spec, const TrialRows& rows,
                                       const Known& known, int jobs);

// How the rules of places do on the trials they came from, in percent of the measured time.
struct TrialReport {
  std::size_t rows = 0, units = 0;
  std::size_t believed = 0;      // rows whose rule is not physics alone
  double before = 0, after = 0;  // MAPE of physics, and corrected
  // Sets of rows of one source, device and bound, of at least 5 rows, and those of them that the
  // correction made worse by more than a point; the worst, in points.
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

// Errors that bands are made of: near by the rules of places, and of physics alone.
[[nodiscard]] std::vector<BandTrial> band_trials(std::span<const Trial> trials,
                                                 const TrialRows& rows);

// Of log errors within a group: ANOVA estimator of the intraclass correlation (Donner, 1986),
// 0 ... 1; 1 for fewer than 3 groups.
[[nodiscard]] double correlation_of(std::span<const Trial> trials, const TrialRows& rows);

}  // namespace tilecast::hybrid
