// Checks whether a description is plausible: recomputes peaks from the parts and compares them with
// the published ones; reports rates that are missing or infinite, blocks without a source, and
// numbers inherited from an ancestor with another clock or number of workers.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/device.h"

namespace tilecast::hwdesc {

// kNotPublished: plausible, but there is no published number to compare with.
enum class Verdict { kAgrees, kNotPublished, kDiffers };

struct CheckResult {
  std::string what;  // "bf16 peak per chip"
  double computed_si = 0, published_si = 0;
  double deviation = 0;  // computed / published - 1
  Verdict verdict = Verdict::kDiffers;
  std::string message;
};
[[nodiscard]] std::vector<CheckResult> check(const Device& device, double tolerance = 0.05);

}  // namespace tilecast::hwdesc
