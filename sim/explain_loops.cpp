#include "sim/explain_loops.h"

#include <fmt/format.h>

#include "base/error.h"
#include "host/c_loops.h"
#include "schedule/pipeline.h"
#include "schedule/text.h"
#include "schedule/tile_schedule.h"

namespace tilecast::sim {

void add_loops(const ir::Kernel& kernel, const hwdesc::Device& device,
               const analytical::TileConfig* tile, LoopForm form, Explanation& why) {
  analytical::TileConfig chosen = tile != nullptr ? *tile : why.estimate.tile;
  if (chosen.stages == 0 && chosen.unroll == 0 && form != LoopForm::kC && !device.engines.empty()) {
    chosen.stages = static_cast<int>(device.engines.back().stages);
  }
  const schedule::TiledLoops made = schedule::tiled_loops(kernel, chosen, device.native_tile);
  for (const std::string& refusal : made.refusals) why.notes.push_back("loops: " + refusal);
  if (form == LoopForm::kC) {
    const auto c = host::c_of_loops(made.program, "kernel");
    if (const auto* unsupported = std::get_if<host::Unsupported>(&c)) {
      throw Error(fmt::format("{}: no C for these loops: {}", kernel.name(), unsupported->reason));
    }
    why.loops = std::get<host::CKernel>(c).source;
    return;
  }
  why.loops = schedule::to_text(form == LoopForm::kTiled ? made.program
                                                         : schedule::pipelined(made.program));
}

}  // namespace tilecast::sim
