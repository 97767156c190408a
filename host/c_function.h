// State shared by all passes of one generated function: arrays, scalars and names.
//
// Scalars (rank 0) that depend only on scalars are computed once, before the loops. Constants with
// several elements become tables. Throws Refused for anything the generator does not support.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/c_symbols.h"
#include "ir/kernel.h"

namespace tilecast::host {

struct Refused {  // thrown inside the generator; becomes Unsupported
  std::string reason;
};

// Stride of each dimension, in elements, for a dense array with the shape's layout.
[[nodiscard]] ir::Dims dense_strides(const ir::Shape& shape);

struct Source {  // a readable array outside the scratchpad
  std::string name;
  ir::Dims strides;  // elements, by dimension
};

class Function {
 public:
  explicit Function(const ir::Kernel& kernel);

  [[nodiscard]] const ir::Kernel& kernel() const { return kernel_; }
  [[nodiscard]] Symbols& symbols() { return symbols_; }

  // Parameters, constants and outputs stored by an earlier pass; nullptr for others.
  [[nodiscard]] const Source* source(ir::OpId op);
  void add_output(ir::OpId op, Source source) { sources_.insert_or_assign(op, std::move(source)); }

  // Whether `op` is a scalar that depends only on scalars, so that it is computed before the loops.
  [[nodiscard]] bool is_scalar(ir::OpId op) const { return scalar_[op.index()]; }
  [[nodiscard]] std::string scalar(ir::OpId op);
  // Scalar `op` as an index, clamped to 0 .. highest.
  [[nodiscard]] Index clamped_index(ir::OpId op, std::int64_t highest);
  // An element of a small integer vector as an index, clamped in the same way.
  [[nodiscard]] Index clamped_element(ir::OpId op, std::int64_t element, std::int64_t highest);

  // Reserves scratchpad for the whole of `op`, stored by one pass and read by later ones.
  const Source& keep(ir::OpId op);
  [[nodiscard]] std::int64_t kept_bytes() const { return kept_bytes_; }

  [[nodiscard]] const std::string& prologue() const { return prologue_; }

 private:
  std::string add_scalar(ir::OpId op, const std::string& text);
  Index clamped(const std::string& text, std::int64_t highest);
  std::string table(ir::OpId op);

  const ir::Kernel& kernel_;
  Symbols symbols_;
  std::vector<bool> scalar_;
  std::map<ir::OpId, std::string> scalars_;
  std::map<ir::OpId, Source> sources_;
  std::string prologue_;
  std::int64_t kept_bytes_ = 0;
  Source kept_;
};

}  // namespace tilecast::host
