// Explains the time of one kernel: its estimate, its arrays, the best alternative tiles, and the
// correction learned from measurements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analytical/analytical_model.h"
#include "sim/model_choice.h"

namespace tilecast::sim {

struct ExplainedArray {
  std::string role, shape;  // "parameter 0", "output 0"; HLO text with layout
  Bytes padded;             // in the device layout
};

// The time that the fastest similar kernels reach, by a model of a low quantile of times.
struct Headroom {
  std::string model;    // display name
  double quantile = 0;  // share of similar kernels that take no longer
  Seconds reachable;    // between the speed of light and the estimate
};

struct Explanation {
  std::string file, kernel, op_name, device;
  std::string model = {};  // display name of the model; empty: the analytical model
  std::vector<std::string> notes = {};
  ir::Opcode opcode = ir::Opcode::kFusion;
  analytical::Estimate estimate;  // with the requested, the compiler's or the best tile
  // The time added by each resource in the analytical model (analytical/accounting.h); sums to the
  // time.
  analytical::BoundVector added = {};
  // "given", "compiler", "best by the model", "best by physics", "best by the ranks", "none"
  std::string tile_origin;
  std::optional<std::string> infeasible;  // why the requested tile cannot run; then no estimate
  std::vector<ExplainedArray> arrays;
  std::size_t tiles_tried = 0;
  std::vector<analytical::Estimate> best_tiles;  // fastest first, or in the ranker's order
  std::string scratchpad;                        // name of the innermost memory
  Bytes scratchpad_capacity;
  std::optional<Watts> idle_power = {};                      // if the device describes energy
  std::optional<hybrid::CorrectionReasons> correction = {};  // if the model is a hybrid
  std::optional<Headroom> headroom = {};
  std::string loops = {};  // loops of the tile, if requested
};

struct ExplainOptions {
  const analytical::TileConfig* tile = nullptr;
  std::size_t top = 10;
  // The model that predicts; null: the analytical model, which always decides whether a tile can
  // run.
  const analytical::CostModel* model = nullptr;
  CorrectionExplainer correction = {};  // for `model`, if it is a hybrid
  // Orders tiles if that is not done by time; also chooses the tile if none is given.
  const analytical::TileRanker* ranker = nullptr;
};

// Adds Explanation::headroom. `model` must be trained with a quantile loss (learned/training).
// Throws Error if it is not, or if it has no estimate for the kernel.
void add_headroom(const ChosenModel& model, const analytical::KernelQuery& query,
                  const hwdesc::Device& device, Explanation& why);

// Throws Error if `model` has no estimate for the kernel.
[[nodiscard]] Explanation explain(const ir::Kernel& kernel, const hwdesc::Device& device,
                                  const ExplainOptions& options = {});

// Prints the loops of an explained tile: the structure of the code that the tile describes.
enum class LoopForm : std::uint8_t {
  kTiled,      // copies at their place, with the requested stages
  kPipelined,  // copies issued ahead, with the matching waits (schedule/pipeline.h)
  kC,          // for this machine: prefetches instead of asynchronous copies
  kCuda        // for NVIDIA GPUs: the pipelined loops of a block of threads (host/cuda_loops.h)
};

// Sets Explanation::loops, and notes the parts of the schedule that did not fit. `tile`: the
// requested tile, else the estimate's; if it has no stages, the device's are used (none for C).
// Throws Error if the kernel or tile has no loops (schedule/tile_schedule.h).
void add_loops(const ir::Kernel& kernel, const hwdesc::Device& device,
               const analytical::TileConfig* tile, LoopForm form, Explanation& why);

}  // namespace tilecast::sim
