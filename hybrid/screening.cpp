#include "hybrid/screening.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/statistics.h"
#include "measured/physics.h"

namespace tilecast::hybrid {
namespace {

using analytical::Bound;
using hwdesc::Device;
using measured::SampleSet;

// A row to screen, with the keys and features for comparing it with others.
struct ScreeningRow {
  std::size_t set = 0, sample = 0;
  const hwdesc::Device* device = nullptr;
  std::string op_class, dtype;  // dtype: of a product's operands, else of the result
  std::string question;         // equal for equal work, tile and parameters on one device
  std::vector<double> terms;    // features for finding similar kernels
  double measured_s = 0, predicted_s = 0, light_s = 0;
  double share = 1;             // share of predicted_s that is not the host's dispatch
  bool computes = false;        // bound by units or on-chip paths, not by memory
  bool multiplies = false;      // a product or convolution, whose rate depends on the type
  bool names_schedule = false;  // states a tile or parameters, which physics models poorly
  bool set_apart = false;

  [[nodiscard]] double error() const;  // log(measured / predicted)
};

class ScreeningRows {
 public:
  // Takes rows of single kernels with an estimate by `prior`. Keeps references to both.
  ScreeningRows(const analytical::CostModel& prior, std::span<const measured::SampleSet> sets,
                std::span<const hwdesc::Device> devices, int jobs);

  // Groups the rows that are not set apart by `key`, each group in row order.
  using Key = std::string (*)(const ScreeningRow&);
  [[nodiscard]] std::map<std::string, std::vector<std::size_t>> groups(Key key) const;
  [[nodiscard]] const ScreeningRow& operator[](std::size_t row) const { return rows_[row]; }
  [[nodiscard]] std::vector<double> errors(std::span<const std::size_t> rows) const;
  [[nodiscard]] double typical_error(std::span<const std::size_t> rows) const;  // the median error

  void set_apart(std::vector<std::size_t> rows, const std::string& reason);
  [[nodiscard]] Screened result() &&;

  // Predicts the rows' errors from those of the most similar kernels, excluding their own.
  [[nodiscard]] std::vector<double> explained_errors(std::span<const std::size_t> rows) const;

 private:
  std::span<const measured::SampleSet> sets_;
  std::vector<ScreeningRow> rows_;
  std::vector<SetApart> apart_;
};

constexpr std::size_t kNeighbours = 5;
constexpr double kShareWeight = 3;  // a share of 1 weighs like a factor of 20 in time

// The product or convolution of a kernel; nullptr if none.
const ir::Op* product_of(const ir::Kernel& kernel) {
  const auto found = std::ranges::find_if(
      kernel.ops(), [](const ir::Op& op) { return ir::has(op.opcode, ir::Trait::kTwoFactors); });
  return found == kernel.ops().end() ? nullptr : &*found;
}

std::string multiplied_dtype(const ir::Kernel& kernel) {
  const ir::Op* product = product_of(kernel);
  const ir::Op& op =
      product != nullptr ? kernel.op(product->operands.front()) : kernel.ops().back();
  return std::string(ir::name(op.shape.dtype));
}

bool is_of_units(Bound bound) {
  return bound == Bound::kMatrix || bound == Bound::kVector || bound == Bound::kTranscendental ||
         bound == Bound::kCrossLane || bound == Bound::kOnChip || bound == Bound::kIssue;
}

std::string question_of(const SampleSet& set, const measured::Sample& sample,
                        const Device& device) {
  return fmt::format("{}\n{}\n{}\n{}", device.name, set.works[sample.work].fingerprint,
                     analytical::to_string(sample.tile), fmt::join(sample.parameters, ","));
}

// Analytical terms of a kernel: its log time, and the share of it that each resource is busy.
std::vector<double> terms_of(const analytical::Estimate& estimate) {
  std::vector<double> terms = {std::log(estimate.time.value)};
  for (const Seconds busy : estimate.bounds) {
    terms.push_back(kShareWeight * (busy / estimate.time));
  }
  return terms;
}

double ScreeningRow::error() const {
  return std::log(measured_s / predicted_s);
}

ScreeningRows::ScreeningRows(const analytical::CostModel& prior, std::span<const SampleSet> sets,
                             std::span<const Device> devices, int jobs)
    : sets_(sets) {
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const SampleSet& set = sets[s];
    const auto answers = measured::predict(set, prior, devices[s], jobs);
    std::vector<double> light(set.works.size(), -1);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const measured::Sample& sample = set.samples[i];
      const measured::Workload& work = set.works[sample.work];
      const measured::Prediction& answer = answers[i];
      if (!answer.answered || !answer.estimate || !(answer.on_device.value > 0)) continue;
      if (light[sample.work] < 0) {
        light[sample.work] = measured::light_time(work, devices[s]).value;
      }
      rows_.push_back({.set = s,
                       .sample = i,
                       .device = &devices[s],
                       .op_class = work.op_class,
                       .dtype = multiplied_dtype(work.parts.front().kernel),
                       .question = question_of(set, sample, devices[s]),
                       .terms = terms_of(*answer.estimate),
                       .measured_s = sample.measured.value,
                       .predicted_s = answer.comparable().value,
                       .light_s = light[sample.work],
                       .share = answer.on_device / answer.comparable(),
                       .computes = is_of_units(answer.estimate->bound),
                       .multiplies = product_of(work.parts.front().kernel) != nullptr,
                       .names_schedule =
                           !sample.parameters.empty() || sample.tile != analytical::TileConfig{}});
    }
  }
}

