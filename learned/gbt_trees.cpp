#include "learned/gbt_trees.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/error.h"
#include "learned/ubjson.h"

namespace tilecast::learned {
namespace {

using Kind = UbjsonValue::Kind;

constexpr std::uint32_t kMaxDepth = 64;
constexpr std::size_t kMaxIndex = std::numeric_limits<std::uint16_t>::max();

void require_text(const UbjsonValue& value, std::string_view what, std::string_view expected) {
  if (value.text() == expected) return;
  throw Error(fmt::format("trees: got {} '{}', expected '{}'", what, value.text(), expected));
}

// XGBoost writes the numbers of its parameters as text.
void require_number(const UbjsonValue& value, std::string_view what, double expected) {
  const std::string_view text = value.text();
  double got = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), got);
  if (error == std::errc() && end == text.data() + text.size() && got == expected) return;
  throw Error(fmt::format("trees: got {} '{}', expected {}", what, text, expected));
}

// The arrays of one tree, checked to be of one length.
class TreeArrays {
 public:
  TreeArrays(const UbjsonValue& tree, std::size_t index)
      : index_(index),
        left_(tree.at("left_children")),
        right_(tree.at("right_children")),
        column_(tree.at("split_indices")),
        default_left_(tree.at("default_left")),
        split_type_(tree.at("split_type")),
        threshold_(tree.at("split_conditions")),
        gain_(tree.at("loss_changes")),
        size_(left_.count(Kind::kIntegers)) {
    for (const UbjsonValue* each : {&right_, &column_, &default_left_, &split_type_}) {
      if (each->count(Kind::kIntegers) != size_) fail(0, "arrays of different lengths");
    }
    for (const UbjsonValue* each : {&threshold_, &gain_}) {
      if (each->count(Kind::kReals) != size_) fail(0, "arrays of different lengths");
    }
    require_number(tree.at("tree_param").at("num_nodes"), "nodes of a tree",
                   static_cast<double>(size_));
    if (size_ == 0) fail(0, "no nodes");
  }

  [[noreturn]] void fail(std::size_t node, const std::string& what) const {
    throw Error(fmt::format("trees: tree {}, node {}: {}", index_, node, what));
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool is_leaf(std::size_t node) const {
    const bool left = left_.integer(node) == -1, right = right_.integer(node) == -1;
    if (left != right) fail(node, "one child, expected two or none");
    return left;
  }
  [[nodiscard]] std::pair<std::size_t, std::size_t> children(std::size_t node) const {
    return {child(node, left_), child(node, right_)};
  }
  [[nodiscard]] std::uint32_t column(std::size_t node, std::size_t columns) const {
    if (split_type_.integer(node) != 0) fail(node, "a split by categories, expected a threshold");
    const std::int64_t column = column_.integer(node);
    if (column < 0 || static_cast<std::uint64_t>(column) >= columns) {
      fail(node, fmt::format("got column {}, expected one of {}", column, columns));
    }
    return static_cast<std::uint32_t>(column);
  }
  [[nodiscard]] bool default_left(std::size_t node) const {
    return default_left_.integer(node) != 0;
  }
  [[nodiscard]] float threshold(std::size_t node) const {  // the value, of a leaf
    const float value = threshold_.real(node);
    if (!std::isfinite(value)) fail(node, "a threshold or value that is not finite");
    return value;
  }
  [[nodiscard]] double gain(std::size_t node) const {
    const float gain = gain_.real(node);
    if (!std::isfinite(gain) || gain < 0) fail(node, fmt::format("got a gain of {}", gain));
    return gain;
  }

 private:
  [[nodiscard]] std::size_t child(std::size_t node, const UbjsonValue& children) const {
    const std::int64_t child = children.integer(node);
    if (child <= 0 || static_cast<std::uint64_t>(child) >= size_) {
      fail(node, fmt::format("got child {}, expected one of {} nodes", child, size_));
    }
    return static_cast<std::size_t>(child);
  }

  std::size_t index_;
  const UbjsonValue &left_, &right_, &column_, &default_left_, &split_type_, &threshold_, &gain_;
  std::size_t size_;
};

class TreeBuilder {
 public:
  explicit TreeBuilder(std::size_t columns) : columns_(columns) { trees_.gain.resize(columns); }

