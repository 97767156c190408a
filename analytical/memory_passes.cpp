#include "analytical/memory_passes.h"

#include "analytical/transfer.h"

namespace tilecast::analytical {

Accounting account_passes(const MemoryPasses& passes, const hwdesc::Device& device,
                          BoundMask removed) {
  const MemoryPath memory =
      memory_path(device.main_memory()).without(removed, Bound::kHbmRead, Bound::kHbmWrite);
  PerBound busy{};  // of one pass
  busy[index_of(Bound::kHbmRead)] = passes.read_bytes / passes.count / memory.read / passes.rate;
  busy[index_of(Bound::kHbmWrite)] = passes.write_bytes / passes.count / memory.write / passes.rate;
  busy[index_of(passes.core)] = kept_s(removed, passes.core, passes.core_s / passes.count);
  PipelineLoop loop;
  loop.path_s = memory.busy_s(busy[index_of(Bound::kHbmRead)], busy[index_of(Bound::kHbmWrite)]);
  loop.core_s = busy[index_of(passes.core)];
  const double latency_s = passes.count * memory.latency_s;
  const double launch_s =
      kept_s(removed, Bound::kOverhead, passes.launches * device.dispatch.kernel_launch.value);
  Accounting accounting;
  accounting.read_bytes = passes.read_bytes;
  accounting.write_bytes = passes.write_bytes;
  accounting.add_periods(loop, busy, passes.count, kMemoryPaths);
  accounting.add_alone(Bound::kLatency, latency_s);
  accounting.add_alone(Bound::kOverhead, launch_s);
  accounting.total_s = passes.count * steady_period_s(loop) + latency_s + launch_s;
  return accounting;
}

}  // namespace tilecast::analytical
