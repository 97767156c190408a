#include "hwdesc/device_guess.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "hwdesc/device_yaml.h"

namespace tilecast::hwdesc {
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
