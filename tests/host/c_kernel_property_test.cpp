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
#include <limits>
#include <map>
#include <numeric>

#include "analytical/iteration_space.h"
#include "base/error.h"
#include "host/c_kernel.h"
#include "host/compiled_library.h"
#include "host/run_kernels.h"
#include "ir/kernels/kernel_sketch.h"
#include "tests/host/array_bytes.h"
#include "tests/host/random_kernels.h"
#include "tests/host/rounding_bounds.h"
#include "tests/interpreter/evaluate_ops.h"

namespace tilecast::host {
namespace {

using interpreter::Elements;
using ir::DType;
using ir::KernelSketch;
using ir::Opcode;
using ir::OpId;

constexpr int kPairs = 250;  // per shard
constexpr int kShards = 8;   // tests that may run concurrently
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

// --- Tests the random kernels: valid, varied, and with useful rounding bounds.

constexpr std::uint64_t kSeeds = 1000;

TEST(RandomKernels, AreTheSameForTheSameSeed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(random_kernel(seed).text, random_kernel(seed).text);
  }
}

TEST(RandomKernels, CanBeEvaluatedAndCoverEveryFamilyOfOps) {
  std::map<ir::OpClass, int> classes;
  std::map<ir::Opcode, int> opcodes;
  std::map<ir::DType, int> types;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomKernel made = random_kernel(seed);
    EXPECT_EQ(interpreter::cannot_evaluate(made.kernel), "") << made.text;
    for (const ir::Op& op : made.kernel.ops()) {
      ++classes[ir::op_class(op.opcode)];
      ++opcodes[op.opcode];
      ++types[op.shape.dtype];
    }
  }
  for (const ir::OpClass work :
       {ir::OpClass::kElementwise, ir::OpClass::kTranscendental, ir::OpClass::kMatrix,
        ir::OpClass::kReduction, ir::OpClass::kDataMovement, ir::OpClass::kIndexed}) {
    EXPECT_GE(classes[work], static_cast<int>(kSeeds) / 100) << ir::name(work);
  }
  for (const ir::Opcode opcode :
       {ir::Opcode::kDot, ir::Opcode::kConvolution, ir::Opcode::kReduce, ir::Opcode::kReduceWindow,
        ir::Opcode::kGather, ir::Opcode::kDynamicSlice, ir::Opcode::kDynamicUpdateSlice,
        ir::Opcode::kPad, ir::Opcode::kConcatenate, ir::Opcode::kTranspose, ir::Opcode::kReshape,
        ir::Opcode::kBitcast, ir::Opcode::kReverse, ir::Opcode::kSlice, ir::Opcode::kIota}) {
    EXPECT_GE(opcodes[opcode], static_cast<int>(kSeeds) / 100) << ir::name(opcode);
  }
  for (const ir::DType dtype :
       {ir::DType::kF32, ir::DType::kBF16, ir::DType::kF16, ir::DType::kF64, ir::DType::kS32,
        ir::DType::kS8, ir::DType::kU8, ir::DType::kPred}) {
    EXPECT_GE(types[dtype], static_cast<int>(kSeeds) / 20) << ir::name(dtype);
  }
}

TEST(RandomKernels, RoundingCanBeBoundedTightlyForAlmostAllElements) {
  std::size_t elements = 0, unbounded = 0, loose = 0;
  for (std::uint64_t seed = 0; seed < kSeeds / 4; ++seed) {
    const RandomKernel made = random_kernel(seed);
    std::mt19937_64 random(seed);
    const std::vector<interpreter::Elements> inputs = random_inputs(made, random);
    const std::vector<interpreter::Elements> plain = interpreter::evaluate(made.kernel, inputs);
    const std::vector<Bounded> results = evaluate_with_bounds(made.kernel, inputs);
    for (std::size_t k = 0; k < results.size(); ++k) {
      const Bounded& result = results[k];
      const double u = unit_roundoff(made.kernel.op(made.kernel.outputs()[k]).shape.dtype);
      elements += result.value.size();
      for (std::size_t i = 0; i < result.value.size(); ++i) {
        EXPECT_TRUE(agrees(plain[k][i], result.value[i], 0)) << made.text;
        unbounded += std::isfinite(result.bound[i]) ? 0U : 1U;
        loose += result.bound[i] > 64 * u * std::abs(result.value[i]) + 64 * u ? 1U : 0U;
      }
    }
  }
  EXPECT_LE(unbounded, elements / 50);
  EXPECT_LE(loose, elements / 10);
}

