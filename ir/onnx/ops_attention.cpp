// Attention as one op, and what stands beside it in exported transformers.
// Source: onnx.ai/onnx/operators (Attention, RotaryEmbedding); ONNX Runtime's contrib operators.
#include <fmt/format.h>

#include <cmath>

#include "ir/onnx/products.h"

namespace tilecast::ir::onnx_reader {
namespace {

// [batch, steps, heads * width] -> [batch, heads, steps, width].
Term by_head(Term x, std::int64_t heads) {
  if (of_rank(x, 3, 4).rank() == 4) return x;
  if (heads < 1) throw Error("the number of heads is not positive");
  return transpose(reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads}), {0, 2, 1, 3});
}
Term merged(Term x) {
  return reshape(transpose(x, {0, 2, 1, 3}), {x.dim(0), x.dim(2), product({x.dim(1), x.dim(3)})});
}

// Keys and values shared by several query heads are repeated.
Term repeated_heads(Term x, std::int64_t heads) {
  const Dims d = x.dims();
  if (d[1] == heads) return x;
  if (d[1] < 1 || heads % d[1] != 0)
    throw Error(fmt::format("{} heads share {} keys", heads, d[1]));
  return reshape(broadcast_in(x, {d[0], d[1], heads / d[1], d[2], d[3]}, {0, 1, 3, 4}),
                 {d[0], heads, d[2], d[3]});
}

struct AttentionInputs {
  Term q, k, v;              // [batch, heads, steps, width]
  std::optional<Term> mask;  // added to the scores; where boolean: false is left out
  bool causal;
  double scale;  // 0: one over the root of the width
};

Term attend(const AttentionInputs& in) {
  const Term k = repeated_heads(in.k, in.q.dim(1)), v = repeated_heads(in.v, in.q.dim(1));
  const double scale =
      in.scale != 0 ? in.scale : 1 / std::sqrt(static_cast<double>(in.q.dims().back()));
  const Dims batch = {0, 1};
  Term scores = dot(in.q, k,
                    {.lhs_contracting = {3},
                     .rhs_contracting = {3},
                     .lhs_batch = batch,
                     .rhs_batch = batch}) *
                scale;
  const Term out = like(scores, -1e9);
  if (in.mask) {
    scores = in.mask->dtype() == DType::kPred ? select(*in.mask, scores, out)
                                              : scores + convert(*in.mask, scores.dtype());
  }
  if (in.causal) {
    const Dims square = {scores.dim(2), scores.dim(3)};
    Emitter& emitter = *scores.emitter;
    const double shift = static_cast<double>(square[1]) - static_cast<double>(square[0]);
    const Term seen = compare("GE", iota(emitter, DType::kS32, square, 0) + shift,
                              iota(emitter, DType::kS32, square, 1));
    scores = select(seen, scores, out);
  }
  return dot(
      scaled_softmax(scores, 3), v,
      {.lhs_contracting = {3}, .rhs_contracting = {2}, .lhs_batch = batch, .rhs_batch = batch});
}

// Inputs Q, K, V, mask, past key, past value.
Terms attention(const NodeSite& s) {
  if (s.gives(3) || s.number("softcap", 0) != 0)
    throw Error("softcap and scores as a result have no mapping onto HLO");
  const std::int64_t heads = s.integer("q_num_heads", 0), shared = s.integer("kv_num_heads", heads);
  AttentionInputs in{by_head(s[0], heads), by_head(s[1], shared), by_head(s[2], shared),
                     std::nullopt,         s.flag("is_causal"),   s.number("scale", 0)};
  if (s.has(3)) in.mask = s[3];
  if (s.has(4)) in.k = concatenate({s[4], in.k}, 2);
  if (s.has(5)) in.v = concatenate({s[5], in.v}, 2);
  const Term y = attend(in);
  return {s[0].rank() == 4 ? y : merged(y), in.k, in.v};
}

// A mask [batch, steps] of 0 and 1, as a term added to the scores.
std::optional<Term> raw_mask(const NodeSite& s, std::size_t input, DType dtype) {
  if (!s.has(input)) return std::nullopt;
  const Term mask = s[input];
  if (mask.rank() != 2)
    throw Error(fmt::format("a mask of rank {} has no mapping onto HLO", mask.rank()));
  return reshape((1.0 - convert(mask, dtype)) * -10000.0, {mask.dim(0), 1, 1, mask.dim(1)});
}

