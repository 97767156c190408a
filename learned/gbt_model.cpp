#include "learned/gbt_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "learned/ubjson.h"

namespace tilecast::learned {

// A step down a tree is branch-free: next = left + !(value < threshold); children are adjacent, and
// a leaf steps to itself. For missing values, each node has a direction: when a row is copied to
// its slots, NaN is replaced by -infinity or +infinity, and a node reads the slot for its
// direction.
struct GbtNode {
  float threshold = 0;     // NaN for a leaf
  std::uint16_t slot = 0;  // index into GbtModel::Trees::slots
  std::uint16_t left = 0;  // within the tree; the right child follows it
};
struct GbtSlot {
  std::uint32_t column = 0;
  float missing = 0;  // replacement for NaN
};
struct GbtTree {
  std::uint32_t first = 0;  // index of its first node
  std::uint32_t depth = 0;  // steps to the deepest leaf
};

namespace {

constexpr std::size_t kLanes = 8;    // rows that walk down a tree in parallel, in registers
constexpr std::size_t kBlock = 64;   // rows that fit in the cache together with a tree
constexpr std::size_t kFewRows = 4;  // walk one by one: lanes would be empty
constexpr std::uint32_t kDeepestLeaf = 64;
constexpr std::uint16_t kMaxIndex = std::numeric_limits<std::uint16_t>::max();

// The compact form, little-endian: numbers of columns, slots and trees; by slot, twice its column
// plus 1 where missing goes left; by tree, its nodes; by node, breadth first, its threshold or
// value; by node, its slot, or kLeaf. The children of a split follow those of the one before.
constexpr std::string_view kCompact = "tilecast.trees/1\n";
constexpr std::uint16_t kLeaf = kMaxIndex;
constexpr float kBeyondAll = std::numeric_limits<float>::infinity();

// Copies a block of rows slot by slot; rows beyond the last repeat it.
void copy_block(std::span<const float> rows, std::size_t columns, std::span<const GbtSlot> slots,
                float* block) {
  const std::size_t count = rows.size() / columns;
  for (std::size_t r = 0; r < kBlock; ++r) {
    const float* row = rows.data() + std::min(r, count - 1) * columns;
    float* to = block + r / kLanes * kLanes * slots.size() + r % kLanes;
    for (std::size_t s = 0; s < slots.size(); ++s) {
      const float value = row[slots[s].column];
      to[s * kLanes] = std::isnan(value) ? slots[s].missing : value;
    }
  }
}

// Walks one row, with contiguous slots, down a tree.
float leaf_of(const GbtTree& tree, const GbtNode* nodes, const float* values, const float* row) {
  std::uint32_t at = 0;
  for (std::uint32_t step = 0; step < tree.depth; ++step) {
    const GbtNode node = nodes[at];
    at = node.left + static_cast<std::uint32_t>(row[node.slot] >= node.threshold);
  }
  return values[at];
}

void add_tree(const GbtTree& tree, const GbtNode* nodes, const float* values, const float* lanes,
              float* out) {
  std::array<std::uint32_t, kLanes> at{};
  for (std::uint32_t step = 0; step < tree.depth; ++step) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kLanes; ++k) {
      const GbtNode& node = nodes[at[k]];
      const bool right = lanes[node.slot * kLanes + k] >= node.threshold;
      at[k] = node.left + static_cast<std::uint32_t>(right);
    }
  }
  for (std::size_t k = 0; k < kLanes; ++k) out[k] += values[at[k]];
}

// --- reading

void require_text(const UbjValue& value, std::string_view what, std::string_view expected) {
  const std::string_view text = value.text();
  if (text != expected)
    throw Error(fmt::format("got {} '{}', expected '{}'", what, text, expected));
}

// XGBoost stores numeric parameters as text.
void require_number(const UbjValue& value, std::string_view what, double expected) {
  const std::string_view text = value.text();
  double got = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), got);
  if (error == std::errc() && end == text.data() + text.size() && got == expected) return;
  throw Error(fmt::format("got {} '{}', expected {}", what, text, expected));
}

