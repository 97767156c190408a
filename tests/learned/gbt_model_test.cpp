// Trees predict exactly as XGBoost does, and invalid bytes are rejected.
#include "learned/gbt_model.h"

#include <gmock/gmock.h>
#include <xgboost/c_api.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "base/error.h"
#include "tests/learned/gbt_tables.h"
#include "tests/support/errors.h"
#include "tests/support/texts.h"

namespace tilecast::learned {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void check(int result) {
  ASSERT_EQ(result, 0) << XGBGetLastError();
}

// XGBoost with the model in `bytes`.
class Reference {
 public:
  explicit Reference(const std::string& bytes) {
    check(XGBoosterCreate(nullptr, 0, &booster_));
    check(XGBoosterLoadModelFromBuffer(booster_, bytes.data(), bytes.size()));
  }
  ~Reference() { XGBoosterFree(booster_); }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  [[nodiscard]] std::vector<float> margins(const GbtTable& table) const {
    DMatrixHandle matrix = nullptr;
    check(XGDMatrixCreateFromMat(table.values.data(), table.rows(), table.columns, std::nanf(""),
                                 &matrix));
    const bst_ulong* shape = nullptr;
    bst_ulong dimensions = 0;
    const float* out = nullptr;
    check(XGBoosterPredictFromDMatrix(booster_, matrix,
                                      R"({"type": 1, "training": false, "iteration_begin": 0,
                                          "iteration_end": 0, "strict_shape": false})",
                                      &shape, &dimensions, &out));
    std::vector<float> margins(out, out + shape[0]);
    XGDMatrixFree(matrix);
    return margins;
  }

 private:
  BoosterHandle booster_ = nullptr;
};

GbtModel small_model() {
  return train_gbt(formula_table(1, {.rows = 60, .missing = 0.2}), {},
                   {.trees = 3, .depth = 2, .seed = 5});
}

std::string refusal(std::string_view bytes, std::size_t columns = kFormulaColumns) {
  return support::error_of([&] { return GbtModel::load(std::string(bytes), columns); }, "accepted");
}

std::string big_endian(std::uint64_t value, int width) {
  std::string bytes;
  for (int i = width - 1; i >= 0; --i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string text(const std::string& value) {
  return "L" + big_endian(value.size(), 8) + value;
}

// Sets element `index` of the first array of 4-byte numbers called `key` to `bits`.
std::string with_element(std::string bytes, const std::string& key, std::size_t index,
                         std::uint32_t bits) {
  const std::size_t at = bytes.find(key + "[$");
  EXPECT_NE(at, std::string::npos);
  const std::size_t data = at + key.size() + std::string_view("[$l#L").size() + 8;
  return bytes.replace(data + 4 * index, 4, big_endian(bits, 4));
}

TEST(GbtModel, GivesXgboostsMarginsBitForBit) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const double missing = seed % 3 == 0 ? 0.0 : 0.3;
    const GbtTable train = formula_table(seed, {.missing = missing});
    const GbtTable ask = formula_table(seed + 100, {.rows = 203, .missing = 0.3});
    const GbtSpec spec{.trees = 40, .depth = static_cast<int>(seed) + 1, .seed = seed};
    const GbtModel model = train_gbt(train, {}, spec);
    EXPECT_EQ(predictions(model, ask), Reference(model.save()).margins(ask)) << "seed " << seed;
  }
}

TEST(GbtModel, GivesTheSameAnswerInABatchOfAnySize) {
  const GbtModel model = small_model();
  const GbtTable table = formula_table(3, {.rows = 200, .missing = 0.2});
  const std::vector<float> all = predictions(model, table);
  const std::span<const float> rows = table.values;
  for (const std::size_t size : {0, 1, 7, 8, 9, 63, 64, 65, 129}) {
    std::vector<float> out(size);
    model.predict(rows.subspan(0, size * kFormulaColumns), out);
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(out[i], all[i]) << i << " of " << size;
  }
}

