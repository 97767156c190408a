#include "host/measure_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/archive.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/source_text.h"
#include "host/durable_file.h"
#include "measured/csv.h"
#include "measured/samples.h"
#include "measured/tile_cells.h"

namespace tilecast::host {
namespace {

namespace fs = std::filesystem;
using measured::csv_line;
using measured::CsvTable;

std::vector<std::string> with_tile_columns(std::vector<std::string> before,
                                           std::initializer_list<const char*> after) {
  before.insert(before.end(), measured::tile_columns().begin(), measured::tile_columns().end());
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

const std::vector<std::string> kRowColumns = with_tile_columns(
    {"kernel", "program", "runtime_ns"},
    {"class", "family", "repeats", "spread_ns", "x_median_ns", "x_cache", "x_attempts", "x_drift",
     "x_reference_ns", "x_hash", "x_scratch_bytes", "x_name", "x_set"});
const std::vector<std::string> kLabelColumns = with_tile_columns(
    {"kernel", "program"}, {"class", "family", "p_unroll", "x_hash", "x_name", "x_set"});
const std::vector<std::string> kSkippedColumns =
    with_tile_columns({"hash"}, {"p_unroll", "class", "family", "name", "set", "reason", "detail"});
const std::vector<std::string> kSessionColumns{"date",   "machine", "compiler",
                                               "device", "cache",   "seed"};

// Makes a text fit on one line of a table, whatever a compiler prints.
constexpr std::size_t kLongestCompiler = 1000;  // characters, flags included

std::string one_line(std::string_view text, std::size_t most = 300) {
  std::string line;
  for (const char c : text.substr(0, most)) {
    line += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return line;
}

// Bytes of the complete lines of a table. Cells must not contain line breaks.
std::size_t whole_bytes(std::string_view text, const std::vector<std::string>& columns) {
  const std::string header = csv_line(columns);
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t newline = text.find('\n', end);
    if (newline == std::string_view::npos) break;
    const std::string line(text.substr(end, newline + 1 - end));
    if (line.find('\0') != std::string::npos) break;
    try {
      static_cast<void>(measured::read_csv(base::SourceText("line", header + line)));
    } catch (const Error&) {
      break;
    }
    end = newline + 1;
  }
  return end;
}

std::string line_of(std::vector<std::string> before, const analytical::TileConfig& tile,
                    std::vector<std::string> after) {
  for (std::string& cell : measured::tile_texts(tile)) before.push_back(std::move(cell));
  for (std::string& cell : after) before.push_back(std::move(cell));
  return csv_line(before);
}

std::string row_line(const MeasuredRow& row, const SessionSettings& settings) {
  const Workload& workload = *row.item->workload;
  const auto ns = nanoseconds_text;
  std::vector<std::string> after{measured::op_class(workload.kernel),
                                 one_line(workload.family),
                                 fmt::format("{}", std::max(row.timing.calls, 1)),
                                 ns(row.timing.spread),
                                 ns(row.timing.median),
                                 std::string(name(settings.cache)),
                                 fmt::format("{}", row.timing.attempts),
                                 fmt::format("{:.4f}", row.timing.drift),
                                 ns(row.timing.reference),
                                 workload.hash,
                                 fmt::format("{}", row.scratch_bytes),
                                 one_line(workload.name),
                                 row.item->set};
  if (settings.unroll) after.push_back(fmt::format("{}", row.item->unroll));
  return line_of({fmt::format("kernels/{}.hlo", workload.hash), "", ns(row.timing.minimum)},
                 row.item->tile, std::move(after));
}

std::string row_line(const LabelledRow& row) {
  const Workload& workload = *row.item->workload;
  std::vector<std::string> after{measured::op_class(workload.kernel),
                                 one_line(workload.family),
                                 fmt::format("{}", row.item->unroll),
                                 workload.hash,
                                 one_line(workload.name),
                                 row.item->set};
  for (const std::optional<double>& value : row.values) {
    after.push_back(value ? fmt::format("{}", static_cast<float>(*value)) : std::string());
  }
  return line_of({fmt::format("kernels/{}.hlo", workload.hash), ""}, row.item->tile,
                 std::move(after));
}

std::string skipped_line(const SkippedRow& row) {
  const Workload& workload = *row.item->workload;
  return line_of({workload.hash}, row.item->tile,
                 {fmt::format("{}", row.item->unroll), measured::op_class(workload.kernel),
                  one_line(workload.family), one_line(workload.name), row.item->set, row.reason,
                  one_line(row.detail)});
}

// The columns of an older form of the table: those it has, plus all that do not describe how a
// kernel was written.
std::vector<std::string> older_columns(const std::vector<std::string>& columns,
                                       std::string_view header) {
  if (header.empty()) return columns;
  const CsvTable table = measured::read_csv(base::SourceText("header", std::string(header)));
  std::vector<std::string> older;
  for (const std::string& column : columns) {
    const auto of_tiles = measured::tile_columns();
    const bool is_newer = column == "p_unroll" && columns == kSkippedColumns;
    const bool is_kept = !is_newer && std::ranges::find(of_tiles, column) == of_tiles.end();
    if (is_kept || table.find(column)) older.push_back(column);
  }
  return older;
}

// Converts an older table to the current columns; the new ones are empty.
std::string in_todays_form(const CsvTable& older, const std::vector<std::string>& columns) {
  std::string text = csv_line(columns);
  for (const measured::CsvRow& row : older.rows) {
    std::vector<std::string> cells;
    for (const std::string& column : columns) cells.emplace_back(older.cell(row, column));
    text += csv_line(cells);
  }
  return text;
}

std::string path_in(const std::string& directory, std::string_view file) {
  return (fs::path(directory) / file).string();
}

// A file that shows the folder already is a set, or "". A measurements.csv without rows does not
// count: a session that was killed early leaves one.
std::string begun_by_another(const std::string& directory) {
  if (std::string file = path_in(directory, "manifest.yaml"); base::is_file(file)) return file;
  std::string file = path_in(directory, "measurements.csv");
  if (!base::is_file(file)) return "";
  const base::SourceText text = base::SourceText::read_file(file);
  const std::size_t header = text.text().find('\n');
  return header == std::string_view::npos || header + 1 == text.text().size() ? "" : file;
}

}  // namespace

std::string nanoseconds_text(Seconds time) {
  constexpr double kPerSecond = 1e9;
  return fmt::format("{:.1f}", time.value * kPerSecond);
}

std::string_view name(CacheState state) {
  return state == CacheState::kCold ? "cold" : "warm";
}

std::optional<SessionSettings> settings_of(const std::string& directory) {
  const std::string file = path_in(directory, "sessions.csv");
  if (!base::is_file(file)) {
    if (const std::string other = begun_by_another(directory); !other.empty()) {
      throw Error(fmt::format(
          "{}: of a measurement set that `measure` did not begin; expected a new folder", other));
    }
    return std::nullopt;
  }
  const CsvTable table = measured::read_csv(base::SourceText::read_file(file));
  if (table.rows.empty()) return std::nullopt;
  const auto cell = [&](std::string_view column) {
    return std::string(table.cell(table.rows.front(), column));
  };
  return SessionSettings{
      .date = cell("date"),
      .machine = cell("machine"),
      .compiler = cell("compiler"),
      .device = cell("device"),
      .cache = cell("cache") == name(CacheState::kWarm) ? CacheState::kWarm : CacheState::kCold,
      .seed = static_cast<std::uint64_t>(
          measured::integer_cell(table, table.rows.front(), "seed", 0, 0))};
}

GrowingSet::GrowingSet(const std::string& directory, const measured::Manifest& manifest,
                       const SessionSettings& settings)
    : directory_(directory),
      settings_(settings),
      columns_(kRowColumns),
      labels_(manifest.timing == measured::Timing::kNone) {
  if (labels_) {
    columns_ = kLabelColumns;
    for (const measured::Quantity& quantity : manifest.quantities) {
      columns_.push_back("q_" + quantity.name);
    }
  } else if (settings.unroll) {
    columns_.push_back("p_unroll");
  }
  const std::string manifest_file = path_in(directory_, "manifest.yaml");
  check_settings();
  std::error_code failed;
  fs::create_directories(path_in(directory_, "kernels"), failed);
  if (failed) throw Error(fmt::format("{}: cannot make it: {}", directory_, failed.message()));
  try {
    open_table("measurements.csv", columns_, rows_);
    open_table("skipped.csv", kSkippedColumns, skipped_);
    note_session();
    if (!fs::exists(manifest_file))
      base::replace_file(manifest_file, measured::manifest_text(manifest), /*durable=*/true);
  } catch (...) {
    close();
    throw;
  }
}

GrowingSet::~GrowingSet() {
  close();
}

void GrowingSet::close() const {
  if (rows_ >= 0) ::close(rows_);
  if (skipped_ >= 0) ::close(skipped_);
}

void GrowingSet::check_settings() const {
  const std::optional<SessionSettings> first = settings_of(directory_);
  if (!first) return;
  const auto same = [&](std::string_view what, std::string_view got, std::string_view expected) {
    if (got == expected) return;
    throw Error(
        fmt::format("{}: holds rows of another {}: got {}, expected {}; measure into "
                    "another folder",
                    directory_, what, got, expected));
  };
  same("device description", settings_.device, first->device);
  if (labels_) {
    return same("compiler", one_line(settings_.compiler, kLongestCompiler), first->compiler);
  }
  same("machine", one_line(settings_.machine), first->machine);
  same("cache state", name(settings_.cache), name(first->cache));
}

// Written atomically: the file exists with a header and a session, or not at all. Requires the
// table's lock.
void GrowingSet::note_session() {
  const std::string file = path_in(directory_, "sessions.csv");
  std::string text;
  if (fs::exists(file)) text = base::SourceText::read_file(file).text();
  text.resize(text.rfind('\n') + 1);  // npos + 1 is 0
  if (text.empty()) text = csv_line(kSessionColumns);
  text += csv_line({settings_.date, one_line(settings_.machine),
                    one_line(settings_.compiler, kLongestCompiler), settings_.device,
                    std::string(name(settings_.cache)), fmt::format("{}", settings_.seed)});
  base::replace_file(file, text, /*durable=*/true);
}

// Returns the text of complete lines and truncates the file after them.
std::string GrowingSet::drop_torn_end(const std::string& path,
                                      const std::vector<std::string>& columns, int fd) {
  std::string text(base::SourceText::read_file(path).text());
  const std::size_t whole = whole_bytes(text, columns);
  if (whole == text.size()) return text;
  const std::size_t newline = text.find('\n', whole);
  if (newline != std::string::npos && newline + 1 < text.size()) {
    throw Error(fmt::format(
        "{}:{}: a broken row before the last line; expected {} cells; remove that line", path,
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(whole), '\n') + 1,
        columns.size()));
  }
  if (::ftruncate(fd, static_cast<off_t>(whole)) != 0) cannot_write(path);
  notes_.push_back(
      fmt::format("{}: dropped a torn last line of {} bytes", path, text.size() - whole));
  text.resize(whole);
  return text;
}

// Locks the file, converts it to the current columns, and records the items it has.
void GrowingSet::open_table(const std::string& file, const std::vector<std::string>& columns,
                            int& fd) {
  const std::string path = path_in(directory_, file);
  fd = open_locked(path);
  const std::string now(base::SourceText::read_file(path).text());
  const std::string_view header = std::string_view(now).substr(0, now.find('\n') + 1);
  const std::vector<std::string> older = older_columns(columns, header);
  const bool is_older = older != columns && header == csv_line(older);
  if (header.ends_with('\n') && header != csv_line(columns) && !is_older) {
    throw Error(fmt::format("{}:1: got columns {}; expected {}; measure into another folder", path,
                            header.substr(0, header.size() - 1), fmt::join(columns, ",")));
  }
  std::string text = drop_torn_end(path, is_older ? older : columns, fd);
  if (is_older) {
    text = in_todays_form(measured::read_csv(base::SourceText(path, text)), columns);
    base::replace_file(path, text, /*durable=*/true);
    const int newer = open_locked(path);
    ::close(std::exchange(fd, newer));
    notes_.push_back(fmt::format(
        "{}: is from before tiles said all they say today; written anew, those columns empty",
        path));
  }
  if (text.empty()) {
    write_through(fd, csv_line(columns), path);
    sync_folder(directory_);
    return;
  }
  const CsvTable table = measured::read_csv(base::SourceText(path, text));
  const bool of_skipped = columns == kSkippedColumns;
  const std::string_view hash = of_skipped ? "hash" : "x_hash";
  for (const measured::CsvRow& row : table.rows) {
    known_.insert(work_key(std::string(table.cell(row, hash)), measured::tile_cells(table, row),
                           static_cast<int>(measured::integer_cell(table, row, "p_unroll", 1, 1))));
  }
}

void GrowingSet::add_kernel(const std::string& hash, const std::string& hlo) {
  const std::string path = path_in(directory_, fmt::format("kernels/{}.hlo", hash));
  if (!fs::exists(path)) base::replace_file(path, hlo, /*durable=*/true);
}

void GrowingSet::append(std::span<const MeasuredRow> rows, std::span<const SkippedRow> skipped) {
  std::string text;
  for (const MeasuredRow& row : rows) {
    text += row_line(row, settings_);
    known_.insert(row.item->key());
  }
  write(text, skipped);
}

void GrowingSet::append(std::span<const LabelledRow> rows, std::span<const SkippedRow> skipped) {
  std::string text;
  for (const LabelledRow& row : rows) {
    text += row_line(row);
    known_.insert(row.item->key());
  }
  write(text, skipped);
}

void GrowingSet::write(const std::string& measured_text, std::span<const SkippedRow> skipped) {
  std::string skipped_text;
  for (const SkippedRow& row : skipped) {
    skipped_text += skipped_line(row);
    known_.insert(row.item->key());
  }
  if (!measured_text.empty()) {
    write_through(rows_, measured_text, path_in(directory_, "measurements.csv"));
  }
  if (!skipped.empty()) write_through(skipped_, skipped_text, path_in(directory_, "skipped.csv"));
}

}  // namespace tilecast::host
