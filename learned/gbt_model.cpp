#include "learned/gbt_model.h"

#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "learned/gbt_trees.h"

namespace tilecast::learned {
namespace {

constexpr std::size_t kLanes = 16;  // rows that walk down a tree side by side
constexpr std::size_t kBlock = 64;  // rows that stay in the cache while a tree is

// One slot of the rows of a block after the other; `rows` beyond the last repeat it.
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

void add_tree(const GbtTree& tree, const GbtNode* nodes, const float* values, const float* lanes,
              float* out) {
  std::array<std::uint32_t, kLanes> at{};
  for (std::uint32_t step = 0; step < tree.depth; ++step) {
    for (std::size_t k = 0; k < kLanes; ++k) {
      const GbtNode node = nodes[at[k]];
      const bool right = lanes[node.slot * kLanes + k] >= node.threshold;
      at[k] = node.left + static_cast<std::uint32_t>(right);
    }
  }
  for (std::size_t k = 0; k < kLanes; ++k) out[k] += values[at[k]];
}

}  // namespace

GbtModel::GbtModel(std::string bytes, std::size_t columns, GbtTrees trees)
    : bytes_(std::move(bytes)),
      columns_(columns),
      trees_(std::make_unique<GbtTrees>(std::move(trees))) {}
GbtModel::GbtModel(GbtModel&&) noexcept = default;
GbtModel& GbtModel::operator=(GbtModel&&) noexcept = default;
GbtModel::~GbtModel() = default;

GbtModel GbtModel::load(std::string_view bytes, std::size_t columns) {
  GbtTrees trees = read_gbt_trees(bytes, columns);
  return {std::string(bytes), columns, std::move(trees)};
}

int GbtModel::trees() const {
  return static_cast<int>(trees_->trees.size());
}

void GbtModel::predict(std::span<const float> rows, std::span<const float> base,
                       std::span<float> out) const {
  TC_CHECK(rows.size() == out.size() * columns_, "a value per row and column");
  TC_CHECK(base.empty() || base.size() == out.size(), "a base per row");
  thread_local std::vector<float> scratch;
  const std::size_t stride = trees_->slots.size() * kLanes;
  scratch.resize(std::max(scratch.size(), trees_->slots.size() * kBlock));
  for (std::size_t first = 0; first < out.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, out.size() - first);
    copy_block(rows.subspan(first * columns_, count * columns_), columns_, trees_->slots,
               scratch.data());
    std::array<float, kBlock> sums{};
    if (!base.empty()) std::ranges::copy(base.subspan(first, count), sums.begin());
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

std::vector<double> GbtModel::importance() const {
  std::vector<double> share = trees_->gain;
  const double total = std::accumulate(share.begin(), share.end(), 0.0);
  for (double& each : share) each = total > 0 ? each / total : 0;
  return share;
}

std::string xgboost_version() {
  int major = 0, minor = 0, patch = 0;
  XGBoostVersion(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

}  // namespace tilecast::learned
