// Training rows: their times, weights, priors and validation rows, and what trees learn of them.
#include "learned/training/examples.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <random>
#include <set>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "learned/training/quantity_report.h"
#include "tests/learned/synthetic_set.h"
#include "tests/support/errors.h"

namespace tilecast::learned {
namespace {

using analytical::KernelAnalysis;
using analytical::TileConfig;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kOff = 1.3;  // measured / analytical, except for the wave

// Three matmuls with all their tiles, measured = 1.3 x analytical x a factor that is smooth in the
// size of the tile.
class Tiles : public testing::Test {
 protected:
  Tiles() {
    disk_.write_manifest("dtype: bf16\n");
    disk_.write("measurements.csv",
                "op,m,n,k,runtime_ns\nmatmul,4096,512,1024,9000\nmatmul,2048,2048,512,9000\n"
                "matmul,1024,1024,4096,9000\n");
    set_ = measured::make_samples(measured::read_measurement_set(disk_.path()), device_,
                                  {.check_physics = false});
    all_.parameter_names = {{}};
    for (std::size_t k = 0; k < set_.works.size(); ++k) {
      all_.kernels.push_back(set_.works[k].name);
      all_.families.push_back(set_.works[k].name);
      const KernelAnalysis analysis(kernel(k), device_);
      for (const TileConfig& tile : analysis.tiles()) {
        add(k, &tiles_.emplace_back(tile), analysis.time(tile).value);
      }
    }
  }

  [[nodiscard]] const ir::Kernel& kernel(std::size_t number) const {
    return set_.works[number].parts.front().kernel;
  }
  void add(std::size_t number, const TileConfig* tile, double analytical_s) {
    double size = 1;
    if (tile != nullptr) {
      for (const auto bound : tile->output) size *= static_cast<double>(bound);
    }
    const double wave = 0.1 * std::sin(std::log(size));
    all_.rows.push_back({.device = &device_,
                         .target = std::log(kOff * analytical_s) + wave,
                         .kernel = static_cast<std::uint32_t>(number),
                         .family = static_cast<std::uint32_t>(number)});
    all_.queries.push_back({kernel(number), tile});
  }
  // First: `count` random rows; second: all others.
  [[nodiscard]] std::pair<Examples, Examples> split_at_random(std::size_t count,
                                                              std::uint64_t seed) const {
    std::vector<std::size_t> order(all_.rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::swap(order[i], order[i + random() % (order.size() - i)]);
    }
    const std::span<const std::size_t> rows(order);
    return {all_.subset(rows.first(count)), all_.subset(rows.subspan(count))};
  }

