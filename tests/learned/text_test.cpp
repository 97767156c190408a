// Text as input of learners: tokens, vocabularies, and models with both, from training to disk.
#include "schedule/text.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/error.h"
#include "learned/training/fit.h"
#include "schedule/from_kernel.h"
#include "tests/learned/synthetic_set.h"
#include "tests/support/errors.h"

namespace tilecast::learned {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Words = std::vector<std::string>;

template <class Write>
Words written(const TextSpec& spec, Write&& write) {
  Words words;
  const TokenSink sink = [&](const Token& token) { words.emplace_back(token.text); };
  write(TokenWriter(spec, sink));
  return words;
}
Words shape_words(const TextSpec& spec, std::string_view shape) {
  return written(spec, [&](const TokenWriter& write) { write.shape(shape); });
}

TEST(TextTokens, ShapesAreOneTokenOrOneByDimension) {
  const TextSpec whole, parts{.shapes = ShapeTokens::kDimensions};
  EXPECT_THAT(shape_words(whole, "tensor<64x128xf32>"), ElementsAre("tensor<64x128xf32>"));
  EXPECT_THAT(shape_words(parts, "tensor<64x128xf32>"), ElementsAre("64", "x", "128", "x", "f32"));
  EXPECT_THAT(shape_words(parts, "tensor<complex<f32>>"), ElementsAre("complex<f32>"));
  EXPECT_THAT(shape_words(parts, "tensor<f32>"), ElementsAre("f32"));
  EXPECT_THAT(shape_words(parts, "tensor<?x4xi8, #stablehlo.bounds<8, ?>>"),
              ElementsAre("?", "x", "4", "x", "i8"));
  EXPECT_THAT(shape_words(parts, "f32[64,128]"), ElementsAre("64", "x", "128", "x", "f32"));
  EXPECT_THAT(shape_words(parts, "64x32"), ElementsAre("64", "x", "32"));
}

TEST(TextTokens, NumbersAreOneTokenTheirDigitsOrAValue) {
  const auto number = [](const TokenWriter& write) { write.number("128"); };
  EXPECT_THAT(written({}, number), ElementsAre("128"));
  EXPECT_THAT(written({.numbers = NumberTokens::kDigits}, number), ElementsAre("1", "2", "8"));
  EXPECT_THAT(written({.numbers = NumberTokens::kValue}, number), ElementsAre("#"));
  const TextSpec spec{.numbers = NumberTokens::kValue};
  const TokenSink sink = [](const Token& token) { EXPECT_EQ(token.value, 128); };
  TokenWriter(spec, sink).number("128");
}

Words loop_words(const std::string& text, const TextSpec& spec) {
  Words words;
  loop_tokens(text, spec, [&](const Token& token) { words.emplace_back(token.text); });
  return words;
}

constexpr const char* kLoops =
    "program p\n"
    "  input main a f32[8,16] strides 1,8\n"
    "  output main c.out f32[8]\n"
    "{\n"
    "  parallel io < 8 {\n"
    "    loop k < 16 {\n"
    "      c.out[io] add= multiply.f32(a[io, 2 * k - 1], -1.5:f32) where 0 <= k < 7\n"
    "    }\n"
    "  }\n"
    "}\n";

TEST(TextTokens, LoopsSayWhatIsDone) {
  EXPECT_THAT(
      loop_words(kLoops, {}),
      ElementsAre("input", "main", "f32[8,16]", "strides", "1", "8", "output", "main", "f32[8]",
                  "parallel", "8", "loop", "16", "add", "=", "multiply.f32", "where", "}", "}"));
}

TEST(TextTokens, LoopsSayToWhatWithOperands) {
  const Words words = loop_words(kLoops, {.tokens = TextTokens::kOperands});
  const Words assign = {
      "$1", "[",  "i0", "]", "add", "=", "multiply.f32", "(", "$0",    "[", "i0", ",",  "2",
      "*",  "i1", "-",  "1", "]",   ",", "-1.5:f32",     ")", "where", "0", "<=", "i1", "<",
      "7",  "}",  "}"};
  ASSERT_GT(words.size(), assign.size());
  EXPECT_EQ(Words(words.end() - static_cast<std::ptrdiff_t>(assign.size()), words.end()), assign);
}

TEST(TextTokens, OfAKernelWithoutATileAreThoseOfItsLoopsAsPrinted) {
  const SyntheticSet set(2, 1);
  const ir::Kernel& kernel = set.samples().works.front().parts.front().kernel;
  const TextSpec spec{.level = TextLevel::kLoops, .tokens = TextTokens::kOperands};
  Words words;
  for_each_token({.kernel = kernel}, set.device(), spec,
                 [&](const Token& token) { words.emplace_back(token.text); });
  EXPECT_EQ(words, loop_words(to_text(schedule::read_loops(kernel)), spec));
}

// --- vocabularies

TEST(Vocabulary, NumbersTokensByHowOftenTheyStandThere) {
  TokenCounts counts;
  counts.add({"add", "mul", "add", "sub", "mul", "add", "rare"});
  counts.add({"sub"});
  const Vocabulary vocabulary({.least_count = 2}, counts);
  EXPECT_THAT(vocabulary.tokens(), ElementsAre("<unk>", "add", "mul", "sub"));
  EXPECT_EQ(vocabulary.id("mul"), 2);
  EXPECT_EQ(vocabulary.id("rare"), Vocabulary::kUnknown);
}

TEST(Vocabulary, IsTheSameFromItsFile) {
  TokenCounts counts;
  counts.add({"a", "tensor<4x4xf32>", "a", "tensor<4x4xf32>", "b", "b"});
  const Vocabulary vocabulary({.level = TextLevel::kLoops, .most_tokens = 77}, counts);
  const Vocabulary read = Vocabulary::from_csv(vocabulary.to_csv(), "v.csv");
  EXPECT_EQ(read, vocabulary);
  EXPECT_EQ(read.hash(), vocabulary.hash());
  EXPECT_EQ(read.spec().most_tokens, 77);
}

TEST(Vocabulary, ItsHashIsThatOfItsTextAndStable) {
  TokenCounts counts;
  counts.add({"a", "b", "a", "b"});
  const Vocabulary one({}, counts), same({}, counts), other({.most_tokens = 100}, counts);
  EXPECT_EQ(one.hash(), same.hash());
  EXPECT_EQ(one.hash(), "904d5c183102ddf9") << "models on disk have it in their schema";
  EXPECT_NE(one.hash(), other.hash());
  counts.add({"c", "c"});
  EXPECT_NE(Vocabulary({}, counts).hash(), one.hash());
}

TEST(Vocabulary, RefusesADamagedFile) {
  TokenCounts counts;
  counts.add({"a", "a"});
  const std::string good = Vocabulary({}, counts).to_csv();
  const auto message = [](const std::string& text) -> std::string {
    return support::error_of([&] { return Vocabulary::from_csv(text, "v.csv"); }, "read");
  };
  EXPECT_EQ(message(good), "read");
  EXPECT_THAT(message("format,other\n"), HasSubstr("v.csv:1: expected 'format,"));
  EXPECT_THAT(message(good + "a\n"), HasSubstr("twice"));
  EXPECT_THAT(message(good.substr(0, good.find("tokens\n"))), HasSubstr("expected 'tokens'"));
}

TEST(Vocabulary, TheUnknownShareIsUnknownTokensOverAll) {
  TokenCounts counts;
  counts.add({"a", "a", "b", "b"});
  const Vocabulary vocabulary({}, counts);
  UnknownTokens unknown;
  EXPECT_EQ(unknown.share(), 0);
  unknown.add(vocabulary.encode(Words{"a", "z", "b", "y", "x"}));
  unknown.add(vocabulary.encode(Words{"a", "a", "a"}));
  EXPECT_DOUBLE_EQ(unknown.share(), 3.0 / 8);
}

TEST(Vocabulary, CutsLongTextsAndCountsWhatItCut) {
  TokenCounts counts;
  counts.add({"a", "a"});
  const Vocabulary vocabulary({.most_tokens = 8}, counts);
  const TokenIds text = vocabulary.encode(Words(20, "a"));
  EXPECT_EQ(text.ids.size(), 8U);
  EXPECT_EQ(text.cut, 12U);
  EXPECT_THAT(vocabulary.encode(Words{}).ids, ElementsAre(Vocabulary::kUnknown));
}

// --- learners

LearnerSpec token_trees(const std::string& more = {}) {
  return learner("name: counts\nmodel: xgboost\nfeatures: [tokens]\ntrees: 30\n" + more);
}

TEST(TokenTrees, CountTokensOfTheVocabularyOfTheirTrainingRows) {
  const SyntheticSet set(16, 3);
  const Examples examples = set.examples();
  const Trained trained = train(token_trees("text_shapes: dimensions\n"), examples);
  const FeatureSelection& features = trained.predictor->trees()->features;
  ASSERT_FALSE(features.vocabulary.empty());
  const TableFeatures table(features);
  EXPECT_EQ(table.width(), features.vocabulary.size());
  std::vector<float> row(table.width());
  table.extract(std::span(examples.queries).first(1), set.device(), {}, row);
  double sum = 0;
  for (const float count : row) sum += count;
  EXPECT_EQ(sum, static_cast<double>(
                     features.vocabulary.encode(examples.queries[0], set.device()).ids.size()));
}

TEST(TokenTrees, PredictTheSameAfterTheyWereSavedAndLoaded) {
  const SyntheticSet set(16, 3);
  const Examples examples = set.examples();
  const Trained trained =
      train(token_trees("text: loops\ntext_tokens: operands\ntext_numbers: digits\n"), examples);
  trained.save({}, set.path("model"), /*force=*/false);
  EXPECT_TRUE(std::filesystem::exists(set.path("model/vocabulary.csv")));
  const LoadedModel loaded = load_model(set.path("model"));
  EXPECT_EQ(predictions(*loaded.predictor, examples, set.device()),
            predictions(*trained.predictor, examples, set.device()));
  EXPECT_EQ(*vocabulary_of(*loaded.predictor), *vocabulary_of(*trained.predictor));
  EXPECT_EQ(loaded.card.settings.at("text"), "loops");
}

TEST(TokenTrees, SettingsOfTextWithoutTextAreRefused) {
  EXPECT_THROW(learner("name: x\nmodel: xgboost\nfeatures: [static]\ntext: loops\n"), Error);
  EXPECT_THROW(learner("name: x\nmodel: network\ntext_tokens: ops\n"), Error);
  EXPECT_THROW(learner("name: x\nmodel: network\nat_kernel: [tokens]\n"), Error);
  EXPECT_NO_THROW(learner("name: x\nmodel: network\nencoding: text\ntext_tokens: operands\n"));
}

}  // namespace
}  // namespace tilecast::learned
