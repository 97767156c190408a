// Data augmentation for models of text: equivalent texts of one kernel.
//
//   std::mt19937_64 random(seed);
//   Kernel same = reordered(kernel, random);            // computes the same
//   rename_values(tokens, random);
//
// Deterministic for the state of `random`. Thread-safe.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "learned/vocabulary.h"

namespace tilecast::learned {

// The kernel with its ops in a random topological order; parameters come first, in their order.
// Everything else is unchanged.
[[nodiscard]] ir::Kernel reordered(const ir::Kernel& kernel, std::mt19937_64& random);

// Permutes the numbers of values (%3, %3#1) and of buffers ($3) in `tokens` at random and
// consistently. Does nothing for tokens without operands.
void rename_values(std::vector<std::string>& tokens, std::mt19937_64& random);

// Token numbers of the kernel's text after reordered() and rename_values().
[[nodiscard]] TokenIds encode_variant(const Vocabulary& vocabulary,
                                      const analytical::KernelQuery& query,
                                      const hwdesc::Device& device, std::mt19937_64& random);

}  // namespace tilecast::learned
