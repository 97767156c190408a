// A saved model equals the trained one; a folder that is not a model is rejected with the reason.
#include "learned/model_dir.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "learned/learned_model.h"
#include "learned/predictor.h"
#include "measured/measurement_set.h"
#include "tests/learned/synthetic_set.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"
#include "tests/support/texts.h"

namespace tilecast::learned {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// The card with its correct check line.
std::string checked(std::string card) {
  card.erase(card.rfind("check: "));
  return card + "check: " + measured::content_hash(card) + "\n";
}

ModelCard about() {
  ModelCard card;
  card.name = "made \"up\": a | b";
  card.created = "2026-11-22";
  card.split = "random by kernel, seed 1";
  card.data = {{"set one", "0123", "tpu_v3", "none", 80, 16, 0}, {"bare", "", "", "", 1, 2, 3}};
  card.metrics = {{"mape", 16, 0.1 + 0.2, 0.5}, {"tile_tau", 4, -1e-300, {}}};
  card.versions = {{"tilecast", "0.1"}};
  return card;
}

// One trained model, saved anew for every test.
class ModelDir : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    set_ = new SyntheticSet(12, 2);
    trained_ = new Trained(train(small_trees({}, 8), set_->examples()));
  }
  static void TearDownTestSuite() {
    delete trained_;
    delete set_;
  }
  void SetUp() override {
    path_ = folder_.path() + "/models/x";
    trained_->save(about(), path_, /*force=*/false);
  }

  // The message of loading, without the folder; "loaded" if nothing is thrown.
  [[nodiscard]] std::string message() const {
    try {
      (void)load_model(path_);
      return "loaded";
    } catch (const Error& error) {
      std::string text = error.what();
      if (const std::size_t at = text.find(path_); at != std::string::npos) {
        text.erase(at, path_.size() + 1);
      }
      return text;
    }
  }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string after(const std::string& from, const std::string& to) const {
    std::string card = support::bytes_of(file("model.yaml"));
    const std::string before = card;
    card = support::replaced(card, from, to);
    write(file("model.yaml"), checked(card));
    const std::string said = message();
    write(file("model.yaml"), before);
    return said;
  }

  static SyntheticSet* set_;
  static Trained* trained_;
  measured::SetOnDisk folder_;
  std::string path_;
};
SyntheticSet* ModelDir::set_ = nullptr;
Trained* ModelDir::trained_ = nullptr;

TEST_F(ModelDir, PredictsAsBeforeItWasSaved) {
  const LoadedModel loaded = load_model(path_);
  const Examples examples = set_->examples();
  EXPECT_EQ(predictions(*loaded.predictor, examples, set_->device()),
            predictions(*trained_->predictor, examples, set_->device()));
  EXPECT_EQ(loaded.predictor->trees()->model.save(), trained_->predictor->trees()->model.save());
}

TEST_F(ModelDir, KeepsThatItsTargetIsAResidual) {
  const Examples examples = set_->examples(/*with_priors=*/true);
  const Trained trained = train(small_trees("target: residual\n"), examples);
  const measured::SetOnDisk folder;
  const std::string path = folder.path() + "/residual";
  trained.save({}, path, false);
  EXPECT_EQ(predictions(*load_model(path).predictor, examples, set_->device()),
            predictions(*trained.predictor, examples, set_->device()));
}

TEST_F(ModelDir, KeepsTheQuantityItPredictsAndIsNoModelOfTimes) {
  const LearnerSpec spec = small_trees("target: registers\ntarget_scale: log1p\n");
  const Examples examples = set_->examples(false, 1, spec.target);
  const Trained trained = train(spec, examples);
  const measured::SetOnDisk folder;
  const std::string path = folder.path() + "/registers";
  trained.save({}, path, false);
  EXPECT_THAT(support::bytes_of(path + "/model.yaml"),
              HasSubstr("predicts: {quantity: registers, unit: \"registers\", scale: log1p, count: "
                        "yes}"));
  LoadedModel loaded = load_model(path);
  EXPECT_EQ(loaded.card.predicts, trained.predictor->target());
  EXPECT_EQ(predictions(*loaded.predictor, examples, set_->device()),
            predictions(*trained.predictor, examples, set_->device()));
  const analytical::AnalyticalModel physics;
  EXPECT_THAT(support::error_of([&] { const LearnedModel times(std::move(loaded), physics); }),
              HasSubstr("predicts registers in registers, no times"));
}

