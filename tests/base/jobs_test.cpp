#include "base/jobs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "tests/base/little_address_space.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::base {
namespace {

namespace fs = std::filesystem;

class JobsTest : public ::testing::Test, protected support::Folder {
 protected:
  [[nodiscard]] std::string text() const { return read("jobs"); }
  void write(const std::string& text) const { Folder::write("jobs", text); }
  // Results contain characters that journals must escape.
  static std::string result(std::size_t task) {
    return "row \\ " + std::to_string(task) + "\n" + std::string(task % 7, '\n') + "\\n";
  }
  static std::vector<std::string> expected(std::size_t count) {
    std::vector<std::string> results;
    for (std::size_t i = 0; i < count; ++i) results.push_back(result(i));
    return results;
  }
  const fs::path file_ = at("jobs");
};

TEST_F(JobsTest, GivesResultsInOrderForAnyNumberOfThreads) {
  for (const std::size_t count : {0, 1, 2, 100, 1000}) {
    for (const int threads : {1, 2, 3, 8}) {
      const JobResults done = run_jobs({.count = count, .run = result, .threads = threads});
      EXPECT_TRUE(done.complete);
      EXPECT_EQ(done.results, expected(count)) << count << " tasks, " << threads << " threads";
    }
  }
}

TEST_F(JobsTest, FewerThreadsDoTheWorkWhereTheSystemGivesNoMore) {
  if (kIsSanitized) GTEST_SKIP() << "sanitizers need address space of their own";
  JobResults done;
  {
    const LittleAddressSpace limit(20 << 20);  // stacks of two threads
    done = run_jobs({.count = 100, .run = result, .threads = 8});
  }
  EXPECT_TRUE(done.complete);
  EXPECT_EQ(done.results, expected(100));
}

TEST_F(JobsTest, ThrowsWhatATaskThrewAndKeepsTheRest) {
  const Jobs failing{.count = 100,
                     .run =
                         [](std::size_t i) {
                           if (i == 50) throw Error("task 50");
                           return result(i);
                         },
                     .journal = file_.string(),
                     .identity = "a"};
  EXPECT_THROW((void)run_jobs(failing), Error);
  std::atomic<std::size_t> ran = 0;
  Jobs good = failing;
  good.resume = true;
  good.run = [&](std::size_t i) {
    ++ran;
    return result(i);
  };
  EXPECT_EQ(run_jobs(good).results, expected(100));
  EXPECT_EQ(ran, 50U);  // one thread runs them in order
}

TEST_F(JobsTest, StopsWhenAskedAndGoesOnLater) {
  std::atomic<std::size_t> ran = 0;
  Jobs jobs{.count = 1000,
            .run =
                [&](std::size_t i) {
                  ++ran;
                  return result(i);
                },
            .journal = file_.string(),
            .identity = "a",
            .stop = [&] { return ran > 10; }};
  const JobResults stopped = run_jobs(jobs);
  EXPECT_TRUE(stopped.complete || stopped.results.empty());
  jobs.stop = {};
  jobs.resume = true;
  EXPECT_EQ(run_jobs(jobs).results, expected(1000));
  EXPECT_EQ(ran, 1000U);  // none is repeated
}

// A journal truncated anywhere (e.g. by a crash) only loses incomplete entries.
TEST_F(JobsTest, GoesOnWithAJournalThatWasCutAnywhere) {
  constexpr std::size_t kCount = 20;
  Jobs jobs{.count = kCount, .run = result, .journal = file_.string(), .identity = "a"};
  EXPECT_EQ(run_jobs(jobs).results, expected(kCount));
  const std::string whole = text();
  jobs.resume = true;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    write(whole.substr(0, size));
    ASSERT_EQ(run_jobs(jobs).results, expected(kCount)) << "cut at " << size;
    ASSERT_EQ(text().size(), whole.size()) << "cut at " << size;
  }
}

TEST_F(JobsTest, RefusesDamagedLinesOtherWorkAndFilesThatExist) {
  Jobs jobs{.count = 20, .run = result, .journal = file_.string(), .identity = "a"};
  EXPECT_TRUE(run_jobs(jobs).complete);
  EXPECT_THROW((void)run_jobs(jobs), Error);  // no resume
  jobs.resume = true;
  const std::string whole = text();
  std::mt19937_64 random(1);
  const std::size_t header = whole.find('\n') + 1, last = whole.rfind('\n', whole.size() - 2);
  for (int i = 0; i < 1000; ++i) {
    std::string damaged = whole;
    const std::size_t at = header + random() % (last - header);
    if (damaged[at] == '\n') continue;  // would join two lines: tested below
    const char byte = static_cast<char>('a' + random() % 26);
    if (damaged[at] == byte) continue;
    damaged[at] = byte;
    write(damaged);
    EXPECT_THROW((void)run_jobs(jobs), Error) << "byte " << at;
  }
  write(whole);
  jobs.identity = "b";
  EXPECT_THROW((void)run_jobs(jobs), Error);
  jobs.identity = "a";
  jobs.count = 21;
  EXPECT_THROW((void)run_jobs(jobs), Error);
}

TEST_F(JobsTest, LocksItsJournal) {
  const Journal first(file_.string(), "a", 3, false);
  EXPECT_THROW(Journal(file_.string(), "a", 3, true), Error);
}

// The kernel does the same for a killed process, a little later.
TEST_F(JobsTest, WaitsForALockThatIsAboutToGo) {
  auto first = std::make_unique<Journal>(file_.string(), "a", 3, false);
  const std::jthread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    first.reset();
  });
  EXPECT_NO_THROW(Journal(file_.string(), "a", 3, true));
}

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
