#include "measured/importers/csv_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "measured/importers/importer.h"

namespace tilecast::measured {
namespace {

constexpr std::size_t kMaxRecordBytes = std::size_t{16} << 20;

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

CsvStream::CsvStream(const std::string& path, std::vector<std::string> columns)
    : source_(path), columns_(std::move(columns)) {
  if (!columns_.empty()) return;
  std::string_view record;
  if (!next_record(record)) {
    throw Error(fmt::format("{}: the table is empty; expected a line of column names", path));
  }
  if (record.starts_with("\xEF\xBB\xBF")) record.remove_prefix(3);
  std::vector<std::string_view> names;
  split(record, names);
  columns_.assign(names.begin(), names.end());
  for (auto name = columns_.begin(); name != columns_.end(); ++name) {
    if (!name->empty() && std::find(columns_.begin(), name, *name) != name) {
      throw Error(fmt::format("{}: column '{}' appears twice", where(), *name));
    }
  }
}

std::string CsvStream::where() const {
  return fmt::format("{}:{}", file(), record_line_);
}

// The next line that is not blank, or several where a quoted field holds line ends.
bool CsvStream::next_record(std::string_view& record) {
  for (std::size_t searched = at_, quotes = 0;;) {
    const std::size_t end = buffer_.find('\n', searched);
    const bool at_end = end == std::string::npos;
    const std::size_t stop = at_end ? buffer_.size() : end;
    quotes += static_cast<std::size_t>(
        std::count(buffer_.begin() + static_cast<std::ptrdiff_t>(searched),
                   buffer_.begin() + static_cast<std::ptrdiff_t>(stop), '"'));
    if (stop - at_ > kMaxRecordBytes) {
      throw Error(
          fmt::format("{}:{}: the row is above 16 MiB; is a quote missing?", file(), line_));
    }
    if (at_end) {
      buffer_.erase(0, at_);
      searched = stop - at_;
      at_ = 0;
      if (source_.read_more(buffer_)) continue;
      if (quotes % 2 != 0) {
        throw Error(fmt::format("{}:{}: a quoted field never closes", file(), line_));
      }
    } else if (quotes % 2 != 0) {
      searched = end + 1;
      continue;
    }
    record = std::string_view(buffer_).substr(at_, at_end ? std::string::npos : stop - at_);
    record_line_ = line_;
    line_ += 1 + std::count(record.begin(), record.end(), '\n');
    at_ += record.size() + (at_end ? 0 : 1);
    searched = at_;
    quotes = 0;
    if (record.ends_with('\r')) record.remove_suffix(1);
    if (!record.empty()) return true;
    if (at_end) return false;
  }
}

std::string_view CsvStream::unquote(std::string_view record, std::size_t& at) {
  const std::size_t start = unquoted_.size();
  for (++at;; ++at) {
    if (at >= record.size()) throw RowError(where() + ": a quoted field never closes");
    if (record[at] == '"') {
      if (at + 1 >= record.size() || record[at + 1] != '"') break;
      ++at;
    }
    unquoted_ += record[at];
  }
  if (++at < record.size() && record[at] != ',') {
    throw RowError(where() + ": text after a closing quote; expected ',' or the end of the line");
  }
  return std::string_view(unquoted_).substr(start);
}

void CsvStream::split(std::string_view record, std::vector<std::string_view>& cells) {
  cells.clear();
  if (record.find('\0') != std::string_view::npos) {
    throw RowError(where() + ": a NUL byte: not a CSV text");
  }
  unquoted_.clear();
  unquoted_.reserve(record.size());  // the cells point into it
  for (std::size_t at = 0;;) {
    if (at < record.size() && record[at] == '"') {
      cells.push_back(trim(unquote(record, at)));
    } else {
      const std::size_t end = std::min(record.find(',', at), record.size());
      cells.push_back(trim(record.substr(at, end - at)));
      at = end;
    }
    if (at >= record.size()) return;
    ++at;
  }
}

bool CsvStream::next(std::vector<std::string_view>& cells) {
  std::string_view record;
  if (!next_record(record)) return false;
  split(record, cells);
  if (cells.size() != columns_.size()) {
    throw RowError(
        fmt::format("{}: got {} fields, expected {}", where(), cells.size(), columns_.size()));
  }
  return true;
}

}  // namespace tilecast::measured