TEST_F(ModelDir, KeepsItsCard) {
  const ModelCard card = load_model(path_ + "/").card;
  EXPECT_EQ(card.name, about().name);
  EXPECT_EQ(card.kind, "xgboost");
  EXPECT_EQ(card.created, "2026-11-22");
  EXPECT_EQ(card.split, about().split);
  EXPECT_EQ(card.settings, trained_->card.settings);
  EXPECT_EQ(card.op_classes, trained_->card.op_classes);
  EXPECT_EQ(card.families, trained_->card.families);
  EXPECT_EQ(card.target.mean, trained_->predictor->trees()->target.mean);
  EXPECT_EQ(card.training_seconds, trained_->seconds);
  ASSERT_EQ(card.data.size(), 2U);
  EXPECT_EQ(card.data[0].licence, "none");
  EXPECT_EQ(card.data[1].test, 3U);
  EXPECT_EQ(card.data[1].device, "");
  ASSERT_EQ(card.metrics.size(), 2U);
  EXPECT_EQ(card.metrics[0].value, 0.1 + 0.2);
  EXPECT_EQ(card.metrics[0].baseline, 0.5);
  EXPECT_EQ(card.metrics[1].value, -1e-300);
  EXPECT_FALSE(card.metrics[1].baseline);
  ASSERT_EQ(card.versions.size(), 2U);
  EXPECT_EQ(card.versions[1].first, "XGBoost");
}

TEST_F(ModelDir, IsTheSameBytesWhenSavedAgain) {
  const std::string again = folder_.path() + "/again";
  trained_->save(about(), again, /*force=*/false);
  for (const char* name : {"model.yaml", "trees.ubj", "training.csv"}) {
    EXPECT_EQ(support::bytes_of(file(name)), support::bytes_of(again + "/" + name)) << name;
  }
  const LoadedModel loaded = load_model(path_);
  const std::string third = folder_.path() + "/third";
  save_model({loaded.card, loaded.predictor.get(), support::bytes_of(file("training.csv"))}, third);
  EXPECT_EQ(support::bytes_of(third + "/model.yaml"), support::bytes_of(file("model.yaml")));
}

TEST_F(ModelDir, IsReplacedOnlyWhenForcedAndOnlyWhenItIsAModel) {
  const auto saving = [&](const std::string& to, bool force) {
    return support::error_of([&] { trained_->save(about(), to, force); }, "saved");
  };
  EXPECT_THAT(saving(path_, false), HasSubstr("a model is there already"));
  EXPECT_EQ(saving(path_, true), "saved");
  EXPECT_EQ(message(), "loaded");
  write(file("notes.txt"), "mine");
  EXPECT_THAT(saving(path_, true), HasSubstr("holds 'notes.txt', which is no file of a model"));
  EXPECT_EQ(support::bytes_of(file("notes.txt")), "mine");
  const std::string other = folder_.path() + "/other";
  fs::create_directory(other);
  EXPECT_THAT(saving(other, true), HasSubstr("exists and is no model"));
  write(folder_.path() + "/file", "text");
  EXPECT_THAT(saving(folder_.path() + "/file", true), HasSubstr("exists and is no model"));
  EXPECT_THAT(saving(folder_.path() + "/file/below", true), HasSubstr("file"));
  EXPECT_THAT(saving("", true), HasSubstr("expected a path"));
  std::size_t left = 0;
  for (const auto& entry : fs::directory_iterator(folder_.path() + "/models")) {
    ++left;
    EXPECT_EQ(entry.path().filename(), "x") << "no temporary folder stays";
  }
  EXPECT_EQ(left, 1U);
}

