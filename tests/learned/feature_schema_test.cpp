// A schema's hash distinguishes everything that a model must not mix up.
#include "learned/feature_schema.h"

#include <gtest/gtest.h>

namespace tilecast::learned {
namespace {

FeatureSchema two_columns() {
  return {.name = "test.table",
          .version = 1,
          .columns = {{"a.x", "B", "Bytes.", FeatureGroup::kStatic},
                      {"a.y", "s", "Seconds.", FeatureGroup::kTile}}};
}

TEST(FeatureSchema, GroupsReadBackAsTheirNames) {
  for (int i = 0; i <= static_cast<int>(FeatureGroup::kNode); ++i) {
    const auto group = static_cast<FeatureGroup>(i);
    EXPECT_EQ(parse_feature_group(name(group)), group) << name(group);
  }
  EXPECT_EQ(parse_feature_group("statics"), std::nullopt);
  EXPECT_EQ(parse_feature_group(""), std::nullopt);
}

TEST(FeatureSchema, EqualSchemasHaveEqualHashes) {
  EXPECT_EQ(two_columns().hash(), two_columns().hash());
  EXPECT_EQ(two_columns().hash().size(), 16U);
}

TEST(FeatureSchema, TheHashChangesWithNameVersionAndEveryColumn) {
  const std::string hash = two_columns().hash();
  FeatureSchema schema = two_columns();
  schema.name = "other.table";
  EXPECT_NE(schema.hash(), hash);
  schema = two_columns();
  schema.version = 2;
  EXPECT_NE(schema.hash(), hash);
  for (std::size_t i = 0; i < 2; ++i) {
    schema = two_columns();
    schema.columns[i].name += "z";
    EXPECT_NE(schema.hash(), hash) << i;
    schema = two_columns();
    schema.columns[i].unit = "1";
    EXPECT_NE(schema.hash(), hash) << i;
  }
  schema = two_columns();
  std::swap(schema.columns[0], schema.columns[1]);
  EXPECT_NE(schema.hash(), hash);
  schema = two_columns();
  schema.columns.pop_back();
  EXPECT_NE(schema.hash(), hash);
}

TEST(FeatureSchema, TextThatMovesFromOneFieldToTheNextChangesTheHash) {
  FeatureSchema schema = two_columns();
  schema.columns[0].name = "a.xB";
  schema.columns[0].unit = "";
  EXPECT_NE(schema.hash(), two_columns().hash());
}

TEST(FeatureSchema, WordsAboutAColumnMayBeImprovedWithoutANewHash) {
  FeatureSchema schema = two_columns();
  schema.columns[0].doc = "Bytes, in other words.";
  EXPECT_EQ(schema.hash(), two_columns().hash());
}

}  // namespace
}  // namespace tilecast::learned