std::map<std::string, std::vector<std::size_t>> ScreeningRows::groups(Key key) const {
  std::map<std::string, std::vector<std::size_t>> result;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!rows_[i].set_apart) result[key(rows_[i])].push_back(i);
  }
  return result;
}

std::vector<double> ScreeningRows::errors(std::span<const std::size_t> rows) const {
  std::vector<double> result;
  for (const std::size_t row : rows) result.push_back(rows_[row].error());
  return result;
}

double ScreeningRows::typical_error(std::span<const std::size_t> rows) const {
  return base::median(errors(rows));
}

void ScreeningRows::set_apart(std::vector<std::size_t> rows, const std::string& reason) {
  if (rows.empty()) return;
  std::ranges::sort(rows);
  const ScreeningRow& first = rows_[rows.front()];
  SetApart apart{.device = first.device->name, .op_class = first.op_class, .reason = reason};
  for (const std::size_t i : rows) {
    ScreeningRow& row = rows_[i];
    row.set_apart = true;
    apart.rows.emplace_back(sets_[row.set].name, sets_[row.set].samples[row.sample].line);
  }
  apart_.push_back(std::move(apart));
}

std::vector<double> ScreeningRows::explained_errors(std::span<const std::size_t> rows) const {
  std::vector<double> explained;
  for (const std::size_t i : rows) {
    std::vector<std::pair<double, double>> others;  // distance, error
    for (const std::size_t j : rows) {
      if (rows_[j].question == rows_[i].question) continue;
      double distance = 0;
      for (std::size_t t = 0; t < rows_[i].terms.size(); ++t) {
        distance += std::abs(rows_[i].terms[t] - rows_[j].terms[t]);
      }
      others.emplace_back(distance, rows_[j].error());
    }
    std::ranges::sort(others);
    others.resize(std::min(others.size(), kNeighbours));
    double sum = 0;
    for (const auto& [distance, error] : others) sum += error;
    explained.push_back(others.empty() ? 0 : sum / static_cast<double>(others.size()));
  }
  return explained;
}

Screened ScreeningRows::result() && {
  Screened screened{.sets = {sets_.begin(), sets_.end()}, .apart = std::move(apart_)};
  std::set<std::pair<std::size_t, std::size_t>> dropped;
  for (const ScreeningRow& row : rows_) {
    if (row.set_apart) dropped.emplace(row.set, row.sample);
  }
  for (std::size_t s = 0; s < screened.sets.size() && !dropped.empty(); ++s) {
    std::size_t sample = 0;
    std::erase_if(screened.sets[s].samples, [&](const measured::Sample&) {
      return dropped.contains({s, sample++});
    });
  }
  return screened;
}

