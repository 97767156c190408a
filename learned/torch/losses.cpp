#include "learned/torch/losses.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace tilecast::learned::torch_module {
namespace {

// slower[p] and faster[p] are rows of one kernel; `share` is a pair's weight in the mean.
struct Pairs {
  std::vector<std::int64_t> slower, faster;
  std::vector<double> share;
};

std::vector<double> numbers(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().to(torch::kDouble).contiguous();
  const double* begin = flat.data_ptr<double>();
  return {begin, begin + flat.numel()};
}

// Appends the pairs among `rows`; returns their number.
std::size_t add_pairs(Pairs& pairs, std::span<const std::int64_t> rows,
                      const std::vector<double>& target) {
  const std::size_t before = pairs.slower.size();
  for (std::size_t a = 0; a < rows.size(); ++a) {
    for (std::size_t b = a + 1; b < rows.size(); ++b) {
      const double difference =
          target[static_cast<std::size_t>(rows[a])] - target[static_cast<std::size_t>(rows[b])];
      if (difference == 0) continue;
      pairs.slower.push_back(difference > 0 ? rows[a] : rows[b]);
      pairs.faster.push_back(difference > 0 ? rows[b] : rows[a]);
    }
  }
  return pairs.slower.size() - before;
}

Pairs pairs_of(const torch::Tensor& target, const torch::Tensor& kernel,
               const torch::Tensor& weights) {
  const std::vector<double> times = numbers(target);
  const std::vector<double> weight = weights.defined() ? numbers(weights) : std::vector<double>{};
  const torch::Tensor kernels = kernel.contiguous();
  const std::int64_t* name = kernels.data_ptr<std::int64_t>();
  std::vector<std::int64_t> rows(times.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::ranges::stable_sort(rows, {}, [&](std::int64_t row) { return name[row]; });

  Pairs pairs;
  std::size_t ranked = 0;  // kernels with a pair
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    double sum = 0;
    for (end = first; end < rows.size() && name[rows[end]] == name[rows[first]]; ++end) {
      if (!weight.empty()) sum += weight[static_cast<std::size_t>(rows[end])];
    }
    const std::size_t added = add_pairs(pairs, std::span(rows).subspan(first, end - first), times);
    if (added == 0) continue;
    ++ranked;
    const double mean = sum / static_cast<double>(end - first);
    pairs.share.insert(pairs.share.end(), added, mean / static_cast<double>(added));
  }
  const auto count = static_cast<double>(pairs.slower.size());
  for (double& share : pairs.share) {
    share = weight.empty() ? 1 / count : share / static_cast<double>(ranked);
  }
  return pairs;
}

torch::Tensor rank_loss(NetworkLoss kind, const torch::Tensor& predicted,
                        const torch::Tensor& target, const torch::Tensor& kernel,
                        const torch::Tensor& weights) {
  const Pairs pairs = pairs_of(target, kernel, weights);
  if (pairs.slower.empty()) return predicted.sum() * 0;
  const torch::Tensor slower = torch::tensor(pairs.slower), faster = torch::tensor(pairs.faster);
  const auto difference = [&](const torch::Tensor& of) {
    return of.index_select(0, slower) - of.index_select(0, faster);
  };
  const torch::Tensor margin = difference(predicted);
  const torch::Tensor phi = kind == NetworkLoss::kRankHinge ? torch::relu(1 - margin)
                            : kind == NetworkLoss::kRankLogistic
                                ? torch::softplus(-margin)
                                : torch::relu(difference(target) - margin).square() / 2;
  return phi.dot(torch::tensor(pairs.share, torch::kDouble).to(predicted.dtype()));
}

torch::Tensor row_losses(const TrainingSpec& training, const torch::Tensor& predicted,
                         const torch::Tensor& target) {
  switch (training.loss) {
    case NetworkLoss::kHuber:
      return torch::huber_loss(predicted, target, at::Reduction::None, /*delta=*/1);
    case NetworkLoss::kQuantile: {
      const torch::Tensor above = target - predicted;
      return torch::maximum(training.quantile * above, (training.quantile - 1) * above);
    }
    default:
      return (predicted - target).square();
  }
}

}  // namespace

torch::Tensor loss(const TrainingSpec& training, const torch::Tensor& predicted,
                   const torch::Tensor& target, const torch::Tensor& kernel,
                   const torch::Tensor& weights) {
  TC_CHECK(predicted.dim() == 1 && predicted.sizes() == target.sizes(), "one target per row");
  TC_CHECK(predicted.numel() > 0, "a mean needs a row");
  const double rank_weight = ranks(training.loss) ? training.rank_weight : 0;
  torch::Tensor sum = predicted.new_zeros({});
  if (rank_weight > 0) {
    sum = sum + rank_weight * rank_loss(training.loss, predicted, target, kernel, weights);
  }
  if (rank_weight < 1) {
    const torch::Tensor each = row_losses(training, predicted, target);
    sum = sum + (1 - rank_weight) * (weights.defined() ? (each * weights).mean() : each.mean());
  }
  return sum;
}

}  // namespace tilecast::learned::torch_module
