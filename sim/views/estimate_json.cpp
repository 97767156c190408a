#include <nlohmann/json.hpp>

#include "analytical/tile.h"
#include "sim/views/correction.h"
#include "sim/views/energy.h"
#include "sim/views/rows.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;

// The bounds are always present, other parts if the tile has them.
Json tile_json(const analytical::TileConfig& tile) {
  Json out = Json::object();
  for (const analytical::TilePart& part : analytical::tile_parts()) {
    const ir::Dims numbers = part.numbers(tile);
    if (numbers.empty() && !part.is_bounds()) continue;
    Json& value = out[std::string(part.name)];
    if (part.is_list()) {
      value = std::vector<std::int64_t>(numbers.begin(), numbers.end());
    } else {
      value = part.is_flag() ? Json(true) : Json(numbers[0]);
    }
  }
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
              {"tile", tile_json(e.tile)},
              {"iterations", e.iterations},
              {"hbm_read_bytes", e.hbm_read.value},
              {"hbm_write_bytes", e.hbm_write.value},
              {"scratchpad_used_bytes", e.scratchpad_used.value},
              {"flops", e.flops.value},
              {"model", std::string(e.model)},
              {"flags", e.flags}};
  add_launch_energy(out, e);
  add_correction(out, e.correction);
  return out;
}

}  // namespace tilecast::sim::views
