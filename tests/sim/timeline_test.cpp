#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "sim/run_parts.h"

namespace tilecast::sim {
namespace {

TEST(Timeline, RunsComputeKernelsOneAfterTheOther) {
  const std::vector<Task> tasks{{Seconds{2}}, {Seconds{3}}};
  const Timeline timeline = schedule(tasks);
  EXPECT_EQ(timeline.spans[1].start, Seconds{2});
  EXPECT_EQ(timeline.makespan, Seconds{5});
}

TEST(Timeline, HidesACopyBehindTheKernelsUpToItsUser) {
  const std::vector<Task> tasks{
      {.duration = Seconds{4}, .lane = Lane::kDma, .waits_for = {}, .done_before = 2},
      {Seconds{3}},
      {Seconds{1}}};
  const Timeline timeline = schedule(tasks);
  EXPECT_EQ(timeline.spans[1].start, Seconds{0});
  EXPECT_EQ(timeline.spans[2].start, Seconds{4});
  EXPECT_EQ(timeline.makespan, Seconds{5});
}

TEST(Timeline, IssuesACopyOnlyWhenTheKernelsBeforeItHaveEnded) {
  const std::vector<Task> tasks{{Seconds{3}}, {.duration = Seconds{1}, .lane = Lane::kDma}};
  EXPECT_EQ(schedule(tasks).spans[1].start, Seconds{3});
}

TEST(Timeline, ACollectiveHoldsUpOnlyWhoUsesItsResult) {
  const std::vector<Task> tasks{{Seconds{1}},
                                {.duration = Seconds{5}, .lane = Lane::kNetwork, .waits_for = {0}},
                                {Seconds{2}},
                                {.duration = Seconds{1}, .waits_for = {1}}};
  const Timeline timeline = schedule(tasks);
  EXPECT_EQ(timeline.spans[2].start, Seconds{1});
  EXPECT_EQ(timeline.spans[3].start, Seconds{6});
}

TEST(Timeline, OfNothingEndsAtZero) {
  EXPECT_EQ(schedule({}).makespan, Seconds{0});
}

std::vector<Task> random_tasks(std::mt19937& random) {
  const auto below = [&](std::size_t n) { return std::size_t{random() % n}; };
  std::vector<Task> tasks(1 + below(40));
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].duration = Seconds{static_cast<double>(below(1000))};
    tasks[i].lane = static_cast<Lane>(below(kLaneCount));
    for (std::size_t edges = below(3); i > 0 && edges > 0; --edges) {
      tasks[i].waits_for.push_back(below(i));
    }
    if (tasks[i].lane != Lane::kCompute && i + 1 < tasks.size() && below(2) == 0) {
      tasks[i].done_before = i + 1 + below(tasks.size() - i - 1);
    }
  }
  return tasks;
}

// Longest chain of durations along waits_for and done_before edges.
Seconds critical_path(const std::vector<Task>& tasks) {
  std::vector<Seconds> ready(tasks.size());
  Seconds longest;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto end_of = [&](std::size_t t) { return ready[t] + tasks[t].duration; };
    for (const std::size_t earlier : tasks[i].waits_for) {
      ready[i] = std::max(ready[i], end_of(earlier));
    }
    if (tasks[i].done_before) {
      Seconds& user = ready[*tasks[i].done_before];
      user = std::max(user, end_of(i));
    }
    longest = std::max(longest, end_of(i));
  }
  return longest;
}

TEST(TimelineProperty, MakespanLiesBetweenItsLowerBoundsAndTheSum) {
  std::mt19937 random(20);
  for (int round = 0; round < 1000; ++round) {
    const std::vector<Task> tasks = random_tasks(random);
    const Timeline timeline = schedule(tasks);
    Seconds sum;
    std::array<Seconds, kLaneCount> work{};
    for (const Task& task : tasks) {
      sum += task.duration;
      work[static_cast<std::size_t>(task.lane)] += task.duration;
    }
    EXPECT_LE(timeline.makespan, sum);
    EXPECT_GE(timeline.makespan, critical_path(tasks));
    for (const Seconds lane : work) EXPECT_GE(timeline.makespan, lane);
  }
}

TEST(TimelineProperty, NoTaskStartsBeforeWhatItWaitsForOrOverlapsItsLane) {
  std::mt19937 random(21);
  for (int round = 0; round < 1000; ++round) {
    const std::vector<Task> tasks = random_tasks(random);
    const std::vector<Span> spans = schedule(tasks).spans;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      for (const std::size_t earlier : tasks[i].waits_for) {
        EXPECT_GE(spans[i].start, spans[earlier].end);
      }
      if (tasks[i].done_before) {
        EXPECT_GE(spans[*tasks[i].done_before].start, spans[i].end);
      }
      for (std::size_t j = 0; j < i; ++j) {
        if (tasks[j].lane == tasks[i].lane) {
          EXPECT_GE(spans[i].start, spans[j].end);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilecast::sim
