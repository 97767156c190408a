#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "tests/base/little_address_space.h"
#include "tests/support/errors.h"

namespace tilecast::base {
namespace {

TEST(Parallel, EveryIndexIsVisitedOnceForAnyBatchAndThreads) {
  for (const std::size_t count : {0U, 1U, 7U, 64U, 1000U}) {
    for (const std::size_t batch : {1U, 8U, 64U, 5000U}) {
      for (const int jobs : {1, 2, 8}) {
        std::vector<std::atomic<int>> visits(count);
        parallel_for_batches(count, batch, jobs, [&](std::size_t first, std::size_t end) {
          EXPECT_LE(end - first, batch);
          for (std::size_t i = first; i < end; ++i) ++visits[i];
        });
        for (const auto& visit : visits) EXPECT_EQ(visit, 1);
      }
    }
  }
}

TEST(Parallel, FewerThreadsDoTheWorkWhereTheSystemGivesNoMore) {
  if (kIsSanitized) GTEST_SKIP() << "sanitizers need address space of their own";
  std::vector<std::atomic<int>> visits(64);
  {
    const LittleAddressSpace limit(1 << 20);  // less than the stack of one
    parallel_for(visits.size(), 4, [&](std::size_t i) { ++visits[i]; });
  }
  for (const auto& visit : visits) EXPECT_EQ(visit, 1);
}

TEST(Parallel, TheErrorOfTheSmallestFailingIndexComesBack) {
  for (const int jobs : {1, 2, 8}) {
    const auto fail_from = [](std::size_t i) {
      if (i >= 5) throw std::runtime_error(std::to_string(i));
    };
    EXPECT_EQ(support::error_of<std::runtime_error>([&] { parallel_for(100, jobs, fail_from); }),
              "5");
  }
}

}  // namespace
}  // namespace tilecast::base
