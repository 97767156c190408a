#include <nlohmann/json.hpp>

#include "sim/views/correction.h"
#include "sim/views/energy.h"
#include "sim/views/rows.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;

Json list(const ir::Dims& dims) {
  Json out = Json::array();
  for (const std::int64_t size : dims) out.push_back(size);
  return out;
}

}  // namespace

Json estimate_json(const analytical::Estimate& e) {
  Json bounds = Json::object();
  for (std::size_t i = 0; i < e.bounds.size(); ++i) {
    bounds[std::string(analytical::name(static_cast<analytical::Bound>(i)))] = e.bounds[i].value;
  }
  Json out = {{"time_s", e.time.value},
              {"bound", std::string(analytical::name(e.bound))},
              {"next_bound", std::string(analytical::name(e.next_bound))},
              {"next_time_s", e.next_time.value},
              {"bounds_s", std::move(bounds)},
              {"speed_of_light_s", e.speed_of_light.value},
              {"utilisation", e.utilisation},
              {"tile",
               {{"output", list(e.tile.output)},
                {"kernel", list(e.tile.kernel)},
                {"input", list(e.tile.input)}}},
              {"iterations", e.iterations},
              {"hbm_read_bytes", e.hbm_read.value},
              {"hbm_write_bytes", e.hbm_write.value},
              {"scratchpad_used_bytes", e.scratchpad_used.value},
              {"flops", e.flops.value},
              {"model", std::string(e.model)},
              {"flags", e.flags}};
  if (e.tile.stages > 0) out["tile"]["stages"] = e.tile.stages;
  if (e.tile.warps > 0) out["tile"]["warps"] = e.tile.warps;
  if (!e.tile.threads.empty()) out["tile"]["threads"] = list(e.tile.threads);
  if (!e.tile.vector.empty()) out["tile"]["vector"] = list(e.tile.vector);
  if (e.tile.direct) out["tile"]["direct"] = true;
  if (!e.tile.order.empty()) out["tile"]["order"] = list(e.tile.order);
  if (e.tile.unroll > 0) out["tile"]["unroll"] = e.tile.unroll;
  add_launch_energy(out, e);
  add_correction(out, e.correction);
  return out;
}

}  // namespace tilecast::sim::views
