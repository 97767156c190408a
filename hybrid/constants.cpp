#include "hybrid/constants.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tilecast::hybrid {
namespace {

using hwdesc::Calibration;
using hwdesc::Device;

constexpr double kFarthest = 10;  // maximum factor between a constant and its description

// A device's description of a constant; nullopt if it has no such part.
struct Described {
  bool estimated = false;
  double share = 0;  // share of a published peak, which limits it to 1; 0: no limit
};

// Prior uncertainty of each constant of a description: small for blocks with published numbers,
// larger for blocks marked `estimated`. Sustained shares of writes, links and matrix units are not
// published anywhere.
struct Rule {
  std::string_view name;
  double Calibration::*member;
  double published, estimated;  // standard deviations of the prior
  std::optional<Described> (*of)(const Device&);
};

template <auto Member>
std::optional<Described> of_engines(const Device& device) {
  const auto takes_time = [](const auto& engine) { return (engine.*Member).value > 0; };
  if (!std::ranges::any_of(device.engines, takes_time)) return std::nullopt;
  return Described{device.engines.front().provenance.estimated};
}

template <auto Member>
std::optional<Described> of_unit(const Device& device) {
  return Described{(device.*Member).provenance.estimated};
}

using Result = std::optional<Described>;
constexpr Rule kRules[] = {
    {"memory_bandwidth", &Calibration::memory_bandwidth, 0.03, 0.05,
     [](const Device& d) -> Result {
       return Described{d.main_memory().provenance.estimated, d.main_memory().efficiency};
     }},
    {"memory_write", &Calibration::memory_write, 0.3, 0.3,
     [](const Device& d) -> Result {
       return Described{true,
                        d.main_memory().write_efficiency.value_or(d.main_memory().efficiency)};
     }},
    {"cache_bandwidth", &Calibration::cache_bandwidth, 0.1, 0.2,
     [](const Device& d) -> Result {
       if (d.memory.size() <= 2) return std::nullopt;
       return Described{d.memory[1].provenance.estimated, d.memory[1].efficiency};
     }},
    {"memory_latency", &Calibration::memory_latency, 0.2, 0.5,
     [](const Device& d) -> Result {
       if (d.main_memory().latency.value <= 0) return std::nullopt;
       return Described{d.main_memory().provenance.estimated};
     }},
    {"transfer_setup", &Calibration::transfer_setup, 0.2, 0.5,
     of_engines<&hwdesc::TransferEngine::setup>},
    {"iteration_overhead", &Calibration::iteration_overhead, 0.2, 0.5,
     of_engines<&hwdesc::TransferEngine::iteration_overhead>},
    {"matrix", &Calibration::matrix, 0.1, 0.1,
     [](const Device& d) -> Result {
       if (d.matrix.count <= 0) return std::nullopt;
       return Described{d.matrix.provenance.estimated, d.matrix.efficiency};
     }},
    {"vector", &Calibration::vector, 0.1, 0.3, of_unit<&Device::vector>},
    {"transcendental", &Calibration::transcendental, 0.1, 0.3, of_unit<&Device::transcendental>},
    {"cross_lane", &Calibration::cross_lane, 0.2, 0.5, of_unit<&Device::cross_lane>},
    {"network", &Calibration::network, 0.5, 0.5,
     [](const Device& d) -> Result {
       if (!d.interconnect) return std::nullopt;
       return Described{true, d.interconnect->efficiency};
     }},
};
constexpr std::string_view kKernelOverhead = "kernel_overhead";
constexpr std::string_view kDispatch = "dispatch";
constexpr double kDispatchPrior = 0.5;
constexpr double kDispatchGuess = 10e-6;  // seconds, if none is described
// The time between two kernels is not published; launches on GPUs take some us.
constexpr double kOverheadPrior = 5e-6;  // seconds
constexpr double kMostOverhead = 500e-6;

Constant multiplier(const Rule& rule, const Described& of, const Device& device) {
  const double now = device.calibration.*rule.member;
  const double most = of.share > 0 ? std::max(1 / of.share / now, 1.0) : kFarthest;
  return {.name = std::string(rule.name),
          .is_share = of.share > 0,
          .described = now,
          .prior = of.estimated ? rule.estimated : rule.published,
          .low = -std::log(kFarthest),
          .high = std::log(std::min(most, kFarthest)),
          .member = rule.member};
}

Constant kernel_overhead(const Device& device) {
  const double now = device.calibration.kernel_overhead.value;
  return {.name = std::string(kKernelOverhead),
          .is_time = true,
          .described = now,
          .prior = 1,
          .low = -now / kOverheadPrior,
          .high = kMostOverhead / kOverheadPrior,
          .linear_unit = kOverheadPrior};
}

// Classes whose measured times include a dispatch, with their described values.
std::map<std::string, double> dispatched_classes(std::span<const measured::SampleSet> sets,
                                                 const Device& device) {
  std::map<std::string, double> classes;
  for (const measured::SampleSet& set : sets) {
    for (const measured::Sample& sample : set.samples) {
      if (!sample.holds_dispatch) continue;
      const std::string& op_class = set.works[sample.work].op_class;
      classes.emplace(op_class, measured::dispatch_of(op_class, set.manifest, device).value);
    }
  }
  return classes;
}

}  // namespace

double Constant::value(double x) const {
  return linear_unit > 0 ? std::max(described + x * linear_unit, 0.0) : described * std::exp(x);
}

std::vector<Constant> constants_of(const Device& device, std::span<const measured::SampleSet> sets,
                                   const std::set<std::string>& fixed) {
  std::vector<Constant> constants;
  for (const Rule& rule : kRules) {
    const std::optional<Described> of = rule.of(device);
    if (of && !fixed.contains(std::string(rule.name))) {
      constants.push_back(multiplier(rule, *of, device));
    }
  }
  if (!fixed.contains(std::string(kKernelOverhead))) constants.push_back(kernel_overhead(device));
  if (fixed.contains(std::string(kDispatch))) return constants;
  for (const auto& [op_class, seconds] : dispatched_classes(sets, device)) {
    constants.push_back({.name = std::string(kDispatch) + "." + op_class,
                         .is_time = true,
                         .described = seconds > 0 ? seconds : kDispatchGuess,
                         .prior = kDispatchPrior,
                         .low = -std::log(kFarthest),
                         .high = std::log(kFarthest)});
  }
  return constants;
}

std::vector<std::string_view> constant_names() {
  std::vector<std::string_view> names;
  for (const Rule& rule : kRules) names.push_back(rule.name);
  names.push_back(kKernelOverhead);
  names.push_back(kDispatch);
  return names;
}

Device device_at(const Device& device, std::span<const Constant> constants,
                 std::span<const double> x) {
  Device result = device;
  Calibration& c = result.calibration;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const Constant& constant = constants[i];
    const double value = constant.value(x[i]);
    if (constant.member != nullptr) {
      c.*constant.member = value;
    } else if (constant.name == kKernelOverhead) {
      c.kernel_overhead = Seconds{value};
    } else {
      c.dispatch[constant.name.substr(kDispatch.size() + 1)] = Seconds{value};
    }
  }
  return result;
}

}  // namespace tilecast::hybrid
