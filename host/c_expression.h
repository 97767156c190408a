// Writes the C expression for one element of an op, at an index in the loops of a nest.
//
// Walks back through elementwise ops and ops that only change the index (broadcast, transpose,
// slice, reverse, reshape, dynamic-slice, gather, iota) to ops that have a buffer, and requests
// from the pass the box that the loops touch. Each element is computed once per nest.
#pragma once

#include <map>
#include <string>

#include "host/c_pass.h"

namespace tilecast::host {

class Expression {
 public:
  // `direct`: sources are read in place, not from a buffer. `root` is always computed here, even if
  // it would normally have a buffer.
  Expression(Pass& pass, Nest& nest, bool direct, ir::OpId root = {})
      : pass_(pass), nest_(nest), direct_(direct), root_(root) {}

  [[nodiscard]] std::string value(ir::OpId op, const Position& index);

 private:
  std::string compute(ir::OpId op, const Position& index);
  std::string leaf(ir::OpId op, const Position& index, BoxOrder order);
  std::string element(ir::OpId id, const std::string& array, const Index& address);
  Box box_of(ir::OpId id, const Position& index);
  std::string elementwise(const ir::Op& op, const Position& index);
  std::string reshape(const ir::Op& op, const Position& index);
  // Dimensions of the result and of the operand, in the order of their linear positions.
  struct View {
    ir::Dims result, operand;
    BoxOrder order;  // layout of the buffer to read from
  };
  std::string reinterpret(const ir::Op& op, const Position& index, const View& view);
  // A linear position over some dimensions of an operand, most major first.
  struct Flat {
    Index position;
    ir::Dims dims;
  };
  std::string flat(ir::OpId operand, Position index, const std::vector<Flat>& flats,
                   BoxOrder order);
  // An element of a source in place; dimensions of `flats` are at 0 in `index`.
  std::string source_element(ir::OpId op, const Position& index,
                             const std::vector<Flat>& flats = {});
  std::string divided(ir::OpId operand, Position index, const std::vector<Flat>& flats);
  void outermost_range(const Flat& group, const ir::Dims& dims, Box& box);
  std::string gather(const ir::Op& op, const Position& index);
  std::string iota(const ir::Op& op, const Position& index);

  Pass& pass_;
  Nest& nest_;
  bool direct_;
  ir::OpId root_;
  std::map<std::string, std::string> known_;
};

// Start indices of a dynamic slice or update of `sizes`, clamped to stay inside `dims`.
[[nodiscard]] Position dynamic_starts(Pass& pass, const ir::Op& op, std::size_t first_index,
                                      const ir::Dims& dims, const ir::Dims& sizes);

}  // namespace tilecast::host
