// Rows of cells, one at a time, from whatever a format stores them in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::learned {

class RowSource {
 public:
  virtual ~RowSource() = default;
  RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;

  [[nodiscard]] virtual const std::string& file() const = 0;
  [[nodiscard]] virtual const std::vector<std::string>& columns() const = 0;
  // False at the end. `cells` has one entry per column, valid until the next call. A row that is
  // malformed throws RowError, after which `next` goes on behind it; a file that is throws Error.
  virtual bool next(std::vector<std::string_view>& cells) = 0;
  // Where the row stands, for messages: "runs.csv:12".
  [[nodiscard]] virtual std::string where() const = 0;
  // How much of the file has been read, 0 to 1.
  [[nodiscard]] virtual double progress() const = 0;
};

}  // namespace tilecast::learned