TEST_F(ModelDir, MissingFilesAreNamed) {
  EXPECT_TRUE(is_model_directory(path_));
  EXPECT_FALSE(is_model_directory(folder_.path()));
  fs::remove(file("training.csv"));
  EXPECT_EQ(message(), "training.csv: there is no such file");
  write(file("training.csv"), trained_->training_csv);
  EXPECT_EQ(message(), "loaded");
  fs::remove(file("trees.ubj"));
  EXPECT_EQ(message(), "trees.ubj: there is no such file");
  fs::create_directory(file("trees.ubj"));
  EXPECT_EQ(message(), "trees.ubj: is no file that can be read");
  fs::remove(file("model.yaml"));
  EXPECT_THAT(message(), HasSubstr("is no model; expected a folder with a model.yaml"));
}

TEST_F(ModelDir, OtherFormatsSchemasAndKindsAreRefused) {
  EXPECT_THAT(
      after("tilecast.model/1", "tilecast.model/2"),
      HasSubstr("model.yaml:1:1: format: got 'tilecast.model/2', expected tilecast.model/1"));
  const FeatureSchema schema = TableFeatures(trained_->spec.features).schema();
  EXPECT_THAT(after("hash: \"" + schema.hash(), "hash: \"0" + schema.hash().substr(1)),
              HasSubstr("schemas: features: got"));
  EXPECT_THAT(after("version: " + std::to_string(schema.version), "version: 77"),
              HasSubstr("the model was trained with other features than this build computes"));
  EXPECT_THAT(after("features: [static, ops, shape, tile]", "features: [static, ops, shape]"),
              HasSubstr("schemas: features: got"));
  EXPECT_THAT(after("features: [static", "features: [statid"), HasSubstr("got 'statid'"));
  EXPECT_THAT(after("kind: xgboost", "kind: network"), HasSubstr("features: unknown key"));
  EXPECT_THAT(after("kind: xgboost", "kind: forest"),
              HasSubstr("got 'forest', expected xgboost, network"));
}

TEST_F(ModelDir, UnknownKeysAndImpossibleNumbersAreRefused) {
  EXPECT_THAT(after("seed: 1\n", "seed: 1\nsead: 2\n"), HasSubstr("did you mean 'seed'?"));
  EXPECT_THAT(after("seed: 1\n", "seed: 99999999999999999999999\n"), HasSubstr("seed: got '9999"));
  EXPECT_THAT(after("deviation: ", "deviation: -"), HasSubstr("expected more than zero"));
  EXPECT_THAT(after("mean: ", "mean: 1e999"), HasSubstr("expected a finite number"));
  EXPECT_THAT(after("mean: ", "median: "), HasSubstr("median: unknown key"));
  EXPECT_THAT(after("value: ", "value: nan"), HasSubstr("expected a finite number"));
  EXPECT_THAT(after("train: 80", "train: -80"), HasSubstr("expected a whole number"));
  EXPECT_THAT(after("ranks_only: no", "ranks_only: maybe"), HasSubstr("got 'maybe'"));
}

TEST_F(ModelDir, NamesOfFilesAreNotTakenFromTheCard) {
  EXPECT_THAT(after("  trees.ubj: ", "  ../../trees.ubj: "), HasSubstr("trees.ubj is missing"));
  EXPECT_THAT(after("  trees.ubj: ", "  /etc/passwd: "), HasSubstr("trees.ubj is missing"));
}

TEST_F(ModelDir, AChangedCardIsRefused) {
  std::string card = support::bytes_of(file("model.yaml"));
  card = support::replaced(card, "seed: 1\n", "seed: 2\n");
  write(file("model.yaml"), card);
  EXPECT_THAT(message(), HasSubstr("the text was changed after it was written"));
  write(file("model.yaml"), checked(card));
  EXPECT_EQ(message(), "loaded");
}

