#include "sim/distinct_kernels.h"

#include <map>
#include <tuple>

#include "base/parallel.h"
#include "ir/kernels/kernel_fingerprint.h"

namespace tilecast::sim {
namespace {

constexpr std::size_t kBatch = 64;  // kernels looked at by one thread in one go

struct KernelKind {
  ir::Fingerprint print;
  const ir::DeviceGroups* groups;  // of a kernel, or of none
  friend bool operator<(const KernelKind& a, const KernelKind& b) {
    return std::tie(a.print, a.groups->groups, a.groups->pairs) <
           std::tie(b.print, b.groups->groups, b.groups->pairs);
  }
};

}  // namespace

DistinctKernels distinct_kernels(const ir::Program& program, const hwdesc::Device& device,
                                 int jobs) {
  static const ir::DeviceGroups kNone;
  const auto kernels = program.kernels();
  std::vector<ir::Fingerprint> prints(kernels.size());
  base::parallel_for_batches(kernels.size(), kBatch, jobs, [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) prints[i] = ir::fingerprint(kernels[i].kernel);
  });
  const bool placed = device.interconnect && device.interconnect->slice;
  DistinctKernels distinct;
  distinct.which.reserve(kernels.size());
  std::map<KernelKind, std::size_t> known;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const ir::Kernel& kernel = kernels[i].kernel;
    const ir::DeviceGroups& groups = placed ? kernel.device_groups() : kNone;
    const auto [at, is_new] =
        known.emplace(KernelKind{prints[i], &groups}, distinct.kernels.size());
    if (is_new) distinct.kernels.push_back(&kernel);
    distinct.which.push_back(at->second);
  }
  return distinct;
}

}  // namespace tilecast::sim
