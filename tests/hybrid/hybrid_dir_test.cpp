// A saved hybrid is bit-identical to the fitted one; a folder that is not a hybrid is rejected with
// the reason.
#include "hybrid/hybrid_dir.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "learned/training/learner.h"
#include "measured/measurement_set.h"
#include "tests/hybrid/corrected_set.h"
#include "tests/measured/set_on_disk.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::hybrid {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const measured::SampleSet& dir_rows() {
  static const measured::SampleSet set = corrected_set(tpu_v3(), 12, 6, by_size, 0.02);
  return set;
}

const FittedHybrid& fitted() {
  static const FittedHybrid hybrid = fit_to(dir_rows(), tpu_v3());
  return hybrid;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

class HybridDir : public testing::Test {
 protected:
  void save() const { save_hybrid(fitted().card, fitted().parts, folder_, /*force=*/true); }
  // Changes a file, and updates the card's hashes accordingly.
  void forge(const std::string& file, const std::string& text) const {
    const std::string before = measured::content_hash(support::bytes_of(folder_ + "/" + file));
    write(folder_ + "/" + file, text);
    std::string card = support::bytes_of(folder_ + "/model.yaml");
    card.replace(card.find(before), before.size(), measured::content_hash(text));
    card.erase(card.rfind("check: "));
    write(folder_ + "/model.yaml", card + "check: " + measured::content_hash(card) + "\n");
  }
  // A saved folder in which `from` in a file is replaced by `to`; up to the end of the file if
  // `from` ends in "...".
  void forge(const std::string& file, std::string from, const std::string& to) const {
    if (fs::exists(folder_)) fs::remove_all(folder_);
    save();
    std::string text = support::bytes_of(folder_ + "/" + file);
    const bool rest = from.ends_with("...");
    if (rest) from.resize(from.size() - 3);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << file << ": " << from;
    text.replace(at, rest ? std::string::npos : from.size(), to);
    forge(file, text);
  }
  // The error message, from the file's name on.
  [[nodiscard]] std::string refusal() const {
    try {
      const LoadedHybrid loaded = load_hybrid(folder_);
      (void)loaded.parts.devices.all();
      (void)loaded.parts.bag.members();
      for (const Place& place : loaded.parts.known.places()) (void)*place.kernels;
      return "not refused";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      return text.starts_with(folder_ + "/") ? text.substr(folder_.size() + 1) : text;
    }
  }

  measured::SetOnDisk temporary_;
  std::string folder_ = temporary_.path() + "/hybrid";
};

TEST_F(HybridDir, ALoadedHybridIsTheFittedOneToTheBit) {
  save();
  EXPECT_TRUE(is_hybrid_directory(folder_));
  LoadedHybrid loaded = load_hybrid(folder_);
  EXPECT_TRUE(loaded.card.hybrid);
  EXPECT_EQ(loaded.card.kind, "physics");
  const std::string again = folder_ + "_again";
  save_hybrid(loaded.card, loaded.parts, again);
  for (const auto& file : fs::directory_iterator(folder_)) {
    EXPECT_EQ(support::bytes_of(file.path().string()),
              support::bytes_of(again + "/" + file.path().filename().string()))
        << file.path();
  }
  const HybridModel original(kPhysics, fit_to(dir_rows(), tpu_v3()).parts);
  const HybridModel after(kPhysics, std::move(loaded.parts));
  // Also other kernels, near and far.
  const measured::SampleSet others[] = {dir_rows(), synthetic_set(tpu_v3(), 40, 1),
                                        product_set(tpu_v3(), 20, 1, 0)};
  for (const measured::SampleSet& set : others) {
    for (std::size_t i = 0; i < set.samples.size(); ++i) {
      const auto a = ask(original, query_of(set, i), tpu_v3());
      const auto b = ask(after, query_of(set, i), tpu_v3());
      EXPECT_EQ(a.time, b.time);
      EXPECT_EQ(a.correction->low, b.correction->low);
      EXPECT_EQ(a.correction->high, b.correction->high);
      EXPECT_EQ(a.correction->weight, b.correction->weight);
      EXPECT_EQ(a.correction->verdict, b.correction->verdict);
      EXPECT_EQ(a.correction->correlation, b.correction->correlation);
    }
  }
}

TEST_F(HybridDir, RulesAreReadAsTheyWere) {
  HybridParts parts = fit_to(dir_rows(), tpu_v3(), {.name = "hybrid", .members = 4}).parts;
  const Shrinkage rules[] = {
      {}, {.c = 0.25}, {.c = 64, .kinds = {"custom-call bound by units", "dot"}}};
  for (const Shrinkage& rule : rules) {
    parts.known.places().front().any = rule;
    save_hybrid(fitted().card, parts, folder_, /*force=*/true);
    const LoadedHybrid loaded = load_hybrid(folder_);
    EXPECT_EQ(loaded.parts.known.places().front().any.c, rule.c);
    EXPECT_EQ(loaded.parts.known.places().front().any.kinds, rule.kinds);
  }
}

TEST_F(HybridDir, IsOnlyReplacedWhenForced) {
  save();
  EXPECT_THROW(save_hybrid(fitted().card, fitted().parts, folder_), Error);
  save();
  write(folder_ + "/notes.txt", "mine");
  EXPECT_THROW(save(), Error);
  EXPECT_TRUE(fs::exists(folder_ + "/notes.txt"));
}

TEST_F(HybridDir, RefusesFilesThatWereChangedOrTakenAway) {
  for (const std::string file :
       {"known_0.csv", "bands.csv", "correction.yaml", "member_3.trees", "device_0.yaml"}) {
    save();
    write(folder_ + "/" + file, support::bytes_of(folder_ + "/" + file) + "\n");
    EXPECT_THAT(refusal(), HasSubstr(file + ": is not the file that was saved"));
    save_hybrid(fitted().card, fitted().parts, folder_ + file);
    fs::remove(folder_ + file + "/" + file);
    EXPECT_EQ(support::error_of([&] {
                const HybridParts parts = load_hybrid(folder_ + file).parts;
                return parts.bag.members().size() + parts.devices.all().size() +
                       parts.known.places().front().kernels->size();
              }),
              folder_ + file + "/" + file + ": there is no such file");
  }
}

struct Damage {
  const char *file, *from, *to, *refusal;
};

// Files with correct hashes that are not those of a hybrid.
TEST_F(HybridDir, SaysWhereAFileIsWrong) {
  const Damage damages[] = {
      {"correction.yaml", "tilecast.correction/2", "tilecast.correction/1",
       "correction.yaml:1:1: format: expected tilecast.correction/2"},
      {"correction.yaml", "features: [prior]", "features: [moon]",
       "correction.yaml:2:12: there is no group"},
      {"correction.yaml", "features: [prior]", "features: [shape]", "schema: expected "},
      {"correction.yaml", "near:...", "", "correction.yaml:1:1: near is missing"},
      {"correction.yaml", "reach: ", "reach: -", "expected a number from 0.05 to 1000"},
      {"correction.yaml", "reach: ", "reach: nan", "expected a number from 0.05 to 1000"},
      {"correction.yaml", "device: \"tpu_v3\"", "device: \"other\"",
       "correction.yaml: near: device 'other' is none of model.yaml"},
      {"correction.yaml", "{c: ", "{d: 1, c: ", ": d: unknown key"},
      {"correction.yaml", "{c: 0", "{c: nan", "c: got 'nan', expected a number from 0 to"},
      {"correction.yaml", "{c: ", "{c: 1e300", "expected a number from 0 to 1000000"},
      {"correction.yaml", "{c: 0", "{c: -1", "expected a number from 0 to 1000000"},
      {"correction.yaml", "correlation: ", "correlation: 7", "expected a number from 0 to 1"},
      {"correction.yaml", "members: 12", "members: 13",
       "model.yaml: files: member_12.trees is missing"},
      {"correction.yaml", "members: 12", "members: 99", "expected a whole number from 0 to 32"},
      {"member_4.trees", "tilecast...", "{", "member_4.trees: "},
      {"known_0.csv", "name,", "kernel,", "known_0.csv:1: the columns are of another version"},
      {"known_0.csv", "\n", "\nk,1\n", "known_0.csv:2"},
      {"known_0.csv", "\n", "\nk,nan,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n", "known_0.csv:2"},
      {"bands.csv", "near,", "far,", "bands.csv:2"},
      {"bands.csv", ",-0.", ",-nan", "bands.csv:2"},
      {"device_0.yaml", "name: \"tpu_v3\"", "name: \"other\"",
       "device_0.yaml: name: got 'other', expected 'tpu_v3' as in model.yaml"},
      {"device_0.yaml", "\nclock:...", "\n", "device_0.yaml"},
      {"device_0.yaml", "name: \"tpu_v3\"...", "name: \"tpu_v3", "device_0.yaml"},
  };
  for (const Damage& damage : damages) {
    SCOPED_TRACE(std::string(damage.file) + ": " + damage.from + " -> " + damage.to);
    ASSERT_NO_FATAL_FAILURE(forge(damage.file, std::string(damage.from), damage.to));
    EXPECT_THAT(refusal(), HasSubstr(damage.refusal));
  }
}

TEST_F(HybridDir, DescriptionsOfAFolderDoNotLeadOutOfIt) {
  for (const std::string parent : {"../secret.yaml", "/etc/secret.yaml", "./device_1.yaml"}) {
    save();
    forge("device_0.yaml", "extends: " + parent + "\nname: mine\n");
    EXPECT_THAT(refusal(),
                HasSubstr("device_0.yaml:1:1: extends: got '" + parent + "', expected a shipped"));
  }
}

TEST_F(HybridDir, ATrainedModelWithoutPhysicsAroundItIsNoHybrid) {
  const auto examples = learned::make_examples({&dir_rows(), 1}, {&tpu_v3(), 1}, kPhysics,
                                               /*with_priors=*/true, 1);
  learned::LearnerSpec trees;
  trees.name = "trees";
  trees.gbt.trees = 4;
  trees.features.groups = {learned::FeatureGroup::kPrior};
  learned::train(trees, examples, {.threads = 1}).save({}, folder_, /*force=*/false);
  EXPECT_FALSE(is_hybrid_directory(folder_));
  EXPECT_THAT(refusal(), HasSubstr("expected a hybrid"));
}

}  // namespace
}  // namespace tilecast::hybrid