// Any byte except the end of the last line, which has no meaning.
TEST_F(ModelDir, NoFlippedBitOfTheCardLoads) {
  const std::string card = support::bytes_of(file("model.yaml"));
  std::mt19937_64 engine(3);
  for (std::size_t at = 0; at + 1 < card.size(); at += 1 + engine() % 20) {
    std::string changed = card;
    changed[at] = static_cast<char>(changed[at] ^ (1 << (engine() % 8)));
    write(file("model.yaml"), changed);
    EXPECT_THAT(message(), StartsWith("model.yaml")) << at;
  }
  for (std::size_t size = 0; size + 2 < card.size(); size += 1 + engine() % 150) {
    write(file("model.yaml"), card.substr(0, size));
    EXPECT_THAT(message(), StartsWith("model.yaml")) << size;
  }
}

// With a correct check line, so that the reader behind it gets the text: an Error, or a model that
// predicts finite numbers.
TEST_F(ModelDir, MutatedCardsAreRefusedOrLoad) {
  const std::string card = support::bytes_of(file("model.yaml"));
  const Examples examples = set_->examples();
  constexpr std::string_view kBytes = "0-9.{}[]:,\"' \n#aez&*\x01\xff";
  std::mt19937_64 engine(5);
  int refused = 0;
  for (int i = 0; i < 150; ++i) {
    std::string changed = card.substr(0, card.rfind("check: "));
    for (std::uint64_t edits = 1 + engine() % 3; edits > 0; --edits) {
      const std::size_t at = engine() % changed.size(), size = engine() % 9;
      const std::string bytes(engine() % 3, kBytes[engine() % kBytes.size()]);
      changed.replace(at, size, bytes);
    }
    changed += "\ncheck: \n";
    write(file("model.yaml"), checked(changed));
    try {
      const LoadedModel loaded = load_model(path_);
      for (const double value : predictions(*loaded.predictor, examples, set_->device())) {
        ASSERT_TRUE(std::isfinite(value));
      }
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 75);
}

TEST_F(ModelDir, MutatedWeightsAreRefused) {
  const std::string trees = support::bytes_of(file("trees.ubj"));
  const std::string card = support::bytes_of(file("model.yaml"));
  std::mt19937_64 engine(11);
  int refused = 0, runs = 0;
  for (int i = 0; i < 60; ++i) {
    std::string changed = trees;
    if (i % 3 == 0) changed.resize(engine() % trees.size());
    if (i % 3 != 0) changed[engine() % trees.size()] ^= static_cast<char>(1 << (engine() % 8));
    if (changed == trees) continue;
    ++runs;
    write(file("trees.ubj"), changed);
    write(file("model.yaml"), card);
    ASSERT_THAT(message(), StartsWith("trees.ubj: is not the file that was saved"));
    std::string fitting = card;  // now passed on to the reader of trees
    fitting =
        support::replaced(fitting, measured::content_hash(trees), measured::content_hash(changed));
    write(file("model.yaml"), checked(fitting));
    const std::string said = message();
    ASSERT_THAT(said, AnyOf("loaded", StartsWith("trees.ubj: "))) << i;
    if (said != "loaded") ++refused;
  }
  EXPECT_GE(refused, runs / 3) << "all that were cut short, at least";
}

TEST_F(ModelDir, CannotBeSavedWithWhatCannotBeReadBack) {
  ModelCard card = about();
  card.metrics.push_back({"mape", 1, std::nan(""), {}});
  const std::string to = folder_.path() + "/bad";
  EXPECT_THROW(trained_->save(card, to, /*force=*/false), Error);
  card = about();
  card.name = "bell \a";
  EXPECT_THROW(trained_->save(card, to, /*force=*/false), Error);
  EXPECT_FALSE(fs::exists(to));
}

// A hybrid without trees, and one with trees, with their files.
class HybridFolder : public testing::Test {
 protected:
  HybridFolder() { card_.hybrid = true; }

  [[nodiscard]] std::string message() const {
    try {
      (void)texts(load_model(path_));
      return "loaded";
    } catch (const Error& error) {
      std::string text = error.what();
      return text.starts_with(path_) ? text.substr(path_.size() + 1) : text;
    }
  }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] static ExtraFiles texts(const LoadedModel& loaded) {
    ExtraFiles all;
    for (const auto& [name, read] : loaded.extra) all[name] = read();
    return all;
  }

  measured::SetOnDisk folder_;
  std::string path_ = folder_.path() + "/hybrid";
  ModelCard card_ = about();
  const ExtraFiles extra_{{"known_0.csv", "a,b\n1,2\n"},
                          {"correction.yaml", ""},
                          {"device_0.yaml", "x: \"y\"\n"},
                          {"device_15.yaml", "last"}};
};