using RowNumbers = std::vector<std::size_t>;

constexpr double kLightMargin = 0.98;      // as in measured/physics.h: clocks are not exact
constexpr double kShareBeyondLight = 0.2;  // of a class and type: then all its rows are doubtful
constexpr double kFarFromRest = 20;        // factor that neither physics nor a kernel can explain
constexpr double kFarFromClass = 100;      // as in measured/physics.h: bad tiles are slow, too
constexpr double kPlausible = 5;           // maximum error of physics on trusted rows
constexpr double kDisagreement = 2;        // between equal kernels
constexpr double kSlower = 2.5;            // than similar devices; an L4 at its power limit: 3 to 5
constexpr double kBesidePhysics = 2;       // maximum factor from physics of the rows compared with
constexpr double kAsOtherType = 1.6;       // slower than physics, and than the other type
constexpr double kMemoryAsOtherType = 1.3;  // where memory binds: the type has more bytes
constexpr double kFitsRate = 1.3;           // tolerance on another type's rate
constexpr std::size_t kLeastGroup = 3, kLeastComparable = 5;

// Regimes are searched among kernels of similar time, kBin at a time.
constexpr std::size_t kLeastRegimeRows = 20, kBin = 20;
constexpr double kRegimeApart = 1.5, kLeastRegimeShare = 0.1;
constexpr double kEmptyShare = 0.5;  // minimum gap as a share of the distance between regimes
constexpr double kExplained = 0.75;  // share of pairs across regimes that features order correctly

constexpr double kFitsUnit = 1.5;
struct Unit {
  double factor;
  std::string_view what;
};
constexpr std::array<Unit, 4> kUnits{
    Unit{60, "seconds for minutes"}, Unit{1e3, "a thousand, as ns for us"},
    Unit{3600, "seconds for hours"}, Unit{1e6, "a million, as ns for ms"}};

std::string by_class_and_type(const ScreeningRow& row) {
  return row.device->name + '\n' + row.op_class + '\n' + row.dtype;
}

std::string times(double log_ratio) {
  return fmt::format("{:.3g} x", std::exp(log_ratio));
}

RowNumbers select(const RowNumbers& rows, const std::function<bool(std::size_t)>& keep) {
  RowNumbers kept;
  std::ranges::copy_if(rows, std::back_inserter(kept), keep);
  return kept;
}

void screen_repeated(ScreeningRows& rows) {
  RowNumbers again;
  for (const auto& [question, same] :
       rows.groups([](const ScreeningRow& r) { return r.question; })) {
    std::set<double> seen;
    for (const std::size_t i : same) {
      if (!seen.insert(rows[i].measured_s).second) again.push_back(i);
    }
  }
  std::map<std::string, RowNumbers> by_group;
  for (const std::size_t i : again) by_group[by_class_and_type(rows[i])].push_back(i);
  for (const auto& [group, repeated] : by_group) {
    rows.set_apart(repeated, "the same kernel and time again; counted once");
  }
}

void screen_disagreeing(ScreeningRows& rows) {
  std::map<std::string, RowNumbers> apart;
  const auto groups = rows.groups(by_class_and_type);
  for (const auto& [question, same] :
       rows.groups([](const ScreeningRow& r) { return r.question; })) {
    if (same.size() < 2) continue;
    const std::vector<double> errors = rows.errors(same);
    const auto [least, most] = std::ranges::minmax(errors);
    if (most - least < std::log(kDisagreement)) continue;
    const std::string group = by_class_and_type(rows[same.front()]);
    // Of two rows, trust the one closer to the rest of its class.
    const double centre =
        same.size() > 2 ? base::median(errors) : rows.typical_error(groups.at(group));
    const double believed = *std::ranges::min_element(
        errors, {}, [&](double error) { return std::abs(error - centre); });
    for (const std::size_t i : same) {
      if (std::abs(rows[i].error() - believed) > 0.5 * std::log(kDisagreement)) {
        apart[group].push_back(i);
      }
    }
  }
  for (const auto& [group, far] : apart) {
    rows.set_apart(far,
                   fmt::format("equal kernels were measured more than {} x apart", kDisagreement));
  }
}

