#include "sim/simulator.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "hybrid/hybrid_dir.h"
#include "hybrid/hybrid_fit.h"
#include "ir/fusion/fusion_space.h"
#include "ir/load_program.h"
#include "ir/text/hlo_parser.h"
#include "sim/answers.h"
#include "sim/model_choice.h"
#include "sim/program_gain.h"
#include "sim/tables.h"
#include "tests/hybrid/synthetic_set.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

using analytical::Estimate;
using analytical::TileConfig;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Every kernel takes a microsecond, except those with unknown opcodes.
class UnitModel final : public analytical::CostModel {
 public:
  explicit UnitModel(ir::Opcode unknown = ir::Opcode::kFusion) : unknown_(unknown) {}
  std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries, const hwdesc::Device&) const override {
    std::vector<std::optional<analytical::Estimate>> answers;
    for (const analytical::KernelQuery& query : queries) {
      answers.emplace_back();
      if (query.kernel.opcode() == unknown_) continue;
      answers.back().emplace().time = Seconds{1e-6};
    }
    return answers;
  }

 private:
  ir::Opcode unknown_;
};

ir::Program program(const std::string& text) {
  return ir::make_program(ir::parse_hlo(base::SourceText("t.hlo", text)));
}

hwdesc::Device toy() {
  hwdesc::Device device;
  device.name = "toy";
  device.dispatch.host = Seconds{7e-6};
  return device;
}

constexpr const char* kLoop = R"(HloModule loop, is_scheduled=true

body {
  p = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[8] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[8] multiply(x, x)
  ROOT out = (s32[], f32[8]) tuple(next, y)
}

condition {
  p = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  limit = s32[] constant(10)
  ROOT less = pred[] compare(i, limit), direction=LT
}

ENTRY main {
  x = f32[8] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[8]) tuple(zero, x)
  loop = (s32[], f32[8]) while(start), condition=condition, body=body
  ROOT y = f32[8] get-tuple-element(loop), index=1
}
)";

constexpr const char* kCopies = R"(HloModule copies, is_scheduled=true

ENTRY main {
  x = f32[128] parameter(0)
  w = f32[128] parameter(1)
  start = (f32[128], f32[128], u32[]) copy-start(w)
  a = f32[128] add(x, x)
  b = f32[128] multiply(a, a)
  done = f32[128] copy-done(start)
  ROOT c = f32[128] add(b, done)
}
)";

TEST(Simulator, AddsKernelsTimesTheirLaunches) {
  const ir::Program loop = program(kLoop);
  const Simulation run = simulate(loop, toy(), UnitModel());
  double launches = 0;
  for (const ir::ScheduledKernel& kernel : loop.kernels()) launches += kernel.multiplicity;
  EXPECT_GE(launches, 10);
  EXPECT_NEAR(run.time.value, 1e-6 * launches, 1e-15);
  EXPECT_LE(run.timeline.value, run.time.value * (1 + 1e-12));
}

TEST(Simulator, OverlapsAnAsynchronousCopyInTheTimelineButNotInTheSum) {
  const Simulation run = simulate(program(kCopies), toy(), UnitModel());
  EXPECT_NEAR(run.time.value, 4e-6, 1e-15);
  EXPECT_NEAR(run.timeline.value, 3e-6, 1e-15);
  const auto copy = std::find_if(run.kernels.begin(), run.kernels.end(),
                                 [](const auto& k) { return k.lane == Lane::kDma; });
  ASSERT_NE(copy, run.kernels.end());
  EXPECT_EQ(copy->opcode, ir::Opcode::kCopyStart);
}

TEST(Simulator, ReportsTheHostsDispatchApart) {
  const Simulation run = simulate(program(kCopies), toy(), UnitModel());
  EXPECT_EQ(run.host_dispatch, Seconds{7e-6});
}

