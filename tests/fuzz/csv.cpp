// Writing a parsed table gives text that parses to the same cells.
#include "measured/csv.h"

#include "tests/fuzz/targets.h"

namespace tilecast::fuzz {
namespace {

std::string written(const measured::CsvTable& table) {
  std::string text = measured::csv_line(table.columns);
  for (const measured::CsvRow& row : table.rows) text += measured::csv_line(row.cells);
  return text;
}

}  // namespace

void csv(Bytes bytes) {
  answer_or_error([&] {
    const auto table = measured::read_csv(base::SourceText("fuzz.csv", std::string(bytes)));
    const std::string once = written(table);
    try {
      const auto again = measured::read_csv(base::SourceText("written.csv", once));
      if (written(again) != once) broken("written twice differs:\n" + once);
    } catch (const Error& error) {
      broken(std::string("written CSV is refused: ") + error.what() + "\n" + once);
    }
  });
}

}  // namespace tilecast::fuzz
