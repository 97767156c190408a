#include "measured/importers/column_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/source_text.h"
#include "base/text.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/units.h"
#include "measured/importers/column_mapping.h"
#include "measured/known_columns.h"

namespace tilecast::measured {
namespace {

using hwdesc::ConfigNode;
using hwdesc::show_text;

constexpr std::array<std::string_view, 26> kWholeTargets{
    "batch",    "m",     "n",      "k",        "h",        "w",        "ci",
    "co",       "kh",    "kw",     "rows",     "columns",  "elements", "devices",
    "layers",   "nodes", "input",  "output",   "stride",   "repeats",  "heads",
    "kv_heads", "q_len", "kv_len", "head_dim", "value_dim"};
constexpr std::array<std::string_view, 20> kTextTargets{
    "op",     "kernel", "program", "dtype",     "out_dtype", "device",     "class",
    "family", "split",  "padding", "execution", "shape",     "transposed", "precision",
    "block",  "causal", "window",  "kv_dtype",  "backward",  "writes_kv"};
constexpr std::array<std::string_view, 3> kScheduleTargets{"stages", "warps", "direct"};
constexpr std::array<std::string_view, 3> kTimeTargets{"runtime", "dispatch", "spread"};
constexpr std::array<std::string_view, 5> kTileTargets{"output_bounds", "kernel_bounds",
                                                       "input_bounds", "threads", "vector"};
constexpr double kMaxWhole = 9007199254740992.0;  // 2^53: whole numbers up to it are exact

bool is_in(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Units per second of a rate's unit: "Gelem/s" -> 1e9.
double rate_scale(const std::string& unit, const std::string& where) {
  constexpr std::array<std::string_view, 6> kThings{"elem", "FLOP", "op", "step", "B", "1"};
  constexpr std::string_view kPrefixes = "kMGTP";
  if (unit.ends_with("/s")) {
    std::string_view thing = std::string_view(unit).substr(0, unit.size() - 2);
    if (is_in(kThings, thing)) return 1;
    const std::size_t power = thing.empty() ? std::string::npos : kPrefixes.find(thing.front());
    if (power != std::string::npos && is_in(kThings, thing.substr(1))) {
      return std::pow(1000.0, static_cast<double>(power + 1));
    }
  }
  throw Error(fmt::format("{}: got {}, expected a rate such as Gelem/s, TFLOP/s, step/s", where,
                          show_text(unit)));
}

double time_scale(const std::string& unit, const std::string& where) {
  try {
    return hwdesc::parse_quantity("1 " + unit, hwdesc::UnitKind::kTime) * 1e9;
  } catch (const Error&) {
    throw Error(
        fmt::format("{}: got {}, expected a unit of time: s, ms, us, ns", where, show_text(unit)));
  }
}

bool are_bounds(std::string_view text) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    if (base::parse_number<std::int64_t>(word).value_or(0) < 1) return false;
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return true;
}

std::string kept_name(std::string_view prefix, const std::string& column) {
  std::string name(prefix);
  for (const char c : column) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    name += upper ? static_cast<char>(c - 'A' + 'a') : plain ? c : '_';
  }
  return name;
}

}  // namespace

// Reads one entry of `columns:`.
class RuleReader {
 public:
  explicit RuleReader(const ConfigNode& node) : node_(node) {
    rule_.where_ = fmt::format("{}: {}", node.at.describe(), node.key);
    rule_.target_ = node.key;
  }