  measured::SetOnDisk disk_;
  hwdesc::Device device_ = hwdesc::load_device("tpu_v3");
  measured::SampleSet set_;
  std::deque<TileConfig> tiles_;
  const analytical::AnalyticalModel physics_;
  Examples all_;
};

LearnerSpec trees() {
  return small_trees("validation: 0\n", 100);
}

const std::string& bytes(const Trained& trained) {
  return trained.predictor->trees()->model.save();
}

TEST_F(Tiles, AreRankedOnTopOfPhysics) {
  auto [measured, others] = split_at_random(60, 1);
  measured.priors = physics_.estimate(measured.queries, device_);
  others.priors = physics_.estimate(others.queries, device_);
  LearnerSpec spec = small_trees("validation: 0\nobjective: pairwise\ntarget: residual\n", 20);
  const Trained trained = train(spec, measured);
  EXPECT_TRUE(trained.predictor->ranks_only());
  const auto in_order = [&](const std::vector<double>& scores) {
    double right = 0, pairs = 0;
    for (std::size_t a = 0; a < scores.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (others.rows[a].kernel != others.rows[b].kernel) continue;
        const double apart = others.rows[a].target - others.rows[b].target;
        right += apart * (scores[a] - scores[b]) > 0 ? 1 : 0;
        ++pairs;
      }
    }
    return right / pairs;
  };
  spec.target.residual = false;
  const double on_physics = in_order(predictions(*trained.predictor, others, device_));
  const double alone = in_order(predictions(*train(spec, measured).predictor, others, device_));
  EXPECT_GT(on_physics, 0.9);
  EXPECT_GT(on_physics, alone);
}

// Half of the rows have twice the time; with nearly zero weight they have no effect.
TEST_F(Tiles, ThatWeighLittleTeachLittle) {
  const auto [clean, others] = split_at_random(120, 1);
  Examples measured = clean;
  std::vector<std::size_t> trusted;
  for (std::size_t i = 0; i < measured.rows.size(); ++i) {
    if (i % 2 == 0) measured.rows[i].target += std::log(2);
    if (i % 2 != 0) trusted.push_back(i);
  }
  const auto bias = [&, &clean = clean](const Examples& examples) {
    const Trained trained = train(trees(), examples);
    const std::vector<double> predicted = predictions(*trained.predictor, clean, device_);
    double sum = 0;
    for (std::size_t i = 0; i < predicted.size(); ++i) sum += predicted[i] - clean.rows[i].target;
    return sum / static_cast<double>(predicted.size());
  };
  const double without = bias(clean.subset(trusted));
  EXPECT_GT(bias(measured), without + std::log(2) / 4);
  for (std::size_t i = 0; i < measured.rows.size(); i += 2) measured.rows[i].weight = 1e-4;
  EXPECT_NEAR(bias(measured), without, std::log(2) / 10);
}

TEST_F(Tiles, ThatWeighTheSameGiveTheSameModelWhateverTheirWeight) {
  auto [measured, others] = split_at_random(40, 1);
  const std::string one = bytes(train(trees(), measured));
  for (Example& row : measured.rows) row.weight = 0.25;
  EXPECT_EQ(bytes(train(trees(), measured)), one);
}

// --- The rows that become examples, with their times, and the validation rows of early stopping.

const analytical::AnalyticalModel kPhysics;

class ExamplesOfRows : public testing::Test {
 protected:
  Examples made(const std::string& manifest, const std::string& table) {
    disk_.write(
        "manifest.yaml",
        "format: tilecast.measurements/1\nname: n\nsource: s\nlicence: l\ndevice: tpu_v3\n" +
            manifest);
    disk_.write("measurements.csv", table);
    sets_ = {measured::make_samples(measured::read_measurement_set(disk_.path()), devices_.front(),
                                    {.check_physics = false})};
    return make_examples(sets_, devices_, kPhysics, /*with_priors=*/true, /*jobs=*/1);
  }

  measured::SetOnDisk disk_;
  std::vector<hwdesc::Device> devices_{hwdesc::load_device("tpu_v3")};
  std::vector<measured::SampleSet> sets_;
};

TEST_F(ExamplesOfRows, AreTheirKernelsWithTilesAndLogTimes) {
  const Examples examples = made("timing: device\ndtype: bf16\n",
                                 "op,m,n,k,runtime_ns,output_bounds\n"
                                 "matmul,512,512,512,9000,8 4\nmatmul,512,512,512,9900,\n"
                                 "matmul,4096,512,512,20000,\n");
  ASSERT_THAT(examples.rows, SizeIs(3));
  ASSERT_THAT(examples.queries, SizeIs(3));
  EXPECT_DOUBLE_EQ(examples.rows[0].target, std::log(9000e-9));
  ASSERT_NE(examples.queries[0].tile, nullptr);
  EXPECT_EQ(*examples.queries[0].tile, sets_[0].samples[0].tile);
  EXPECT_EQ(examples.queries[1].tile, nullptr);
  EXPECT_EQ(examples.rows[0].kernel, examples.rows[1].kernel);
  EXPECT_NE(examples.rows[0].kernel, examples.rows[2].kernel);
  EXPECT_THAT(examples.kernels, SizeIs(2));
  EXPECT_EQ(examples.families.at(examples.rows[2].family), sets_[0].works[1].family);
  EXPECT_EQ(examples.rows[2].device, &devices_[0]);
  const auto prior = analytical::AnalyticalModel().estimate(examples.queries, devices_[0]);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(examples.priors.at(i));
    EXPECT_EQ(examples.priors[i]->time, prior[i]->time);
  }
}

TEST_F(ExamplesOfRows, ProgramsAreLeftOutAndCounted) {
  const Examples examples =
      made("timing: device\ndtype: bf16\n",
           "op,m,n,k,layers,nodes,input,output,batch,devices,runtime_ns\n"
           "matmul,512,512,512,,,,,,,9000\nfc_training,,,,4,256,512,128,1024,8,900000\n");
  EXPECT_THAT(examples.rows, SizeIs(1));
  EXPECT_EQ(examples.programs, 1U);
}

