#include "measured/reference_rows.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/error.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::measured {
namespace {

using ::testing::HasSubstr;

std::string file_with(const std::string& table) {
  return "format: tilecast.references/1\nname: n\nsource: a paper\ntables:\n" + table;
}

constexpr const char* kTable =
    "  - where: Table 1\n    metric: mape\n    unit: \"%\"\n    hardware: a chip\n"
    "    data: d\n    split: s\n    columns: [ours, theirs]\n    rows:\n";

std::string error_of(const std::string& text) {
  return support::error_of([&] { return parse_references(text, "r.yaml"); });
}

TEST(ReferenceRows, GiveEveryCellOfATableItsSource) {
  const auto rows =
      parse_references(file_with(std::string(kTable) + "      - [net, 1.5, 20]\n"), "r.yaml");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].source, "a paper");
  EXPECT_EQ(rows[1].where, "Table 1");
  EXPECT_EQ(rows[1].subject, "net");
  EXPECT_EQ(rows[1].column, "theirs");
  EXPECT_EQ(rows[1].value, 20);
  EXPECT_FALSE(rows[1].read_off_plot || rows[1].second_hand);
}

TEST(ReferenceRows, AreReadStrictly) {
  const std::string table = kTable;
  EXPECT_THAT(error_of(""), HasSubstr("r.yaml: the file is empty"));
  EXPECT_THAT(error_of("format: tilecast.references/2\n"), HasSubstr("tilecast.references/1"));
  EXPECT_THAT(error_of(file_with(table + "      - [net, 1.5]\n")), HasSubstr("r.yaml:13"));
  EXPECT_THAT(error_of(file_with(table + "      - [net, 1.5, nan]\n")), HasSubstr("'nan'"));
  EXPECT_THAT(error_of(file_with(table + "      - [net, 1.5, -3]\n")), HasSubstr("not negative"));
  EXPECT_THAT(error_of(file_with(table + "      - net\n")), HasSubstr("a subject and 2 values"));
  EXPECT_THAT(error_of(file_with("  - were: Table 1\n")), HasSubstr("did you mean 'where'?"));
  EXPECT_THAT(error_of(file_with("  - where: Table 1\n")), HasSubstr("metric is missing"));
  EXPECT_THAT(error_of(file_with("  []\n")), HasSubstr("not empty"));
}

TEST(ReferenceRows, OfTheProjectAllHaveASourceAPlaceAndASplit) {
  const auto rows = read_references(support::source_dir().string() + "/configs/references");
  EXPECT_GT(rows.size(), 100U);
  for (const ReferenceRow& row : rows) {
    EXPECT_FALSE(row.source.empty() || row.where.empty() || row.hardware.empty() ||
                 row.split.empty())
        << row.metric << " " << row.subject;
  }
  for (const char* place : {"Table 2", "Table 3", "Table 4", "Table 8", "Fig. 12", "Fig. 13"}) {
    EXPECT_TRUE(std::ranges::any_of(rows, [&](const auto& row) { return row.where == place; }))
        << place;
  }
}

// The published medians are the medians of the published rows, to the printed digit: checks for
// typing errors.
TEST(ReferenceRows, MediansOfATableAreThoseOfItsRows) {
  const auto rows = read_references(support::source_dir().string() + "/configs/references");
  int checked = 0;
  for (const ReferenceRow& median : rows) {
    if (median.subject != "Median") continue;
    std::vector<double> values;
    for (const ReferenceRow& row : rows) {
      const bool same = row.where == median.where && row.metric == median.metric &&
                        row.column == median.column && row.source == median.source;
      if (same && row.subject != "Median" && row.subject != "Mean") values.push_back(row.value);
    }
    std::ranges::sort(values);
    ASSERT_GE(values.size(), 4U);
    const double middle = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
    // Their median was computed from numbers with more digits than the rows have.
    EXPECT_NEAR(median.value, middle, median.unit == "%" ? 0.11 : 0.011)
        << median.where << " " << median.metric << " " << median.column;
    ++checked;
  }
  EXPECT_EQ(checked, 16 + 3 * 3);  // kaufman_mlsys_2021 and kaufman_arxiv_2020
}

TEST(ReferenceRows, LieBesideTheDevicePresets) {
  EXPECT_FALSE(read_references(reference_folder()).empty());
}

TEST(ReferenceRows, NameAFileThatIsMissing) {
  EXPECT_THROW((void)read_references("missing.yaml"), Error);
}

}  // namespace
}  // namespace tilecast::measured
