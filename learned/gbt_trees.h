// Trees laid out for prediction, read from XGBoost's model. Private to learned/gbt_model.cpp.
//
// A step down a tree has no branch: next = left + !(value < threshold), children stand side by
// side, and a leaf steps to itself. A missing value must go where the node says: it is replaced by
// -infinity or +infinity when a row is copied to its slots, and a node reads the slot of its own
// direction.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tilecast::learned {

struct GbtNode {
  float threshold = 0;     // NaN: a leaf; no value is at or above it
  std::uint16_t slot = 0;  // of GbtTrees::slots
  std::uint16_t left = 0;  // within the tree; the right child follows it
};

struct GbtSlot {
  std::uint32_t column = 0;
  float missing = 0;  // what stands for NaN
};

struct GbtTree {
  std::uint32_t first = 0;  // of its nodes
  std::uint32_t depth = 0;  // steps to the deepest leaf
};

struct GbtTrees {
  std::vector<GbtTree> trees;
  std::vector<GbtNode> nodes;
  std::vector<float> values;  // by node: what a leaf adds
  std::vector<GbtSlot> slots;
  std::vector<double> gain;  // by column: what its splits removed from the loss
};

// Throws Error: see GbtModel::load.
[[nodiscard]] GbtTrees read_gbt_trees(std::string_view bytes, std::size_t columns);

}  // namespace tilecast::learned