constexpr const char* kDispatch = "timing: host\ndispatch: {add: 30 us}\n";

TEST_F(ExamplesOfRows, AnUnmeasuredDispatchIsTakenOffAndRowsNotAboveItAreHeldAndCounted) {
  const Examples examples = made(kDispatch,
                                 "op,dtype,elements,runtime_ns,dispatch_ns\n"
                                 "add,f32,1000000,70000,\nadd,f32,2000000,30000,\n"
                                 "add,f32,3000000,90000,10000\nadd,f32,4000000,29000,\n"
                                 "add,f32,5000000,30100,\nadd,f32,6000000,31000,\n");
  ASSERT_THAT(examples.rows, SizeIs(6));
  EXPECT_EQ(examples.below_dispatch, 3U);
  const double seconds[] = {70e-6 - 30e-6,       kLeastShare * 30e-6,   90e-6 - 10e-6,
                            kLeastShare * 29e-6, kLeastShare * 30.1e-6, 31e-6 - 30e-6};
  for (std::size_t i = 0; i < std::size(seconds); ++i) {
    EXPECT_NEAR(examples.rows[i].target, std::log(seconds[i]), 1e-12) << i;
    EXPECT_EQ(examples.rows[i].sample, i);
  }
}

TEST_F(ExamplesOfRows, WeighTheSquareOfTheShareThatPhysicsGivesTheKernel) {
  const Examples examples = made("timing: host\ndispatch: {add: 100 us}\n",
                                 "op,dtype,elements,runtime_ns,dispatch_ns\n"
                                 "add,f32,10000000,70000,\nadd,f32,20000000,30000,\n"
                                 "add,f32,30000000,90000,10000\nadd,f32,8,100010,\n");
  ASSERT_THAT(examples.rows, SizeIs(4));
  ASSERT_TRUE(examples.priors[0] && examples.priors[1] && examples.priors[3]);
  const auto prior = [&](std::size_t row) { return examples.priors[row]->time.value; };
  ASSERT_LT(prior(3), kLeastShare * 100e-6) << "a kernel that its row says nothing about";
  for (const std::size_t row : {0, 1}) {  // independent of the measurement
    EXPECT_DOUBLE_EQ(examples.rows[row].weight, std::pow(prior(row) / (prior(row) + 100e-6), 2));
  }
  EXPECT_DOUBLE_EQ(examples.rows[2].weight, 1) << "its dispatch was measured";
  EXPECT_DOUBLE_EQ(examples.rows[3].weight, kLeastShare * kLeastShare);
}

TEST_F(ExamplesOfRows, WithoutPriorsTheShareIsTheRowsOwn) {
  (void)made(kDispatch,
             "op,dtype,elements,runtime_ns\nadd,f32,1000000,70000\n"
             "add,f32,2000000,20000\n");
  const Examples examples = make_examples(sets_, devices_, kPhysics, /*with_priors=*/false, 1);
  ASSERT_THAT(examples.rows, SizeIs(2));
  EXPECT_NEAR(examples.rows[0].weight, std::pow(40.0 / 70, 2), 1e-12);
  const double held = kLeastShare * 20e-6;
  EXPECT_NEAR(examples.rows[1].weight, std::pow(std::max(kLeastShare, held / (held + 30e-6)), 2),
              1e-12);
}

TEST_F(ExamplesOfRows, CarryTheParametersOfTheirRows) {
  const Examples examples = made("timing: device\ndtype: bf16\n",
                                 "op,m,n,k,runtime_ns,p_unroll,p_block\n"
                                 "matmul,512,512,512,9000,4,32\nmatmul,512,512,512,9900,8,32\n");
  ASSERT_THAT(examples.queries, SizeIs(2));
  EXPECT_THAT(examples.queries[1].parameters, ElementsAre(8, 32));
  EXPECT_THAT(examples.parameter_names, ElementsAre(ElementsAre("unroll", "block")));
  EXPECT_EQ(examples.rows[0].kernel, examples.rows[1].kernel);
}

