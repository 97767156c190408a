// The tokens of a kernel's text.
//
//   for_each_token(query, device, spec, [&](const Token& token) { ... });
//
// kStablehlo: those of print_stablehlo(ir::module_of(kernel)), made from the ops without printing.
// Per function argument its type; "->" and the type of the result; per op its name, its regions
// (arguments, then ops, likewise) and the type of its result. kOperands puts the values in, %0, %1,
// ... in the order of the text: that of an argument before its type, the result of an op before its
// name, its operands behind it. Attributes are no tokens: what they do is in the types.
// kLoops: those of the text of schedule::tiled_loops() of the query's tile, or of read_loops()
// where there is none or it does not fit; of a kernel that has no loops "no_loops" and its tokens
// of kStablehlo. Buffers are called $0, $1, ... in the order of their declarations, loops i0, i1,
// ... by their depth. kOps leaves out names, indices and constants. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "learned/text_spec.h"

namespace tilecast::learned {

struct Token {
  std::string_view text;  // for the call
  double value = 0;       // of a number with NumberTokens::kValue, else 0
};
using TokenSink = std::function<void(const Token&)>;

// All of them: most_tokens is not looked at.
void for_each_token(const analytical::KernelQuery& query, const hwdesc::Device& device,
                    const TextSpec& spec, const TokenSink& sink);

// The text's own parts; internal to tokens*.cpp.
void stablehlo_tokens(const ir::Kernel& kernel, const TextSpec& spec, const TokenSink& sink);
void loop_tokens(std::string_view text, const TextSpec& spec, const TokenSink& sink);

// A number and a shape as `spec` has them.
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
