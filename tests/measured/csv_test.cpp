#include "measured/csv.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tests/support/errors.h"

namespace tilecast::measured {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CsvTable read(std::string text) {
  return read_csv(base::SourceText("t.csv", std::move(text)));
}

std::string error_of(const std::string& text) {
  return support::error_of([&] { return read(text); });
}

TEST(Csv, ReadsQuotesCarriageReturnsBlankLinesAndAByteOrderMark) {
  const CsvTable table = read("\xEF\xBB\xBFop,note\r\n\r\nadd,\"a, \"\"b\"\"\nc\"\r\nsub,");
  EXPECT_THAT(table.columns, ElementsAre("op", "note"));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_THAT(table.rows[0].cells, ElementsAre("add", "a, \"b\"\nc"));
  EXPECT_EQ(table.rows[0].line, 3);
  EXPECT_THAT(table.rows[1].cells, ElementsAre("sub", ""));
  EXPECT_EQ(table.rows[1].line, 5);
}

TEST(Csv, WritesWhatItReads) {
  const std::vector<std::string> cells{"plain", "a,b", "say \"x\"", "two\nlines", ""};
  const CsvTable table = read("1,2,3,4,5\n" + csv_line(cells));
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0].cells, cells);
}

TEST(Csv, WritesAByteOrderMarkAndALoneEmptyCellSoThatTheyAreReadAgain) {
  for (const std::string cell : {"\xEF\xBB\xBF",
                                 "\xEF\xBB\xBF"
                                 "name",
                                 ""}) {
    const CsvTable table = read(csv_line({"\xEF\xBB\xBF"
                                          "a"}) +
                                csv_line({cell}));
    EXPECT_EQ(table.columns, (std::vector<std::string>{"\xEF\xBB\xBF"
                                                       "a"}));
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_EQ(table.rows[0].cells, std::vector<std::string>{cell});
  }
}

TEST(Csv, NamesTheLineOfARowWithTheWrongNumberOfFields) {
  EXPECT_THAT(error_of("a,b\n1,2\n1,2,3\n"), HasSubstr("t.csv:3: got 3 fields, expected 2"));
}

TEST(Csv, RefusesTextsThatAreNoTables) {
  EXPECT_THAT(error_of(""), HasSubstr("t.csv: the table is empty"));
  EXPECT_THAT(error_of("a,b\n1,\"2\n3,4\n"), HasSubstr("t.csv:2:3: a quoted field never closes"));
  EXPECT_THAT(error_of("a,a\n"), HasSubstr("column 'a' appears twice"));
  EXPECT_THAT(error_of(std::string("a\n\0", 3)), HasSubstr("NUL byte"));
  EXPECT_THAT(error_of("a\n\"x\"y\n"), HasSubstr("after a closing quote"));
}

// Bytes come in pieces of any size: the rows are the same for any piece boundaries.
TEST(CsvReader, ReadsTheSameRowsFromPiecesOfAnySize) {
  const std::string text =
      "\xEF\xBB\xBF"
      "a,b\r\n\"x\ny\",\"say \"\"hi\"\"\"\r\n\r\n5\" disk,\" , \"\n\"\",\nlast , 2";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    std::size_t at = 0;
    CsvReader rows("t.csv", [&](std::string& buffer) {
      buffer += std::string_view(text).substr(at, size);
      const bool more = at < text.size();
      at = std::min(at + size, text.size());
      return more;
    });
    std::vector<std::vector<std::string>> read;
    std::vector<int> lines;
    std::vector<std::string_view> cells;
    while (rows.next(cells)) {
      read.emplace_back(cells.begin(), cells.end());
      lines.push_back(rows.line());
    }
    EXPECT_THAT(rows.columns(), ElementsAre("a", "b"));
    EXPECT_THAT(read, ElementsAre(ElementsAre("x\ny", "say \"hi\""), ElementsAre("5\" disk", " , "),
                                  ElementsAre("", ""), ElementsAre("last", "2")))
        << size;
    EXPECT_THAT(lines, ElementsAre(2, 5, 6, 7));
  }
}

TEST(CsvReader, GoesOnBehindARowInErrorAndNamesItsPosition) {
  const std::string text = "a,b\n1,2,3\n\"x\ny\"z,1\n3,4\n";
  bool given = false;
  CsvReader rows("t.csv", [&](std::string& buffer) {
    if (!given) buffer = text;
    return !std::exchange(given, true);
  });
  std::vector<std::string_view> cells;
  const auto error = [&]() -> std::string {
    return support::error_of<RowError>([&] { rows.next(cells); }, "none");
  };
  EXPECT_EQ(error(), "t.csv:2: got 3 fields, expected 2");
  EXPECT_THAT(error(), HasSubstr("t.csv:4:3: text after a closing quote"));
  EXPECT_EQ(error(), "none");
  EXPECT_THAT(cells, ElementsAre("3", "4"));
}

TEST(Csv, NumbersOutsideTheRangeNameFileRowAndColumn) {
  const CsvTable table = read("m,n,k\n0,12x,\n");
  const auto error = [&](std::string_view column) -> std::string {
    return support::error_of([&] { return integer_cell(table, table.rows[0], column, 1); });
  };
  EXPECT_THAT(error("m"), HasSubstr("t.csv:2: column 'm': got '0'"));
  EXPECT_THAT(error("n"), HasSubstr("t.csv:2: column 'n': got '12x'"));
  EXPECT_THAT(error("k"), HasSubstr("the cell is empty"));
  EXPECT_THAT(error("batch"), HasSubstr("the column is missing"));
  EXPECT_EQ(integer_cell(table, table.rows[0], "batch", 1, 7), 7);
}

TEST(Csv, ReadsListsOfNumbersSeparatedBySpaces) {
  const CsvTable table = read("b\n 2  26 4\n\"\"\n2 0\n");
  EXPECT_THAT(integer_list_cell(table, table.rows[0], "b"), ElementsAre(2, 26, 4));
  EXPECT_THAT(integer_list_cell(table, table.rows[1], "b"), ElementsAre());
  EXPECT_THROW((void)integer_list_cell(table, table.rows[2], "b"), Error);
}

TEST(Csv, RefusesToAddAColumnThatIsThere) {
  const CsvTable table = read("op,estimate_ns\n");
  EXPECT_THROW((void)with_columns(table, {"estimate_ns"}), Error);
  EXPECT_THAT(with_columns(table, {"bound"}).columns, ElementsAre("op", "estimate_ns", "bound"));
}

}  // namespace
}  // namespace tilecast::measured
