// Runs the products on a GPU, checks their results, and times them with CUDA events.
//
//   const Card card = card_of(0);
//   auto runner = make_gemm_runner(0, Input::kF16);
//   runner->prepare({2048, 2048, 2048});
//   GemmOutcome outcome = runner->run(config, {});
//
// Inputs are multiples of 1/4 between -1 and 1, so every sum is exact in f32 in any order, and
// every result must equal the plain kernel's bit by bit. Throws Error if CUDA fails in a way that
// leaves the GPU unusable. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "validation/measure_cuda/gemm_config.h"

namespace tilecast::measure_cuda {

struct Card {
  std::string name;  // "NVIDIA H200"
  int major = 0, minor = 0;
  int multiprocessors = 0;
  int clock_khz = 0, memory_clock_khz = 0;  // maxima reported by the driver
  std::int64_t memory_bytes = 0, l2_bytes = 0;
  std::int64_t shared_per_block = 0;  // maximum that a block can request
  int driver = 0, runtime = 0;        // 13000 = 13.0
};

[[nodiscard]] int card_count();  // 0 without a driver
[[nodiscard]] Card card_of(int index);

struct TimingOptions {
  bool flush_l2 = false;  // empty the L2 cache before every call, and time calls individually
  int groups = 7;         // timed groups of calls (of one call each when flushing)
  double group_s = 2e-3;  // minimum duration of a group
  int warm_up = 2;        // calls
};

enum class GemmStatus : std::uint8_t { kTimed, kDoesNotFit, kWrongResult };

struct GemmOutcome {
  GemmStatus status = GemmStatus::kTimed;
  std::string message;  // the reason for kDoesNotFit, kWrongResult
  double minimum_s = 0, median_s = 0;
  double spread_s = 0;  // median absolute deviation of the groups
  int calls = 0;        // number of timed calls
  int registers = 0;    // per thread
  int blocks_per_processor = 0;
};

class GemmRunner {
 public:
  virtual ~GemmRunner() = default;
  // Prepares inputs of this size and the plain kernel's result.
  virtual void prepare(const GemmSize& size) = 0;
  [[nodiscard]] virtual GemmOutcome run(const GemmConfig& config, const TimingOptions& options) = 0;
};

[[nodiscard]] std::unique_ptr<GemmRunner> make_gemm_runner(int card, Input input);

}  // namespace tilecast::measure_cuda
