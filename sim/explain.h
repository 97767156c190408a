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

struct Explanation {
  std::string file, kernel, op_name, device;
  std::string model = {};  // what answered, in words; empty: the analytical model
  std::vector<std::string> notes = {};
  ir::Opcode opcode = ir::Opcode::kFusion;
  analytical::Estimate estimate;  // with the asked, the compiler's or the best tile
  std::string tile_origin;  // "given", "compiler", "best by the model", "best by physics", "none"
  std::optional<std::string> infeasible;  // why the asked tile cannot run; estimate is empty then
  std::vector<ExplainedArray> arrays;
  std::size_t tiles_tried = 0;
  std::vector<analytical::Estimate> best_tiles;  // fastest first
  std::string scratchpad;                        // name of the innermost memory
  Bytes scratchpad_capacity;
  std::optional<hybrid::CorrectionReasons> correction = {};  // of a hybrid
};

struct ExplainOptions {
  const analytical::TileConfig* tile = nullptr;
  std::size_t top = 10;
  // What predicts; null: the analytical model. Whether a tile can run is for that one to say.
  const analytical::CostModel* model = nullptr;
  CorrectionExplainer correction = {};  // of `model`, where it is a hybrid
};

// Throws Error where `model` has no answer for the kernel.
[[nodiscard]] Explanation explain(const ir::Kernel& kernel, const hwdesc::Device& device,
                                  const ExplainOptions& options = {});

}  // namespace tilecast::sim
