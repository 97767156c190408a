// More texts of one kernel, for training: what a model should not take for a difference.
//
//   std::mt19937_64 random(seed);
//   Kernel same = reordered(kernel, random);            // computes the same, says it otherwise
//   rename_values(tokens, random);
//   std::optional<ir::Module> other = jittered(kernel, random);   // other sizes: to be measured
//
// Deterministic for the state of `random`. Thread-safe.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "learned/vocabulary.h"

namespace tilecast::learned {

// Its ops in a random order in which operands stand before who reads them; parameters first, in
// theirs. Everything else stays.
[[nodiscard]] ir::Kernel reordered(const ir::Kernel& kernel, std::mt19937_64& random);

// The numbers of values (%3, %3#1) and of buffers ($3) among `tokens` exchanged at random, each the
// same everywhere. Tokens without operands have none: nothing changes.
void rename_values(std::vector<std::string>& tokens, std::mt19937_64& random);

// Of the text of the kernel, reordered and renamed.
[[nodiscard]] TokenIds encode_variant(const Vocabulary& vocabulary,
                                      const analytical::KernelQuery& query,
                                      const hwdesc::Device& device, std::mt19937_64& random);

// The kernel with other sizes, as a module of that one kernel for `tilecast measure host`: what a
// label was is no longer true. Sizes that were equal stay equal; each is kept or becomes 1/2, 3/4,
// 5/4, 3/2 or 2 times itself, at least 2. Nothing where no draw of a few gives a kernel that
// verifies (slices, windows and reshapes state sizes of their own), or its ops apply computations
// that a kernel does not know.
[[nodiscard]] std::optional<ir::Module> jittered(const ir::Kernel& kernel, std::mt19937_64& random);

}  // namespace tilecast::learned