// com.microsoft: input, weights [hidden, 3 * hidden], bias, mask.
Terms fused_attention(const NodeSite& s) {
  if (s.has(4) || s.gives(1) || s.find("qkv_hidden_sizes") != nullptr)
    throw Error("past keys and unequal sizes have no mapping onto HLO");
  const std::int64_t heads = s.integer("num_heads", 0);
  Term all = matmul(s[0], s[1]);
  if (s.has(2)) all = all + s[2];
  const std::int64_t width = of_rank(all, 3, 3).dim(2) / 3;
  const auto part = [&](std::int64_t i) {
    return by_head(slice(all, 2, {i * width, (i + 1) * width, 1}), heads);
  };
  AttentionInputs in{
      part(0), part(1), part(2), std::nullopt, s.flag("unidirectional"), s.number("scale", 0)};
  const bool lengths = s.has(3) && s[3].rank() == 1;  // one length per batch: nothing to add
  if (!lengths) in.mask = raw_mask(s, 3, all.dtype());
  return {merged(attend(in))};
}

// com.microsoft: query, key, value [batch, steps, hidden], bias, mask, added bias.
Terms multi_head_attention(const NodeSite& s) {
  if (s.has(6) || !s.has(1) || !s.has(2))
    throw Error("packed or past keys have no mapping onto HLO");
  const std::int64_t heads = s.integer("num_heads", 0);
  Term q = of_rank(s[0], 3, 3), k = of_rank(s[1], 3, 3), v = of_rank(s[2], 3, 3);
  if (s.has(3)) {
    const std::int64_t width = q.dims().back(), behind = s[3].dim(0);
    q = q + slice(s[3], 0, {0, width, 1});
    k = k + slice(s[3], 0, {width, product({2, width}), 1});
    v = v + slice(s[3], 0, {product({2, width}), behind, 1});
  }
  AttentionInputs in{by_head(q, heads),         by_head(k, heads),        by_head(v, heads),
                     raw_mask(s, 4, q.dtype()), s.flag("unidirectional"), s.number("scale", 0)};
  if (s.has(5)) in.mask = in.mask ? *in.mask + s[5] : s[5];
  return {merged(attend(in))};
}

// com.microsoft: ids, segments, three tables, gamma, beta, mask.
Terms embedding_norm(const NodeSite& s) {
  const Term ids = s[0];
  const Term positions = slice(s[3], 0, {0, ids.dim(1), 1});
  Term sum = take(s[2], ids, 0) + positions;
  if (s.has(1) && s.has(4)) sum = sum + take(s[4], s[1], 0);
  const Dims last = {2};
  const Term centred = sum - mean(sum, last);
  const Term y =
      centred * unary(Opcode::kRsqrt, mean(centred * centred, last) + s.number("epsilon", 1e-12)) *
          s[5] +
      s[6];
  const Term ones = full(s.emitter, DType::kS32, ids.dims(), 1);
  const Term lengths =
      reduce(Opcode::kAdd, s.has(7) ? convert(s[7], DType::kS32) : ones, {1}, /*keep=*/false);
  return {y, lengths, sum};
}

// Inputs x [batch, heads, steps, width] or [batch, steps, hidden], cosines, sines, positions.
Terms rotary(const NodeSite& s) {
  if (s.flag("interleaved") || s.integer("rotary_embedding_dim", 0) != 0)
    throw Error("interleaved or partial rotation has no mapping onto HLO");
  const Term x = by_head(s[0], s.integer("num_heads", 0));
  const auto table = [&](std::size_t input) {
    const Term rows = s.has(3) ? take(s[input], s[3], 0) : s[input];
    return reshape(rows, {rows.dim(0), 1, rows.dim(1), rows.dim(2)});
  };
  const std::int64_t half = x.dim(3) / 2;
  const Term cosines = table(1), sines = table(2), a = slice(x, 3, {0, half, 1}),
             b = slice(x, 3, {half, 2 * half, 1});
  const Term y = concatenate({a * cosines - b * sines, b * cosines + a * sines}, 3);
  return {s[0].rank() == 4 ? y : merged(y)};
}

constexpr OpRow kAttention[] = {
    {"Attention", attention},
    {"RotaryEmbedding", rotary},
    {"com.microsoft:Attention", fused_attention},
    {"com.microsoft:MultiHeadAttention", multi_head_attention},
    {"com.microsoft:EmbedLayerNormalization", embedding_norm},
};

}  // namespace

std::span<const OpRow> attention_rows() {
  return kAttention;
}

}  // namespace tilecast::ir::onnx_reader
