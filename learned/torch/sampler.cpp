#include "learned/torch/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace tilecast::learned::torch_module {
namespace {

// Number of batches whose examples are sorted by size together: enough for similar sizes, but few
// enough to keep the batches of an epoch mixed.
constexpr std::size_t kWindow = 16;

bool has_pair(const Rows& kernel, std::span<const GraphExample> examples) {
  return std::ranges::any_of(kernel, [&](std::uint32_t row) {
    return examples[row].target != examples[kernel.front()].target;
  });
}

// Draws the groups of one family in turn, and reshuffles them when all are drawn.
class GroupQueue {
 public:
  template <class Make>
  const Rows& next(const Make& make) {
    if (at_ == groups_.size()) {
      groups_ = make();
      at_ = 0;
    }
    return groups_[at_++];
  }

 private:
  std::vector<Rows> groups_;
  std::size_t at_ = 0;
};

// Tracks whether another item still fits into a batch.
class BatchLimit {
 public:
  BatchLimit(std::size_t items, bool pads, std::size_t most_nodes = kBatchNodes)
      : items_(items), most_nodes_(most_nodes), pads_(pads) {}

  // False if the item does not fit; then a new, empty batch is started.
  bool take(std::size_t rows, std::size_t nodes_in_all, std::size_t largest) {
    const std::size_t sum = nodes_ + nodes_in_all;
    const std::size_t padded = (rows_ + rows) * std::max(largest_, largest);
    const bool fits = used_ < items_ && (pads_ ? padded : sum) <= most_nodes_;
    if (used_ > 0 && !fits) {
      used_ = rows_ = nodes_ = largest_ = 0;
      return false;
    }
    ++used_;
    rows_ += rows;
    nodes_ = sum;
    largest_ = std::max(largest_, largest);
    return true;
  }

 private:
  std::size_t items_ = 0, most_nodes_ = 0, used_ = 0, rows_ = 0, nodes_ = 0, largest_ = 0;
  bool pads_ = false;
};

}  // namespace

// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), twice.
std::uint64_t mix(std::uint64_t seed, std::uint64_t number) {
  const auto finish = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  };
  return finish(finish(seed + 0x9e3779b97f4a7c15ULL) + number + 0x9e3779b97f4a7c15ULL);
}

Sampler::Sampler(std::span<const GraphExample> examples, const TrainingSpec& training, bool pads)
    : examples_(examples), training_(training), pads_(pads) {
  if (examples.empty()) throw Error("train: got no examples, expected at least one");
  std::map<std::uint32_t, Rows> kernels;
  for (std::uint32_t row = 0; row < examples.size(); ++row) {
    kernels[ranks(training.loss) ? examples[row].kernel : row].push_back(row);
  }
  std::map<std::uint32_t, std::vector<Rows>> families;
  for (auto& [name, rows] : kernels) {
    if (ranks_only(training) && !has_pair(rows, examples)) continue;
    drawable_ += rows.size();
    const bool balanced = training.balance == Balance::kFamily;
    families[balanced ? examples[rows.front()].family : 0].push_back(std::move(rows));
  }
  if (families.empty()) {
    throw Error(
        fmt::format("train: nothing to rank; got {} examples of {} kernels, expected a "
                    "kernel with two tiles of different times",
                    examples.size(), kernels.size()));
  }
  for (auto& [name, members] : families) families_.push_back(std::move(members));
  if (training.weigh_kernels) {
    weigh_kernels();
  } else if (!ranks_only(training)) {
    weigh_examples();
  }
}

std::size_t Sampler::group_count(const Rows& kernel) const {
  const auto most = static_cast<std::size_t>(std::max(training_.tiles, 2));
  return (kernel.size() + most - 1) / most;
}

std::size_t Sampler::nodes(std::uint32_t row) const {
  return examples_[row].input.graph->nodes();
}

void Sampler::weigh_examples() {
  const auto is_one = [](const GraphExample& example) { return example.weight == 1; };
  if (std::ranges::all_of(examples_, is_one)) return;
  double sum = 0;
  for (const GraphExample& example : examples_) sum += example.weight;
  for (const GraphExample& example : examples_) {
    weights_.push_back(
        static_cast<float>(example.weight * static_cast<double>(examples_.size()) / sum));
  }
}

