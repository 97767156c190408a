// Screening and calibration, as the verb `calibrate` and the calibrated column of experiments use
// them: contradictory rows are set apart (hybrid/screening.h), and the constants of each device are
// fitted once to its own rows (hybrid/calibrate.h).
//
//   PreparedFit prepared = prepare_fit(prior, sets, devices, {.calibrate = true});
#pragma once

#include "hybrid/calibrate.h"
#include "hybrid/screening.h"

namespace tilecast::hybrid {

struct PreparedFit {
  std::vector<measured::SampleSet> sets;  // the remaining rows; empty only if no set has any
  std::vector<hwdesc::Device> devices;    // by set: with fitted constants, or as described
  std::vector<hwdesc::Device> described;  // by set: as given
  std::vector<SetApart> apart;
  std::vector<Calibrated> calibrated;  // devices with enough rows, in the order of the sets
  std::vector<std::string> notes;      // what was set apart or refused, and why; one line each
};

struct PrepareOptions {
  bool calibrate = true;
  CalibrateOptions constants = {};
};

// `devices`: one per set.
[[nodiscard]] PreparedFit prepare_fit(const analytical::CostModel& prior,
                                      std::span<const measured::SampleSet> sets,
                                      std::span<const hwdesc::Device> devices,
                                      const PrepareOptions& options);

// `device` with its fitted constants; unchanged if there are none.
[[nodiscard]] hwdesc::Device fitted_device(const PreparedFit& prepared,
                                           const hwdesc::Device& device);

}  // namespace tilecast::hybrid