  ColumnRule read() {
    const std::string& target = node_.key;
    if (node_.is_mapping() && node_.find("constant") != nullptr) return constant();
    if (is_in(kTimeTargets, target)) return time();
    if (is_in(kTileTargets, target)) return tile();
    if (is_in(kWholeTargets, target)) return whole();
    if (is_in(kScheduleTargets, target)) {
      return node_.is_mapping() && node_.find("map") != nullptr ? text() : whole();
    }
    if (is_in(kTextTargets, target) || (target.starts_with("x_") && target.size() > 2)) {
      return text();
    }
    std::vector<std::string_view> known;
    for (const std::span<const std::string_view> names :
         std::initializer_list<std::span<const std::string_view>>{
             kWholeTargets, kTextTargets, kTimeTargets, kTileTargets, kScheduleTargets}) {
      known.insert(known.end(), names.begin(), names.end());
    }
    const std::string near = base::nearest(target, known);
    fail(fmt::format("a measurement set has no such column; expected one of {}, or x_*{}",
                     fmt::join(known, ", "),
                     near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(fmt::format("{}: {}", rule_.where_, message));
  }

  // The scalar under `key` of this mapping; "" if absent.
  [[nodiscard]] std::string entry(std::string_view key) const {
    const ConfigNode* found = node_.find(key);
    if (found == nullptr) return {};
    if (found->kind != ConfigNode::Kind::kScalar) fail(fmt::format("{}: expected one text", key));
    return found->scalar;
  }

  void allow_only(std::initializer_list<std::string_view> keys) const {
    if (!node_.is_mapping()) fail("expected a mapping");
    for (const ConfigNode& child : node_.children) {
      if (std::find(keys.begin(), keys.end(), child.key) == keys.end()) {
        throw Error(fmt::format("{}: got '{}', expected {}", child.at.describe(), child.key,
                                fmt::join(keys, ", ")));
      }
    }
  }

  ColumnRule constant() {
    allow_only({"constant"});
    rule_.kind_ = ColumnRule::Kind::kConstant;
    rule_.constant_ = entry("constant");
    if (is_in(kTimeTargets, node_.key)) fail("a time cannot be a constant");
    if (rule_.constant_.empty()) fail("the constant is empty");
    return std::move(rule_);
  }

  ColumnRule text() {
    rule_.kind_ = ColumnRule::Kind::kText;
    rule_.may_be_empty_ = node_.key != "op" && node_.key != "kernel" && node_.key != "program";
    if (node_.kind == ConfigNode::Kind::kScalar) {
      rule_.column_ = node_.scalar;
      return std::move(rule_);
    }
    if (const ConfigNode* patterns = node_.is_mapping() ? node_.find("file") : nullptr) {
      allow_only({"file"});
      rule_.kind_ = ColumnRule::Kind::kFile;
      read_map(*patterns);
      return std::move(rule_);
    }
    allow_only({"column", "map"});
    rule_.column_ = entry("column");
    if (rule_.column_.empty()) fail("expected {column: NAME, map: {FROM: TO}}");
    if (const ConfigNode* map = node_.find("map")) read_map(*map);
    return std::move(rule_);
  }

  void read_map(const ConfigNode& map) {
    if (!map.is_mapping() || map.children.empty()) fail(map.key + ": expected {FROM: TO, ...}");
    for (const ConfigNode& child : map.children) {
      if (child.kind != ConfigNode::Kind::kScalar) fail(map.key + ": expected {FROM: TO, ...}");
      rule_.map_.emplace_back(child.key, child.scalar);
    }
  }

  ColumnRule whole() {
    rule_.kind_ = ColumnRule::Kind::kWhole;
    rule_.values_.push_back(value());
    return std::move(rule_);
  }

  // A scalar expression, or {value: EXPRESSION} or {column: NAME} of this mapping.
  [[nodiscard]] Expression value() const {
    std::string text = node_.scalar;
    if (node_.is_mapping()) {
      text = node_.find("value") != nullptr ? entry("value") : entry("column");
    } else if (node_.kind != ConfigNode::Kind::kScalar) {
      fail("expected a column or an expression");
    }
    return Expression::parse(text, rule_.where_);
  }

  ColumnRule time() {
    rule_.kind_ = ColumnRule::Kind::kTime;
    rule_.target_ += "_ns";
    rule_.may_be_empty_ = node_.key != "runtime";
    if (!node_.is_mapping()) {
      fail("expected {column: NAME, unit: ms} or {work: m*n, per: RATE, unit: Gelem/s}");
    }
    if (node_.find("work") != nullptr || node_.find("per") != nullptr) {
      allow_only({"work", "per", "unit"});
      rule_.values_.push_back(Expression::parse(entry("work"), rule_.where_ + ".work"));
      rule_.per_.push_back(Expression::parse(entry("per"), rule_.where_ + ".per"));
      rule_.scale_ = rate_scale(entry("unit"), rule_.where_ + ".unit");
    } else {
      allow_only({"column", "value", "unit"});
      rule_.values_.push_back(value());
      rule_.unit_ = entry("unit");
      rule_.scale_ = time_scale(rule_.unit_, rule_.where_ + ".unit");
    }
    return std::move(rule_);
  }

  ColumnRule tile() {
    rule_.kind_ = ColumnRule::Kind::kTile;
    if (node_.kind != ConfigNode::Kind::kSequence || node_.children.empty()) {
      fail("expected a list of expressions, most major dimension first");
    }
    for (const ConfigNode& child : node_.children) {
      if (child.kind != ConfigNode::Kind::kScalar) fail("expected a list of expressions");
      rule_.values_.push_back(Expression::parse(child.scalar, rule_.where_));
    }
    return std::move(rule_);
  }

  const ConfigNode& node_;
  ColumnRule rule_;
};

ColumnRule ColumnRule::read(const ConfigNode& node) {
  return RuleReader(node).read();
}

ColumnRule ColumnRule::copied(const ConfigNode& node, std::string_view key,
                              std::string_view prefix) {
  ColumnRule rule;
  rule.kind_ = Kind::kText;
  rule.where_ = fmt::format("{}: {}", node.at.describe(), key);
  if (node.kind != ConfigNode::Kind::kScalar || node.scalar.empty()) {
    throw Error(rule.where_ + ": expected a list of columns");
  }
  rule.column_ = node.scalar;
  rule.target_ = kept_name(prefix, node.scalar);
  rule.may_be_empty_ = true;
  return rule;
}

ColumnRule ColumnRule::keep(const ConfigNode& node) {
  return copied(node, "keep", "x_");
}

ColumnRule ColumnRule::parameter(const ConfigNode& node) {
  ColumnRule rule = copied(node, "parameters", "p_");
  rule.is_number_ = true;
  return rule;
}

ColumnRule ColumnRule::as_named(const std::string& target, const ConfigNode& at,
                                const std::string& column) {
  ConfigNode node = at;
  node.kind = ConfigNode::Kind::kScalar;
  node.key = target;
  node.scalar = column.empty() ? target : column;
  if (is_parameter_column(target) || is_in(kTileTargets, target)) {
    ColumnRule rule = copied(node, target, "");
    rule.is_number_ = is_parameter_column(target);
    rule.is_bounds_ = !rule.is_number_;
    return rule;
  }
  if (target.ends_with("_ns") && is_in(kTimeTargets, target.substr(0, target.size() - 3))) {
    ColumnRule rule = copied(node, target, "");
    rule.kind_ = Kind::kTime;
    rule.target_ = target;
    rule.values_.push_back(Expression::parse(node.scalar, rule.where_));
    rule.unit_ = "ns";
    rule.may_be_empty_ = target != "runtime_ns";
    return rule;
  }
  ColumnRule rule = read(node);
  rule.may_be_empty_ |= rule.kind_ == Kind::kWhole;
  return rule;
}

std::vector<std::string> ColumnRule::possible_texts() const {
  if (kind_ == Kind::kConstant) return {constant_};
  std::vector<std::string> texts;
  for (const auto& [from, to] : map_) texts.push_back(to);
  return texts;
}

void ColumnRule::allow_only(const std::vector<std::string>& texts) {
  if (kind_ != Kind::kText || !map_.empty()) return;
  for (const std::string& text : texts) map_.emplace_back(text, text);
}

void ColumnRule::bind(const std::vector<std::string>& columns, const std::string& file) {
  if (kind_ == Kind::kFile) {
    const std::string name = std::filesystem::path(file).filename().string();
    const auto found = std::find_if(map_.begin(), map_.end(), [&](const auto& entry) {
      return fits_pattern(entry.first, name);
    });
    if (found == map_.end()) {
      throw Error(fmt::format("{}: no pattern fits the file {}", where_, show_text(file)));
    }
    constant_ = found->second;
  }
  if (!column_.empty()) index_ = column_index(columns, column_, where_);
  for (Expression& expression : values_) expression.bind(columns, where_);
  for (Expression& expression : per_) expression.bind(columns, where_);
}

void ColumnRule::apply(const std::vector<std::string_view>& cells, std::string& out) const {
  out.clear();
  switch (kind_) {
    case Kind::kConstant:
    case Kind::kFile:
      out = constant_;
      return;
    case Kind::kText:
      return apply_text(cells[index_], out);
    case Kind::kTime:
      return apply_time(cells, out);
    case Kind::kWhole:
    case Kind::kTile:
      if (may_be_empty_ && values_.front().is_empty(cells)) return;
      for (const Expression& expression : values_) {
        if (!out.empty()) out += ' ';
        append_whole(expression, cells, out);
      }
      return;
  }
}

void ColumnRule::apply_text(std::string_view cell, std::string& out) const {
  if (cell.empty() && !may_be_empty_) {
    throw Error(fmt::format("column '{}': the cell is empty", column_));
  }
  // A float, as required by read_measurement_set().
  if (is_number_ && !cell.empty() && !base::parse_number<float>(cell)) {
    throw Error(fmt::format("column '{}': got {}, expected a number or an empty cell", column_,
                            show_text(cell)));
  }
  if (is_bounds_ && !are_bounds(cell)) {
    throw Error(fmt::format("column '{}': got {}, expected whole numbers of at least 1, as 8 128",
                            column_, show_text(cell)));
  }
  if (map_.empty() || cell.empty()) {
    out = cell;
    return;
  }
  for (const auto& [from, to] : map_) {
    if (from == cell) {
      out = to;
      return;
    }
  }
  throw Error(fmt::format("column '{}': got {}, which the mapping does not know ({})", column_,
                          show_text(cell), where_));
}

void ColumnRule::apply_time(const std::vector<std::string_view>& cells, std::string& out) const {
  const Expression& value = values_.front();
  if (may_be_empty_ && value.is_empty(cells)) return;
  const double amount = value.evaluate(cells, unit_);
  const double exact_ns =
      per_.empty() ? amount * scale_ : 1e9 * amount / (per_.front().evaluate(cells) * scale_);
  const double time_ns = std::round(exact_ns * 1e3) / 1e3;  // 1 ps is far below any clock
  const bool zero_is_fine = target_ != "runtime_ns";
  if (!std::isfinite(time_ns) || time_ns < 0 || (time_ns == 0 && !zero_is_fine)) {
    const std::string_view column = (per_.empty() ? value : per_.front()).column();
    throw Error(fmt::format("column '{}': {} would be {} ns, expected a time above zero",
                            column.empty() ? target_ : column, target_, exact_ns));
  }
  fmt::format_to(std::back_inserter(out), "{}", time_ns);
}

void ColumnRule::append_whole(const Expression& expression,
                              const std::vector<std::string_view>& cells, std::string& out) const {
  const double value = expression.evaluate(cells);
  if (!(value >= 1) || value > kMaxWhole || value != std::floor(value)) {
    throw Error(fmt::format("column '{}': {} would be {}, expected a whole number of at least 1",
                            expression.is_column() ? expression.column() : target_, target_,
                            value));
  }
  fmt::format_to(std::back_inserter(out), "{}", static_cast<std::int64_t>(value));
}

namespace {

std::string_view without_unit(std::string_view cell, std::string_view unit) {
  if (unit.empty() || !cell.ends_with(unit)) return cell;
  cell.remove_suffix(unit.size());
  return cell.substr(0, cell.find_last_not_of(' ') + 1);
}

std::string_view skip_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

// The value of NAME=VALUE in a cell with several such fields; empty if there is none.
std::string_view field_of(std::string_view cell, std::string_view name) {
  while (!cell.empty()) {
    const std::string_view word = cell.substr(0, cell.find(' '));
    if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) {
      return word.substr(name.size() + 1);
    }
    cell = skip_blanks(cell.substr(word.size()));
  }
  return {};
}

}  // namespace

Expression Expression::parse(std::string_view text, const std::string& where) {
  Expression result;
  try {
    result.formula_ = base::Formula::parse(text);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: got {}, expected a formula of columns, such as m*n: {}", where,
                            hwdesc::show_text(text), error.what()));
  }
  for (const std::string& name : result.formula_.names()) {
    result.cells_.push_back({.column = name, .field = {}});
  }
  return result;
}