TEST(Simulator, AKernelInAGraphHasNoGapBeforeIt) {
  hwdesc::Device device = toy();
  device.dispatch.kernel_launch = Seconds{1e-6};
  analytical::Estimate estimate{.time = Seconds{5e-6}, .speed_of_light = Seconds{1e-6}};
  estimate.bound = analytical::Bound::kMatrix;
  estimate.next_time = Seconds{4e-6};
  Seconds& overhead = estimate.bounds[static_cast<std::size_t>(analytical::Bound::kOverhead)];
  overhead = Seconds{3e-6};  // the launch and a set-up
  leave_out_gap(estimate, device);
  EXPECT_NEAR(estimate.time.value, 4e-6, 1e-15);
  EXPECT_NEAR(estimate.next_time.value, 3e-6, 1e-15);
  EXPECT_NEAR(overhead.value, 2e-6, 1e-15);
  EXPECT_NEAR(estimate.utilisation, 0.25, 1e-12);
  overhead = Seconds{0};
  leave_out_gap(estimate, device);
  EXPECT_NEAR(estimate.time.value, 4e-6, 1e-15) << "a model without launches";
}

TEST(Simulator, AProgramIsNoFasterThanTheHostLaunchesItsKernels) {
  hwdesc::Device device = toy();
  const ir::Program copies =
      ir::make_program(ir::parse_hlo(base::SourceText("t.hlo", kCopies)), {.xla_gpu = true});
  device.dispatch.host_launch = Seconds{10e-6};
  device.dispatch.host_argument = Seconds{1e-6};
  const Simulation run = simulate(copies, device, UnitModel());
  EXPECT_NEAR(run.device_time.value, 4e-6, 1e-15);
  EXPECT_NEAR(run.host_launches.value, 3 * 10e-6, 1e-15);  // until the fourth
  EXPECT_EQ(run.time, run.host_launches);
  EXPECT_EQ(run.timeline, run.host_launches);
  EXPECT_NEAR(run.host_dispatch.value, 7e-6 + 2 * 1e-6, 1e-15);
  EXPECT_EQ(simulate(program(kCopies), device, UnitModel()).host_launches, Seconds{0})
      << "not compiled by XLA:GPU";
}

TEST(Simulator, NamesTheKernelWithoutAModelAndTheWayOut) {
  const std::string error = support::error_of(
      [&] { return simulate(program(kCopies), toy(), UnitModel(ir::Opcode::kMultiply)); });
  EXPECT_THAT(error, HasSubstr("kernel b (multiply): no model for it on device toy"));
  EXPECT_THAT(error, HasSubstr("--unknown-op=skip"));
}

TEST(Simulator, CountsSkippedKernelsInANote) {
  const Simulation run =
      simulate(program(kCopies), toy(), UnitModel(ir::Opcode::kMultiply), {.skip_unknown = true});
  EXPECT_NEAR(run.time.value, 3e-6, 1e-15);
  ASSERT_FALSE(run.notes.empty());
  EXPECT_THAT(run.notes.back().what, HasSubstr("skipped"));
}

// Corrects every time by 20 %, with a different weight for every kernel.
class CorrectedUnitModel final : public analytical::CostModel {
 public:
  explicit CorrectedUnitModel(std::map<std::string, double> weights)
      : weights_(std::move(weights)) {}
  std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries, const hwdesc::Device&) const override {
    std::vector<std::optional<analytical::Estimate>> answers(queries.size());
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const double weight = weights_.at(queries[i].kernel.name());
      const double factor = weight > 0 ? 1.2 : 1.0;
      answers[i].emplace().time = Seconds{factor * 1e-6};
      answers[i]->correction = {.analytical = Seconds{1e-6},
                                .factor = factor,
                                .weight = weight,
                                .verdict = analytical::Verdict::kIn,
                                .low = Seconds{factor * 1e-6 / 2},
                                .high = Seconds{factor * 1e-6 * 2},
                                .correlation = 1};
    }
    return answers;
  }

 private:
  std::map<std::string, double> weights_;
};