TEST_F(HybridFolder, OfPhysicsAloneKeepsItsFilesAndHasNoPredictor) {
  save_model({card_, nullptr, "", extra_}, path_);
  const LoadedModel loaded = load_model(path_);
  EXPECT_EQ(loaded.predictor, nullptr);
  EXPECT_EQ(texts(loaded), extra_);
  EXPECT_EQ(loaded.card.kind, "physics");
  EXPECT_TRUE(loaded.card.hybrid);
  const std::string again = folder_.path() + "/again";
  save_model({loaded.card, nullptr, "", texts(loaded)}, again);
  EXPECT_EQ(support::bytes_of(again + "/model.yaml"), support::bytes_of(file("model.yaml")));
}

TEST_F(HybridFolder, OfTreesIsTheModelAndItsFiles) {
  const SyntheticSet set(12, 2);
  const Examples examples = set.examples(/*with_priors=*/true);
  const Trained trained = train(small_trees("target: residual\n", 8), examples);
  card_.settings = trained.card.settings;
  save_model({card_, trained.predictor.get(), trained.training_csv, extra_}, path_);
  const LoadedModel loaded = load_model(path_);
  EXPECT_EQ(texts(loaded), extra_);
  EXPECT_EQ(loaded.card.kind, "xgboost");
  EXPECT_EQ(predictions(*loaded.predictor, examples, set.device()),
            predictions(*trained.predictor, examples, set.device()));
}

TEST_F(HybridFolder, IsReplacedWholeAndOnlyWhenItsFilesAreOfAModel) {
  save_model({card_, nullptr, "", extra_}, path_);
  save_model({card_, nullptr, "", {{"correction.yaml", "t"}}}, path_, /*force=*/true);
  EXPECT_FALSE(fs::exists(file("known_0.csv")));
  EXPECT_EQ(texts(load_model(path_)), (ExtraFiles{{"correction.yaml", "t"}}));
  write(file("device_16.yaml"), "mine");
  EXPECT_THROW(save_model({card_, nullptr, "", extra_}, path_, /*force=*/true), Error);
  EXPECT_EQ(support::bytes_of(file("device_16.yaml")), "mine");
}

TEST_F(HybridFolder, ChangedOrMissingFilesAreRefusedByName) {
  save_model({card_, nullptr, "", extra_}, path_);
  write(file("known_0.csv"), "a,b\n1,3\n");
  EXPECT_THAT(message(), StartsWith("known_0.csv: is not the file that was saved"));
  fs::remove(file("known_0.csv"));
  EXPECT_EQ(message(), "known_0.csv: there is no such file");
}

TEST_F(HybridFolder, PhysicsIsNoModelUnlessTheCardSaysHybrid) {
  save_model({card_, nullptr, "", {}}, path_);
  std::string card = support::bytes_of(file("model.yaml"));
  card = support::replaced(card, "hybrid: yes\n", "");
  write(file("model.yaml"), checked(card));
  EXPECT_THAT(message(), HasSubstr("physics alone is no model; expected hybrid: yes"));
}

TEST_F(HybridFolder, NamesOfFilesAreNotTakenFromTheCard) {
  save_model({card_, nullptr, "", {{"correction.yaml", "t"}}}, path_);
  std::string card = support::bytes_of(file("model.yaml"));
  card = support::replaced(card, "  correction.yaml: ", "  ../correction.yaml: ");
  write(file("model.yaml"), checked(card));
  EXPECT_TRUE(load_model(path_).extra.empty());
}

// --- A predictor gives its model's output for any batch, with the prior that it needs.

