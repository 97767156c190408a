// Builder of fused computations for random kernels: values with types, sizes and ranges of their
// elements, printed as HLO text.
//
// Ranges are tracked by interval arithmetic, so that ops with a limited domain (log, divide) are
// only added where they are defined. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.h"

namespace tilecast::host {

struct Range {
  double low = 0, high = 0;
};

using NodeId = std::size_t;

struct Node {
  ir::DType dtype = ir::DType::kF32;
  ir::Dims dims;
  Range range;
  std::string opcode;      // "parameter", "add" ...
  std::string literal;     // for constants
  std::string attributes;  // ", dimensions={1}"
  std::vector<NodeId> operands;
  ir::Dims minor_to_major;  // empty: row-major
};

struct ParameterRange {
  std::string name;  // of the kernel's parameter
  Range range;
};

class RandomGraph {
 public:
  NodeId add(Node node) {
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }
  [[nodiscard]] const Node& at(NodeId id) const { return nodes_[id]; }
  [[nodiscard]] Node& at(NodeId id) { return nodes_[id]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

  // A module whose entry launches these results as one fusion, without unused values.
  [[nodiscard]] std::string text(const std::vector<NodeId>& roots) const;
  // The parameters of that module.
  [[nodiscard]] std::vector<ParameterRange> parameters(const std::vector<NodeId>& roots) const;
  // Values that the roots depend on, operands first.
  [[nodiscard]] std::vector<NodeId> needed(const std::vector<NodeId>& roots) const;

 private:
  std::vector<Node> nodes_;
};

[[nodiscard]] std::int64_t elements(const ir::Dims& dims);
[[nodiscard]] std::string join(const ir::Dims& values);  // "1,2,3"

}  // namespace tilecast::host
