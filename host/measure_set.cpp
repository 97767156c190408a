#include "host/measure_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/archive.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/source_text.h"
#include "measured/csv.h"
#include "measured/samples.h"
#include "measured/tile_cells.h"

namespace tilecast::host {
namespace {

namespace fs = std::filesystem;
using measured::csv_line;
using measured::CsvTable;
using measured::GrowingCsv;

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
                                       const std::string& file) {
  if (!base::is_file(file)) return columns;
  const base::SourceText text = base::SourceText::read_file(file);
  const std::string header(text.text().substr(0, text.text().find('\n') + 1));
  if (header.empty()) return columns;
  const CsvTable table = measured::read_csv(base::SourceText(file, header));
  std::vector<std::string> older;
  for (const std::string& column : columns) {
    const auto of_tiles = measured::tile_columns();
    const bool is_newer = column == "p_unroll" && columns == kSkippedColumns;
    const bool is_kept = !is_newer && std::ranges::find(of_tiles, column) == of_tiles.end();
    if (is_kept || table.find(column)) older.push_back(column);
  }
  return header == csv_line(older) ? older : columns;
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
  open_table("measurements.csv", columns_, rows_);
  open_table("skipped.csv", kSkippedColumns, skipped_);
  note_session();
  if (!fs::exists(manifest_file))
    base::replace_file(manifest_file, measured::manifest_text(manifest), /*durable=*/true);
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

// Locks the file, converts it to the current columns, and records the items it has.
void GrowingSet::open_table(const std::string& file, const std::vector<std::string>& columns,
                            std::optional<GrowingCsv>& table) {
  const std::string path = path_in(directory_, file);
  const auto open = [&](const std::vector<std::string>& as) {
    table.emplace(path, as);
    if (table->dropped() == 0) return;
    notes_.push_back(
        fmt::format("{}: dropped a torn last line of {} bytes", path, table->dropped()));
  };
  const std::vector<std::string> older = older_columns(columns, path);
  open(older);
  if (older != columns) {
    base::replace_file(path, in_todays_form(table->known(), columns), /*durable=*/true);
    open(columns);
    notes_.push_back(fmt::format(
        "{}: is from before tiles said all they say today; written anew, those columns empty",
        path));
  }
  const CsvTable& known = table->known();
  const std::string_view hash = columns == kSkippedColumns ? "hash" : "x_hash";
  for (const measured::CsvRow& row : known.rows) {
    known_.insert(work_key(std::string(known.cell(row, hash)), measured::tile_cells(known, row),
                           static_cast<int>(measured::integer_cell(known, row, "p_unroll", 1, 1))));
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
  if (!measured_text.empty()) rows_->add_durably(measured_text);
  if (!skipped.empty()) skipped_->add_durably(skipped_text);
}

}  // namespace tilecast::host
