// The functions of a Mosaic module, with the meaning of their ops resolved; internal to ir/mosaic.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/kernel_body.h"
#include "ir/mlir/mlir_tree.h"

namespace tilecast::ir::mosaic {

using mlir::ValueId;

// What a value depends on: one bit for each loop of the grid, and the bits below.
using Sources = std::uint32_t;
constexpr int kMostLoops = 16;
constexpr Sources kOfData = 1U << 16U;     // what a program's data decide
constexpr Sources kOfLoop = 1U << 17U;     // the counter of a loop in the body
constexpr Sources kOfProduct = 1U << 18U;  // a product's result
constexpr Sources kOfScores = 1U << 19U;   // an exponential of a product's result

struct Node {
  enum class Kind : std::uint8_t {
    kConstant,
    kArithmetic,
    kUnknown,
    kWork,
    kCopy,
    kWait,
    kIf,
    kFor,
    kOnce,
    kEnd
  };
  const mlir::Operation* op = nullptr;
  Kind kind = Kind::kUnknown;
  Opcode opcode = Opcode::kParameter;  // kArithmetic: of whole numbers
  // kConstant: the value; kArithmetic: which comparison, or how a quotient is rounded.
  enum Rounding : std::uint8_t { kToZero, kFloor, kCeil };
  std::int64_t number = 0;
  std::size_t work = 0;     // kWork: in Code::work
  KernelBody::Copies copy;  // kCopy: of one
  ValueId semaphore;        // kCopy, kWait
  std::vector<std::vector<Node>> regions;
  bool branches = false;  // kFor: its body holds an if or a loop
  double size = 0;        // all work of its regions: FLOPs and elements, once
};

struct Function {
  std::vector<ValueId> arguments;
  std::vector<Node> nodes;
};

[[nodiscard]] double contracted_elements(const DotDims& dims, const Shape& lhs);

class Code {
 public:
  // `notes` get ops that are not understood. The tree must outlive the code.
  Code(const mlir::Tree& tree, KernelBody& body);
  // The arguments of the loops of the grid are the first `loops` ones.
  Function function(const mlir::Operation& op, std::size_t loops);
  [[nodiscard]] Sources sources(ValueId value) const { return sources_[value.index()]; }
  // What decides on branches and lengths of loops of the functions so far.
  [[nodiscard]] Sources deciding() const { return deciding_; }
  [[nodiscard]] const Shape& shape(ValueId value) const { return tree_.type_of(value).shape; }
  [[nodiscard]] std::size_t values() const { return sources_.size(); }
  [[nodiscard]] bool chains_products() const { return chains_products_; }

 private:
  void mark_used(const mlir::Region& region);
  std::vector<Node> nodes(const mlir::Region& region, Sources from);
  Node node(const mlir::Operation& op);
  void set_kind(const mlir::Operation& op, Node& node);
  void set_work(const mlir::Operation& op, Node& node);
  bool set_attributes(const mlir::Operation& op, KernelBody::Work& work);
  bool set_product(const mlir::Operation& op, KernelBody::Work& work);
  void add_work(KernelBody::Work work, Node& node);
  void set_copy(const mlir::Operation& op, Node& node);
  void read_regions(const mlir::Operation& op, Sources from, Node& node);
  [[nodiscard]] bool is_vector(ValueId value) const;

  const mlir::Tree& tree_;
  KernelBody& body_;
  std::vector<bool> used_;
  std::vector<Sources> sources_;
  Sources deciding_ = 0;
  bool chains_products_ = false;
};

}  // namespace tilecast::ir::mosaic