// A network that sums its inputs: opcodes are ignored, all features count.
class Sum final : public GraphNetwork {
 public:
  void predict(std::span<const GraphInput> inputs, std::span<float> out) const override {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      out[i] = 0;
      for (const float value : inputs[i].graph->features) out[i] += value;
      for (const float value : inputs[i].at_nodes) out[i] += 10 * value;
      for (const float value : inputs[i].at_kernel) out[i] += 100 * value;
    }
  }
  [[nodiscard]] std::string save() const override { return "sum"; }
};

std::vector<float> features_of(const TableFeatures& features, const Examples& examples,
                               const hwdesc::Device& device) {
  std::vector<float> rows(examples.queries.size() * features.width());
  features.extract(examples.queries, device, examples.priors, rows);
  return rows;
}

TEST(TreePredictor, IsItsTreesOnTheScaleOfLogTimes) {
  const SyntheticSet set;
  const Examples examples = set.examples();
  const Trained trained = train(small_trees(), examples);
  const GbtPredictorParts& parts = *trained.predictor->trees();
  const std::vector<float> rows =
      features_of(TableFeatures(parts.features), examples, set.device());
  std::vector<float> margins(examples.rows.size());
  parts.model.predict(rows, margins);
  const std::vector<double> out = predictions(*trained.predictor, examples, set.device());
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i], double{margins[i]} * parts.target.deviation + parts.target.mean);
  }
  EXPECT_EQ(trained.predictor->network(), nullptr);
}

// Predicts twice the analytical time.
class TwiceAsLong final : public analytical::CostModel {
 public:
  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override {
    auto answers = analytical::AnalyticalModel().estimate(queries, device);
    for (auto& answer : answers) answer->time = Seconds{2 * answer->time.value};
    return answers;
  }
};

TEST(TreePredictor, ReadsThePriorItIsGiven) {
  const SyntheticSet set(9, 2);
  const Examples examples = set.examples(/*with_priors=*/true);
  LearnerSpec spec = small_trees();
  spec.features = {{FeatureGroup::kPrior}, {}};
  const Trained trained = train(spec, examples);
  const Predictor& predictor = *trained.predictor;
  ASSERT_TRUE(predictor.needs_prior());
  const auto priors =
      priors_for(predictor, analytical::AnalyticalModel(), examples.queries, set.device());
  std::vector<double> given(examples.rows.size()), without(examples.rows.size());
  predictor.predict(examples.queries, set.device(), priors, given);
  EXPECT_EQ(given, predictions(predictor, examples, set.device()));
  const std::vector<std::optional<analytical::Estimate>> none(examples.rows.size());
  predictor.predict(examples.queries, set.device(), none, without);
  EXPECT_NE(without, given) << "a prior that is absent is missing";
  EXPECT_EQ(without.front(), without.back()) << "nothing tells the rows apart";
}

TEST(OnPrior, MultipliesTheTimesOfThePriorThatIsHandedIn) {
  const SyntheticSet set(9, 2);
  const Examples examples = set.examples(/*with_priors=*/true);
  LearnerSpec spec = small_trees();  // features without the prior
  spec.target.residual = true;
  const Trained trained = train(spec, examples);
  const auto times = [&](const analytical::CostModel& prior) {
    std::vector<double> out(examples.rows.size());
    trained.predictor->predict(
        examples.queries, set.device(),
        priors_for(*trained.predictor, prior, examples.queries, set.device()), out);
    return out;
  };
  const std::vector<double> once = times(analytical::AnalyticalModel()),
                            twice = times(TwiceAsLong());
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i] - once[i], std::log(2), 1e-9);
}

TEST(OnPrior, TakesAQueryWithoutATileForThatWithThePriorsTile) {
  const SyntheticSet set(9, 2);
  LearnerSpec spec = small_trees();
  spec.features = {{FeatureGroup::kTile}, {}};
  spec.target.residual = true;
  const Examples examples = set.examples(/*with_priors=*/true);
  const Trained trained = train(spec, examples);
  const analytical::KernelQuery open{examples.queries.front().kernel};
  const auto priors = analytical::AnalyticalModel().estimate({&open, 1}, set.device());
  const analytical::KernelQuery stated{open.kernel, &priors.front()->tile};
  double of_open = 0, of_stated = 0;
  trained.predictor->predict({&open, 1}, set.device(), priors, {&of_open, 1});
  trained.predictor->predict({&stated, 1}, set.device(), priors, {&of_stated, 1});
  EXPECT_EQ(of_open, of_stated);
}

