// Time of a convolution on a processor core that runs the loops of schedule/convolution.h.
//
// Arrays are packed first. Then each step of the sum (one tap and input feature) multiplies the
// pixels of a tile with a row of its output features:
//
//   F = pixels * vectors                  multiply-adds: vectors per row of output features
//   step = max(F / pipes, (pixels + vectors) / load ports, latency)       sums in registers
//   step = max(F / pipes, (pixels + vectors + F) / load ports, F / store ports)   else
//   T = packing + max(steps * step, loads from the caches behind the first) + storing
//
// Sums are in registers if all sums of a tile fit beside two operands and the code of a step is
// short enough to be unrolled (host/c_loops.h). Port model: Fog; register tiles: BLIS (Low et al.,
// ACM TOMS 2016, section 4.2.1: enough independent sums to cover the latency). The parts of the
// packed arrays that a step needs come from the level that last held them (reuse.h). Immutable,
// thread-safe.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "analytical/accounting.h"
#include "analytical/iteration_space.h"
#include "analytical/reuse.h"

namespace tilecast::analytical {

class LoopConvolution {
 public:
  // nullopt for kernels that schedule/convolution.h has no loops for.
  static std::optional<LoopConvolution> of(const ir::Kernel& kernel, const IterationSpace& space,
                                           const hwdesc::Device& device);
  // Seconds per resource; they add up. Requires a tile without a refusal.
  [[nodiscard]] PerBound parts(const TileConfig& tile) const;
  [[nodiscard]] std::string refusal(const TileConfig& tile) const;
  [[nodiscard]] double read_bytes() const { return 4 * (image_ + weights_); }
  [[nodiscard]] double write_bytes() const { return 4 * results_; }

 private:
  struct Cut;  // extents of a tile, and trip counts of the loops
  struct Level {
    double read = 1, write = 1, capacity = 0;  // bytes per second, bytes
  };
  LoopConvolution(const ir::Kernel& kernel, const IterationSpace& space,
                  const hwdesc::Device& device);
  [[nodiscard]] Cut cut(const TileConfig& tile) const;
  [[nodiscard]] double rate(double of_widest, double lanes, double ports) const;
  [[nodiscard]] double step_cycles(const Cut& cut) const;
  [[nodiscard]] double copy_cycles(double runs, double elements) const;
  [[nodiscard]] double brought_s(const Cut& cut) const;

  const hwdesc::Device* device_;
  IterationSpace space_;
  std::array<int, 5> loops_{};  // batch, rows, columns, output features; input features
  double taps_ = 1, columns_of_window_ = 1;  // of the window
  double stride_ = 1, dilated_rows_ = 1, dilated_columns_ = 1;
  double image_ = 0, padded_ = 0, weights_ = 0, results_ = 0;  // elements
  bool is_padded_ = false;
  std::vector<Level> levels_;
  double cycle_s_ = 1, lanes_ = 1, pipes_ = 1, latency_ = 1, registers_ = 16;
};

}  // namespace tilecast::analytical
