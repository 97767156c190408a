// Generated C computes the kernel: random kernels with random tiles are compiled and run in a child
// process on arrays between guard pages, and every element is compared with interpreter::evaluate()
// within a bound derived from rounding alone (rounding_bounds.h). One file in five is compiled with
// -O3, as for timing, the others with -O1, because compiling is most of the work.
//
// TILECAST_SEED=17 only runs the pair with that seed, and prints its C.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "analytical/iteration_space.h"
#include "base/error.h"
#include "host/c_kernel.h"
#include "host/compiled_library.h"
#include "host/run_kernels.h"
#include "tests/host/array_bytes.h"
#include "tests/host/random_kernels.h"
#include "tests/host/rounding_bounds.h"

namespace tilecast::host {
namespace {

constexpr int kPairs = 250;  // per shard
constexpr int kShards = 4;   // tests that may run concurrently
constexpr std::uint64_t kSeedsPerShard = 1'000'000;
constexpr std::size_t kFunctionsPerFile = 25;
constexpr int kFilesPerOptimisedFile = 5;
constexpr int kMostReported = 8;

struct Pair {
  std::uint64_t seed = 0;
  RandomKernel made;
  analytical::TileConfig tile;
  std::vector<interpreter::Elements> inputs;
  CKernel c;

  [[nodiscard]] std::string text() const {
    return fmt::format("seed {}, tile {}\n{}", seed, analytical::to_string(tile), made.text);
  }
};

// A pair, or the reason why no C can be generated.
std::variant<Pair, std::string> draw_pair(std::uint64_t seed) {
  Pair pair;
  pair.seed = seed;
  pair.made = random_kernel(seed);
  std::mt19937_64 random(seed);
  pair.tile = random_tile(pair.made.kernel, random);
  pair.inputs = random_inputs(pair.made, random);
  auto c = generate_c(pair.made.kernel, pair.tile, fmt::format("k{}", seed));
  if (const auto* unsupported = std::get_if<Unsupported>(&c)) return unsupported->reason;
  pair.c = std::get<CKernel>(std::move(c));
  return pair;
}

// Whether the tile splits the kernel, and whether it splits a summed dimension.
struct Cuts {
  bool any = false, reduction = false;
};
Cuts cuts_of(const Pair& pair) {
  const analytical::IterationSpace space =
      analytical::make_iteration_space(pair.made.kernel, hwdesc::NativeTile{});
  const analytical::LoopSizes extents = analytical::tile_extents(space, pair.tile);
  Cuts cuts;
  for (std::size_t i = 0; i < space.loops.size(); ++i) {
    const bool cut = extents[i] < space.loops[i].size;
    cuts.any = cuts.any || cut;
    cuts.reduction = cuts.reduction || (cut && space.loops[i].reduction);
  }
  return cuts;
}

class Checker {
 public:
  // Checks the pairs of one file.
  void check(const std::vector<Pair>& pairs) {
    std::string source(c_prelude());
    for (const Pair& pair : pairs) source += pair.c.source;
    const Compiler& compiler = files_++ % kFilesPerOptimisedFile == 0 ? optimising_ : quick_;
    const std::vector<Compilation> made = compiler.compile(std::vector{source}, 1);
    if (!made[0].library) {
      ADD_FAILURE() << "not compiled, seeds " << pairs.front().seed << " to " << pairs.back().seed
                    << ":\n"
                    << made[0].error;
      return;
    }
    for (const Pair& pair : pairs) run(made[0].library->path(), pair);
  }

  [[nodiscard]] std::size_t elements() const { return elements_; }
  [[nodiscard]] std::size_t unbounded() const { return unbounded_; }

 private:
  void run(const std::string& library, const Pair& pair) {
    const RunJob job{.function = pair.c.function,
                     .inputs = pair.c.inputs,
                     .outputs = pair.c.outputs,
                     .scratch_bytes = pair.c.scratch_bytes};
    std::vector<std::vector<std::byte>> bytes;
    for (std::size_t i = 0; i < pair.inputs.size(); ++i) {
      bytes.push_back(to_bytes(pair.c.inputs[i], pair.inputs[i]));
    }
    std::vector<std::vector<std::byte>> got;
    try {
      got = run_once(library, job, bytes);
    } catch (const Error& error) {
      report(pair, error.what());
      return;
    }
    const std::vector<Bounded> expected = evaluate_with_bounds(pair.made.kernel, pair.inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      compare(pair, i, from_bytes(pair.c.outputs[i], got[i]), expected[i]);
    }
  }

