// Attention as one op, and related ops in exported transformers. Source: onnx.ai/onnx/operators
// (Attention, RotaryEmbedding); ONNX Runtime's contrib operators.
#include <fmt/format.h>

#include <algorithm>
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
  std::optional<Term> mask;  // added to the scores; boolean: false masks out
  bool causal;
  double scale;        // 0: 1 / sqrt(width)
  double softcap = 0;  // bound of |scores|; 0: none
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
  if (in.softcap != 0) scores = unary(Opcode::kTanh, scores / in.softcap) * in.softcap;
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
  if (s.gives(3)) throw Error("scores as a result have no mapping onto HLO");
  const std::int64_t heads = s.integer("q_num_heads", 0), shared = s.integer("kv_num_heads", heads);
  AttentionInputs in{by_head(s[0], heads),  by_head(s[1], shared), by_head(s[2], shared),
                     std::nullopt,          s.flag("is_causal"),   s.number("scale", 0),
                     s.number("softcap", 0)};
  if (s.has(3)) in.mask = s[3];
  if (s.has(4)) in.k = concatenate({s[4], in.k}, 2);
  if (s.has(5)) in.v = concatenate({s[5], in.v}, 2);
  const Term y = attend(in);
  return {s[0].rank() == 4 ? y : merged(y), in.k, in.v};
}

// Converts a mask [batch, steps] of 0 and 1 to a term that is added to the scores.
std::optional<Term> raw_mask(const NodeSite& s, std::size_t input, DType dtype) {
  if (!s.has(input)) return std::nullopt;
  const Term mask = s[input];
  if (mask.rank() != 2)
    throw Error(fmt::format("a mask of rank {} has no mapping onto HLO", mask.rank()));
  return reshape((1.0 - convert(mask, dtype)) * -10000.0, {mask.dim(0), 1, 1, mask.dim(1)});
}

// Keys or values [batch, heads, steps, width], appended to those of earlier steps, if any.
Term behind(std::optional<Term> past, Term now) {
  return past && of_rank(*past, 4, 4).dim(2) > 0 ? concatenate({*past, now}, 2) : now;
}
std::optional<Term> given(const NodeSite& s, std::size_t input) {
  return s.has(input) ? std::optional(s[input]) : std::nullopt;
}

// com.microsoft: input, weights [hidden, 3 * hidden], bias, mask, past keys and values.
Terms fused_attention(const NodeSite& s) {
  if (s.find("qkv_hidden_sizes") != nullptr)
    throw Error("unequal sizes of queries, keys and values have no mapping onto HLO");
  const std::int64_t heads = s.integer("num_heads", 0);
  Term all = matmul(s[0], s[1]);
  if (s.has(2)) all = all + s[2];
  const std::int64_t width = of_rank(all, 3, 3).dim(2) / 3;
  const auto part = [&](std::int64_t i) {
    return by_head(slice(all, 2, {i * width, (i + 1) * width, 1}), heads);
  };
  AttentionInputs in{
      part(0), part(1), part(2), std::nullopt, s.flag("unidirectional"), s.number("scale", 0)};
  const bool lengths = s.has(3) && s[3].rank() == 1;  // one length per batch: no mask to add
  if (!lengths) in.mask = raw_mask(s, 3, all.dtype());
  const auto stacked = [](Term x) {
    Dims dims = x.dims();
    dims.insert(dims.begin(), 1);
    return reshape(x, dims);
  };
  if (s.has(4)) {  // [2, batch, heads, steps, width]
    const Dims dims = of_rank(s[4], 5, 5).dims();
    const auto past = [&](std::int64_t i) {
      return reshape(slice(s[4], 0, {i, i + 1, 1}), Dims(dims.begin() + 1, dims.end()));
    };
    in.k = behind(past(0), in.k);
    in.v = behind(past(1), in.v);
  }
  return {merged(attend(in)), concatenate({stacked(in.k), stacked(in.v)}, 0)};
}

