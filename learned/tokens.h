// Produces the tokens of a kernel's text.
//
//   for_each_token(query, device, spec, [&](const Token& token) { ... });
//
// kStablehlo: the tokens of print_stablehlo(ir::module_of(kernel)), produced from the ops without
// printing. They are the type of each function argument; "->" and the result type; for each op its
// name, its regions (arguments, then ops, likewise) and its result type. kOperands adds the values,
// numbered %0, %1, ... in text order: an argument before its type, an op's result before its name
// and its operands after it. Attributes are omitted, as their effect shows in the types. kLoops:
// the tokens of the text of schedule::tiled_loops() for the query's tile, or of read_loops() if
// there is no tile or it does not fit; for a kernel without loops "no_loops" and its kStablehlo
// tokens. Buffers are named $0, $1, ... in declaration order, loops i0, i1, ... by depth. kOps
// omits names, indices and constants. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/cost_model.h"
#include "learned/parameter_table.h"

namespace tilecast::learned {

// Settings of a kernel's text representation: which text, and how it is split into tokens.
//
// The two kinds of tokens are those of Das and Mannarswamy ("ML-driven Hardware Cost Model for
// MLIR"), section 3; tokens by dimension, digit and value address the problem of numbers in their
// section 6.

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
  friend bool operator==(const TextSpec&, const TextSpec&) = default;
};
[[nodiscard]] const ParameterTable<TextSpec>& text_parameters();

struct Token {
  std::string_view text;  // valid during the call
  double value = 0;       // a number's value with NumberTokens::kValue, else 0
};
using TokenSink = std::function<void(const Token&)>;

// Produces all tokens, ignoring most_tokens.
void for_each_token(const analytical::KernelQuery& query, const hwdesc::Device& device,
                    const TextSpec& spec, const TokenSink& sink);

// The two levels of text; internal to tokens*.cpp.
void stablehlo_tokens(const ir::Kernel& kernel, const TextSpec& spec, const TokenSink& sink);
void loop_tokens(std::string_view text, const TextSpec& spec, const TokenSink& sink);

// Writes numbers and shapes as `spec` splits them.
class TokenWriter {
 public:
  TokenWriter(const TextSpec& spec, const TokenSink& sink) : spec_(spec), sink_(sink) {}

  void word(std::string_view text) const { sink_({text}); }
  void number(std::string_view digits) const;
  // "tensor<64x128xf32>", "f32[64,128]", "64x128": its dimensions by number(), and its type.
  void shape(std::string_view text) const;
  [[nodiscard]] bool operands() const { return spec_.tokens == TextTokens::kOperands; }

 private:
  const TextSpec& spec_;
  const TokenSink& sink_;
};

}  // namespace tilecast::learned
