// Writes the HLO text of one kernel: a fusion of the added ops, or the op itself if there is one.
//
//   KernelText k;
//   const auto x = k.parameter("f32", {512, 512}), w = k.parameter("f32", {512, 512});
//   const auto y = k.maximum(k.dot(x, w, {1}, {0}), k.fill("f32", "0", {512, 512}));
//   std::string text = k.module("dense_relu", {y});
//
// Layouts are row-major. Result shapes are computed here and checked when the text is parsed. Not
// thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/shape.h"

namespace tilecast::host {

struct TextValue {
  std::string name, dtype;
  ir::Dims dims;
};

struct ConvText {
  std::int64_t stride = 1, padding = 0;
};

class KernelText {
 public:
  TextValue parameter(const std::string& dtype, ir::Dims dims);
  // A scalar constant broadcast to `dims`.
  TextValue fill(const std::string& dtype, const std::string& value, ir::Dims dims);
  // Any op, with its attributes as HLO text.
  TextValue op(const std::string& opcode, const std::string& dtype, ir::Dims dims,
               const std::vector<TextValue>& operands, const std::string& attributes = {});
  // An elementwise op with the first operand's shape and type.
  TextValue map(const std::string& opcode, const std::vector<TextValue>& operands);
  TextValue scale(const TextValue& x, const std::string& factor);
  TextValue convert(const TextValue& x, const std::string& dtype);
  // Dimension i of `x` becomes dimension `mapping[i]` of the result.
  TextValue broadcast(const TextValue& x, ir::Dims dims, const ir::Dims& mapping);
  TextValue transpose(const TextValue& x, const ir::Dims& permutation);
  // `combiner`: "add" or "maximum".
  TextValue reduce(const TextValue& x, const ir::Dims& dimensions, const std::string& combiner);
  // Result dimensions: batch (the leading ones of both operands), rest of x, rest of y.
  TextValue dot(const TextValue& x, const TextValue& y, const ir::Dims& contract_x,
                const ir::Dims& contract_y, int batch = 0);
  // NHWC activations, HWIO weights.
  TextValue convolution(const TextValue& x, const TextValue& weights, ConvText window);

  [[nodiscard]] std::string module(const std::string& name,
                                   const std::vector<TextValue>& results) const;

 private:
  struct Line {
    std::string name, text;
    bool is_constant = false;
  };
  [[nodiscard]] std::string combiners() const;
  std::string fresh(const std::string& stem);

  std::vector<TextValue> parameters_;
  std::vector<Line> lines_;  // in order, without parameters
  std::map<std::string, std::string> combiners_;
  int next_ = 0;
};

}  // namespace tilecast::host
