#include "sim/cli/tune_trials.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/source_text.h"
#include "base/text.h"
#include "host/child_command.h"
#include "measured/csv.h"

namespace tilecast::sim::cli {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;
const std::vector<std::string> kColumns = {"trial", "index", "tile", "predicted_ns", "measured_ns"};

std::optional<double> time_cell(const measured::CsvTable& table, const measured::CsvRow& row,
                                std::string_view column) {
  const std::string_view text = table.cell(row, column);
  if (text.empty()) return std::nullopt;
  double time_ns = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), time_ns);
  if (failure != std::errc{} || end != text.data() + text.size() || !(time_ns > 0) ||
      !std::isfinite(time_ns)) {
    throw Error(fmt::format("{}: got '{}', expected a time above 0, or nothing",
                            table.where(row, column), text));
  }
  return time_ns / kNanosecondsPerSecond;
}

std::string time_text(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{}", *seconds * kNanosecondsPerSecond) : "";
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

constexpr std::string_view kLineBlanks = " \t\r";

// Of "12.3 us" or a number of seconds.
std::optional<double> time_in(std::string_view line) {
  double seconds = 0;
  const auto [end, failure] = std::from_chars(line.data(), line.data() + line.size(), seconds);
  if (failure != std::errc{}) return std::nullopt;
  if (end != line.data() + line.size()) {
    try {
      seconds = hwdesc::parse_quantity(line, hwdesc::UnitKind::kTime);
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  return seconds > 0 && std::isfinite(seconds) ? std::optional(seconds) : std::nullopt;
}

std::optional<double> last_time(std::string_view text) {
  std::optional<double> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const auto time = time_in(base::trim(text.substr(0, end), kLineBlanks))) found = time;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

}  // namespace

TrialFile::TrialFile(std::string file, const std::vector<std::string>& tiles)
    : file_(std::move(file)), tiles_(tiles) {
  if (file_.empty()) return;
  const bool begun = std::filesystem::exists(file_);
  if (begun) {
    std::string text(base::SourceText::read_file(file_).text());
    text.resize(text.find_last_of('\n') + 1);  // npos + 1 = 0: not one whole line
    read(text);
    std::filesystem::resize_file(file_, text.size());
  }
  out_ = std::fopen(file_.c_str(), "a");
  if (out_ == nullptr) throw Error(fmt::format("{}: cannot be written", file_));
  if (!begun || std::filesystem::file_size(file_) == 0) {
    fmt::print(out_, "{}", measured::csv_line(kColumns));
  }
}

TrialFile::~TrialFile() {
  if (out_ != nullptr) std::fclose(out_);
}

void TrialFile::read(const std::string& text) {
  if (text.empty()) return;
  const measured::CsvTable table = measured::read_csv(base::SourceText(file_, text));
  if (table.columns != kColumns) {
    throw Error(fmt::format("{}:1: expected the columns of trials, {}", file_,
                            base::trim(measured::csv_line(kColumns), kLineBlanks).substr(0, 80)));
  }
  for (const measured::CsvRow& row : table.rows) {
    const auto index = static_cast<std::size_t>(measured::integer_cell(table, row, "index", 0));
    if (index >= tiles_.size() || tiles_[index] != table.cell(row, "tile")) {
      throw Error(fmt::format("{}: candidate {} is not '{}'; the trials are of another search",
                              table.where(row, "tile"), index, table.cell(row, "tile")));
    }
    known_.push_back(
        {index, time_cell(table, row, "predicted_ns"), time_cell(table, row, "measured_ns")});
  }
  trials_ = known_.size();
}

void TrialFile::add(const search::TuneTrial& trial) {
  ++trials_;
  if (out_ == nullptr) return;
  const std::string line = measured::csv_line(
      {fmt::format("{}", trials_), fmt::format("{}", trial.candidate), tiles_[trial.candidate],
       time_text(trial.predicted), time_text(trial.measured)});
  if (std::fwrite(line.data(), 1, line.size(), out_) != line.size() || std::fflush(out_) != 0) {
    throw Error(fmt::format("{}: cannot be written", file_));
  }
}

CommandTime time_by(const Command& command, const std::string& tile, std::size_t index) {
  const std::string text =
      replaced(replaced(command.text, "{tile}", tile), "{index}", fmt::format("{}", index));
  // The end of what it prints: only so much of a long text is kept.
  constexpr const char* kRun =
      "out=$(eval \"$1\" 2>&1); code=$?; printf '%s\\n' \"$out\" | tail -c 2000; exit $code";
  host::ChildCommand child({"/bin/sh", "-c", kRun, "sh", text}, {}, command.timeout);
  while (child.read_some()) {
  }
  const std::optional<int> status = child.wait();
  if (!status) return {std::nullopt, fmt::format("no answer in {} s", command.timeout.value)};
  const std::string printed = child.text();
  const std::string last = printed.substr(printed.find_last_of('\n') + 1);
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) {
    const std::string how = WIFEXITED(*status) ? fmt::format("exit code {}", WEXITSTATUS(*status))
                                               : fmt::format("signal {}", WTERMSIG(*status));
    return {std::nullopt, last.empty() ? how : fmt::format("{}: {}", how, last)};
  }
  if (const auto time = last_time(printed)) return {time, ""};
  return {std::nullopt, last.empty() ? "it printed no time" : fmt::format("no time in '{}'", last)};
}

}  // namespace tilecast::sim::cli
