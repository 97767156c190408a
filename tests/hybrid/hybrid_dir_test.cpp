// Is a saved hybrid the one that was fitted, to the bit; is a folder that is not one refused, with
// the reason?
#include "hybrid/hybrid_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "learned/learned_model.h"
#include "measured/measurement_set.h"
#include "tests/hybrid/corrected_set.h"

namespace tilecast::hybrid {
namespace {

namespace fs = std::filesystem;
using analytical::Estimate;
using analytical::KernelQuery;
using ::testing::HasSubstr;

const hwdesc::Device& tpu() {
  static const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  return device;
}

const measured::SampleSet& rows() {
  static const measured::SampleSet set = corrected_set(
      tpu(), 12, 6, [](const Estimate& e) { return 0.3 * std::log(e.time.value / 10e-6); }, 0.02);
  return set;
}

const FittedHybrid& fitted() {
  static const FittedHybrid hybrid = fit_to(rows(), tpu(), small_hybrid(/*calibrate=*/true));
  return hybrid;
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

class HybridDir : public testing::Test {
 protected:
  HybridDir()
      : folder_((fs::temp_directory_path() /
                 ("tilecast_hybrid_" + std::to_string(getpid()) + "_" +
                  testing::UnitTest::GetInstance()->current_test_info()->name()))
                    .string()) {}
  ~HybridDir() override { fs::remove_all(folder_); }

  void save(bool force = false) const {
    save_hybrid(fitted().card, fitted().parts, fitted().training_csv, folder_, force);
  }
  // Changes a file, and the card so that its hashes say it was saved like that.
  void forge(const std::string& file, const std::string& text) const {
    const std::string before = measured::content_hash(read(folder_ + "/" + file));
    write(folder_ + "/" + file, text);
    std::string card = read(folder_ + "/model.yaml");
    replace(card, before, measured::content_hash(text));
    card.erase(card.rfind("check: "));
    write(folder_ + "/model.yaml", card + "check: " + measured::content_hash(card) + "\n");
  }
  void expect_refused(const std::string& message) const {
    try {
      static_cast<void>(load_hybrid(folder_));
      ADD_FAILURE() << "not refused; expected: " << message;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }

  std::string folder_;
};

void expect_same(const analytical::CostModel& a, const analytical::CostModel& b) {
  std::vector<KernelQuery> queries;
  for (const measured::Sample& sample : rows().samples) {
    queries.push_back(
        {.kernel = rows().works[sample.work].parts.front().kernel, .tile = &sample.tile});
  }
  const auto of_a = a.estimate(queries, tpu()), of_b = b.estimate(queries, tpu());
  ASSERT_EQ(of_a.size(), of_b.size());
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    ASSERT_TRUE(of_a[i] && of_b[i]);
    EXPECT_EQ(of_a[i]->time, of_b[i]->time);
    EXPECT_EQ(of_a[i]->correction->low, of_b[i]->correction->low);
    EXPECT_EQ(of_a[i]->correction->high, of_b[i]->correction->high);
    EXPECT_EQ(of_a[i]->correction->verdict, of_b[i]->correction->verdict);
    EXPECT_EQ(of_a[i]->correction->weight, of_b[i]->correction->weight);
  }
}

TEST_F(HybridDir, DescriptionsOfAFolderDoNotLeadOutOfIt) {
  save();
  for (const std::string parent : {"../secret.yaml", "/etc/secret.yaml", "./device_1.yaml"}) {
    forge("device_0.yaml", "extends: " + parent + "\nname: mine\n");
    expect_refused("device_0.yaml:1:1: extends: got '" + parent + "', expected a shipped");
  }
}

TEST_F(HybridDir, ALoadedHybridPredictsWhatTheFittedOnePredictsToTheBit) {
  save();
  EXPECT_TRUE(is_hybrid_directory(folder_));
  const HybridModel original(kPhysics,
                             fit_to(rows(), tpu(), small_hybrid(/*calibrate=*/true)).parts);
  LoadedHybrid loaded = load_hybrid(folder_);
  EXPECT_TRUE(loaded.card.hybrid);
  ASSERT_EQ(loaded.parts.devices.size(), 1U);
  EXPECT_EQ(loaded.parts.devices[0].name, "tpu_v3");
  EXPECT_EQ(hwdesc::print_device(loaded.parts.devices[0]),
            hwdesc::print_device(fitted().parts.devices[0]));
  expect_same(original, HybridModel(kPhysics, std::move(loaded.parts)));
}

TEST_F(HybridDir, PhysicsAloneIsAHybridToo) {
  HybridSpec spec = small_hybrid();
  spec.candidates.clear();
  const FittedHybrid physics = fit_to(rows(), tpu(), spec);
  ASSERT_EQ(physics.parts.residual, nullptr);
  save_hybrid(physics.card, physics.parts, physics.training_csv, folder_);
  LoadedHybrid loaded = load_hybrid(folder_);
  EXPECT_EQ(loaded.parts.residual, nullptr);
  EXPECT_EQ(loaded.card.kind, "physics");
  expect_same(HybridModel(kPhysics, fit_to(rows(), tpu(), spec).parts),
              HybridModel(kPhysics, std::move(loaded.parts)));
}

// The constants that the correction was fitted on top of are part of the model.
TEST_F(HybridDir, AHybridOfACalibratedDeviceKeepsItsConstants) {
  hwdesc::Device slower = tpu();
  slower.calibration.memory_bandwidth = 0.92;
  slower.calibration.source = "a test";
  measured::SampleSet set = synthetic_set(slower, 12, 4, 0.02);
  set.device = tpu().name;
  const PreparedFit prepared = prepare_fit(kPhysics, {&set, 1}, {&tpu(), 1}, {});
  ASSERT_TRUE(prepared.calibrated.front().accepted);
  FittedHybrid fitted = fit_default_hybrid(kPhysics, "mine", prepared, {.jobs = 1});
  ASSERT_EQ(fitted.card.data.size(), 1U);
  EXPECT_EQ(fitted.card.data.front().train, set.samples.size());
  save_hybrid(fitted.card, fitted.parts, fitted.training_csv, folder_);
  const HybridModel original(kPhysics, std::move(fitted.parts));
  const HybridModel loaded(kPhysics, load_hybrid(folder_).parts);
  expect_same(original, loaded);
  EXPECT_NEAR(loaded.with_constants(tpu()).calibration.memory_bandwidth, 0.92, 0.02);
}

TEST_F(HybridDir, IsOnlyReplacedWhenForced) {
  save();
  EXPECT_THROW(save(), Error);
  save(/*force=*/true);
  write(folder_ + "/notes.txt", "mine");
  EXPECT_THROW(save(/*force=*/true), Error);
  EXPECT_TRUE(fs::exists(folder_ + "/notes.txt"));
}

TEST_F(HybridDir, RefusesFilesThatWereChangedOrTakenAway) {
  for (const std::string file : {"domain.csv", "trust.yaml", "device_0.yaml"}) {
    save(/*force=*/fs::exists(folder_));
    write(folder_ + "/" + file, read(folder_ + "/" + file) + "\n");
    expect_refused("is not the file that was saved");
    save(/*force=*/true);
    fs::remove(folder_ + "/" + file);
    expect_refused(file);
  }
}

TEST_F(HybridDir, RefusesFilesThatAreWhatTheCardSaysButNoHybrid) {
  save();
  forge("trust.yaml", "format: tilecast.trust/9\n");
  expect_refused("trust.yaml");
  save(/*force=*/true);
  forge("domain.csv", "kernel,op_class\nx,y\n");
  expect_refused("domain.csv");
  for (const std::string text : {"name: tpu_v3\n", "name: \"tpu_v3", "name: \""}) {
    save(/*force=*/true);
    forge("device_0.yaml", text);
    expect_refused("device_0.yaml");
  }
}

TEST_F(HybridDir, RefusesADomainOfADeviceThatIsNotDescribed) {
  save();
  std::string device = read(folder_ + "/device_0.yaml");
  replace(device, R"(name: "tpu_v3")", R"(name: "another")");
  forge("device_0.yaml", device);
  expect_refused("device 'tpu_v3' is described by no device_N.yaml");
}

TEST_F(HybridDir, ATrainedModelWithoutPhysicsAroundItIsNoHybrid) {
  const analytical::AnalyticalModel physics;
  const auto examples = learned::make_examples(std::span(&rows(), 1), std::span(&tpu(), 1), physics,
                                               /*with_priors=*/true, 1);
  const learned::Trained trained =
      learned::train(small_hybrid().candidates.back(), examples, {.threads = 1});
  trained.save({}, folder_, /*force=*/false);
  EXPECT_FALSE(is_hybrid_directory(folder_));
  expect_refused("expected a hybrid");
}

}  // namespace
}  // namespace tilecast::hybrid
