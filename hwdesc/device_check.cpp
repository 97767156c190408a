#include "hwdesc/device_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "hwdesc/device_schema.h"
#include "hwdesc/device_yaml.h"

namespace tilecast::hwdesc {
namespace {

// A larger deviation means another machine, or a typing error.
constexpr double kAbsurdFactor = 2.0;

const MemoryLevel* level_named(const Device& device, std::string_view name) {
  for (const MemoryLevel& level : device.memory) {
    if (level.name == name) return &level;
  }
  return nullptr;
}

// Recomputes a published quantity of the whole chip from the parts; nullopt if no part has it.
std::optional<double> recompute(const Device& device, const std::string& quantity) {
  const double cores = device.cores_per_chip;
  const auto dot = quantity.find('.');
  if (dot != std::string::npos) {
    const MemoryLevel* level = level_named(device, quantity.substr(0, dot));
    if (!level) return std::nullopt;
    if (quantity.ends_with(".bandwidth")) return cores * level->bandwidth.value;
    if (quantity.ends_with(".capacity")) {
      const bool innermost = level == &device.scratchpad();  // one per worker
      return cores * (innermost ? device.multiplexing.workers : 1) * level->capacity.value;
    }
    return std::nullopt;
  }
  // Data sheets count a fused multiply-add on the vector lanes as two operations.
  if (quantity == "vector_fma") return 2 * cores * device.vector_peak().value;
  const double peak = cores * device.matrix_peak(quantity).value;
  if (peak == 0) return std::nullopt;
  return peak;
}

CheckResult compare(const Device& device, const PublishedPeak& published, double tolerance) {
  CheckResult result;
  result.what = published.quantity + " per chip";
  result.published_si = published.value_si;
  const std::optional<double> computed = recompute(device, published.quantity);
  if (!computed) {
    result.message = fmt::format("{}: published by {}, but no part of {} gives it",
                                 published.quantity, published.source, device.name);
    return result;
  }
  const UnitKind kind = published_kind(published.quantity);
  result.computed_si = *computed;
  result.deviation = *computed / published.value_si - 1;
  const bool agrees = std::abs(result.deviation) <= tolerance;
  result.verdict = agrees ? Verdict::kAgrees : Verdict::kDiffers;
  const bool absurd = *computed > kAbsurdFactor * published.value_si ||
                      *computed * kAbsurdFactor < published.value_si;
  result.message =
      fmt::format("{}: computed {}, published {} ({}), {:+.1f} %{}", published.quantity,
                  format_quantity(*computed, kind), format_quantity(published.value_si, kind),
                  published.source, 100 * result.deviation, absurd ? ": a different machine" : "");
  return result;
}

class RoofChecks {
 public:
  RoofChecks(const Device& device, std::vector<CheckResult>& results)
      : device_(device), results_(results) {}

  // `quantity`: its name in data sheets; published quantities are compared by compare() instead.
  void positive(const std::string& what, double value, std::string_view quantity = "") {
    const bool plausible = std::isfinite(value) && value > 0;
    const auto published = [&](const PublishedPeak& peak) { return peak.quantity == quantity; };
    if (plausible && std::ranges::any_of(device_.published, published)) return;
    results_.push_back(
        {.what = what,
         .computed_si = value,
         .verdict = plausible ? Verdict::kNotPublished : Verdict::kDiffers,
         .message = plausible
                        ? fmt::format("{}: finite and positive, nothing to compare with", what)
                        : fmt::format("{}: got {}, expected a finite positive rate", what, value)});
  }
  void sourced(const std::string& block, const Provenance& provenance) {
    const bool has_source = !provenance.source.empty();
    const bool estimated = has_source && provenance.estimated;
    results_.push_back({.what = block + ".source",
                        .verdict = !has_source ? Verdict::kDiffers
                                   : estimated ? Verdict::kNotPublished
                                               : Verdict::kAgrees,
                        .message = fmt::format("{}: {}", block,
                                               !has_source ? "has no source"
                                               : estimated ? "estimated, as its source says"
                                                           : "has a source")});
  }

 private:
  const Device& device_;
  std::vector<CheckResult>& results_;
};

void check_memory(const Device& device, RoofChecks& roofs) {
  for (const MemoryLevel& level : device.memory) {
    roofs.positive(level.name + " sustained bandwidth", level.sustained_read().value);
    roofs.positive(level.name + " capacity", level.capacity.value, level.name + ".capacity");
    roofs.sourced("memory." + level.name, level.provenance);
  }
  for (std::size_t i = 0; i < device.engines.size(); ++i) {
    roofs.sourced(
        fmt::format("transfer.{}_to_{}", device.memory[i].name, device.memory[i + 1].name),
        device.engines[i].provenance);
  }
}

void check_units(const Device& device, RoofChecks& roofs) {
  roofs.sourced("device", device.provenance);
  roofs.positive("vector peak", device.vector_peak().value, "vector_fma");
  roofs.sourced("vector", device.vector.provenance);
  roofs.positive("transcendental rate", device.transcendental.per_cycle * device.clock.value);
  roofs.sourced("transcendental", device.transcendental.provenance);
  roofs.positive("cross-lane rate", device.cross_lane.elements_per_cycle * device.clock.value);
  roofs.sourced("cross_lane", device.cross_lane.provenance);
  roofs.sourced("dispatch", device.dispatch.provenance);
  if (device.energy) roofs.sourced("energy", device.energy->provenance);
  if (device.matrix.count == 0) return;
  for (const auto& [dtype, passes] : device.matrix.passes) {
    roofs.positive(dtype + " matrix peak", device.matrix_peak(dtype).value, dtype);
  }
  roofs.sourced("matrix", device.matrix.provenance);
}

}  // namespace

std::vector<CheckResult> check(const Device& device, double tolerance) {
  std::vector<CheckResult> results;
  for (const PublishedPeak& published : device.published) {
    results.push_back(compare(device, published, tolerance));
  }
  RoofChecks roofs(device, results);
  check_memory(device, roofs);
  check_units(device, roofs);
  for (const std::string& number : device.outdated) {
    results.push_back({.what = number.substr(0, number.find(':')), .message = number});
  }
  return results;
}

namespace {

constexpr std::size_t kNearestShown = 3;

struct Fact {
  std::string_view what;
  double profile = 0, described = 0;
  UnitKind unit = UnitKind::kCount;

