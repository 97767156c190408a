#include "analytical/pipeline.h"

namespace tilecast::analytical {

double steady_period_s(const PipelineLoop& loop) {
  return std::max(resource_bound_s(loop), recurrence_bound_s(loop));
}

}  // namespace tilecast::analytical