TEST_F(ExamplesOfRows, OfASubsetKeepTheirNumbers) {
  const SyntheticSet set(6, 2);
  const Examples all = set.examples(/*with_priors=*/true);
  const std::vector<std::size_t> chosen{7, 2};
  const Examples some = all.subset(chosen);
  ASSERT_THAT(some.rows, SizeIs(2));
  EXPECT_EQ(some.rows[0].kernel, all.rows[7].kernel);
  EXPECT_EQ(&some.queries[1].kernel, &all.queries[2].kernel);
  EXPECT_EQ(some.priors[1]->time, all.priors[2]->time);
  EXPECT_EQ(some.kernels, all.kernels);
}

TEST_F(ExamplesOfRows, ArePriorsTheSameOnAnyNumberOfThreads) {
  const SyntheticSet set(40, 3);
  const Examples one = set.examples(/*with_priors=*/true, 1);
  const Examples four = set.examples(/*with_priors=*/true, 4);
  ASSERT_EQ(one.priors.size(), four.priors.size());
  for (std::size_t i = 0; i < one.priors.size(); ++i) {
    ASSERT_EQ(one.priors[i].has_value(), four.priors[i].has_value());
    if (one.priors[i]) {
      EXPECT_EQ(one.priors[i]->time, four.priors[i]->time);
    }
  }
}

TEST_F(ExamplesOfRows, EqualWorkOnTwoDevicesIsTwoKernelsOfOneFamily) {
  const SyntheticSet v3(3, 1);
  const hwdesc::Device v4 = hwdesc::load_device("tpu_v4");
  const std::vector<measured::SampleSet> sets{v3.samples(), v3.samples()};
  const std::vector<hwdesc::Device> devices{v3.device(), v4};
  const Examples examples = make_examples(sets, devices, kPhysics, /*with_priors=*/false, 1);
  ASSERT_THAT(examples.rows, SizeIs(6));
  EXPECT_NE(examples.rows[0].kernel, examples.rows[3].kernel);
  EXPECT_EQ(examples.rows[0].family, examples.rows[3].family);
  EXPECT_THAT(examples.priors, IsEmpty());
}

// Numbers of `by` on either side.
template <class Number>
void expect_apart(const TrainValidation& split, std::size_t rows, const Number& number) {
  EXPECT_EQ(split.train.size() + split.validation.size(), rows);
  EXPECT_TRUE(std::ranges::is_sorted(split.train) && std::ranges::is_sorted(split.validation));
  EXPECT_FALSE(split.train.empty() || split.validation.empty());
  std::set<std::size_t> trained;
  for (const std::size_t row : split.train) trained.insert(number(row));
  for (const std::size_t row : split.validation) {
    EXPECT_FALSE(trained.contains(number(row))) << row;
  }
}

TEST(SplitValidation, KeepsGroupsTogether) {
  const SyntheticSet set(20, 3);
  const Examples examples = set.examples();
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto family = split_validation(examples, ValidateBy::kFamily, 0.3, seed);
    const auto kernel = split_validation(examples, ValidateBy::kKernel, 0.3, seed);
    const auto row = split_validation(examples, ValidateBy::kRow, 0.3, seed);
    expect_apart(family, 60, [&](std::size_t i) { return examples.rows[i].family; });
    expect_apart(kernel, 60, [&](std::size_t i) { return examples.rows[i].kernel; });
    expect_apart(row, 60, [](std::size_t i) { return i; });
    EXPECT_EQ(row.validation.size(), 18U);
    EXPECT_EQ(family.by, ValidateBy::kFamily);
    EXPECT_EQ(kernel.by, ValidateBy::kKernel);
  }
  EXPECT_NE(split_validation(examples, ValidateBy::kKernel, 0.3, 1).validation,
            split_validation(examples, ValidateBy::kKernel, 0.3, 2).validation);
}

TEST(SplitValidation, FallsBackWhereThereAreTooFewGroups) {
  const SyntheticSet two(2, 8), one(1, 16);
  EXPECT_EQ(split_validation(two.examples(), ValidateBy::kFamily, 0.2, 1).by, ValidateBy::kKernel);
  const Examples rows = one.examples();
  const TrainValidation split = split_validation(rows, ValidateBy::kFamily, 0.25, 1);
  EXPECT_EQ(split.by, ValidateBy::kRow);
  EXPECT_EQ(split.validation.size(), rows.rows.size() / 4);
}