TEST(TreePredictor, SaysTheSameInAnyBatchAndOnAnyThread) {
  const SyntheticSet set(90, 15);  // more rows than one chunk of features
  const Examples examples = set.examples();
  ASSERT_GT(examples.rows.size(), 1024U);
  const Trained trained = train(small_trees({}, 10), examples);
  const std::vector<double> all = predictions(*trained.predictor, examples, set.device());
  for (const std::size_t i : {std::size_t{0}, std::size_t{700}, std::size_t{1100}}) {
    double alone = 0;
    trained.predictor->predict(std::span(examples.queries).subspan(i, 1), set.device(), {},
                               std::span(&alone, 1));
    EXPECT_EQ(alone, all[i]);
  }
  std::array<std::vector<double>, 2> threads;
  std::thread other([&] { threads[0] = predictions(*trained.predictor, examples, set.device()); });
  threads[1] = predictions(*trained.predictor, examples, set.device());
  other.join();
  EXPECT_EQ(threads[0], all);
  EXPECT_EQ(threads[1], all);
  trained.predictor->predict({}, set.device(), {}, {});
}

TEST(NetworkPredictor, ShowsItsNetworkScaledGraphsAndFeatures) {
  const SyntheticSet set(6, 3);
  const Examples examples = set.examples();
  const NetworkFeatures features{.at_nodes = {{FeatureGroup::kStatic}, {}},
                                 .at_kernel = {{FeatureGroup::kTile}, {}}};
  const TableFeatures at_nodes(features.at_nodes), at_kernel(features.at_kernel);
  std::vector<float> nodes;
  for (const analytical::KernelQuery& query : examples.queries) {
    const KernelGraph graph = make_graph(query.kernel, features.encoding);
    nodes.insert(nodes.end(), graph.features.begin(), graph.features.end());
  }
  const std::size_t width = node_schema(features.encoding).columns.size();
  std::vector<float> low = features_of(at_nodes, examples, set.device());
  std::vector<float> high = features_of(at_kernel, examples, set.device());
  const FeatureScaler node_scaler(nodes, width, true);
  const FeatureScaler low_scaler(low, at_nodes.width(), true);
  const FeatureScaler high_scaler(high, at_kernel.width(), true);
  const std::unique_ptr<Predictor> predictor =
      make_predictor(NetworkPredictorParts{.features = features,
                                           .spec = {},
                                           .node_scaler = node_scaler,
                                           .at_nodes_scaler = low_scaler,
                                           .at_kernel_scaler = high_scaler,
                                           .network = std::make_unique<Sum>(),
                                           .target = {.mean = 2, .deviation = 3},
                                           .ranks_only = false});
  const std::vector<double> out = predictions(*predictor, examples, set.device());
  low_scaler.apply(low);
  high_scaler.apply(high);
  for (std::size_t i = 0; i < out.size(); ++i) {
    KernelGraph graph = make_graph(examples.queries[i].kernel, features.encoding);
    node_scaler.apply(graph.features);
    float expected = 0;
    const std::span<const float> rows[] = {
        std::span<const float>(low).subspan(i * at_nodes.width(), at_nodes.width()),
        std::span<const float>(high).subspan(i * at_kernel.width(), at_kernel.width())};
    for (const float value : graph.features) expected += value;
    for (const float value : rows[0]) expected += 10 * value;
    for (const float value : rows[1]) expected += 100 * value;
    EXPECT_EQ(out[i], double{expected} * 3 + 2);
  }
  EXPECT_NE(out[0], out[1]) << "tiles of one kernel";
  EXPECT_EQ(predictor->trees(), nullptr);
  EXPECT_FALSE(predictor->needs_prior());
}
}  // namespace
}  // namespace tilecast::learned