// The arrays of one tree, checked to have equal lengths.
class TreeArrays {
 public:
  TreeArrays(const UbjValue& tree, std::size_t index)
      : index_(index), left_(tree.at("left_children").numbers()), size_(left_.size()) {
    if (size_ == 0) fail(0, "no nodes");
    require_number(tree.at("tree_param").at("num_nodes"), "nodes of a tree",
                   static_cast<double>(size_));
    for (const auto& [key, values] :
         {std::pair{"right_children", &right_}, std::pair{"split_indices", &column_},
          std::pair{"default_left", &default_left_}, std::pair{"split_type", &split_type_},
          std::pair{"split_conditions", &threshold_}}) {
      *values = tree.at(key).numbers();
      if (values->size() != size_) fail(0, "arrays of different lengths");
    }
  }

  [[noreturn]] void fail(std::size_t node, const std::string& what) const {
    throw Error(fmt::format("tree {}, node {}: {}", index_, node, what));
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool is_leaf(std::size_t node) const {
    const bool left = left_[node] == -1, right = right_[node] == -1;
    if (left != right) fail(node, "one child, expected two or none");
    return left;
  }
  [[nodiscard]] std::pair<std::size_t, std::size_t> children(std::size_t node) const {
    return {child(node, left_[node]), child(node, right_[node])};
  }
  [[nodiscard]] std::uint32_t column(std::size_t node, std::size_t columns) const {
    if (split_type_[node] != 0) fail(node, "a split by categories, expected a threshold");
    if (column_[node] >= 0 && column_[node] < static_cast<double>(columns)) {
      return static_cast<std::uint32_t>(column_[node]);
    }
    fail(node, fmt::format("got column {}, expected one of {}", column_[node], columns));
  }
  [[nodiscard]] bool default_left(std::size_t node) const { return default_left_[node] != 0; }
  [[nodiscard]] float threshold(std::size_t node) const {  // for a leaf, its value
    const auto value = static_cast<float>(threshold_[node]);
    if (!std::isfinite(value)) fail(node, "a threshold or value that is not finite");
    return value;
  }

 private:
  [[nodiscard]] std::size_t child(std::size_t node, double child) const {
    if (child > 0 && child < static_cast<double>(size_)) return static_cast<std::size_t>(child);
    fail(node, fmt::format("got child {}, expected one of {} nodes", child, size_));
  }

  std::size_t index_;
  std::vector<double> left_;
  std::size_t size_;
  std::vector<double> right_, column_, default_left_, split_type_, threshold_;
};

// Numbers one after the other.
class Packed {
 public:
  explicit Packed(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

  template <class Number>
  Number next() {
    Number number;
    if (bytes_.size() < sizeof(number)) throw Error("the bytes end early");
    std::memcpy(&number, bytes_.data(), sizeof(number));
    bytes_.remove_prefix(sizeof(number));
    return number;
  }
  Packed take(std::size_t bytes) {
    const Packed taken(bytes_.substr(0, bytes));
    bytes_.remove_prefix(bytes);
    return taken;
  }

 private:
  std::string_view bytes_;
};

}  // namespace

struct GbtModel::Trees {
  std::vector<GbtTree> trees;
  std::vector<GbtNode> nodes;
  std::vector<float> values;  // by node: value of the leaf
  std::vector<GbtSlot> slots;

  void read(const UbjValue& document, std::size_t columns);
  void read(Packed bytes, std::size_t columns);

 private:
  void add(std::size_t size, Packed& thresholds, Packed& split_slots);
  void add(const TreeArrays& from, std::size_t columns);
  std::uint16_t slot(const TreeArrays& from, std::size_t node, std::size_t columns);