TEST(SplitValidation, OfNoShareTrainsOnAll) {
  const SyntheticSet set(4, 2);
  const TrainValidation split = split_validation(set.examples(), ValidateBy::kKernel, 0, 1);
  EXPECT_THAT(split.train, SizeIs(8));
  EXPECT_THAT(split.validation, IsEmpty());
}

std::string refusal(const SyntheticSet& set, const Target& target) {
  return support::error_of([&] { return set.examples(false, 1, target); }, "made");
}

TEST(ExamplesOfQuantities, TeachTheQuantityAsItIsScaled) {
  const SyntheticSet set(4, 3);
  const Examples plain = set.examples(false, 1, {.quantity = "registers"});
  const Examples scaled =
      set.examples(false, 1, {.quantity = "registers", .scale = TargetScale::kLog1p});
  ASSERT_EQ(plain.rows.size(), 12U);
  EXPECT_EQ(plain.target.unit, "registers");
  EXPECT_TRUE(plain.target.count);
  for (std::size_t i = 0; i < plain.rows.size(); ++i) {
    const double value = double{set.samples().samples[i].quantities[0]};
    EXPECT_DOUBLE_EQ(plain.rows[i].target, value);
    EXPECT_DOUBLE_EQ(scaled.rows[i].target, std::log1p(value));
    EXPECT_DOUBLE_EQ(unscaled(scaled.target, scaled.rows[i].target), value);
    EXPECT_EQ(plain.rows[i].weight, 1);
  }
}

TEST(ExamplesOfQuantities, LeaveOutRowsWithoutItAndRefuseWhatCannotBe) {
  const SyntheticSet set(4, 3);
  const Examples examples = set.examples(false, 1, {.quantity = "balance"});
  EXPECT_EQ(examples.rows.size(), 9U);
  EXPECT_EQ(examples.unlabelled, 3U);
  EXPECT_THAT(refusal(set, {.quantity = "register"}),
              ::testing::HasSubstr("no set has this quantity; did you mean 'registers'?"));
  EXPECT_THAT(refusal(set, {.quantity = "balance", .scale = TargetScale::kLog1p}),
              ::testing::HasSubstr("balance is -1, which has no logarithm"));
}
}  // namespace
namespace {

TEST(QuantityReport, ScoresAllColumnsOnTheSameRows) {
  const SyntheticSet set(20, 3);
  const Examples examples =
      set.examples(false, 1, {.quantity = "registers", .scale = TargetScale::kLog1p});
  const std::vector<double> values = quantity_values(examples);
  std::vector<double> right = values, off = values;
  for (double& value : off) value += 2;
  right[4] = std::nan("");
  const QuantityReport report = quantity_report(examples, {{"right", right}, {"off", off}});
  EXPECT_EQ(report.unanswered, 1U);
  EXPECT_THAT(report.columns, ElementsAre("right", "off"));
  ASSERT_EQ(report.strata.size(), 1U) << "one op class: no table of classes";
  const QuantityStratum& all = report.strata.front();
  EXPECT_EQ(all.rows, values.size() - 1);
  EXPECT_EQ(all.works, 20U);
  EXPECT_NEAR(all.scores[0]->rmse, 0, 1e-9);
  EXPECT_EQ(all.scores[0]->exact, 1);
  EXPECT_NEAR(all.scores[1]->rmse, 2, 1e-9);
  EXPECT_NEAR(all.scores[1]->mean_absolute, 2, 1e-9);
  EXPECT_EQ(all.scores[1]->exact, 0);
}

TEST(QuantityReport, AsksAPredictorInItsUnit) {
  const SyntheticSet set(40, 3);
  const LearnerSpec spec = small_trees("target: registers\ntarget_scale: log1p\nvalidation: 0\n");
  const Examples examples = set.examples(false, 1, spec.target);
  const Trained trained = train(spec, examples);
  EXPECT_EQ(quantity_answers(*trained.predictor, examples),
            predictions(*trained.predictor, examples, set.device()));
  const QuantityReport report =
      quantity_report(examples, {{"trees", quantity_answers(*trained.predictor, examples)}});
  EXPECT_LT(report.strata.front().scores[0]->mean_absolute, 0.5);
}
}  // namespace
}  // namespace tilecast::learned