bool Expression::is_column() const {
  return cells_.size() == 1 && base::trim(formula_.text()) == formula_.names().front();
}

std::string_view Expression::column() const {
  return cells_.empty() ? std::string_view{} : cells_.back().column;
}

bool Expression::is_empty(const std::vector<std::string_view>& cells) const {
  return is_column() && cells[cells_.front().index].empty();
}

void Expression::bind(const std::vector<std::string>& columns, const std::string& where) {
  for (Cell& cell : cells_) {
    const std::size_t dot = cell.column.find('.');
    const bool is_field = std::ranges::find(columns, cell.column) == columns.end() &&
                          std::ranges::find(columns, cell.column.substr(0, dot)) != columns.end();
    if (is_field) {
      cell.field = cell.column.substr(dot + 1);
      cell.column.resize(dot);
    }
    cell.index = column_index(columns, cell.column, where);
  }
}

double Expression::Cell::number(const std::vector<std::string_view>& cells,
                                std::string_view unit) const {
  const std::string_view cell = field.empty() ? cells[index] : field_of(cells[index], field);
  const std::optional<double> number = base::parse_number(without_unit(cell, unit));
  if (number) return *number;
  throw Error(fmt::format("column '{}': got {}, expected a number", column,
                          cell.empty() ? "an empty cell" : hwdesc::show_text(cell)));
}

double Expression::evaluate(const std::vector<std::string_view>& cells,
                            std::string_view unit) const {
  if (is_column()) return cells_.front().number(cells, unit);
  return formula_.value([&](std::string_view name) {
    const auto place = std::ranges::find(formula_.names(), name) - formula_.names().begin();
    return cells_[static_cast<std::size_t>(place)].number(cells, unit);
  });
}

std::size_t column_index(const std::vector<std::string>& columns, const std::string& name,
                         const std::string& where) {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
  const std::string near =
      base::nearest(name, std::vector<std::string_view>(columns.begin(), columns.end()));
  throw Error(fmt::format("{}: there is no column '{}'; the table has {}{}", where, name,
                          fmt::join(columns, ", "),
                          near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

}  // namespace tilecast::measured