void screen_beyond_light(ScreeningRows& rows) {
  for (const auto& [group, own] : rows.groups(by_class_and_type)) {
    const RowNumbers beyond = select(
        own, [&](std::size_t i) { return rows[i].measured_s < kLightMargin * rows[i].light_s; });
    if (beyond.empty()) continue;
    const bool all = beyond.size() >= kLeastGroup &&
                     static_cast<double>(beyond.size()) >= kShareBeyondLight * own.size();
    rows.set_apart(all ? own : beyond,
                   fmt::format("{} of {} rows of {} are faster than its bytes and FLOPs at the "
                               "peaks of the machine; another type, or not the whole kernel",
                               beyond.size(), own.size(), rows[own.front()].dtype));
  }
}

std::string unit_slip(double log_ratio) {
  for (const Unit& unit : kUnits) {
    if (std::abs(std::abs(log_ratio) - std::log(unit.factor)) < std::log(kFitsUnit)) {
      return fmt::format("; a slip of units ({})?", unit.what);
    }
  }
  return "";
}

void screen_units(ScreeningRows& rows) {
  for (const auto& [group, own] : rows.groups(by_class_and_type)) {
    const double centre = rows.typical_error(own);
    RowNumbers others;
    for (const auto& [key, more] : rows.groups(by_class_and_type)) {
      if (key != group) others.insert(others.end(), more.begin(), more.end());
    }
    if (own.size() >= kLeastGroup && others.size() >= kLeastGroup) {
      const double rest = rows.typical_error(others);
      if (std::abs(centre) > std::log(kFarFromRest) && std::abs(rest) < std::log(kPlausible)) {
        rows.set_apart(own, fmt::format("they take {} what physics says, all other rows {}{}",
                                        times(centre), times(rest), unit_slip(centre)));
        continue;
      }
    }
    if (own.size() <= kLeastGroup) continue;
    const RowNumbers far = select(own, [&](std::size_t i) {
      return std::abs(rows[i].error() - centre) > std::log(kFarFromClass);
    });
    if (far.empty()) continue;
    const double typical = rows.typical_error(far) - centre;
    rows.set_apart(far, fmt::format("they take {} what the other rows of their class do, beside "
                                    "physics{}",
                                    times(typical), unit_slip(typical)));
  }
}

constexpr std::string_view kUnitsBind = "\nunits", kMemory = "\nmemory";

// Key: class and type on one device, bound by units or memory; "" if mostly host time.
std::string by_bound(const ScreeningRow& row) {
  constexpr double kMostlyKernel = 0.5;
  if (row.share < kMostlyKernel) return "";
  return by_class_and_type(row) + std::string(row.computes ? kUnitsBind : kMemory);
}

bool is_slower(double error, double others) {
  return error - others > std::log(kSlower) && error > std::log(kBesidePhysics) &&
         std::abs(others) < std::log(kBesidePhysics);
}

// "; that is the rate of f32": another type whose rate matches the rows.
std::string other_rate(const ScreeningRow& row, double error) {
  if (!row.multiplies) return "";
  const double own = row.device->matrix_peak(row.dtype).value;
  for (const auto& [dtype, passes] : row.device->matrix.passes) {
    const double other = row.device->matrix_peak(dtype).value;
    if (dtype == row.dtype || !(own > 0) || !(other > 0)) continue;
    if (std::abs(error - std::log(own / other)) < std::log(kFitsRate)) {
      return fmt::format("; that is the rate of {}", dtype);
    }
  }
  return "";
}

