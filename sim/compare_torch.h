// Compares a trace of PyTorch's profiler with predictions, per operator: rows for compare()
// (sim/compare.h).
//
//   Comparison c = compare(compare_torch({"step.pt.trace.json.gz", trace, why}, setup));
//
// A row is an operator with the shapes that it was called with; its launches are the calls on all
// devices. Operators that measured/importers/torch_ops.h knows get the models' times; the others,
// and kernels that no operator launched, only have their own.
#pragma once

#include <string>

#include "measured/importers/torch_trace.h"
#include "sim/compare.h"
#include "sim/compare_inputs.h"

namespace tilecast::sim {

struct TorchInput {
  std::string file;
  measured::TorchTrace trace;
  std::string guess;  // why the first device matches the trace; empty: chosen by the user
};

[[nodiscard]] Comparison compare_torch(const TorchInput& input, const CompareSetup& setup);

}  // namespace tilecast::sim