constexpr ir::LayoutRules kDense{.tiled = false};
constexpr double kInf = std::numeric_limits<double>::infinity();

Bounded only_result(const ir::Kernel& kernel, const std::vector<Elements>& inputs) {
  return evaluate_with_bounds(kernel, inputs).at(0);
}

TEST(RoundingBounds, AreZeroForIntegersAndForWhatOnlyMoves) {
  KernelSketch sketch("moves", Opcode::kFusion, kDense);
  const OpId x = sketch.parameter(DType::kF32, {2, 3});
  const OpId n = sketch.parameter(DType::kS32, {2, 3});
  const ir::Kernel kernel =
      sketch.build({sketch.transpose(sketch.elementwise(Opcode::kNegate, {x})),
                    sketch.elementwise(Opcode::kMultiply, {n, n})});
  const std::vector<Elements> inputs = {{1, 2, 3, 4, 5, 0.1F}, {1, 2, 3, 4, 5, 6}};
  for (const Bounded& result : evaluate_with_bounds(kernel, inputs)) {
    EXPECT_EQ(result.bound, Elements(6, 0));
  }
}

// Sums in either direction, with each step rounded, are within the bound; with one term missing
// they are not.
TEST(RoundingBounds, HoldForSumsInAnyOrderAndNoticeAMissingTerm) {
  constexpr std::size_t kTerms = 999;
  KernelSketch sketch("sum", Opcode::kReduce, kDense);
  const OpId x = sketch.parameter(DType::kF32, {static_cast<std::int64_t>(kTerms)});
  const ir::Kernel kernel = sketch.build({sketch.reduce(x, Opcode::kAdd, 0)});
  Elements terms(kTerms);
  for (std::size_t i = 0; i < kTerms; ++i) {
    terms[i] = static_cast<float>(0.25 + 1.0 / static_cast<double>(i + 1));
  }
  const Bounded result = only_result(kernel, {terms});
  const auto rounded_sum = [](auto begin, auto end) {
    return std::accumulate(begin, end, 0.0F,
                           [](float sum, double term) { return sum + static_cast<float>(term); });
  };
  EXPECT_TRUE(agrees(rounded_sum(terms.begin(), terms.end()), result.value[0], result.bound[0]));
  EXPECT_TRUE(agrees(rounded_sum(terms.rbegin(), terms.rend()), result.value[0], result.bound[0]));
  EXPECT_FALSE(
      agrees(rounded_sum(terms.begin() + 1, terms.end()), result.value[0], result.bound[0]));
}

TEST(RoundingBounds, GrowWhereADifferenceCancels) {
  // (x + y) - x with y small compared to x: the error of the sum remains, its size does not.
  KernelSketch sketch("cancels", Opcode::kFusion, kDense);
  const OpId x = sketch.parameter(DType::kF32, {1}), y = sketch.parameter(DType::kF32, {1});
  const OpId sum = sketch.elementwise(Opcode::kAdd, {x, y});
  const ir::Kernel kernel = sketch.build({sketch.elementwise(Opcode::kSubtract, {sum, x})});
  const double u = unit_roundoff(DType::kF32);
  const Bounded result = only_result(kernel, {{1024}, {1}});
  EXPECT_GE(result.bound[0], 2 * u * 1025);
  EXPECT_LE(result.bound[0], 5 * u * 1025);
}

