// Is a description plausible? Recomputes peaks from the parts and compares them with the published
// ones; flags roofs that are missing, infinite, or without a source.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/device.h"

namespace tilecast::hwdesc {

struct CheckResult {
  std::string what;  // "bf16 peak per chip"
  double computed_si = 0, published_si = 0;
  double deviation = 0;  // computed / published - 1
  bool ok = false;
  std::string message;
};
[[nodiscard]] std::vector<CheckResult> check(const Device& device, double tolerance = 0.05);

}  // namespace tilecast::hwdesc
