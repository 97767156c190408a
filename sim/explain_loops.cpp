#include "sim/explain_loops.h"

#include <fmt/format.h>

#include "base/error.h"
#include "host/c_loops.h"
#include "host/cuda_loops.h"
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
  const bool c = form == LoopForm::kC;
  schedule::TileTarget target = schedule::target_of(device);
  if (c) target.warps = 0;
  const schedule::TiledLoops made = schedule::tiled_loops(kernel, chosen, target);
  for (const std::string& refusal : made.refusals) why.notes.push_back("loops: " + refusal);
  const auto refuse = [&](const host::Unsupported& unsupported) {
    throw Error(fmt::format("{}: no {} for these loops: {}", kernel.name(), c ? "C" : "CUDA",
                            unsupported.reason));
  };
  if (c) {
    const auto text = host::c_of_loops(made.program, "kernel");
    if (const auto* unsupported = std::get_if<host::Unsupported>(&text)) refuse(*unsupported);
    why.loops = std::get<host::CKernel>(text).source;
    return;
  }
  if (form == LoopForm::kCuda) {
    if (target.warps == 0) throw Error(device.name + " has no blocks of threads: no CUDA");
    const auto text = host::cuda_of_loops(schedule::pipelined(made.program), made.block, "kernel");
    if (const auto* unsupported = std::get_if<host::Unsupported>(&text)) refuse(*unsupported);
    why.loops = std::get<host::CudaKernel>(text).source;
    return;
  }
  why.loops = schedule::to_text(form == LoopForm::kTiled ? made.program
                                                         : schedule::pipelined(made.program));
}

}  // namespace tilecast::sim
