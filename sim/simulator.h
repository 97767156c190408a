// Whole programs: kernels through a cost model, added up and laid on a timeline.
#pragma once

#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "ir/program.h"

namespace tilecast::sim {

enum class UnknownOp { kError, kSkip };

struct SimulateOptions {
  UnknownOp unknown_op = UnknownOp::kError;
};

struct SimulatedKernel {
  ir::KernelId id;
  analytical::Estimate estimate;   // of one launch
  bool skipped = false;            // --unknown-op=skip: no time, and the report says so
  Seconds start, end;              // first launch on the timeline
};

struct Simulation {
  std::string program, file, device;
  Seconds time;        // sum over kernels of time x multiplicity: the papers' definition
  Seconds timeline;    // with async copies and collectives overlapping other kernels
  Seconds host_dispatch;  // reported apart
  std::vector<SimulatedKernel> kernels;
  std::vector<ir::Note> notes;
};

[[nodiscard]] Simulation simulate(const ir::Program& program, const hwdesc::Device& device,
                                  const analytical::CostModel& model,
                                  const SimulateOptions& options = {});

}  // namespace tilecast::sim
