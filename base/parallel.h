// Runs `body(0) ... body(count - 1)` on up to `jobs` threads. Results belong in slots by index, so
// that the output does not depend on `jobs`. The error of the smallest failing index is rethrown.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace tilecast::base {

void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body);

// The same for short bodies: body(first, end) of up to `batch` indices in a row, by one thread.
void parallel_for_batches(std::size_t count, std::size_t batch, int jobs,
                          const std::function<void(std::size_t, std::size_t)>& body);

// Threads that run `work`, each once: `count`, or as many as the system gives. They are joined when
// they are destroyed.
[[nodiscard]] std::vector<std::jthread> start_threads(std::size_t count,
                                                      const std::function<void()>& work);

// The machine's threads, at least 1.
[[nodiscard]] int default_jobs();

}  // namespace tilecast::base
