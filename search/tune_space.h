// The candidates of a search as numbers (search/tuner.h): what each is, and what a model says of
// it.
//
//   std::vector<analytical::KernelQuery> queries = ...;      // of one kernel
//   TuneSpace space = make_space(queries, device, analytical::AnalyticalModel());
//
// Features are a candidate's parameters where there are any, else the bounds of its tile. Any cost
// model may be the prior: the analytical one, or one that was trained on other machines.
// Thread-safe.
#pragma once

#include <span>

#include "analytical/cost_model.h"
#include "search/tuner.h"

namespace tilecast::search {

// All queries have as many parameters. Throws Error where they do not.
[[nodiscard]] TuneSpace make_space(std::span<const analytical::KernelQuery> queries,
                                   const hwdesc::Device& device,
                                   const analytical::CostModel& model);

}  // namespace tilecast::search
