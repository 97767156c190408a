#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "host/child_process.h"
#include "ir/text/hlo_printer.h"
#include "search/hardware.h"

namespace tilecast::search {
namespace {

// Quotes `value` as one word for the shell, inside the given quotes or outside of any (0).
std::string for_shell(std::string_view value, char quotes) {
  std::string text;
  for (const char c : value) {
    if (quotes == '"' && std::string_view("\"$`\\").find(c) != std::string_view::npos) text += '\\';
    text += quotes != '"' && c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quotes == 0 ? "'" + text + "'" : text;
}

// The command with placeholders replaced, quoted according to their context.
std::string filled(std::string_view command, const Placeholders& placeholders) {
  std::string text;
  char quotes = 0;
  while (!command.empty()) {
    const auto found = std::ranges::find_if(placeholders, [&](const auto& placeholder) {
      return command.starts_with(placeholder.first);
    });
    if (found != placeholders.end()) {
      text += for_shell(found->second, quotes);
      command.remove_prefix(found->first.size());
      continue;
    }
    const char c = command.front();
    const std::size_t taken = c == '\\' && quotes != '\'' && command.size() > 1 ? 2 : 1;
    if (c == quotes) {
      quotes = 0;
    } else if (quotes == 0 && (c == '"' || c == '\'')) {
      quotes = c;
    }
    text += command.substr(0, taken);
    command.remove_prefix(taken);
  }
  return text;
}

constexpr std::string_view kLineBlanks = " \t\r";

// Parses "12.3 us" or a number of seconds.
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

HardwareTime time_by(const Command& command, const Placeholders& placeholders) {
  const std::string text = filled(command.text, placeholders);
  // Keeps only the end of long output.
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

std::vector<HardwareTime> CommandHardware::time(std::span<const HardwareJob> jobs) {
  const host::TemporaryFolder folder;
  std::vector<HardwareTime> times;
  for (const HardwareJob& job : jobs) {
    times.push_back(
        time_by(command_, {{"{hlo}", folder.write("program.hlo", print_hlo(job.module))},
                           {"{tiles}", folder.write("tiles.txt", text_of(job.tiles))}}));
  }
  return times;
}

}  // namespace tilecast::search
