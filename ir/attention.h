// Fused attention, softmax(q k^T x scale + mask) v per batch and head: what it computes, and the
// kernel that stands for it. Its time is of analytical/attention.h.
#pragma once

#include <cstdint>
#include <string>

#include "ir/dtype.h"

namespace tilecast::ir {

class Kernel;
struct CustomCallCost;

// Gradients that one backward kernel makes: all of them (with kernels before and after it, as
// libraries do, or alone), those of the queries, or those of keys and values.
enum class Gradients : std::uint8_t { kAll, kAlone, kOfQueries, kOfKeys };

struct Attention {
  std::int64_t batch = 1, heads = 1;
  std::int64_t kv_heads = 1;                // a divisor of `heads`: groups of heads share them
  std::int64_t queries = 1, keys = 1;       // of a batch
  std::int64_t width = 1, value_width = 1;  // of a head: of queries and keys, of values
  bool causal = false;        // a query sees no key behind it; the last query and key are abreast
  std::int64_t window = 0;    // a query sees this many keys before it, its own included; 0: all
  bool unread_mask = false;   // its mask depends on data or is not in the file: all scores count
  bool assumed_mask = false;  // the mask is a guess from the shapes of what the call reads
  bool backward = false;      // gradients of q, k and v from those of the result; scores recomputed
  Gradients gradients = Gradients::kAll;  // of a backward kernel
  bool segmented = false;  // queries see keys of their own segment only, by comparing its number
  std::int64_t query_block = 0, key_block = 0;  // of a kernel that states them; 0: as it likes
  DType dtype = DType::kBF16, kv_dtype = DType::kBF16;

  friend bool operator==(const Attention&, const Attention&) = default;
};

// Empty if it describes an attention, else what is wrong with it: "kv_heads: got 3, expected ...".
[[nodiscard]] std::string misfit(const Attention& attention);
// Pairs of a query and a key that it sees, of one head of one batch.
[[nodiscard]] double visible_scores(const Attention& attention);
// Keys of a head that some query sees.
[[nodiscard]] double visible_keys(const Attention& attention);

struct AttentionBytes {  // unpadded, each array once
  double read = 0, written = 0;
};
[[nodiscard]] AttentionBytes bytes_of(const Attention& attention);
// Elements of the heads that a score is multiplied with: two products forward; five backward (the
// scores again, and the gradients of probabilities, values, queries and keys), three for gradients
// of queries alone, four for those of keys and values.
[[nodiscard]] std::int64_t products_width(const Attention& attention);
// The products of the visible scores, and an exponential a score.
[[nodiscard]] CustomCallCost cost_of(const Attention& attention);
// A custom call of "attention" with plain row-major arrays [batch, heads, rows, width].
[[nodiscard]] Kernel attention_kernel(const Attention& attention);

}  // namespace tilecast::ir