TEST(GbtModel, AnswersTheSameAfterSavingAndLoading) {
  const GbtModel model = small_model();
  const GbtModel again = GbtModel::load(model.save(), model.columns());
  const GbtTable table = formula_table(4, {.missing = 0.1});
  EXPECT_EQ(predictions(again, table), predictions(model, table));
  EXPECT_EQ(again.save(), model.save());
  EXPECT_EQ(again.trees(), 3);
  const GbtModel compact = GbtModel::load(model.compact(), model.columns());
  EXPECT_EQ(predictions(compact, table), predictions(model, table));
  EXPECT_EQ(compact.compact(), model.compact());
  EXPECT_LT(3 * model.compact().size(), model.save().size());
}

TEST(GbtModel, WithoutASplitGivesTheMean) {
  GbtTable table = formula_table(1);
  table.targets.assign(table.rows(), 3);
  const GbtModel model = train_gbt(table, {}, {.trees = 2, .learning_rate = 1, .lambda = 0});
  EXPECT_THAT(predictions(model, table), Each(3.0F));
}

TEST(GbtModel, AnswersFromSeveralThreadsAtOnce) {
  const GbtModel narrow = small_model();
  const GbtModel wide = train_gbt(formula_table(8), {}, {.trees = 30, .depth = 4});
  const GbtTable table = formula_table(9, {.rows = 500, .missing = 0.1});
  const std::vector<float> of_narrow = predictions(narrow, table);
  const std::vector<float> of_wide = predictions(wide, table);
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        count += static_cast<int>(predictions(narrow, table) != of_narrow);
        count += static_cast<int>(predictions(wide, table) != of_wide);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, Each(0));
}

TEST(GbtModel, RefusesTruncatedBytesOfEveryLength) {
  const std::string bytes = small_model().save();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THAT(refusal(bytes.substr(0, length)), HasSubstr("parse error at byte")) << length;
  }
  const std::string compact = small_model().compact();
  for (std::size_t length = 0; length < compact.size(); ++length) {
    EXPECT_THAT(refusal(compact.substr(0, length)), StartsWith("trees: ")) << length;
  }
  EXPECT_THAT(refusal(bytes + "}"), HasSubstr("expected end of input"));
}

TEST(GbtModel, RefusesModelsOfAnotherKindOrWidth) {
  const std::string bytes = small_model().save();
  EXPECT_THAT(refusal(bytes, 5), HasSubstr("got columns '4', expected 5"));
  EXPECT_THAT(refusal(small_model().compact(), 5), HasSubstr("got columns '4', expected 5"));
  EXPECT_THAT(refusal(support::replaced(bytes, text("gbtree"), text("gblinear"))),
              HasSubstr("got booster 'gblinear', expected 'gbtree'"));
  EXPECT_THAT(refusal(support::replaced(bytes, text("gbtree"), text("dart"))),
              HasSubstr("booster 'dart'"));
  EXPECT_THAT(refusal(support::replaced(bytes, text("reg:squarederror"), text("binary:logistic"))),
              HasSubstr("objective 'binary:logistic', expected 'reg:squarederror'"));
  EXPECT_THAT(refusal(support::replaced(bytes, text("0E0"), text("5E-1"))),
              HasSubstr("base score '5E-1', expected 0"));
  EXPECT_THAT(refusal(support::replaced(bytes, text("num_class") + "S" + text("0"),
                                        text("num_class") + "S" + text("3"))),
              HasSubstr("classes '3', expected 0"));
  EXPECT_THAT(refusal(support::replaced(bytes, text("learner"), text("teacher"))),
              HasSubstr("key 'learner' not found"));
}

