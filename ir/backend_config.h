// What we read out of an instruction's `backend_config`: the compiler's tile and a custom call's
// own cost estimate. Everything else in there stays raw text on the instruction.
//
// Keys are those seen in public XLA:TPU dumps (`window_config`, `cost_estimate`, the latter inside
// `custom_call_config` for Pallas kernels); numbers may be JSON numbers or strings of digits.
// Thread-safe.
#pragma once

#include <optional>
#include <string_view>

#include "ir/kernel.h"

namespace tilecast::ir {

struct BackendConfig {
  std::optional<CompilerTile> tile;
  std::optional<CustomCallCost> cost;
  bool unreadable = false;  // it names one of the keys above, but is not JSON we understand
};

// `text` is the attribute's raw text, either a JSON dictionary or a quoted string holding one.
[[nodiscard]] BackendConfig read_backend_config(std::string_view text);
// Attention that XLA:GPU gives to cuDNN.
struct AttentionConfig {
  Dims scores;          // of the intermediate array: batch, head, query, key
  int products = 0;     // of scores' size: 2 forward, 5 backward (4, and the scores again)
  bool causal = false;  // half of the scores count
};
// Nothing where the text holds no such configuration that we understand.
[[nodiscard]] std::optional<AttentionConfig> read_attention(std::string_view text);
// `dot_dimension_numbers` of a product that XLA:GPU gives to a library; nothing where there are
// none that we understand.
[[nodiscard]] std::optional<DotDims> read_gemm_dims(std::string_view text);

}  // namespace tilecast::ir
