#include "learned/torch/adam.h"

#include <cmath>

#include "base/error.h"

namespace tilecast::learned::torch_module {
namespace {

// The defaults of Kingma and Ba, algorithm 1.
constexpr double kMeanDecay = 0.9, kSquareDecay = 0.999;
constexpr float kEpsilon = 1e-8F;
// Smaller moments are set to 0: without a gradient they would decay into denormal numbers, which
// are slow, and they are negligible against kEpsilon.
constexpr float kNothing = 1e-30F;

// Sums in eight lanes, an order that the compiler can vectorise.
double squares(const float* values, std::size_t count) {
  double lanes[8] = {};
  for (std::size_t i = 0; i < count; ++i) {
    lanes[i % 8] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

struct Update {
  float scale = 1;  // factor on the gradient
  float rate = 0;   // learning rate / bias correction of the mean
  float keep = 1;   // 1 - learning rate x weight decay
  float root = 1;   // 1 / sqrt(bias correction of the square)

  void operator()(float* weight, const float* gradient, float* mean, float* square,
                  std::size_t count) const {
    constexpr auto kMeanShare = static_cast<float>(1 - kMeanDecay);
    constexpr auto kSquareShare = static_cast<float>(1 - kSquareDecay);
    for (std::size_t i = 0; i < count; ++i) {
      const float g = gradient[i] * scale;
      const float m = mean[i] + (g - mean[i]) * kMeanShare;
      const float v = square[i] + (g * g - square[i]) * kSquareShare;
      mean[i] = std::abs(m) < kNothing ? 0 : m;
      square[i] = v < kNothing ? 0 : v;
      weight[i] = weight[i] * keep - rate * m / (std::sqrt(v) * root + kEpsilon);
    }
  }
};

}  // namespace

Adam::Adam(std::vector<torch::Tensor> weights, double weight_decay, double clip)
    : weights_(std::move(weights)), weight_decay_(weight_decay), clip_(clip) {
  std::size_t count = 0;
  for (const torch::Tensor& weight : weights_) {
    TC_CHECK(weight.is_contiguous() && weight.dtype() == torch::kFloat32, "weights are float32");
    count += static_cast<std::size_t>(weight.numel());
  }
  state_.mean.resize(count);
  state_.square.resize(count);
}

double Adam::step(double learning_rate) {
  double sum = 0;
  for (const torch::Tensor& weight : weights_) {
    const torch::Tensor& gradient = weight.grad();
    if (!gradient.defined()) continue;
    TC_CHECK(gradient.is_contiguous(), "gradients are laid out as their weights");
    sum += squares(gradient.data_ptr<float>(), static_cast<std::size_t>(gradient.numel()));
  }
  const double norm = std::sqrt(sum);
  if (!std::isfinite(norm)) return norm;

  ++state_.steps;
  const auto steps = static_cast<double>(state_.steps);
  const Update update{.scale = clip_ > 0 && norm > clip_ ? static_cast<float>(clip_ / norm) : 1.0F,
                      .rate = static_cast<float>(learning_rate / (1 - std::pow(kMeanDecay, steps))),
                      .keep = static_cast<float>(1 - learning_rate * weight_decay_),
                      .root = static_cast<float>(1 / std::sqrt(1 - std::pow(kSquareDecay, steps)))};
  std::size_t first = 0;
  for (torch::Tensor& weight : weights_) {
    const auto count = static_cast<std::size_t>(weight.numel());
    torch::Tensor& gradient = weight.mutable_grad();
    if (gradient.defined()) {
      update(weight.data_ptr<float>(), gradient.data_ptr<float>(), &state_.mean[first],
             &state_.square[first], count);
      gradient.zero_();
    }
    first += count;
  }
  return norm;
}

void Adam::restore(AdamState state) {
  TC_CHECK(state.mean.size() == state_.mean.size() && state.square.size() == state_.square.size(),
           "moments of as many weights");
  state_ = std::move(state);
}

}  // namespace tilecast::learned::torch_module
