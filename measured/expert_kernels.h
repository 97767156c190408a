// The kernels of a mixture-of-experts layer on one device, from a table row: op `experts`.
//
// tokens, hidden, inter (width of an expert), topk (experts of a token), experts; ep (1: devices
// over which experts are spread; this one has the most rows of them), tp (1: devices that share
// each expert's width), skew (how tokens choose), weight_dtype (else dtype), and on GPUs library
// and block (64x64: of its kernels instead of the library's own).
//
// In order: two kernels that sort choices by expert, the product with gate and up (2 inter / tp
// columns), SiLU(gate) x up, the product down, the sum over a token's experts. Arrays between them
// have 16-bit floats; where `dtype` has fewer bits, both products' rows are converted beforehand.
// Products read matrices of experts that are met only, in tiles of one expert's rows.
//
// library: triton (the default; fused_moe of vLLM and SGLang): blocks of 64 x 64, 16 x 32 where
// experts outnumber tokens, 64 x 128 of 8-bit types; rows of experts on other devices are written
// as zeros, by as many blocks. grouped (TensorRT-LLM, CUTLASS): blocks of 128 columns and as many
// rows as an expert has on average, a power of two from 16 to 128; rows of other devices are left
// out.
//
// skew: balanced (the default): rows are even over as many experts as there are rows. uniform: each
// token chooses among all alike, E (1 - (1 - k / E)^T) experts are met, evenly. A number a > 0:
// rows of experts follow a power law with density x^-a between 1 and 0.8 tokens, or 0.01 and 2
// where experts outnumber rows (aiconfigurator's collectors of 2025): its quantiles at (i + 1/2) /
// E, in an order from a fixed seed, at most one row of a token.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/kernel.h"
#include "measured/op_kernels.h"

namespace tilecast::measured {

struct ExpertChoice {
  std::int64_t tokens = 1, topk = 1, experts = 1;
  std::string_view skew = "balanced";
};
// Rows of every expert; their sum is tokens x topk. nullopt: `skew` is none of the above.
[[nodiscard]] std::optional<std::vector<std::int64_t>> rows_of_experts(const ExpertChoice& choice);

// Throws Error naming file, row and column.
[[nodiscard]] std::vector<ir::Kernel> expert_launches(const OpRow& row, const OpDefaults& defaults);

}  // namespace tilecast::measured
