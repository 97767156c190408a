// The model meant by a name if no model, or one, is shipped.
#include "sim/model_choice.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "hybrid/hybrid_dir.h"
#include "hybrid/hybrid_fit.h"
#include "tests/hybrid/synthetic_set.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

}  // namespace
}  // namespace tilecast::sim
