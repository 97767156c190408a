#include "learned/feature_scaler.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/source_text.h"
#include "measured/csv.h"

namespace tilecast::learned {
namespace {

constexpr float kScaledMissing = 0;
constexpr float kBeyond = 0.25F;  // share of the training range, on either side
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Infinite values become the largest finite ones.
float on_scale(float x, bool logarithmic) {
  constexpr float kMost = std::numeric_limits<float>::max();
  const float finite = std::clamp(x, -kMost, kMost);
  if (!logarithmic) return finite;
  const double magnitude = std::fabs(static_cast<double>(finite));
  return std::copysign(static_cast<float>(std::log1p(magnitude)), finite);
}

float scaled(float x, float low, float high) {
  if (std::isnan(x)) return kScaledMissing;
  const double range = static_cast<double>(high) - static_cast<double>(low);
  if (!(range > 0)) return 0;
  const double share = (static_cast<double>(x) - static_cast<double>(low)) / range;
  return std::clamp(static_cast<float>(share), -kBeyond, 1 + kBeyond);
}

constexpr std::string_view kScaleTexts[] = {"linear", "log"};

// The shortest text that parses to the same float.
std::string exact(float value) {
  return fmt::format("{}", value);
}

float number_cell(const measured::CsvTable& table, const measured::CsvRow& row,
                  std::string_view column) {
  const std::string_view text = table.cell(row, column);
  float value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc{} && end == text.data() + text.size() && std::isfinite(value)) {
    return value;
  }
  throw Error(
      fmt::format("{}: got '{}', expected a finite number", table.where(row, column), text));
}

bool is_logarithmic(const measured::CsvTable& table, const measured::CsvRow& row) {
  const std::string_view text = table.cell(row, "scale");
  const auto* const found = std::ranges::find(kScaleTexts, text);
  if (found != std::end(kScaleTexts)) return found != std::begin(kScaleTexts);
  throw Error(fmt::format("{}: got '{}', expected linear or log", table.where(row, "scale"), text));
}

void check_form(const measured::CsvTable& table, const FeatureSchema& schema) {
  const std::vector<std::string> expected = {"column", "low", "high", "scale"};
  if (table.columns != expected) {
    throw Error(fmt::format("{}:1: got columns '{}', expected '{}'", table.file,
                            fmt::join(table.columns, ","), fmt::join(expected, ",")));
  }
  if (table.rows.size() != schema.columns.size()) {
    throw Error(fmt::format("{}: got {} rows, expected {}: one per column of schema {}", table.file,
                            table.rows.size(), schema.columns.size(), schema.name));
  }
}

}  // namespace

FeatureScaler::FeatureScaler(std::span<const float> rows, std::size_t width, bool logarithmic)
    : low_(width, kInfinity), high_(width, -kInfinity), logarithmic_(width, logarithmic) {
  TC_CHECK(width == 0 ? rows.empty() : rows.size() % width == 0, "rows of another width");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::isnan(rows[i])) continue;
    const float value = on_scale(rows[i], logarithmic);
    low_[i % width] = std::min(low_[i % width], value);
    high_[i % width] = std::max(high_[i % width], value);
  }
  for (std::size_t column = 0; column < width; ++column) {
    if (low_[column] > high_[column]) low_[column] = high_[column] = 0;  // no finite value was seen
  }
}

void FeatureScaler::apply(std::span<float> rows) const {
  if (width() == 0) return;
  TC_CHECK(rows.size() % width() == 0, "rows of another width");
  for (std::size_t row = 0; row < rows.size(); row += width()) {
    for (std::size_t column = 0; column < width(); ++column) {
      float& value = rows[row + column];
      value = std::isnan(value)
                  ? kScaledMissing
                  : scaled(on_scale(value, logarithmic_[column]), low_[column], high_[column]);
    }
  }
}

std::string FeatureScaler::to_csv(const FeatureSchema& schema) const {
  TC_CHECK(schema.columns.size() == width(), "a schema of another width");
  std::string text = measured::csv_line({"column", "low", "high", "scale"});
  for (std::size_t i = 0; i < width(); ++i) {
    text += measured::csv_line({schema.columns[i].name, exact(low_[i]), exact(high_[i]),
                                std::string(kScaleTexts[logarithmic_[i] ? 1 : 0])});
  }
  return text;
}

FeatureScaler FeatureScaler::from_csv(const std::string& text, const std::string& file,
                                      const FeatureSchema& schema) {
  const measured::CsvTable table = measured::read_csv(base::SourceText(file, text));
  check_form(table, schema);
  FeatureScaler scaler;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const measured::CsvRow& row = table.rows[i];
    if (table.cell(row, "column") != schema.columns[i].name) {
      throw Error(fmt::format("{}: got '{}', expected '{}'", table.where(row, "column"),
                              table.cell(row, "column"), schema.columns[i].name));
    }
    const float low = number_cell(table, row, "low"), high = number_cell(table, row, "high");
    if (low > high) {
      throw Error(fmt::format("{}: got {} below low, {}", table.where(row, "high"), high, low));
    }
    scaler.logarithmic_.push_back(is_logarithmic(table, row));
    scaler.low_.push_back(low);
    scaler.high_.push_back(high);
  }
  return scaler;
}

}  // namespace tilecast::learned