// Typical errors of the same class and kind of bound elsewhere.
struct Elsewhere {
  std::vector<double> devices = {};  // same type on similar devices
  std::string other_type = {};       // a type that is not slow on the same device
  double of_other_type = 0;
};

using RowGroups = std::map<std::string, RowNumbers>;

Elsewhere look_elsewhere(const ScreeningRows& rows, const RowGroups& groups,
                         const ScreeningRow& row, double error) {
  Elsewhere found;
  for (const auto& [key, more] : groups) {
    const ScreeningRow& other = rows[more.front()];
    if (key.empty() || more.size() < kLeastComparable || other.op_class != row.op_class ||
        other.computes != row.computes) {
      continue;
    }
    const bool same_type = other.dtype == row.dtype;
    const double typical = rows.typical_error(more);
    if (other.device->name != row.device->name) {
      const bool alike = other.device->execution == row.device->execution;
      if (same_type && alike) found.devices.push_back(typical);
    } else if (!same_type && std::abs(typical) < std::log(kBesidePhysics) &&
               error - typical > std::log(kAsOtherType)) {
      found.other_type = other.dtype;
      found.of_other_type = typical;
    }
  }
  return found;
}

// Whether rows of this class and type may have run in another type: their rate matches that type,
// some other type agrees with physics, and rows bound by memory are slow, too.
bool ran_in_other_type(const ScreeningRows& rows, const RowGroups& groups, const ScreeningRow& row,
                       const Elsewhere& other, double error) {
  if (!row.computes || other.other_type.empty() || error < std::log(kAsOtherType)) return false;
  const auto memory = groups.find(by_class_and_type(row) + std::string(kMemory));
  return !other_rate(row, error).empty() &&
         (memory == groups.end() || memory->second.size() < kLeastComparable ||
          rows.typical_error(memory->second) > std::log(kMemoryAsOtherType));
}

// Sets apart all rows of a class and type if one kind of bound is slow, because a correction
// learned from the others would be applied to these, too.
void screen_slow(ScreeningRows& rows) {
  const RowGroups groups = rows.groups(by_bound), classes = rows.groups(by_class_and_type);
  for (const auto& [group, own] : groups) {
    if (group.empty() || own.size() < kLeastComparable) continue;
    const ScreeningRow& row = rows[own.front()];
    const double error = rows.typical_error(own);
    const Elsewhere other = look_elsewhere(rows, groups, row, error);
    const std::string rate = row.computes ? other_rate(row, error) : "";
    const double alike = other.devices.empty() ? error : base::median(other.devices);
    const bool slow = is_slower(error, alike);
    const bool mislabelled = ran_in_other_type(rows, groups, row, other, error);
    if (!slow && !mislabelled) continue;
    const RowNumbers apart = select(classes.at(by_class_and_type(row)),
                                    [&](std::size_t i) { return !rows[i].set_apart; });
    rows.set_apart(
        apart,
        mislabelled
            ? fmt::format("rows of {} take {} what physics says, those of {} {}{}", row.dtype,
                          times(error), other.other_type, times(other.of_other_type), rate)
            : fmt::format("kernels bound by {} take {} what physics says, on {} alike "
                          "devices {}: a throttled board?{}",
                          row.computes ? "units" : "memory", times(error), other.devices.size(),
                          times(alike), rate));
  }
}

// The rows of one bin, split at the widest gap between their errors; empty without a clear gap.
struct Regimes {
  RowNumbers fast, slow;
  double apart = 0;  // difference of their medians
};

std::optional<Regimes> split_regimes(const ScreeningRows& rows, RowNumbers bin) {
  std::ranges::stable_sort(bin, {}, [&](std::size_t i) { return rows[i].error(); });
  const auto least = static_cast<std::size_t>(
      std::ceil(std::max<double>(kLeastGroup, kLeastRegimeShare * bin.size())));
  std::size_t cut = 0;
  double widest = 0;
  for (std::size_t i = least; i + least <= bin.size(); ++i) {
    const double gap = rows[bin[i]].error() - rows[bin[i - 1]].error();
    if (gap > widest) {
      widest = gap;
      cut = i;
    }
  }
  if (cut == 0) return std::nullopt;
  Regimes found{.fast = {bin.begin(), bin.begin() + static_cast<std::ptrdiff_t>(cut)},
                .slow = {bin.begin() + static_cast<std::ptrdiff_t>(cut), bin.end()}};
  found.apart = rows.typical_error(found.slow) - rows.typical_error(found.fast);
  if (found.apart < std::log(kRegimeApart) || widest < kEmptyShare * found.apart) {
    return std::nullopt;
  }
  return found;
}