  // Breadth first, so that children stand side by side; nodes that no split leads to are left out.
  void add(const TreeArrays& from) {
    const auto first = static_cast<std::uint32_t>(trees_.nodes.size());
    std::vector<bool> seen(from.size());
    std::vector<std::pair<std::size_t, std::uint32_t>> order = {{0, 0}};  // node, depth
    seen[0] = true;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto [node, depth] = order[i];
      if (depth > kMaxDepth) from.fail(node, fmt::format("deeper than {}", kMaxDepth));
      const auto self = static_cast<std::uint16_t>(i);
      if (from.is_leaf(node)) {
        trees_.nodes.push_back({.threshold = std::nanf(""), .slot = 0, .left = self});
        trees_.values.push_back(from.threshold(node));
        continue;
      }
      const auto [left, right] = from.children(node);
      if (left == right || seen[left] || seen[right]) from.fail(node, "a child of two splits");
      if (order.size() + 2 > kMaxIndex) from.fail(node, fmt::format("more than {}", kMaxIndex));
      seen[left] = seen[right] = true;
      trees_.nodes.push_back({.threshold = from.threshold(node),
                              .slot = slot(from, node),
                              .left = static_cast<std::uint16_t>(order.size())});
      trees_.values.push_back(0);
      order.insert(order.end(), {{left, depth + 1}, {right, depth + 1}});
    }
    trees_.trees.push_back({.first = first, .depth = order.back().second});
  }

  GbtTrees take() && {
    // A leaf reads slot 0, whatever is there.
    if (trees_.slots.empty()) trees_.slots.push_back({});
    return std::move(trees_);
  }

 private:
  std::uint16_t slot(const TreeArrays& from, std::size_t node) {
    const std::uint32_t column = from.column(node, columns_);
    trees_.gain[column] += from.gain(node);
    const bool left = from.default_left(node);
    const auto [found, is_new] = slots_.try_emplace({column, left}, trees_.slots.size());
    if (is_new) {
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      if (found->second > kMaxIndex) from.fail(node, "too many columns");
      trees_.slots.push_back({.column = column, .missing = left ? -kInfinity : kInfinity});
    }
    return static_cast<std::uint16_t>(found->second);
  }

  std::size_t columns_;
  GbtTrees trees_;
  std::map<std::pair<std::uint32_t, bool>, std::size_t> slots_;
};

}  // namespace

GbtTrees read_gbt_trees(std::string_view bytes, std::size_t columns) {
  const UbjsonValue document = read_ubjson(bytes);
  const UbjsonValue& learner = document.at("learner");
  require_text(learner.at("gradient_booster").at("name"), "booster", "gbtree");
  require_text(learner.at("objective").at("name"), "objective", "reg:squarederror");
  const UbjsonValue& shape = learner.at("learner_model_param");
  require_number(shape.at("num_feature"), "columns", static_cast<double>(columns));
  require_number(shape.at("num_class"), "classes", 0);
  require_number(shape.at("num_target"), "targets", 1);
  require_number(shape.at("base_score"), "base score", 0);
  const UbjsonValue& model = learner.at("gradient_booster").at("model");
  const std::vector<UbjsonValue>& trees = model.at("trees").array();
  require_number(model.at("gbtree_model_param").at("num_trees"), "trees",
                 static_cast<double>(trees.size()));
  TreeBuilder builder(columns);
  for (std::size_t i = 0; i < trees.size(); ++i) builder.add(TreeArrays(trees[i], i));
  return std::move(builder).take();
}

}  // namespace tilecast::learned