TEST(RoundingBounds, OpenUpAtAStepAndOnlyThere) {
  KernelSketch sketch("floor", Opcode::kFusion, kDense);
  const OpId x = sketch.parameter(DType::kF32, {2});
  const OpId tripled = sketch.elementwise(Opcode::kMultiply, {x, sketch.constant_like(x, "3")});
  const ir::Kernel kernel = sketch.build({sketch.elementwise(Opcode::kFloor, {tripled})});
  const double third = static_cast<float>(1.0 / 3);  // 3 * third may round to 1 or below
  const Bounded result = only_result(kernel, {{third, 0.5}});
  EXPECT_EQ(result.bound, (Elements{1, 0}));
}

TEST(RoundingBounds, AreInfiniteWhereRoundingDecidesEverything) {
  KernelSketch sketch("divides", Opcode::kFusion, kDense);
  const OpId x = sketch.parameter(DType::kF32, {1}), y = sketch.parameter(DType::kF32, {1});
  const OpId zero =
      sketch.elementwise(Opcode::kSubtract, {sketch.elementwise(Opcode::kAdd, {x, y}), x});
  const ir::Kernel kernel = sketch.build({sketch.elementwise(Opcode::kDivide, {x, zero})});
  EXPECT_EQ(only_result(kernel, {{1024}, {0x1p-20}}).bound[0], kInf);
}

TEST(RoundingBounds, AgreementKeepsNanAndInfinitiesApart) {
  EXPECT_TRUE(agrees(std::nan(""), std::nan(""), 0));
  EXPECT_FALSE(agrees(1, std::nan(""), 1));
  EXPECT_FALSE(agrees(std::nan(""), 1, 1));
  EXPECT_TRUE(agrees(kInf, kInf, 0));
  EXPECT_FALSE(agrees(kInf, 1, 100));
  EXPECT_TRUE(agrees(1.5, 1, 0.5));
  EXPECT_FALSE(agrees(1.5, 1, 0.25));
}

TEST(ArrayBytes, KeepEveryNumberOfAType) {
  const std::vector<std::pair<DType, Elements>> cases = {
      {DType::kPred, {0, 1}},
      {DType::kS8, {-128, 0, 127}},
      {DType::kU8, {0, 255}},
      {DType::kS32, {-0x1p31, 0x1p31 - 1}},
      {DType::kF16, {0, -1, 65504, 0x1p-14, 0x1p-24, 3 * 0x1p-24, 0.333251953125, kInf, -kInf}},
      {DType::kBF16, {0, -1, 0x1.FEp127, 0x1p-126, kInf, 1.5}},
      {DType::kF32, {0.1F, -0x1p-149, kInf}},
      {DType::kF64, {0.1, -0x1p-1074}}};
  for (const auto& [dtype, numbers] : cases) {
    const ir::Shape shape = ir::Shape::array(dtype, {static_cast<std::int64_t>(numbers.size())});
    EXPECT_EQ(from_bytes(shape, to_bytes(shape, numbers)), numbers) << ir::name(dtype);
  }
}

TEST(ArrayBytes, StandInTheOrderOfTheLayout) {
  ir::Shape shape = ir::Shape::array(DType::kU8, {2, 3});
  shape.layout = ir::default_layout(2);
  shape.layout.edit().minor_to_major = {0, 1};
  const Elements numbers = {1, 2, 3, 4, 5, 6};
  const std::vector<std::byte> bytes = to_bytes(shape, numbers);
  EXPECT_EQ(bytes, (std::vector<std::byte>{std::byte{1}, std::byte{4}, std::byte{2}, std::byte{5},
                                           std::byte{3}, std::byte{6}}));
  EXPECT_EQ(from_bytes(shape, bytes), numbers);
}
}  // namespace
}  // namespace tilecast::host