TEST(Simulator, AddsUpIntervalsAndSaysHowMuchIsBelieved) {
  const Simulation run =
      simulate(program(kCopies), toy(),
               CorrectedUnitModel({{"start", 0}, {"a", 1}, {"b", 0.5}, {"c", 0.51}}));
  ASSERT_TRUE(run.interval.has_value());
  // Equal errors also double and halve the total.
  EXPECT_NEAR(run.interval->low, run.time.value / 2, 1e-12);
  EXPECT_NEAR(run.interval->high, run.time.value * 2, 1e-12);
  const auto shares = belief_shares(run);
  ASSERT_TRUE(shares.has_value());
  EXPECT_EQ(shares->most.kernels, 2U);
  EXPECT_NEAR(shares->most.time.value, 2 * 1.2e-6, 1e-15);
  EXPECT_EQ(shares->some.kernels, 1U);
  EXPECT_NEAR(shares->some.time.value, 1.2e-6, 1e-15);
  EXPECT_EQ(shares->none.kernels, 1U);
  EXPECT_NEAR(shares->none.time.value, 1e-6, 1e-15);
}

TEST(Simulator, AModelWithoutCorrectionsHasNoIntervalAndNoShares) {
  const Simulation run = simulate(program(kCopies), toy(), UnitModel());
  EXPECT_FALSE(run.interval.has_value());
  EXPECT_FALSE(belief_shares(run).has_value());
}

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

// --- The model meant by a name if no model, or one, is shipped.

namespace fs = std::filesystem;

const hwdesc::Device& tpu() {
  static const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  return device;
}

// Sums of arrays that take 1.5 times the analytical time.
const measured::SampleSet& rows() {
  static const measured::SampleSet set = [] {
    measured::SampleSet slower = hybrid::synthetic_set(tpu(), 12, 4, 0.01);
    for (measured::Sample& sample : slower.samples) sample.measured = sample.measured * 1.5;
    return slower;
  }();
  return set;
}

hwdesc::Device calibrated() {
  hwdesc::Device device = tpu();
  device.name = "mine";
  device.lineage = {"tpu_v3"};
  return device;
}

class ModelChoice : public testing::Test, protected support::Folder {
 protected:
  ModelChoice() { setenv("TILECAST_MODELS", models_.c_str(), 1); }
  ~ModelChoice() override { unsetenv("TILECAST_MODELS"); }

  // A hybrid of tpu_v3 that corrects known kernels by 50 %.
  [[nodiscard]] std::string ship(const std::string& name) const {
    static const hybrid::FittedHybrid fitted =
        hybrid::fit_hybrid(analytical_prior(), {.name = "hybrid"}, {&rows(), 1}, {&tpu(), 1}, {});
    const std::string directory = models_ + "/" + name;
    hybrid::save_hybrid(fitted.card, fitted.parts, directory);
    return directory;
  }

  const std::string models_ = folder().string();
};

TEST_F(ModelChoice, NoneShippedMeansPhysics) {
  EXPECT_THAT(shipped_models(), IsEmpty());
  EXPECT_FALSE(shipped_model_for(tpu()).has_value());
  EXPECT_EQ(choose_model("default", {&tpu(), 1}).name, "analytical");
  EXPECT_THROW((void)choose_model("hybrid", {&tpu(), 1}), Error);
  EXPECT_THROW((void)choose_model("learned", {&tpu(), 1}), Error);
}

TEST_F(ModelChoice, AShippedOneFitsItsDeviceAndThoseOfItsLineage) {
  const std::string directory = ship("one");
  fs::create_directories(models_ + "/no_model");
  EXPECT_THAT(shipped_models(), ElementsAre(directory));
  EXPECT_EQ(shipped_model_for(tpu()), directory);
  EXPECT_EQ(shipped_model_for(calibrated()), directory);
  EXPECT_FALSE(shipped_model_for(hwdesc::load_device("tpu_v2")).has_value());
  const ChosenModel chosen = choose_model("default", {&tpu(), 1});
  EXPECT_EQ(chosen.name, "hybrid one (" + directory + ")");
  const ir::Kernel& kernel = rows().works.front().parts.front().kernel;
  EXPECT_GT(chosen.explain({.kernel = kernel}, tpu())->correction.weight, 0.5);
  const hwdesc::Device other = hwdesc::load_device("tpu_v2");
  EXPECT_EQ(chosen.explain({.kernel = kernel}, other)->correction.weight, 0);
  const ChosenModel learned = choose_model("learned", {&tpu(), 1});
  EXPECT_EQ(learned.explain({.kernel = kernel}, other)->correction.weight, 1);
  EXPECT_FALSE(choose_model("analytical", {&tpu(), 1}).explain);
  EXPECT_THAT(learned.note, HasSubstr("comparison"));
}