  std::vector<std::uint32_t> slot_of_;  // by 2 * column + (missing goes left): 1 + slot, or 0
};

void GbtModel::Trees::read(const UbjValue& document, std::size_t columns) {
  slot_of_.resize(2 * columns);
  const UbjValue& learner = document.at("learner");
  require_text(learner.at("gradient_booster").at("name"), "booster", "gbtree");
  require_text(learner.at("objective").at("name"), "objective", "reg:squarederror");
  const UbjValue& shape = learner.at("learner_model_param");
  require_number(shape.at("num_feature"), "columns", static_cast<double>(columns));
  require_number(shape.at("num_class"), "classes", 0);
  require_number(shape.at("num_target"), "targets", 1);
  require_number(shape.at("base_score"), "base score", 0);
  const UbjValue& model = learner.at("gradient_booster").at("model");
  const std::vector<UbjValue>& from = model.at("trees").array();
  require_number(model.at("gbtree_model_param").at("num_trees"), "trees",
                 static_cast<double>(from.size()));
  for (std::size_t i = 0; i < from.size(); ++i) add(TreeArrays(from[i], i), columns);
  if (slots.empty()) slots.push_back({});  // leaves read slot 0, so it must exist
}

// Adds nodes breadth first, so that children are adjacent; omits unreachable nodes.
void GbtModel::Trees::add(const TreeArrays& from, std::size_t columns) {
  const auto first = static_cast<std::uint32_t>(nodes.size());
  std::vector<bool> seen(from.size());
  std::vector<std::pair<std::size_t, std::uint32_t>> order = {{0, 0}};  // node, depth
  seen[0] = true;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto [node, depth] = order[i];
    if (depth > kDeepestLeaf) from.fail(node, fmt::format("deeper than {}", kDeepestLeaf));
    if (from.is_leaf(node)) {
      nodes.push_back({std::nanf(""), 0, static_cast<std::uint16_t>(i)});
      values.push_back(from.threshold(node));
      continue;
    }
    const auto [left, right] = from.children(node);
    if (left == right || seen[left] || seen[right]) from.fail(node, "a child of two splits");
    if (order.size() + 2 > kMaxIndex) from.fail(node, fmt::format("more than {}", kMaxIndex));
    seen[left] = seen[right] = true;
    nodes.push_back({from.threshold(node), slot(from, node, columns),
                     static_cast<std::uint16_t>(order.size())});
    values.push_back(0);
    order.insert(order.end(), {{left, depth + 1}, {right, depth + 1}});
  }
  trees.push_back({.first = first, .depth = order.back().second});
}

std::uint16_t GbtModel::Trees::slot(const TreeArrays& from, std::size_t node, std::size_t columns) {
  const std::uint32_t column = from.column(node, columns);
  const bool left = from.default_left(node);
  std::uint32_t& slot = slot_of_[2 * std::size_t{column} + (left ? 1 : 0)];
  if (slot == 0) {
    if (slots.size() >= kMaxIndex) from.fail(node, "too many columns");
    slots.push_back({.column = column, .missing = left ? -kBeyondAll : kBeyondAll});
    slot = static_cast<std::uint32_t>(slots.size());
  }
  return static_cast<std::uint16_t>(slot - 1);
}

void GbtModel::Trees::read(Packed bytes, std::size_t columns) {
  if (const auto got = bytes.next<std::uint32_t>(); got != columns) {
    throw Error(fmt::format("got columns '{}', expected {}", got, columns));
  }
  const auto slot_count = bytes.next<std::uint32_t>(), tree_count = bytes.next<std::uint32_t>();
  for (std::uint32_t i = 0; i < slot_count; ++i) {
    const auto packed = bytes.next<std::uint32_t>();
    const bool left = packed % 2 == 1;
    if (packed / 2 >= columns || i >= kMaxIndex) throw Error("a slot without a column");
    slots.push_back({.column = packed / 2, .missing = left ? -kBeyondAll : kBeyondAll});
  }
  if (slots.empty()) slots.push_back({});
  std::vector<std::uint32_t> sizes;
  std::size_t all = 0;
  for (std::uint32_t i = 0; i < tree_count; ++i) {
    all += sizes.emplace_back(bytes.next<std::uint32_t>());
  }
  if (bytes.size() != all * (sizeof(float) + sizeof(std::uint16_t))) {
    throw Error(fmt::format("got {} bytes for {} nodes", bytes.size(), all));
  }
  Packed thresholds = bytes.take(all * sizeof(float));
  nodes.reserve(all);
  values.reserve(all);
  for (const std::uint32_t size : sizes) add(size, thresholds, bytes);
}

void GbtModel::Trees::add(std::size_t size, Packed& thresholds, Packed& split_slots) {
  trees.push_back({.first = static_cast<std::uint32_t>(nodes.size()), .depth = 0});
  std::size_t next = 1, end_of_level = 1;
  for (std::size_t i = 0; i < size; ++i) {
    if (i == end_of_level) {
      ++trees.back().depth;
      end_of_level = next;
    }
    const auto threshold = thresholds.next<float>();
    const auto split = split_slots.next<std::uint16_t>();
    const bool leaf = split == kLeaf;
    if (i >= next || !std::isfinite(threshold) || (!leaf && split >= slots.size())) {
      throw Error(fmt::format("tree {}: node {} is none", trees.size() - 1, i));
    }
    const std::size_t left = leaf ? i : std::exchange(next, next + 2);
    nodes.push_back({leaf ? std::nanf("") : threshold, leaf ? std::uint16_t{0} : split,
                     static_cast<std::uint16_t>(left)});
    values.push_back(leaf ? threshold : 0);
  }
  if (next != size || next > kMaxIndex || trees.back().depth > kDeepestLeaf) {
    throw Error(fmt::format("tree {}: got {} nodes, expected {}", trees.size() - 1, size, next));
  }
}

