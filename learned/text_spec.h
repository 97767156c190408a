// Settings of a kernel's text representation: which text, and how it is split into tokens.
//
// The two kinds of tokens are those of Das and Mannarswamy ("ML-driven Hardware Cost Model for
// MLIR"), section 3; tokens by dimension, digit and value address the problem of numbers in their
// section 6.
#pragma once

#include <string_view>

#include "learned/parameter_table.h"

namespace tilecast::learned {

// kStablehlo: the kernel's ops. kLoops: its schedule (schedule/text.h), which depends on the tile.
enum class TextLevel { kStablehlo, kLoops };
inline constexpr std::string_view kTextLevels[] = {"stablehlo", "loops"};
// kOps: ops with shapes. kOperands: also values and indices.
enum class TextTokens { kOps, kOperands };
inline constexpr std::string_view kTextTokens[] = {"ops", "operands"};
// One token tensor<64x128xf32>, or several: 64 x 128 x f32.
enum class ShapeTokens { kWhole, kDimensions };
inline constexpr std::string_view kShapeTokens[] = {"whole", "dimensions"};
// Separate numbers: 128, or 1 2 8, or one token whose node has the number as a feature.
enum class NumberTokens { kWhole, kDigits, kValue };
inline constexpr std::string_view kNumberTokens[] = {"whole", "digits", "value"};

struct TextSpec {
  TextLevel level = TextLevel::kStablehlo;
  TextTokens tokens = TextTokens::kOps;
  ShapeTokens shapes = ShapeTokens::kWhole;
  NumberTokens numbers = NumberTokens::kWhole;
  int least_count = 2;    // minimum count in the training texts for the vocabulary
  int most_tokens = 512;  // maximum per text; the rest is cut off
  // Additional variants per training text, with reordered independent ops and renamed values
  // (learned/training/text_variants.h).
  int variants = 0;
  friend bool operator==(const TextSpec&, const TextSpec&) = default;
};
[[nodiscard]] const ParameterTable<TextSpec>& text_parameters();

}  // namespace tilecast::learned
