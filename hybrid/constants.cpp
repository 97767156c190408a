#include "hybrid/constants.h"

#include <algorithm>
#include <cmath>

namespace tilecast::hybrid {
namespace {

using hwdesc::Calibration;
using hwdesc::Device;

// How well each constant of a description is known before anything was measured: blocks whose
// numbers somebody publishes well, blocks marked `estimated` less so. Shares that are sustained of
// writes and of links are published by nobody.
struct Rule {
  std::string_view name;
  double published, estimated;  // standard deviations of the prior
  double* (*field)(Calibration&, const std::string&);
  bool (*applies)(const Device&);
  bool (*is_estimated)(const Device&);
  double (*headroom)(const Device&);  // largest multiplier
};

constexpr double kFarthest = 10;  // no constant moves further than this from its description

double unlimited(const Device&) {
  return kFarthest;
}

template <double Calibration::*Member>
double* member(Calibration& calibration, const std::string&) {
  return &(calibration.*Member);
}

bool has_cache(const Device& device) {
  return device.memory.size() > 2;
}
bool has_matrix(const Device& device) {
  return device.matrix.count > 0;
}
bool always(const Device&) {
  return true;
}
bool has_setup(const Device& device) {
  return std::ranges::any_of(device.engines, [](const auto& e) { return e.setup.value > 0; });
}
bool has_iteration_overhead(const Device& device) {
  return std::ranges::any_of(device.engines,
                             [](const auto& e) { return e.iteration_overhead.value > 0; });
}
bool has_network(const Device& device) {
  return device.interconnect.has_value();
}
bool has_latency(const Device& device) {
  return device.main_memory().latency.value > 0;
}

double memory_headroom(const Device& device) {
  return 1 / device.main_memory().efficiency;
}
double write_headroom(const Device& device) {
  const hwdesc::MemoryLevel& memory = device.main_memory();
  return 1 / memory.write_efficiency.value_or(memory.efficiency);
}
double network_headroom(const Device& device) {
  return 1 / device.interconnect->efficiency;
}
double cache_headroom(const Device& device) {
  return 1 / device.memory[1].efficiency;
}
double matrix_headroom(const Device& device) {
  return 1 / device.matrix.efficiency;
}

bool memory_estimated(const Device& d) {
  return d.main_memory().provenance.estimated;
}
bool cache_estimated(const Device& d) {
  return d.memory[1].provenance.estimated;
}
bool engine_estimated(const Device& d) {
  return d.engines.front().provenance.estimated;
}
bool matrix_estimated(const Device& d) {
  return d.matrix.provenance.estimated;
}
bool vector_estimated(const Device& d) {
  return d.vector.provenance.estimated;
}
bool transcendental_estimated(const Device& d) {
  return d.transcendental.provenance.estimated;
}
bool cross_lane_estimated(const Device& d) {
  return d.cross_lane.provenance.estimated;
}

constexpr Rule kRules[] = {
    {"memory_bandwidth", 0.03, 0.05, member<&Calibration::memory_bandwidth>, always,
     memory_estimated, memory_headroom},
    {"memory_write", 0.3, 0.3, member<&Calibration::memory_write>, always, always, write_headroom},
    {"cache_bandwidth", 0.1, 0.2, member<&Calibration::cache_bandwidth>, has_cache, cache_estimated,
     cache_headroom},
    {"memory_latency", 0.2, 0.5, member<&Calibration::memory_latency>, has_latency,
     memory_estimated, unlimited},
    {"transfer_setup", 0.2, 0.5, member<&Calibration::transfer_setup>, has_setup, engine_estimated,
     unlimited},
    {"iteration_overhead", 0.2, 0.5, member<&Calibration::iteration_overhead>,
     has_iteration_overhead, engine_estimated, unlimited},
    {"matrix", 0.03, 0.1, member<&Calibration::matrix>, has_matrix, matrix_estimated,
     matrix_headroom},
    {"vector", 0.1, 0.3, member<&Calibration::vector>, always, vector_estimated, unlimited},
    {"transcendental", 0.1, 0.3, member<&Calibration::transcendental>, always,
     transcendental_estimated, unlimited},
    {"cross_lane", 0.2, 0.5, member<&Calibration::cross_lane>, always, cross_lane_estimated,
     unlimited},
    {"network", 0.5, 0.5, member<&Calibration::network>, has_network, always, network_headroom},
};
constexpr std::string_view kKernelOverhead = "kernel_overhead";
constexpr std::string_view kDispatch = "dispatch";
constexpr double kDispatchPrior = 0.5;
constexpr double kDispatchGuess = 10e-6;  // seconds, where nothing is described

double* kernel_overhead_of(Calibration& calibration, const std::string&) {
  return &calibration.kernel_overhead.value;
}

double* dispatch_of_class(Calibration& calibration, const std::string& name) {
  return &calibration.dispatch[name.substr(kDispatch.size() + 1)].value;
}

Constant multiplier(const Rule& rule, const Device& device) {
  Calibration described = device.calibration;
  const double now = *rule.field(described, "");
  const double headroom = std::max(rule.headroom(device) / now, 1.0);
  return {.name = std::string(rule.name),
          .described = now,
          .prior = rule.is_estimated(device) ? rule.estimated : rule.published,
          .low = -std::log(kFarthest),
          .high = std::log(std::min(headroom, kFarthest)),
          .field = rule.field};
}

Constant kernel_overhead(const Device& device) {
  const double unit = std::max(device.main_memory().latency.value, 1e-7);
  const double now = device.calibration.kernel_overhead.value;
  return {.name = std::string(kKernelOverhead),
          .is_time = true,
          .described = now,
          .prior = 1,
          .low = -now / unit,
          .high = 100,
          .linear_unit = unit,
          .field = kernel_overhead_of};
}

// Classes whose measured times hold a dispatch, in order, each with the value described for it.
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
    if (!fixed.contains(std::string(rule.name)) && rule.applies(device)) {
      constants.push_back(multiplier(rule, device));
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
                         .high = std::log(kFarthest),
                         .field = dispatch_of_class});
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

bool same_constants(const Calibration& a, const Calibration& b) {
  constexpr double kDigits = 1e-5;  // calibrated_yaml() writes six
  const auto same = [](double x, double y) {
    return std::abs(x - y) <= kDigits * std::max(std::abs(x), std::abs(y));
  };
  Calibration left = a, right = b;
  return same(a.kernel_overhead.value, b.kernel_overhead.value) &&
         std::ranges::all_of(kRules,
                             [&](const Rule& rule) {
                               return same(*rule.field(left, ""), *rule.field(right, ""));
                             }) &&
         std::ranges::equal(a.dispatch, b.dispatch, [&](const auto& x, const auto& y) {
           return x.first == y.first && same(x.second.value, y.second.value);
         });
}

Device device_at(const Device& device, std::span<const Constant> constants,
                 std::span<const double> x) {
  Device result = device;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    *constants[i].field(result.calibration, constants[i].name) = constants[i].value(x[i]);
  }
  return result;
}

}  // namespace tilecast::hybrid