void Sampler::weigh_kernels() {
  std::map<std::uint32_t, std::size_t> counts;
  for (const GraphExample& example : examples_) ++counts[example.kernel];
  weights_.resize(examples_.size());
  double sum = 0, items = 0;
  for (const std::vector<Rows>& family : families_) {
    for (const Rows& kernel : family) {
      const std::size_t same =
          ranks(training_.loss) ? group_count(kernel) : counts[examples_[kernel.front()].kernel];
      double weight = 0;
      for (const std::uint32_t row : kernel) {
        weights_[row] = examples_[row].weight / static_cast<float>(same);
        weight += examples_[row].weight;
      }
      weight /= static_cast<double>(kernel.size());
      const double of_kernel = ranks(training_.loss) ? static_cast<double>(same) : 1;
      sum += weight * of_kernel / static_cast<double>(same);
      items += of_kernel;
    }
  }
  for (float& weight : weights_) weight *= static_cast<float>(items / sum);
}

// Every row of `kernels` once, in groups in random order.
std::vector<Rows> Sampler::shuffled_groups(const std::vector<Rows>& kernels,
                                           std::mt19937_64& random) const {
  std::vector<Rows> groups;
  for (const Rows& kernel : kernels) {
    Rows rows = kernel;
    base::shuffle(rows, random);
    const std::size_t count = group_count(rows);
    for (std::size_t group = 0; group < count; ++group) {
      const std::size_t begin = group * rows.size() / count,
                        end = (group + 1) * rows.size() / count;
      groups.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                          rows.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
  base::shuffle(groups, random);
  return groups;
}

std::vector<Rows> Sampler::balanced(std::mt19937_64& random) const {
  std::vector<GroupQueue> queues(families_.size());
  std::vector<std::size_t> order(families_.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<Rows> drawn;
  for (std::size_t count = 0; count < drawable_;) {
    base::shuffle(order, random);
    for (const std::size_t family : order) {
      if (count >= drawable_) break;
      drawn.push_back(
          queues[family].next([&] { return shuffled_groups(families_[family], random); }));
      count += drawn.back().size();
    }
  }
  return drawn;
}

// Cuts the drawn items into batches, in order.
std::vector<Rows> Sampler::cut(std::span<const Rows> drawn) const {
  std::vector<Rows> batches;
  BatchLimit limit(static_cast<std::size_t>(training_.batch), pads_);
  for (const Rows& item : drawn) {
    std::size_t sum = 0, largest = 0;
    for (const std::uint32_t row : item) {
      sum += nodes(row);
      largest = std::max(largest, nodes(row));
    }
    const bool fits = limit.take(item.size(), sum, largest);
    if (!fits) limit.take(item.size(), sum, largest);
    if (!fits || batches.empty()) batches.emplace_back();
    batches.back().insert(batches.back().end(), item.begin(), item.end());
  }
  return batches;
}

std::vector<Rows> Sampler::epoch(int epoch) const {
  std::mt19937_64 random(mix(training_.seed, static_cast<std::uint64_t>(epoch)));
  std::vector<Rows> drawn =
      families_.size() > 1 ? balanced(random) : shuffled_groups(families_[0], random);
  if (!pads_) return cut(drawn);
  std::vector<Rows> batches;
  const std::size_t window = kWindow * static_cast<std::size_t>(training_.batch);
  for (std::size_t begin = 0; begin < drawn.size(); begin += window) {
    const auto part = std::span(drawn).subspan(begin, std::min(window, drawn.size() - begin));
    std::ranges::stable_sort(part, {}, [&](const Rows& item) { return nodes(item.front()); });
    for (Rows& batch : cut(part)) batches.push_back(std::move(batch));
  }
  base::shuffle(batches, random);
  return batches;
}

std::vector<Rows> buckets(std::span<const std::size_t> nodes, std::size_t rows,
                          std::size_t most_nodes) {
  Rows order(nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t row) { return nodes[row]; });
  std::vector<Rows> batches;
  BatchLimit limit(rows, /*pads=*/true, most_nodes);
  for (const std::uint32_t row : order) {
    const bool fits = limit.take(1, nodes[row], nodes[row]);
    if (!fits) limit.take(1, nodes[row], nodes[row]);
    if (!fits || batches.empty()) batches.emplace_back();
    batches.back().push_back(row);
  }
  return batches;
}

}  // namespace tilecast::learned::torch_module