TEST_F(ModelChoice, OfSeveralThatFitTheFirstByNameAnswers) {
  (void)ship("b");
  const std::string first = ship("a");
  EXPECT_EQ(shipped_model_for(tpu()), first);
}

TEST_F(ModelChoice, DevicesThatNoneFitsMakeAllOfThemPhysics) {
  (void)ship("one");
  const std::vector<hwdesc::Device> devices{tpu(), hwdesc::load_device("tpu_v2")};
  const ChosenModel chosen = choose_model("default", devices);
  EXPECT_EQ(chosen.name, "analytical");
  EXPECT_THAT(chosen.note, HasSubstr("no shipped model fits tpu_v2"));
  const std::vector<hwdesc::Device> kin{tpu(), calibrated()};
  EXPECT_THAT(choose_model("default", kin).name, HasSubstr("hybrid one"));
}

TEST_F(ModelChoice, AFolderSaysWhereItWasNotTrained) {
  const std::string directory = ship("one");
  const hwdesc::Device other = hwdesc::load_device("tpu_v2");
  EXPECT_EQ(choose_model(directory, {&tpu(), 1}).note, "");
  EXPECT_THAT(choose_model(directory, {&other, 1}).note,
              HasSubstr("tpu_v2 was not measured: physics alone"));
  EXPECT_EQ(model_name_fault(directory), "");
  EXPECT_THAT(model_name_fault(models_), HasSubstr("expected analytical, roofline"));
}

// --- One kernel with one tile has one time per model, independent of who chose the tile and of the
// verb; and the analytical time shown is the analytical estimate of that tile.

constexpr double kEqual = 1e-9;       // relative
constexpr double kCsvStep_s = 1e-12;  // estimate_ns has three decimals

struct Case {
  const char* device;
  const char* program;
  hwdesc::Overrides changed = {};  // of the description
};

PlacedProgram placed_on(const hwdesc::Device& device, const std::string& program) {
  return place(ir::load_module((support::source_dir() / "configs/programs" / program).string(), {}),
               device, {});
}

void expect_equal(double time_s, double expected_s, const std::string& what) {
  EXPECT_NEAR(time_s, expected_s, kEqual * expected_s) << what;
}

// All other queries about the tile used by a simulation.
class OneKernel {
 public:
  OneKernel(const PlacedProgram& placed, const ir::Kernel& kernel, const ChosenModel& model)
      : placed_(placed), kernel_(kernel), model_(model) {}

  // `gap`: what a launch by itself adds to a kernel of a launch graph.
  void expect_time(const Estimate& in_program, Seconds gap) const {
    Estimate simulated = in_program;
    simulated.time = simulated.time + gap;
    if (simulated.correction) {
      simulated.correction->analytical = simulated.correction->analytical + gap;
    }
    const double time_s = simulated.time.value;
    const Explanation why = explain(placed_, kernel_.name(), model_, "", 3);
    expect_equal(why.estimate.time.value, time_s, "explain, no tile stated");
    EXPECT_EQ(why.estimate.tile, simulated.tile);
    expect_listed(why, simulated);
    expect_analytical(simulated);
    const TileConfig& tile = simulated.tile;
    const analytical::KernelAnalysis analysis(kernel_, placed_.device);
    if (tile == TileConfig{} || !analysis.infeasible_reason(tile).empty()) return;
    const Explanation stated =
        explain(placed_, kernel_.name(), model_, analytical::to_string(tile), 0);
    expect_equal(stated.estimate.time.value, time_s, "explain, tile stated");
    const std::vector<TileConfig> asked{{}, tile};
    for (const double listed_s : tile_times_s(kernel_, placed_.device, model_, asked)) {
      expect_equal(listed_s, time_s, "tile_times_s");
    }
    expect_in_table(tile, time_s);
  }