// com.microsoft: query, key, value [batch, steps, hidden] (from an encoder: [batch, heads, steps,
// width]), bias, mask, added bias, past keys and values.
Terms multi_head_attention(const NodeSite& s) {
  if (!s.has(1) || !s.has(2)) throw Error("packed keys have no mapping onto HLO");
  const std::int64_t heads = s.integer("num_heads", 0);
  Term q = of_rank(s[0], 3, 3), k = s[1], v = s[2];
  if (s.has(3)) {
    const std::int64_t width = q.dims().back(), end = s[3].dim(0);
    q = q + slice(s[3], 0, {0, width, 1});
    if (k.rank() == 3) k = k + slice(s[3], 0, {width, product({2, width}), 1});
    if (v.rank() == 3) v = v + slice(s[3], 0, {product({2, width}), end, 1});
  }
  AttentionInputs in{by_head(q, heads),         by_head(k, heads),        by_head(v, heads),
                     raw_mask(s, 4, q.dtype()), s.flag("unidirectional"), s.number("scale", 0)};
  if (s.has(5)) in.mask = in.mask ? *in.mask + s[5] : s[5];
  in.k = behind(given(s, 6), in.k);
  in.v = behind(given(s, 7), in.v);
  return {merged(attend(in)), in.k, in.v};
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

// Rotates x [batch, heads, steps, width] by tables [.., 1, steps, half] in its first 2 * half
// elements. Interleaved: pairs are adjacent, otherwise `half` apart.
Term rotated(Term x, Term cosines, Term sines, bool interleaved) {
  const std::int64_t half = cosines.dims().back(), width = x.dim(3);
  if (2 * half > width) throw Error("the tables are wider than a head");
  const auto part = [&](std::int64_t i) {
    return slice(x, 3, interleaved ? SliceDim{i, 2 * half, 2} : SliceDim{i * half, (i + 1) * half});
  };
  const Term a = part(0), b = part(1);
  Terms turned = {a * cosines - b * sines, b * cosines + a * sines};
  Term y = a;
  if (interleaved) {
    for (Term& each : turned) each = reshape(each, {x.dim(0), x.dim(1), x.dim(2), half, 1});
    y = reshape(concatenate(turned, 4), {x.dim(0), x.dim(1), x.dim(2), 2 * half});
  } else {
    y = concatenate(turned, 3);
  }
  return 2 * half == width ? y : concatenate({y, slice(x, 3, {2 * half, width, 1})}, 3);
}

// The rows of a table [positions, half] for every step: those at `positions` [batch, steps], else
// the first ones (the choice does not affect the cost).
Term rows_of(Term table, std::optional<Term> positions, std::int64_t steps) {
  if (positions && positions->rank() == 2) {
    const Term rows = take(table, *positions, 0);
    return reshape(rows, {rows.dim(0), 1, rows.dim(1), rows.dim(2)});
  }
  if (table.rank() == 3) return reshape(table, {table.dim(0), 1, table.dim(1), table.dim(2)});
  return reshape(slice(table, 0, {0, steps, 1}), {1, 1, steps, table.dim(1)});
}

// Inputs x [batch, heads, steps, width] or [batch, steps, hidden], cosines, sines, positions; in
// com.microsoft the positions come second.
template <std::size_t positions, std::size_t tables>
Terms rotary(const NodeSite& s) {
  std::int64_t heads = s.integer("num_heads", 0);
  if (heads == 0 && s[0].rank() == 3) {  // the tables are half as wide as a head
    heads = s[0].dim(2) / std::max<std::int64_t>(1, 2 * s[tables].dims().back());
  }
  const Term x = by_head(s[0], heads);
  const auto rows = [&](std::size_t input) {
    return rows_of(s[input], given(s, positions), x.dim(2));
  };
  const Term y = rotated(x, rows(tables), rows(tables + 1), s.flag("interleaved"));
  return {s[0].rank() == 4 ? y : merged(y)};
}

// com.microsoft: query, key, value [batch, steps, hidden] (or all in the query), past keys and
// values, lengths, the total length, cosines, sines, positions, added bias.
Terms group_query_attention(const NodeSite& s) {
  const std::int64_t heads = s.integer("num_heads", 0), shared = s.integer("kv_num_heads", heads);
  Terms parts = {s[0]};
  if (s.has(1) && s.has(2)) {
    parts.insert(parts.end(), {s[1], s[2]});
  } else {
    if (heads < 1 || shared < 1) throw Error("the number of heads is not positive");
    const std::int64_t width = of_rank(s[0], 3, 3).dim(2) / (heads + 2 * shared);
    const std::int64_t ends[] = {0, heads, heads + shared, heads + 2 * shared};
    for (std::size_t i = 0; i < 3; ++i) {
      const Term part = slice(s[0], 2, {ends[i] * width, ends[i + 1] * width, 1});
      (i == 0 ? parts[0] : parts.emplace_back()) = part;
    }
  }
  AttentionInputs in{
      by_head(parts[0], heads), by_head(parts[1], shared), by_head(parts[2], shared), given(s, 10),
      /*causal=*/true,          s.number("scale", 0),      s.number("softcap", 0)};
  const std::int64_t steps = in.q.dim(2);
  if (s.flag("do_rotary")) {
    const Term cosines = rows_of(s[7], given(s, 9), steps),
               sines = rows_of(s[8], given(s, 9), steps);
    for (Term* x : {&in.q, &in.k}) *x = rotated(*x, cosines, sines, s.flag("rotary_interleaved"));
  }
  const Term k = in.k = behind(given(s, 3), in.k);
  const Term v = in.v = behind(given(s, 4), in.v);
  const std::int64_t total = k.dim(2), window = s.integer("local_window_size", -1);
  if (window > 0 && window + steps - 1 < total && !in.mask) {
    const SliceDim seen{total - (window + steps - 1), total, 1};
    in.k = slice(k, 2, seen);
    in.v = slice(v, 2, seen);
  }
  return {merged(attend(in)), k, v};
}

constexpr OpRow kAttention[] = {
    {"Attention", attention},
    {"RotaryEmbedding", rotary<3, 1>},
    {"com.microsoft:RotaryEmbedding", rotary<1, 2>},
    {"com.microsoft:GroupQueryAttention", group_query_attention},
    {"com.microsoft:Attention", fused_attention},
    {"com.microsoft:MultiHeadAttention", multi_head_attention},
    {"com.microsoft:EmbedLayerNormalization", embedding_norm},
};

}  // namespace

std::span<const OpRow> attention_rows() {
  return kAttention;
}

}  // namespace tilecast::ir::onnx_reader
