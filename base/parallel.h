// Runs `body(0) ... body(count - 1)` on up to `jobs` threads. Write results into slots by index, so
// that the output does not depend on `jobs`. The exception of the smallest failing index is
// rethrown.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace tilecast::base {

void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body);

// The same for short bodies: calls body(first, end) for up to `batch` consecutive indices.
void parallel_for_batches(std::size_t count, std::size_t batch, int jobs,
                          const std::function<void(std::size_t, std::size_t)>& body);

// Starts `count` threads that each run `work` once, or as many as the system allows. They join when
// destroyed.
[[nodiscard]] std::vector<std::jthread> start_threads(std::size_t count,
                                                      const std::function<void()>& work);

// The number of hardware threads, at least 1.
[[nodiscard]] int default_jobs();

}  // namespace tilecast::base