 private:
  static void expect_listed(const Explanation& why, const Estimate& simulated) {
    for (const Estimate& listed : why.best_tiles) {
      if (listed.tile != simulated.tile) continue;
      expect_equal(listed.time.value, simulated.time.value, "explain, list of tiles");
    }
  }

  // For the same tile; the factor is relative to it.
  void expect_analytical(const Estimate& simulated) const {
    if (!simulated.correction) return;
    const bool stated = simulated.tile != TileConfig{};
    const analytical::KernelQuery own{kernel_}, same{kernel_, stated ? &simulated.tile : nullptr};
    const auto best = analytical_prior().estimate({&own, 1}, placed_.device).front();
    const auto physics = analytical_prior().estimate({&same, 1}, placed_.device).front();
    const analytical::Correction& correction = *simulated.correction;
    EXPECT_EQ(best->tile, simulated.tile);
    expect_equal(correction.analytical.value, best->time.value, "analytical");
    if (physics) expect_equal(correction.analytical.value, physics->time.value, "analytical, tile");
    expect_equal(correction.factor * correction.analytical.value, simulated.time.value, "factor");
  }

  void expect_in_table(const TileConfig& tile, double time_s) const {
    const measured::CsvTable answered =
        estimate_tiles(table_of_tiles({&tile, 1}), kernel_, placed_.device, model_.model.get());
    EXPECT_NEAR(std::stod(std::string(answered.cell(answered.rows.front(), "estimate_ns"))) * 1e-9,
                time_s, kCsvStep_s);
  }

  const PlacedProgram& placed_;
  const ir::Kernel& kernel_;
  const ChosenModel& model_;
};

class SameTime : public testing::TestWithParam<Case> {};

TEST_P(SameTime, WhicheverQuestionAsksForIt) {
  const hwdesc::Device device = hwdesc::load_device(GetParam().device, GetParam().changed);
  const PlacedProgram placed = placed_on(device, GetParam().program);
  for (const std::string name : {"analytical", "default"}) {
    const ChosenModel model = choose_model(name, {&device, 1});
    const Simulation run = simulate(placed, model, {.contents = true});
    std::set<std::string> seen;
    for (const SimulatedKernel& kernel : run.kernels) {
      if (!seen.insert(kernel.content).second) continue;
      SCOPED_TRACE(name + ", " + kernel.name);
      const ir::ScheduledKernel& scheduled = placed.built.program.at(kernel.id);
      const Seconds gap = scheduled.graph < 0 ? Seconds{} : device.dispatch.kernel_launch;
      OneKernel(placed, scheduled.kernel, model).expect_time(*kernel.estimate, gap);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shipped, SameTime,
    testing::Values(Case{"tpu_v5e", "transformer_block_train.hlo"},
                    Case{"tpu_v3", "small_mixer.hlo"}, Case{"tpu_v6e", "small_resnet.hlo"},
                    Case{"cpu_generic", "small_mixer.hlo"},
                    Case{"h100_sxm", "small_transformer_train.hlo"},
                    Case{"h100_sxm", "small_mixer.hlo", {{"clock", "1.5 GHz"}}},
                    Case{"a100_sxm_80gb", "small_resnet.hlo"}, Case{"l4", "small_diffusion.hlo"},
                    Case{"mi300x", "small_decoder_train.hlo"}),
    [](const auto& test) {
      return test.param.device + std::string(test.param.changed.empty() ? "" : "_changed");
    });

}  // namespace
}  // namespace tilecast::sim
