#include "sim/cli/tune_trials.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/source_text.h"
#include "base/text.h"
#include "host/child_command.h"
#include "measured/csv.h"

namespace tilecast::sim::cli {
namespace {

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

TrialFile::TrialFile(const std::string& file, const std::vector<std::string>& tiles)
    : file_(file, {"trial", "index", "tile", "predicted_ns", "measured_ns"}), tiles_(tiles) {
  const measured::CsvTable& table = file_.known();
  for (const measured::CsvRow& row : table.rows) {
    const auto index = static_cast<std::size_t>(measured::integer_cell(table, row, "index", 0));
    if (index >= tiles_.size() || tiles_[index] != table.cell(row, "tile")) {
      throw Error(fmt::format("{}: candidate {} is not '{}'; the trials are of another search",
                              table.where(row, "tile"), index, table.cell(row, "tile")));
    }
    known_.push_back({index, measured::time_ns_cell(table, row, "predicted_ns"),
                      measured::time_ns_cell(table, row, "measured_ns")});
  }
  trials_ = known_.size();
}

void TrialFile::add(const search::TuneTrial& trial) {
  ++trials_;
  file_.add({fmt::format("{}", trials_), fmt::format("{}", trial.candidate),
             tiles_[trial.candidate], measured::time_ns_text(trial.predicted),
             measured::time_ns_text(trial.measured)});
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