  [[nodiscard]] double distance() const { return std::abs(std::log(profile / described)); }
  [[nodiscard]] bool agrees() const { return std::abs(profile / described - 1) <= kFactTolerance; }
};

// The facts that both the profile and the description state.
std::vector<Fact> comparable_facts(const MachineFacts& facts, const Device& device) {
  const bool has_bf16 = device.matrix_peak("bf16").value > 0;
  const double flops = device.matrix_peak(has_bf16 ? "bf16" : "f16").value;
  std::vector<Fact> result = {{"peak bf16 rate", facts.matrix_flops, flops, UnitKind::kFlopRate},
                              {"memory bandwidth", facts.bandwidth,
                               device.main_memory().bandwidth.value, UnitKind::kBandwidth},
                              {"memory capacity", facts.capacity_bytes,
                               device.main_memory().capacity.value, UnitKind::kCapacity},
                              {"clock", facts.clock_hz, device.clock.value, UnitKind::kFrequency},
                              {"workers", facts.workers,
                               static_cast<double>(device.multiplexing.workers), UnitKind::kCount}};
  std::erase_if(result, [](const Fact& fact) { return !(fact.profile > 0 && fact.described > 0); });
  return result;
}

struct Candidate {
  std::string preset;
  bool named = false;
  std::ptrdiff_t facts = 0, agreeing = 0;
  double distance = 0;  // sum over facts of |log ratio|

  [[nodiscard]] bool is_near() const { return named || (agreeing >= 2 && facts - agreeing <= 1); }
  [[nodiscard]] bool is_better_than(const Candidate& other) const {
    if (named != other.named) return named;
    if (agreeing != other.agreeing) return agreeing > other.agreeing;
    return distance < other.distance;
  }
  [[nodiscard]] std::string describe() const {
    return fmt::format("{} of {} facts agree with {}", agreeing, facts, preset);
  }
};

char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool has_name(const Device& device, std::string_view name) {
  std::string_view rest = device.profile_names;
  while (!rest.empty() && !name.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view known = base::trim(rest.substr(0, end));
    if (std::ranges::equal(known, name, {}, lower_case, lower_case)) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::vector<Candidate> candidates_for(const MachineFacts& facts) {
  std::vector<Candidate> candidates;
  for (const std::string& preset : preset_names()) {
    const Device device = load_device(preset);
    Candidate candidate{.preset = preset, .named = has_name(device, facts.name)};
    for (const Fact& fact : comparable_facts(facts, device)) {
      ++candidate.facts;
      candidate.agreeing += fact.agrees() ? 1 : 0;
      candidate.distance += fact.distance();
    }
    candidates.push_back(std::move(candidate));
  }
  std::ranges::stable_sort(
      candidates, [](const Candidate& a, const Candidate& b) { return a.is_better_than(b); });
  return candidates;
}

}  // namespace

DeviceGuess guess_device(const MachineFacts& facts) {
  const std::vector<Candidate> candidates = candidates_for(facts);
  const bool says_something =
      !facts.name.empty() || (!candidates.empty() && candidates[0].facts > 0);
  if (!says_something) return {.preset = {}, .why = "the profile states nothing of its device"};
  if (!candidates.empty() && candidates.front().is_near()) {
    const Candidate& best = candidates.front();
    std::string why = best.named
                          ? fmt::format("profile_names of {} has '{}'", best.preset, facts.name)
                          : fmt::format("no preset is called '{}'", facts.name);
    if (facts.name.empty()) why = "the profile does not name it";
    if (best.facts > 0) why += "; " + best.describe();
    if (candidates.size() > 1 && !candidates[1].is_better_than(best) &&
        !best.is_better_than(candidates[1])) {
      why += "; as near: " + candidates[1].preset;
    }
    return {best.preset, why};
  }
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < std::min(kNearestShown, candidates.size()); ++i) {
    nearest.push_back(candidates[i].describe());
  }
  return {.preset = {},
          .why = fmt::format("no preset is near{}; nearest: {}",
                             facts.name.empty() ? "" : fmt::format(" '{}'", facts.name),
                             fmt::join(nearest, ", "))};
}

std::vector<std::string> disagreements(const MachineFacts& facts, const Device& device) {
  std::vector<std::string> result;
  for (const Fact& fact : comparable_facts(facts, device)) {
    if (fact.agrees()) continue;
    result.push_back(fmt::format("{}: {} in the profile, {} in {}", fact.what,
                                 format_quantity(fact.profile, fact.unit),
                                 format_quantity(fact.described, fact.unit), device.name));
  }
  return result;
}

}  // namespace tilecast::hwdesc