GbtModel::GbtModel(std::string bytes, std::size_t columns, std::unique_ptr<Trees> trees)
    : bytes_(std::move(bytes)), columns_(columns), trees_(std::move(trees)) {}
GbtModel::GbtModel(GbtModel&&) noexcept = default;
GbtModel& GbtModel::operator=(GbtModel&&) noexcept = default;
GbtModel::~GbtModel() = default;

GbtModel GbtModel::load(std::string bytes, std::size_t columns) {
  auto trees = std::make_unique<Trees>();
  try {
    if (bytes.starts_with(kCompact)) {
      trees->read(Packed(std::string_view(bytes).substr(kCompact.size())), columns);
    } else {
      trees->read(parse_ubjson(bytes), columns);
    }
  } catch (const Error& error) {
    throw Error(fmt::format("trees: {}", error.what()));
  }
  return {std::move(bytes), columns, std::move(trees)};
}

std::string GbtModel::compact() const {
  std::string bytes(kCompact);
  const auto put = [&](auto number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  for (const std::size_t count : {columns_, trees_->slots.size(), trees_->trees.size()}) {
    put(static_cast<std::uint32_t>(count));
  }
  for (const GbtSlot& slot : trees_->slots) put(2 * slot.column + (slot.missing < 0 ? 1U : 0U));
  for (std::size_t i = 0; i < trees_->trees.size(); ++i) {
    const bool last = i + 1 == trees_->trees.size();
    const std::size_t end = last ? trees_->nodes.size() : trees_->trees[i + 1].first;
    put(static_cast<std::uint32_t>(end - trees_->trees[i].first));
  }
  const auto is_leaf = [](const GbtNode& node) { return std::isnan(node.threshold); };
  for (std::size_t i = 0; i < trees_->nodes.size(); ++i) {
    put(is_leaf(trees_->nodes[i]) ? trees_->values[i] : trees_->nodes[i].threshold);
  }
  for (const GbtNode& node : trees_->nodes) put(is_leaf(node) ? kLeaf : node.slot);
  return bytes;
}

int GbtModel::trees() const {
  return static_cast<int>(trees_->trees.size());
}

// The margin of the first row of `rows`.
float GbtModel::walk(std::span<const float> rows, std::span<float> scratch) const {
  for (std::size_t s = 0; s < trees_->slots.size(); ++s) {
    const float value = rows[trees_->slots[s].column];
    scratch[s] = std::isnan(value) ? trees_->slots[s].missing : value;
  }
  float sum = 0;
  for (const GbtTree& tree : trees_->trees) {
    sum += leaf_of(tree, trees_->nodes.data() + tree.first, trees_->values.data() + tree.first,
                   scratch.data());
  }
  return sum;
}

void GbtModel::predict(std::span<const float> rows, std::span<float> out) const {
  TC_CHECK(rows.size() == out.size() * columns_, "a value per row and column");
  thread_local std::vector<float> scratch;
  if (out.size() <= kFewRows) {
    scratch.resize(std::max(scratch.size(), trees_->slots.size()));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = walk(rows.subspan(i * columns_), scratch);
    return;
  }
  const std::size_t stride = trees_->slots.size() * kLanes;
  scratch.resize(std::max(scratch.size(), trees_->slots.size() * kBlock));
  for (std::size_t first = 0; first < out.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, out.size() - first);
    copy_block(rows.subspan(first * columns_, count * columns_), columns_, trees_->slots,
               scratch.data());
    std::array<float, kBlock> sums{};
    for (const GbtTree& tree : trees_->trees) {
      const GbtNode* nodes = trees_->nodes.data() + tree.first;
      const float* values = trees_->values.data() + tree.first;
      for (std::size_t group = 0; group * kLanes < count; ++group) {
        add_tree(tree, nodes, values, scratch.data() + group * stride,
                 sums.data() + group * kLanes);
      }
    }
    std::copy_n(sums.begin(), count, out.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

}  // namespace tilecast::learned
