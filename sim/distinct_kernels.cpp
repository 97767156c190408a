#include "sim/distinct_kernels.h"

#include <map>
#include <span>
#include <tuple>
#include <unordered_map>

#include "ir/kernels/kernel_fingerprint.h"

namespace tilecast::sim {
namespace {

struct KernelKind {
  ir::Fingerprint print;
  const ir::DeviceGroups* groups;  // of the kernel; null if none
  friend bool operator<(const KernelKind& a, const KernelKind& b) {
    return std::tie(a.print, a.groups->groups, a.groups->pairs) <
           std::tie(b.print, b.groups->groups, b.groups->pairs);
  }
};

// Kernels with shared content are fingerprinted once.
struct Contents {
  std::vector<const ir::Kernel*> first;  // the first with each content
  std::vector<std::size_t> which;        // by kernel, into `first`
};

Contents contents_of(std::span<const ir::ScheduledKernel> kernels) {
  Contents contents;
  contents.which.reserve(kernels.size());
  std::unordered_map<const void*, std::size_t> known;
  for (const ir::ScheduledKernel& scheduled : kernels) {
    const auto [at, is_new] = known.emplace(scheduled.kernel.content(), contents.first.size());
    if (is_new) contents.first.push_back(&scheduled.kernel);
    contents.which.push_back(at->second);
  }
  return contents;
}

}  // namespace

DistinctKernels distinct_kernels(const ir::Program& program, const hwdesc::Device& device) {
  static const ir::DeviceGroups kNone;
  const auto kernels = program.kernels();
  const Contents contents = contents_of(kernels);
  std::vector<ir::Fingerprint> prints;
  for (const ir::Kernel* kernel : contents.first) prints.push_back(ir::fingerprint(*kernel));
  const bool placed = device.interconnect && device.interconnect->slice;
  DistinctKernels distinct;
  distinct.which.reserve(kernels.size());
  std::map<KernelKind, std::size_t> known;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const ir::Kernel& kernel = kernels[i].kernel;
    const ir::DeviceGroups& groups = placed ? kernel.device_groups() : kNone;
    const auto [at, is_new] =
        known.emplace(KernelKind{prints[contents.which[i]], &groups}, distinct.kernels.size());
    if (is_new) distinct.kernels.push_back(&kernel);
    distinct.which.push_back(at->second);
  }
  return distinct;
}

}  // namespace tilecast::sim
