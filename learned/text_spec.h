// How a kernel is read as text: which text, and what a token of it is.
//
// The two kinds of tokens are those of Das and Mannarswamy ("ML-driven Hardware Cost Model for
// MLIR"), section 3; tokens by dimension, by digit and by value are answers to the problem of
// numbers that their section 6 names.
#pragma once

#include <string_view>

#include "learned/parameter_table.h"

namespace tilecast::learned {

// kStablehlo: the ops of a kernel. kLoops: its schedule (schedule/text.h), which a tile changes.
enum class TextLevel { kStablehlo, kLoops };
inline constexpr std::string_view kTextLevels[] = {"stablehlo", "loops"};
// kOps: what is done, with shapes. kOperands: and to which values, at which indices.
enum class TextTokens { kOps, kOperands };
inline constexpr std::string_view kTextTokens[] = {"ops", "operands"};
// tensor<64x128xf32>, or 64 x 128 x f32.
enum class ShapeTokens { kWhole, kDimensions };
inline constexpr std::string_view kShapeTokens[] = {"whole", "dimensions"};
// Numbers that stand alone: 128, or 1 2 8, or one token whose node has the number as a feature.
enum class NumberTokens { kWhole, kDigits, kValue };
inline constexpr std::string_view kNumberTokens[] = {"whole", "digits", "value"};

struct TextSpec {
  TextLevel level = TextLevel::kStablehlo;
  TextTokens tokens = TextTokens::kOps;
  ShapeTokens shapes = ShapeTokens::kWhole;
  NumberTokens numbers = NumberTokens::kWhole;
  int least_count = 2;    // of a token in the training texts, to be in the vocabulary
  int most_tokens = 512;  // of a text; what follows is cut off
  // Of each training text, beside it: other orders of independent ops, other names of values
  // (learned/training/text_variants.h).
  int variants = 0;
  friend bool operator==(const TextSpec&, const TextSpec&) = default;
};
[[nodiscard]] const ParameterTable<TextSpec>& text_parameters();

}  // namespace tilecast::learned