  void compare(const Pair& pair, std::size_t output, const interpreter::Elements& got,
               const Bounded& expected) {
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      unbounded_ += std::isfinite(expected.bound[i]) ? 0U : 1U;
      if (agrees(got[i], expected.value[i], expected.bound[i])) continue;
      if (wrong++ == 0) first = i;
    }
    elements_ += got.size();
    if (wrong == 0) return;
    report(pair, fmt::format("output {}: {} of {} elements differ; element {} is {}, expected {} "
                             "within {}",
                             output, wrong, got.size(), first, got[first], expected.value[first],
                             expected.bound[first]));
  }

  void report(const Pair& pair, const std::string& what) {
    const bool shown = reported_++ < kMostReported;
    ADD_FAILURE() << what << "\n" << (shown ? pair.text() : fmt::format("seed {}", pair.seed));
  }

  const Compiler optimising_, quick_{"-O1"};
  int files_ = 0;
  std::size_t elements_ = 0, unbounded_ = 0;
  int reported_ = 0;
};

void print_reasons(const std::map<std::string, int>& reasons, int drawn, int supported) {
  fmt::print("{} of {} random (kernel, tile) pairs have C\n", supported, drawn);
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [reason, count] : reasons) sorted.emplace_back(-count, reason);
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [count, reason] : sorted) fmt::print("  {:5} {}\n", -count, reason);
}

class GeneratedC : public ::testing::TestWithParam<int> {};

TEST_P(GeneratedC, ComputesWhatTheEvaluatorComputes) {
  if (std::getenv("TILECAST_SEED") != nullptr) GTEST_SKIP() << "TILECAST_SEED names one pair";
  Checker checker;
  std::map<std::string, int> reasons;
  std::vector<Pair> pending;
  int supported = 0, drawn = 0, cut = 0, cut_reductions = 0;
  while (supported < kPairs && drawn < 4 * kPairs) {
    const std::uint64_t seed =
        static_cast<std::uint64_t>(GetParam()) * kSeedsPerShard + static_cast<std::uint64_t>(drawn);
    ++drawn;
    auto pair = draw_pair(seed);
    if (const auto* reason = std::get_if<std::string>(&pair)) {
      ++reasons[*reason];
      continue;
    }
    ++supported;
    const Cuts cuts = cuts_of(std::get<Pair>(pair));
    cut += cuts.any ? 1 : 0;
    cut_reductions += cuts.reduction ? 1 : 0;
    pending.push_back(std::get<Pair>(std::move(pair)));
    if (pending.size() < kFunctionsPerFile) continue;
    checker.check(pending);
    pending.clear();
  }
  if (!pending.empty()) checker.check(pending);
  print_reasons(reasons, drawn, supported);
  EXPECT_EQ(supported, kPairs) << "of " << drawn << " pairs drawn, too few have C";
  EXPECT_GE(cut, kPairs / 2) << "pairs whose tile is not the whole kernel";
  EXPECT_GE(cut_reductions, kPairs / 20) << "pairs that keep an accumulator over tiles";
  EXPECT_LE(checker.unbounded(), checker.elements() / 20) << "elements that no bound checks";
}

INSTANTIATE_TEST_SUITE_P(Shards, GeneratedC, ::testing::Range(0, kShards));

TEST(GeneratedC, OfOneSeed) {
  const char* seed = std::getenv("TILECAST_SEED");
  if (seed == nullptr) GTEST_SKIP() << "for finding errors: set TILECAST_SEED";
  auto pair = draw_pair(std::strtoull(seed, nullptr, 10));
  if (const auto* reason = std::get_if<std::string>(&pair)) GTEST_SKIP() << *reason;
  fmt::print("{}\n{}\n", std::get<Pair>(pair).text(), std::get<Pair>(pair).c.source);
  Checker().check({std::get<Pair>(pair)});
}

}  // namespace
}  // namespace tilecast::host
