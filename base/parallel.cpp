#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace tilecast::base {

void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (const std::exception&) {
        errors[i] = std::current_exception();
      }
    }
  };
  {
    const std::size_t threads =
        std::min<std::size_t>(count, static_cast<std::size_t>(std::max(jobs, 1)));
    const std::vector<std::jthread> others =
        start_threads(std::max<std::size_t>(threads, 1) - 1, work);
    work();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

void parallel_for_batches(std::size_t count, std::size_t batch, int jobs,
                          const std::function<void(std::size_t, std::size_t)>& body) {
  parallel_for((count + batch - 1) / batch, jobs,
               [&](std::size_t i) { body(i * batch, std::min(count, (i + 1) * batch)); });
}

std::vector<std::jthread> start_threads(std::size_t count, const std::function<void()>& work) {
  std::vector<std::jthread> threads;
  try {
    while (threads.size() < count) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // The system allows no more threads: the existing ones do the work.
  }
  return threads;
}

int default_jobs() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace tilecast::base
