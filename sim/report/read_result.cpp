#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "base/text.h"
#include "sim/report/readers.h"

namespace tilecast::sim::report {
namespace {

// When the file was written last, to the minute; "" where the system does not say.
std::string minute_written(const std::string& path) {
  std::error_code failure;
  const auto time = std::filesystem::last_write_time(path, failure);
  if (failure) return "";
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::file_clock::to_sys(time));
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(seconds));
}

}  // namespace

double size_of(const Value& object, std::string_view key) {
  const double value = object.number(key);
  if (value < 0) throw object.error(fmt::format("{}: got {}, expected 0 or more", key, value));
  return value;
}

std::optional<TimeInterval> interval_of(const Value& object) {
  const auto low = object.number_if("low_s");
  const auto high = object.number_if("high_s");
  if (!low || !high) return std::nullopt;
  if (*low > *high) throw object.error("low_s is above high_s");
  return TimeInterval{*low, *high};
}

Result read_result(base::SourceText text) {
  const std::size_t first = text.text().find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) throw Error(text.describe(0, "got an empty file"));
  if (text.text()[first] != '{' && text.text()[first] != '[') return read_evaluated_rows(text);
  const Document document(std::move(text));
  const Value root = document.root();
  const std::string schema = root.text("schema");
  if (schema == "tilecast.simulate/1" || schema == "tilecast.simulate/2") {
    return read_simulations(root);
  }
  if (schema == "tilecast.compare/1") return read_comparison(root);
  if (schema == "tilecast.evaluate/1") return read_evaluation(root);
  if (schema == "tilecast.sweep/2") return read_tables(root);
  if (schema.starts_with("tilecast.") && schema.ends_with("/1")) return read_tables(root);
  throw root.error(fmt::format(
      "schema: got '{}', expected a result of tilecast (tilecast.simulate/2, ...)", schema));
}

Result read_result_file(const std::string& path) {
  Result result = read_result(base::SourceText::read_file(path));
  if (auto* runs = std::get_if<SimulationResults>(&result)) {
    for (SimulationResult& run : *runs) run.written = minute_written(path);
  }
  return result;
}

}  // namespace tilecast::sim::report