// Whether analytical features explain the regimes: how often a slow kernel is predicted above a
// fast one from the errors of similar kernels.
bool are_explained(const ScreeningRows& rows, const RowNumbers& own, const RowNumbers& fast,
                   const RowNumbers& slow) {
  const std::vector<double> predicted = rows.explained_errors(own);
  std::map<std::size_t, double> of_row;
  for (std::size_t i = 0; i < own.size(); ++i) of_row[own[i]] = predicted[i];
  double above = 0;
  for (const std::size_t s : slow) {
    for (const std::size_t f : fast) above += of_row[s] > of_row[f] ? 1 : 0;
  }
  return above > kExplained * static_cast<double>(fast.size() * slow.size());
}

void screen_regimes(ScreeningRows& rows) {
  for (auto [group, own] : rows.groups(by_class_and_type)) {
    std::erase_if(own, [&](std::size_t i) { return rows[i].names_schedule; });
    if (own.size() < kLeastRegimeRows) continue;
    std::ranges::stable_sort(own, {}, [&](std::size_t i) { return rows[i].predicted_s; });
    const std::size_t bins = std::max<std::size_t>(1, own.size() / kBin);
    RowNumbers fast, slow;
    double apart = 0;
    for (std::size_t b = 0; b < bins; ++b) {
      const auto found = split_regimes(
          rows, {own.begin() + static_cast<std::ptrdiff_t>(b * own.size() / bins),
                 own.begin() + static_cast<std::ptrdiff_t>((b + 1) * own.size() / bins)});
      if (!found) continue;
      fast.insert(fast.end(), found->fast.begin(), found->fast.end());
      slow.insert(slow.end(), found->slow.begin(), found->slow.end());
      apart = std::max(apart, found->apart);
    }
    const bool slow_is_smaller = slow.size() <= fast.size();
    if ((slow_is_smaller ? slow : fast).size() < kLeastComparable ||
        are_explained(rows, own, fast, slow)) {
      continue;
    }
    rows.set_apart(slow_is_smaller ? slow : fast,
                   fmt::format("times fall into two groups up to {} apart, and nothing of a kernel "
                               "tells which; of {} rows these are the {} ones (two hosts?)",
                               times(apart), fast.size() + slow.size(),
                               slow_is_smaller ? "slower" : "faster"));
  }
}

}  // namespace

Screened screen(const analytical::CostModel& prior, std::span<const measured::SampleSet> sets,
                std::span<const hwdesc::Device> devices, int jobs) {
  ScreeningRows rows(prior, sets, devices, jobs);
  screen_repeated(rows);
  screen_disagreeing(rows);
  screen_beyond_light(rows);
  screen_units(rows);
  screen_slow(rows);
  screen_regimes(rows);
  return std::move(rows).result();
}

std::string SetApart::text() const {
  constexpr std::size_t kShown = 8;
  std::string lines;
  for (std::size_t i = 0; i < rows.size() && i < kShown; ++i) {
    const bool new_set = i == 0 || rows[i].first != rows[i - 1].first;
    lines += new_set
                 ? fmt::format("{}{} line {}", i == 0 ? "" : "; ", rows[i].first, rows[i].second)
                 : fmt::format(", {}", rows[i].second);
  }
  return fmt::format("{} {}: {} rows set apart ({}{}): {}", device, op_class, rows.size(), lines,
                     rows.size() > kShown ? ", ..." : "", reason);
}

}  // namespace tilecast::hybrid
