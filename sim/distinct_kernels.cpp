#include "sim/distinct_kernels.h"

#include <map>
#include <tuple>

#include "ir/kernels/kernel_fingerprint.h"

namespace tilecast::sim {
namespace {

struct KernelKind {
  ir::Fingerprint print;
  const ir::DeviceGroups* groups;  // of a kernel, or of none
  friend bool operator<(const KernelKind& a, const KernelKind& b) {
    return std::tie(a.print, a.groups->groups, a.groups->pairs) <
           std::tie(b.print, b.groups->groups, b.groups->pairs);
  }
};

}  // namespace

DistinctKernels distinct_kernels(const ir::Program& program, const hwdesc::Device& device) {
  static const ir::DeviceGroups kNone;
  const bool placed = device.interconnect && device.interconnect->slice;
  DistinctKernels distinct;
  distinct.which.reserve(program.kernels().size());
  std::map<KernelKind, std::size_t> known;
  for (const ir::ScheduledKernel& scheduled : program.kernels()) {
    const ir::Kernel& kernel = scheduled.kernel;
    const ir::DeviceGroups& groups = placed ? kernel.device_groups() : kNone;
    const auto [at, is_new] =
        known.emplace(KernelKind{ir::fingerprint(kernel), &groups}, distinct.kernels.size());
    if (is_new) distinct.kernels.push_back(&kernel);
    distinct.which.push_back(at->second);
  }
  return distinct;
}

}  // namespace tilecast::sim
