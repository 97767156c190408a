// Runs a generated function once on given bytes, in arrays surrounded by guard pages.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/run_kernels.h"

namespace tilecast::host {

// Calls the function in a child process and returns the bytes of its outputs. Throws Error if it
// crashes, writes beyond its arrays or takes longer than `timeout`.
[[nodiscard]] std::vector<std::vector<std::byte>> run_once(
    const std::string& library, const RunJob& job, std::span<const std::vector<std::byte>> inputs,
    Seconds timeout = Seconds{10});

}  // namespace tilecast::host
