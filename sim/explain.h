// Why one kernel takes the time it takes: its estimate, its arrays, the best tiles beside it, and
// what measurements changed about physics' answer.
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

// What the fastest kernels like this one take, by a model of a low quantile of times.
struct Headroom {
  std::string model;    // in words
  double quantile = 0;  // share of the kernels alike that take no longer
  Seconds reachable;    // between the speed of light and the estimate
};

struct Explanation {
  std::string file, kernel, op_name, device;
  std::string model = {};  // what answered, in words; empty: the analytical model
  std::vector<std::string> notes = {};
  ir::Opcode opcode = ir::Opcode::kFusion;
  analytical::Estimate estimate;  // with the asked, the compiler's or the best tile
  // What each resource adds to the time, by physics (analytical/shapley.h); their sum is the time.
  analytical::BoundVector added = {};
  // "given", "compiler", "best by the model", "best by physics", "best by the ranks", "none"
  std::string tile_origin;
  std::optional<std::string> infeasible;  // why the asked tile cannot run; estimate is empty then
  std::vector<ExplainedArray> arrays;
  std::size_t tiles_tried = 0;
  std::vector<analytical::Estimate> best_tiles;  // fastest first, or in the order of the ranks
  std::string scratchpad;                        // name of the innermost memory
  Bytes scratchpad_capacity;
  std::optional<Watts> idle_power = {};                      // of a device that describes energy
  std::optional<hybrid::CorrectionReasons> correction = {};  // of a hybrid
  std::optional<Headroom> headroom = {};
  std::string loops = {};  // of the tile, where asked for (sim/explain_loops.h)
};

struct ExplainOptions {
  const analytical::TileConfig* tile = nullptr;
  std::size_t top = 10;
  // What predicts; null: the analytical model. Whether a tile can run is for that one to say.
  const analytical::CostModel* model = nullptr;
  CorrectionExplainer correction = {};  // of `model`, where it is a hybrid
  // What orders tiles where that is not what times them; chooses the tile where none is given.
  const analytical::TileRanker* ranker = nullptr;
};

// Adds Explanation::headroom. `model`: one that was trained with a quantile loss
// (learned/training). Throws Error where it was not, or has no answer for the kernel.
void add_headroom(const ChosenModel& model, const analytical::KernelQuery& query,
                  const hwdesc::Device& device, Explanation& why);

// Throws Error where `model` has no answer for the kernel.
[[nodiscard]] Explanation explain(const ir::Kernel& kernel, const hwdesc::Device& device,
                                  const ExplainOptions& options = {});

}  // namespace tilecast::sim
