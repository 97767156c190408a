// Builds the work of measurement rows as kernels: operators through measured/op_kernels.h, HLO
// files through ir/load_program.h. Rows with equal work share it; each file is read once.
#pragma once

#include <deque>
#include <vector>

#include "hwdesc/device.h"
#include "measured/measurement_set.h"
#include "measured/samples.h"

namespace tilecast::measured {

struct WorksOfRows {
  std::deque<Workload> works;
  std::vector<std::size_t> work_of;  // by row
};

// `rows` point into `set`. Throws Error naming file, row and column.
[[nodiscard]] WorksOfRows build_works(const MeasurementSet& set,
                                      const std::vector<const MeasurementRow*>& rows,
                                      const hwdesc::Device& device, int jobs);

}  // namespace tilecast::measured
