#include "measured/physics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <unordered_set>

#include "analytical/analytical_model.h"
#include "analytical/roofline.h"
#include "analytical/transfer.h"
#include "analytical/winograd.h"
#include "base/parallel.h"
#include "base/statistics.h"

namespace tilecast::measured {
namespace {

using analytical::Bound;

constexpr double kLightMargin = 0.98;  // clocks and timers are not exact
constexpr double kSlipMargin = 1.5;
constexpr double kPlausibleRatio = 30;  // largest ratio of a set's median time to the estimate
constexpr std::size_t kReferenceRows = 101;

struct Slip {
  double factor;
  std::string_view what;
};
constexpr std::array<Slip, 4> kSlips{
    Slip{1e3, "1000 x too long: nanoseconds written where the column took microseconds?"},
    Slip{1e6, "1e6 x too long: nanoseconds written where the column took milliseconds?"},
    Slip{1e-3, "1000 x too short: microseconds in a column of nanoseconds?"},
    Slip{1e-6, "1e6 x too short: milliseconds in a column of nanoseconds?"},
};

const Slip* slip_of(double ratio) {
  const auto found = std::ranges::find_if(kSlips, [&](const Slip& slip) {
    return ratio > slip.factor / kSlipMargin && ratio < slip.factor * kSlipMargin;
  });
  return found == kSlips.end() ? nullptr : &*found;
}

// The memory level that may still hold data of the previous launch; levels private to a worker do
// not count.
const hwdesc::MemoryLevel* warm_cache(const hwdesc::Device& device) {
  const bool cached = device.execution != hwdesc::Execution::kScratchpad;
  return cached && device.memory.size() > 2 ? &device.memory[1] : nullptr;
}

// The typical ratio of time to estimate; 1 if the typical ratio is implausible itself.
double reference(const std::vector<double>& ratios) {
  const double typical = base::upper_median(ratios);
  const bool plausible = typical > 1 / kPlausibleRatio && typical < kPlausibleRatio;
  return plausible ? typical : 1;
}

// A rough estimate: the light time plus launches and latencies, which dominate small work.
double rough_s(const Sample& sample, const Workload& work, Seconds light, const SampleSet& samples,
               const hwdesc::Device& device) {
  double launches = 0;
  for (const WorkloadPart& part : work.parts) launches += part.launches;
  const double each = device.dispatch.kernel_launch.value + 2 * device.main_memory().latency.value;
  const Seconds host =
      sample.holds_dispatch ? dispatch_of(work.op_class, samples.manifest, device) : Seconds{0};
  return light.value + launches * each + host.value;
}

// A set with only the samples in `picked`.
SampleSet subset(const SampleSet& samples, const std::vector<std::size_t>& picked) {
  SampleSet some;
  some.manifest = samples.manifest;
  std::vector<std::size_t> moved(samples.works.size(), samples.works.size());
  for (const std::size_t i : picked) {
    Sample sample = samples.samples[i];
    std::size_t& work = moved[sample.work];
    if (work == samples.works.size()) {
      work = some.works.size();
      some.works.push_back(samples.works[sample.work]);
    }
    sample.work = work;
    some.samples.push_back(std::move(sample));
  }
  return some;
}

// measured / analytical; 0 if the model has no answer.
std::vector<double> analytical_ratios(const SampleSet& samples,
                                      const std::vector<std::size_t>& picked,
                                      const hwdesc::Device& device, int jobs) {
  const SampleSet some = subset(samples, picked);
  const std::vector<Prediction> answers =
      predict(some, analytical::AnalyticalModel(), device, jobs);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const double expected = answers[i].answered ? answers[i].comparable().value : 0;
    ratios.push_back(expected > 0 ? some.samples[i].measured.value / expected : 0);
  }
  return ratios;
}

// Candidates are found with the rough estimate and confirmed with the analytical model.
std::vector<RowFault> unit_slips(const SampleSet& samples, const std::vector<Seconds>& light,
                                 const hwdesc::Device& device, int jobs) {
  std::vector<double> rough;
  for (const Sample& sample : samples.samples) {
    rough.push_back(sample.measured.value / rough_s(sample, samples.works[sample.work],
                                                    light[sample.work], samples, device));
  }
  const double usual = reference(rough);
  std::vector<std::size_t> suspects, others;
  const std::size_t step = rough.size() / kReferenceRows + 1;
  constexpr double kSuspicious = 100;
  for (std::size_t i = 0; i < rough.size(); ++i) {
    const double ratio = rough[i] / usual;
    if (ratio > kSuspicious || ratio < 1 / kSuspicious) {
      suspects.push_back(i);
    } else if (i % step == 0) {
      others.push_back(i);
    }
  }
  std::vector<RowFault> faults;
  if (suspects.empty()) return faults;
  std::vector<double> trusted = analytical_ratios(samples, others, device, jobs);
  std::erase(trusted, 0.0);
  const double typical = trusted.empty() ? 1 : reference(trusted);
  const std::vector<double> ratios = analytical_ratios(samples, suspects, device, jobs);
  for (std::size_t i = 0; i < suspects.size(); ++i) {
    const Slip* slip = slip_of(ratios[i] / typical);
    if (slip == nullptr) continue;
    const Sample& sample = samples.samples[suspects[i]];
    faults.push_back({sample.line, RowFault::Kind::kUnitSlip,
                      fmt::format("column 'runtime_ns': {:.4g} us on {} is {:.4g} x the estimate, "
                                  "of this set typical is {:.3g} x; {}",
                                  sample.measured.value * 1e6, samples.works[sample.work].name,
                                  ratios[i], typical, slip->what),
                      samples.measured_on});
  }
  return faults;
}

// The fraction of main memory's time that a launch needs if its arrays may already be in the cache.
double warm_share(const analytical::Traffic& traffic, const hwdesc::MemoryLevel& cache,
                  const hwdesc::Device& device) {
  const double bytes = (traffic.read + traffic.write).value;
  const double cold = bytes > 0 ? std::max(0.0, 1 - cache.capacity.value / bytes) : 0;
  return std::min(1.0, std::max(cold, device.main_memory().bandwidth / cache.bandwidth));
}

// Whether f32 products are faster than possible on the vector lanes and on full-precision
// multipliers in the matrix unit (multipliers of 24-bit mantissas are at least four times as large
// as those of f16).
bool rounds_f32(const hwdesc::Device& device) {
  constexpr double kFasterThanLanes = 1.5, kHalfOfF16 = 0.49;
  const double f32 = device.matrix_peak("f32").value;
  return device.execution == hwdesc::Execution::kSimt &&
         f32 > kFasterThanLanes * 2 * device.vector_peak().value &&
         f32 > kHalfOfF16 * device.matrix_peak("f16").value;
}

bool multiplies_f32(const ir::Kernel& kernel) {
  return std::ranges::any_of(kernel.ops(), [&](const ir::Op& op) {
    return ir::has(op.opcode, ir::Trait::kTwoFactors) &&
           kernel.op(op.operands.front()).shape.dtype == ir::DType::kF32;
  });
}

}  // namespace

