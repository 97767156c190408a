#include "measured/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace tilecast::measured {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CsvTable read(std::string text) {
  return read_csv(base::SourceText("t.csv", std::move(text)));
}

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(read(text));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
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

TEST(Csv, NamesTheLineOfARowWithTheWrongNumberOfFields) {
  EXPECT_THAT(error_of("a,b\n1,2\n1,2,3\n"), HasSubstr("t.csv:3: got 3 fields, expected 2"));
}

TEST(Csv, RefusesTextsThatAreNoTables) {
  EXPECT_THAT(error_of(""), HasSubstr("t.csv: the table is empty"));
  EXPECT_THAT(error_of("a,b\n\"1,2\n"), HasSubstr("quoted field never closes"));
  EXPECT_THAT(error_of("a,a\n"), HasSubstr("column 'a' appears twice"));
  EXPECT_THAT(error_of(std::string("a\n\0", 3)), HasSubstr("NUL byte"));
  EXPECT_THAT(error_of("a\n\"x\"y\n"), HasSubstr("after a closing quote"));
}

TEST(Csv, NumbersOutsideTheRangeNameFileRowAndColumn) {
  const CsvTable table = read("m,n,k\n0,12x,\n");
  const auto error = [&](std::string_view column) -> std::string {
    try {
      static_cast<void>(integer_cell(table, table.rows[0], column, 1));
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
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
  EXPECT_THROW(static_cast<void>(integer_list_cell(table, table.rows[2], "b")), Error);
}

TEST(Csv, RefusesToAddAColumnThatIsThere) {
  const CsvTable table = read("op,estimate_ns\n");
  EXPECT_THROW(static_cast<void>(with_columns(table, {"estimate_ns"})), Error);
  EXPECT_THAT(with_columns(table, {"bound"}).columns, ElementsAre("op", "estimate_ns", "bound"));
}

}  // namespace
}  // namespace tilecast::measured
