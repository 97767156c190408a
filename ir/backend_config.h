// Reads an instruction's `backend_config`: the compiler's tile, a custom call's own cost estimate
// and its code. All other keys stay raw text on the instruction.
//
// The keys are the ones seen in public XLA:TPU dumps (`window_config`, and `cost_estimate` and
// `body`, which Pallas kernels have inside `custom_call_config`). Numbers may be JSON numbers or
// strings of digits. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/hlo.h"
#include "ir/kernel.h"

namespace tilecast::ir {

struct BackendConfig {
  std::optional<CompilerTile> tile;
  std::optional<CustomCallCost> cost;
  std::string body;         // the code of a Pallas kernel, decoded
  bool unreadable = false;  // it contains one of the keys above but cannot be parsed
};

// `text` is the attribute's raw text: a JSON dictionary, or a quoted string that contains one.
[[nodiscard]] BackendConfig read_backend_config(std::string_view text);
// How XLA:GPU writes this fusion or reduction; nullopt for others, and for code that is neither
// loops nor tiles.
[[nodiscard]] std::optional<GpuCode> read_gpu_code(const Instruction& instruction);
// Makes the fusion one that XLA:GPU writes so, as read_gpu_code() reads it.
void state_code(const GpuCode& code, Instruction& fusion);
// Attention that XLA:GPU delegates to cuDNN.
struct AttentionConfig {
  Dims scores;          // shape of the score array: batch, head, query, key
  int products = 0;     // of that size: 2 forward; 5 backward (4, plus the scores again)
  bool causal = false;  // only half of the scores are computed
  double window = 0;    // most keys per query; 0: all
};
// nullopt if the text holds no such configuration or it cannot be parsed.
[[nodiscard]] std::optional<AttentionConfig> read_attention(std::string_view text);
// The description in a call of "attention", and its text: {"attention": {"heads": 8, ...}}.
[[nodiscard]] std::optional<Attention> read_attention_call(std::string_view text);
[[nodiscard]] std::string attention_config(const Attention& attention);
// `dot_dimension_numbers` of a product that XLA:GPU delegates to a library; nullopt if absent or
// not parseable.
[[nodiscard]] std::optional<DotDims> read_gemm_dims(std::string_view text);

}  // namespace tilecast::ir