Seconds light_time(const ir::Kernel& kernel, const hwdesc::Device& device) {
  const hwdesc::MemoryLevel* cache = warm_cache(device);
  if (cache == nullptr) return analytical::speed_of_light(kernel, device);
  const analytical::KernelQuery query{kernel};
  const analytical::Estimate roofs =
      *analytical::RooflineModel().estimate(std::span(&query, 1), device).front();
  const auto roof = [&](Bound bound) { return roofs.bounds[static_cast<std::size_t>(bound)]; };
  const Seconds read = roof(Bound::kHbmRead), write = roof(Bound::kHbmWrite);
  const Seconds memory = (device.main_memory().full_duplex ? std::max(read, write) : read + write) *
                         warm_share({roofs.hbm_read, roofs.hbm_write}, *cache, device);
  const Seconds matrix = roof(Bound::kMatrix) * analytical::least_multiplications(kernel);
  return std::max({memory, matrix, roof(Bound::kVector), roof(Bound::kNetwork)});
}

Seconds light_time(const Workload& work, const hwdesc::Device& device) {
  Seconds total{0};
  for (const WorkloadPart& part : work.parts) {
    if (!part.asynchronous) total += light_time(part.kernel, device) * part.launches;
  }
  return total;
}

std::vector<RowFault> physics_faults(const SampleSet& samples, const hwdesc::Device& device,
                                     int jobs) {
  if (samples.samples.empty()) return {};
  std::vector<Seconds> light(samples.works.size());
  base::parallel_for(light.size(), jobs,
                     [&](std::size_t i) { light[i] = light_time(samples.works[i], device); });
  std::vector<RowFault> faults = unit_slips(samples, light, device, jobs);
  std::unordered_set<int> slipped;
  for (const RowFault& fault : faults) slipped.insert(fault.line);
  for (const Sample& sample : samples.samples) {
    const Seconds least = light[sample.work];
    if (sample.measured >= least * kLightMargin || slipped.contains(sample.line)) continue;
    faults.push_back({sample.line, RowFault::Kind::kFasterThanLight,
                      fmt::format("column 'runtime_ns': {:.4g} us on the device for {}, expected "
                                  "at least {:.4g} us: its bytes and FLOPs at the peaks of {}",
                                  sample.measured.value * 1e6, samples.works[sample.work].name,
                                  least.value * 1e6, device.name),
                      samples.measured_on});
  }
  std::ranges::sort(faults, {}, &RowFault::line);
  return faults;
}

std::string rounding_note(const SampleSet& samples, const hwdesc::Device& device) {
  if (!rounds_f32(device)) return {};
  const auto n = std::ranges::count_if(samples.samples, [&](const Sample& sample) {
    return std::ranges::any_of(samples.works[sample.work].parts,
                               [](const auto& part) { return multiplies_f32(part.kernel); });
  });
  if (n == 0) return {};
  return fmt::format(
      "{}: {} rows multiply f32, which {} rounds first (TF32: at half of its f16 rate); if "
      "they ran in full f32, describe that (matrix.passes.f32)",
      samples.name, n, device.name);
}

}  // namespace tilecast::measured