TEST(GbtModel, RefusesTreesThatAreNone) {
  const std::string bytes = small_model().save();
  const std::uint32_t nan = 0x7fc00000;
  EXPECT_THAT(refusal(with_element(bytes, "left_children", 0, 0)), HasSubstr("got child 0"));
  EXPECT_THAT(refusal(with_element(bytes, "left_children", 0, 1000)), HasSubstr("got child 1000"));
  EXPECT_THAT(refusal(with_element(bytes, "left_children", 0, 2)), HasSubstr("child of two"));
  EXPECT_THAT(refusal(with_element(bytes, "left_children", 1, 2)), HasSubstr("child of two"));
  EXPECT_THAT(refusal(with_element(bytes, "left_children", 0, UINT32_MAX)),
              HasSubstr("one child, expected two or none"));
  EXPECT_THAT(refusal(with_element(bytes, "split_indices", 0, kFormulaColumns)),
              HasSubstr("got column 4, expected one of 4"));
  EXPECT_THAT(refusal(with_element(bytes, "split_indices", 0, UINT32_MAX)),
              HasSubstr("got column -1"));
  EXPECT_THAT(refusal(with_element(bytes, "split_conditions", 0, nan)), HasSubstr("not finite"));
}

TEST(GbtModel, RefusesHugeSizesWithoutAskingForTheMemory) {
  const auto kParseError = HasSubstr("parse error at byte");
  const auto huge = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  for (const std::uint64_t size : {std::uint64_t{1} << 40, huge, huge / 4 + 1, UINT64_MAX}) {
    EXPECT_THAT(refusal("[$d#L" + big_endian(size, 8)), AnyOf(kParseError, HasSubstr("excessive")));
    EXPECT_THAT(refusal("[#L" + big_endian(size, 8)), AnyOf(kParseError, HasSubstr("excessive")));
    EXPECT_THAT(refusal("SL" + big_endian(size, 8)), StartsWith("trees: "));
    EXPECT_THAT(refusal("{L" + big_endian(size, 8)), StartsWith("trees: "));
    // Elements without bytes.
    EXPECT_THAT(refusal("[$T#L" + big_endian(size, 8)), StartsWith("trees: "));
    EXPECT_THAT(refusal("[$Z#L" + big_endian(size, 8)), StartsWith("trees: "));
    EXPECT_THAT(refusal("[$N#L" + big_endian(size, 8)), StartsWith("trees: "));
  }
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "[#i\x01";
  EXPECT_THAT(refusal(nested), HasSubstr("nested deeper"));
}

// One random change: a bit, a byte, a run removed, repeated or zeroed, or a truncation.
std::string mutated(std::string bytes, std::mt19937_64& random) {
  if (bytes.empty()) return bytes;
  const std::size_t at = random() % bytes.size();
  const std::size_t length = std::min<std::size_t>(random() % 16 + 1, bytes.size() - at);
  switch (random() % 6) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      break;
    case 1:
      bytes[at] = static_cast<char>(random());
      break;
    case 2:
      bytes.erase(at, length);
      break;
    case 3:
      bytes.insert(at, bytes.substr(at, length));
      break;
    case 4:
      bytes.replace(at, length, std::string(length, '\0'));
      break;
    default:
      bytes.resize(at + 1);
      break;
  }
  return bytes;
}

TEST(GbtModel, LoadsOrRefusesWhateverTheBytesBecame) {
  const std::string forms[] = {small_model().save(), small_model().compact()};
  const GbtTable table = formula_table(5, {.rows = 10, .missing = 0.3});
  std::mt19937_64 random(7);
  int loaded = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string hostile = forms[i % 2];
    for (std::uint64_t changes = random() % 3 + 1; changes > 0; --changes) {
      hostile = mutated(std::move(hostile), random);
    }
    try {
      const GbtModel model = GbtModel::load(hostile, kFormulaColumns);
      for (const float margin : predictions(model, table)) EXPECT_FALSE(std::isnan(margin));
      ++loaded;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(loaded, 100);
  EXPECT_GT(refused, 1000);
}

TEST(GbtModel, NamesTheVersionOfXgboost) {
  EXPECT_THAT(xgboost_version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace tilecast::learned
