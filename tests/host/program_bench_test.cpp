#include "host/program_bench.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "hwdesc/device_yaml.h"
#include "ir/fusion/fusion_space.h"
#include "ir/read_module.h"
#include "tests/support/folders.h"

namespace tilecast::host {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<std::byte> bytes(const std::vector<float>& values) {
  std::vector<std::byte> result(values.size() * sizeof(float));
  std::memcpy(result.data(), values.data(), result.size());
  return result;
}

TEST(Disagreement, AllowsRoundingAndNothingElse) {
  const ir::Shape shape = ir::Shape::array(ir::DType::kF32, {4});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto expected = bytes({1, -2, 3, nan});
  const auto size = static_cast<float>(std::sqrt((1.0 + 4 + 9) / 3));  // of the finite values
  const auto allowed = static_cast<float>(tolerance(ir::DType::kF32)) * (size + 3);
  EXPECT_THAT(disagreement(shape, expected, expected), IsEmpty());
  EXPECT_THAT(disagreement(shape, bytes({1, -2, 3 + 0.9F * allowed, nan}), expected), IsEmpty());
  EXPECT_THAT(disagreement(shape, bytes({1, -2, 3 + 1.1F * allowed, nan}), expected),
              StartsWith("element 2: got 3.0"));
  EXPECT_THAT(disagreement(shape, bytes({1, -2, 3, 0}), expected), StartsWith("element 3"));
  EXPECT_THAT(disagreement(shape, bytes({1, -2, nan, nan}), expected), StartsWith("element 2"));
  EXPECT_THAT(disagreement(shape, bytes({1}), expected), HasSubstr("size"));
}

TEST(Disagreement, HoldsIntegersToTheDigit) {
  const ir::Shape shape = ir::Shape::array(ir::DType::kS32, {1});
  EXPECT_THAT(disagreement(shape, std::vector<std::byte>{std::byte{7}, {}, {}, {}},
                           std::vector<std::byte>{std::byte{8}, {}, {}, {}}),
              "element 0: got 7, expected 8");
}

class ProgramBenches : public ::testing::Test {
 protected:
  [[nodiscard]] static ir::FusionSpace space() {
    return ir::FusionSpace(
        ir::read_module(support::source_dir().string() + "/configs/programs/small_mixer.hlo"));
  }
  [[nodiscard]] static std::vector<BenchProgram> programs_of(
      const std::vector<ir::Module>& modules) {
    std::vector<BenchProgram> programs;
    for (const ir::Module& module : modules) programs.push_back({"mixer", module});
    return programs;
  }
  // This machine, counting the texts it compiles.
  [[nodiscard]] Bench counting(std::size_t& compiled) const {
    Bench bench = this_machine();
    bench.compile = [&compiled, compile = bench.compile](std::span<const std::string> sources,
                                                         int jobs) {
      compiled += sources.size();
      return compile(sources, jobs);
    };
    return bench;
  }
  hwdesc::Device device_ = hwdesc::load_device("cpu_generic");
  TimingOptions timing_{.visits = 1, .groups = 1, .group = Seconds{1e-5}};
};

TEST_F(ProgramBenches, TimesConfigurationsThatComputeTheSame) {
  const ir::FusionSpace decisions = space();
  ProgramBench bench(device_, this_machine(), timing_);
  std::vector<ir::Module> modules = {decisions.fused(decisions.by_rules())};
  for (const std::uint64_t seed : {1, 2, 3}) {
    modules.push_back(decisions.fused(decisions.random(0.5, seed)));
  }
  const std::vector<ProgramRun> runs = bench.run(programs_of(modules), 2);
  ASSERT_EQ(runs.size(), modules.size());
  for (const ProgramRun& run : runs) {
    EXPECT_THAT(run.failure, IsEmpty());
    ASSERT_TRUE(run.timing);
    EXPECT_GT(run.timing->minimum.value, 0);
  }
}

TEST_F(ProgramBenches, RefusesWhatComputesSomethingElse) {
  const ir::FusionSpace decisions = space();
  ir::Module right = decisions.fused(decisions.by_rules());
  ir::Module wrong = right;
  std::size_t changed = 0;
  for (ir::Computation& computation : wrong.computations) {
    for (ir::Instruction& op : computation.instructions) {
      if (op.opcode != ir::Opcode::kMultiply || changed > 0) continue;
      op.opcode = ir::Opcode::kSubtract;
      ++changed;
    }
  }
  ASSERT_EQ(changed, 1u);
  ProgramBench bench(device_, this_machine(), timing_);
  const std::vector<ir::Module> modules = {std::move(right), std::move(wrong)};
  const std::vector<ProgramRun> runs = bench.run(programs_of(modules), 2);
  EXPECT_TRUE(runs[0].timing);
  EXPECT_FALSE(runs[1].timing);
  EXPECT_THAT(runs[1].failure, StartsWith("wrong result 0: element"));
}

TEST_F(ProgramBenches, CompilesEachKernelOnce) {
  const ir::FusionSpace decisions = space();
  std::size_t compiled = 0;
  ProgramBench bench(device_, counting(compiled), timing_);
  const ir::Module rules = decisions.fused(decisions.by_rules());
  const std::vector<BenchProgram> one = {{"mixer", rules}};
  ASSERT_TRUE(bench.run(one, 2).front().timing);
  const std::size_t first = compiled;
  EXPECT_GT(first, 3U);
  ASSERT_TRUE(bench.run(one, 2).front().timing);
  EXPECT_EQ(compiled, first);
  ir::FusionConfiguration other = decisions.by_rules();
  other.front() = ir::FusionChoice::kKeep;
  const ir::Module changed = decisions.fused(other);
  const std::vector<BenchProgram> two = {{"mixer", changed}};
  ASSERT_TRUE(bench.run(two, 2).front().timing);
  EXPECT_LE(compiled, first + 3) << "only kernels around the changed decision are new";
}

TEST_F(ProgramBenches, CutsKernelsAsItIsToldOrSaysThatItCannot) {
  const ir::FusionSpace decisions = space();
  const ir::Module rules = decisions.fused(decisions.by_rules());
  ProgramBench bench(device_, this_machine(), timing_);
  std::size_t asked = 0;
  const GiveTile whole = [&](const ir::Kernel&) {
    ++asked;
    return analytical::TileConfig{};
  };
  const GiveTile nonsense = [](const ir::Kernel&) {
    return analytical::TileConfig{.output = {1, 1, 1, 1, 1, 1, 1}, .kernel = {}, .input = {}};
  };
  const std::vector<BenchProgram> programs = {
      {"mixer", rules}, {"mixer", rules, whole}, {"mixer", rules, nonsense}};
  const std::vector<ProgramRun> runs = bench.run(programs, 2);
  EXPECT_TRUE(runs[0].timing);
  EXPECT_TRUE(runs[1].timing) << runs[1].failure;
  EXPECT_GT(asked, 3U);
  EXPECT_THAT(runs[2].failure, StartsWith("unsupported: "));
}

TEST_F(ProgramBenches, HoldsResultsOnlyAgainstThoseOfTheSameName) {
  const ir::FusionSpace mixer = space();
  const ir::FusionSpace mlp(
      ir::read_module(support::source_dir().string() + "/configs/programs/small_mlp_train.hlo"));
  const ir::Module a = mixer.fused(mixer.by_rules()), b = mlp.fused(mlp.by_rules());
  ProgramBench bench(device_, this_machine(), timing_);
  const std::vector<BenchProgram> programs = {{"mixer", a}, {"mlp", b}};
  for (const ProgramRun& run : bench.run(programs, 2)) EXPECT_THAT(run.failure, IsEmpty());
}

}  // namespace
}  // namespace tilecast::host
