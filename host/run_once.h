// Runs a generated function once on given bytes, between pages that nobody may touch.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/run_kernels.h"

namespace tilecast::host {

// One call in a child; the bytes of the outputs. Throws Error when it crashes, writes beyond its
// arrays or takes longer than `timeout`.
[[nodiscard]] std::vector<std::vector<std::byte>> run_once(
    const std::string& library, const RunJob& job, std::span<const std::vector<std::byte>> inputs,
    Seconds timeout = Seconds{10});

}  // namespace tilecast::host
