#include "ir/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ir/kernel.h"

namespace tilecast::ir {
namespace {

// 1 + 2 + ... + n; 0 for n <= 0.
double triangle(double n) {
  return n > 0 ? n * (n + 1) / 2 : 0;
}

double elements(std::int64_t batch, std::int64_t heads, double rows, std::int64_t width) {
  return static_cast<double>(batch) * static_cast<double>(heads) * rows *
         static_cast<double>(width);
}

// Of queries of 8 bits too.
DType result_type(const Attention& of) {
  return storage_bytes(of.dtype) < storage_bytes(DType::kBF16) ? DType::kBF16 : of.dtype;
}

}  // namespace

std::string misfit(const Attention& of) {
  if (of.heads % of.kv_heads != 0) {
    return fmt::format("kv_heads: got {}, expected a divisor of {} heads", of.kv_heads, of.heads);
  }
  if (of.causal && of.queries > of.keys) {
    return fmt::format("q_len: got {}, expected at most the {} keys of causal attention",
                       of.queries, of.keys);
  }
  return {};
}

// Query i (from 0) stands beside key i + keys - queries.
double visible_scores(const Attention& of) {
  const auto keys = static_cast<double>(of.keys), queries = static_cast<double>(of.queries);
  const auto window = static_cast<double>(of.window);
  const double ahead = keys - queries;
  const double all = of.causal ? triangle(keys) - triangle(ahead) : queries * keys;
  const double too_old = of.window > 0 ? triangle(keys - window) - triangle(ahead - window) : 0;
  return all - too_old;
}

double visible_keys(const Attention& of) {
  const auto keys = static_cast<double>(of.keys);
  if (of.window == 0) return keys;
  return std::min(keys, static_cast<double>(of.window) + static_cast<double>(of.queries) - 1);
}

AttentionBytes bytes_of(const Attention& of) {
  const auto queries = static_cast<double>(of.queries);
  const double q = elements(of.batch, of.heads, queries, of.width) * storage_bytes(of.dtype);
  const double result =
      elements(of.batch, of.heads, queries, of.value_width) * storage_bytes(result_type(of));
  const double kv = elements(of.batch, of.kv_heads, visible_keys(of), of.width + of.value_width) *
                    storage_bytes(of.kv_dtype);
  if (!of.backward) return {.read = q + kv, .written = result};
  return {.read = q + kv + 2 * result, .written = q + kv};
}

CustomCallCost cost_of(const Attention& of) {
  const auto width = static_cast<double>(of.width), values = static_cast<double>(of.value_width);
  const double scores = elements(of.batch, of.heads, visible_scores(of), 1);
  const double per_score = of.backward ? 3 * width + 2 * values : width + values;
  const AttentionBytes bytes = bytes_of(of);
  return {.flops = 2 * scores * per_score,
          .transcendentals = scores,
          .bytes_accessed = bytes.read + bytes.written,
          .attention = of};
}

Kernel attention_kernel(const Attention& of) {
  KernelBuilder builder("attention", Opcode::kCustomCall);
  const auto array = [](DType dtype, Dims dims) {
    Shape shape = Shape::array(dtype, std::move(dims));
    shape.layout = default_layout(shape.rank());
    return shape;
  };
  const Shape q = array(of.dtype, {of.batch, of.heads, of.queries, of.width});
  const Shape k = array(of.kv_dtype, {of.batch, of.kv_heads, of.keys, of.width});
  const Shape v = array(of.kv_dtype, {of.batch, of.kv_heads, of.keys, of.value_width});
  const Shape result = array(result_type(of), {of.batch, of.heads, of.queries, of.value_width});
  std::vector<Shape> reads{q, k, v}, writes{result};
  if (of.backward) {
    reads.insert(reads.end(), {result, result});
    writes = {q, k, v};
  }
  std::vector<OpId> operands, outputs;
  for (const Shape& shape : reads) operands.push_back(builder.parameter(shape));
  for (const Shape& shape : writes) {
    outputs.push_back(builder.add({.opcode = Opcode::kCustomCall,
                                   .shape = shape,
                                   .operands = operands,
                                   .attrs = CustomCallAttrs{.target = "attention"}}));
  }
  builder.set_custom_call_cost(cost_of(of));
  return builder.build(std::move(outputs));
}

}  // namespace tilecast::ir
