// The kernels of a mixture-of-experts layer on one device, from a table row: op `experts`.
//
// tokens, hidden, inter (width of an expert), topk (experts of a token), experts; ep (1: devices
// over which experts are spread; this one has the most rows of them), tp (1: devices that share each
// expert's width), skew (how tokens choose), weight_dtype (else dtype), elsewhere (zeros: rows of
// other devices' experts are kept and zero; without it: left out), block (64x64: thread blocks).
//
// In order: two kernels that sort choices by expert, the product with gate and up (2 inter / tp
// columns), SiLU(gate) x up, the product down, the sum over a token's experts. Arrays between them
// have 16-bit floats; where `dtype` has fewer bits, both products' rows are converted beforehand.
// Products read matrices of experts that are met only, in tiles of one expert's rows.
//
// skew: balanced (the default): rows are even over as many experts as there are rows. uniform: each
// token chooses among all alike, E (1 - (1 - k / E)^T) experts are met, evenly. A number a > 0: rows
// of experts follow a power law with density x^-a between 1 and 0.8 tokens, or 0.01 and 2 where
// experts outnumber rows (aiconfigurator's collectors of 2025): its quantiles at (i + 1/2) / E, in
// an order from a fixed seed, at most one row of a token.
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
