#include "sim/program_gain.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analytical/layout_rules.h"
#include "hwdesc/device_yaml.h"
#include "ir/fusion/fusion_space.h"
#include "ir/load_program.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

// Every kernel takes as many microseconds as it has ops, with an interval from half to twice that.
class OpsTakeTime final : public analytical::CostModel {
 public:
  explicit OpsTakeTime(bool sure) : sure_(sure) {}
  std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries, const hwdesc::Device&) const override {
    std::vector<std::optional<analytical::Estimate>> answers;
    for (const analytical::KernelQuery& query : queries) {
      analytical::Estimate answer;
      answer.time = Seconds{1e-6 * static_cast<double>(query.kernel.ops().size())};
      if (sure_) {
        answer.correction = analytical::Correction{.analytical = answer.time,
                                                   .factor = 1,
                                                   .weight = 1,
                                                   .low = answer.time * 0.5,
                                                   .high = answer.time * 2,
                                                   .correlation = 1};
      }
      answers.emplace_back(std::move(answer));
    }
    return answers;
  }

 private:
  bool sure_;
};

struct Programs {
  hwdesc::Device device = hwdesc::load_device("tpu_v3");
  ir::FusionSpace space{
      ir::read_module(support::source_dir().string() + "/configs/programs/small_mixer.hlo")};
  [[nodiscard]] ir::Program program(const ir::FusionConfiguration& chosen) const {
    return ir::program_for({"", space.fused(chosen), {}}, analytical::layout_rules(device), {})
        .program;
  }
};

ProgramGain gain_of(const ir::Program& before, const ir::Program& after,
                    const hwdesc::Device& device, bool sure) {
  const OpsTakeTime model(sure);
  return program_gain({before, model}, {after, model}, device);
}

TEST(ProgramGain, OfAProgramToItselfIsCertainlyNothing) {
  const Programs programs;
  const ir::Program rules = programs.program(programs.space.by_rules());
  const ProgramGain gain = gain_of(rules, rules, programs.device, true);
  EXPECT_GT(gain.before_s, 0);
  EXPECT_EQ(gain.share(), 0);
  EXPECT_FALSE(gain.saved_s) << "no kernel differs";
  EXPECT_FALSE(gain.accepted());
}

TEST(ProgramGain, CountsOnlyWhatDiffersAsUncertain) {
  const Programs programs;
  const ir::Program rules = programs.program(programs.space.by_rules());
  ir::FusionConfiguration chosen = programs.space.by_rules();
  chosen.front() = ir::FusionChoice::kKeep;
  for (std::size_t i = 0; i < chosen.size() / 8; ++i) chosen[i] = ir::FusionChoice::kKeep;
  const ir::Program other = programs.program(chosen);
  const ProgramGain gain = gain_of(rules, other, programs.device, true);
  const ProgramGain back = gain_of(other, rules, programs.device, true);
  ASSERT_TRUE(gain.saved_s);
  const double saved = gain.before_s - gain.after_s;
  EXPECT_LT(gain.saved_s->low, saved);
  EXPECT_GT(gain.saved_s->high, saved);
  EXPECT_GT(gain.saved_s->low, -2 * gain.after_s) << "not the whole program";
  EXPECT_NEAR(back.saved_s->low, -gain.saved_s->high, 1e-12);
  EXPECT_NEAR(back.saved_s->high, -gain.saved_s->low, 1e-12);
  const ProgramGain unsure = gain_of(rules, other, programs.device, false);
  EXPECT_FALSE(unsure.saved_s);
  EXPECT_EQ(unsure.before_s, gain.before_s);
}

}  // namespace
}  // namespace tilecast::sim
