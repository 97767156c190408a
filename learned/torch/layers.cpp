#include "learned/torch/layers.h"

#include <cmath>

namespace tilecast::learned::torch_module {
namespace {

using torch::Tensor;

// Added to squared lengths: a row that is almost all zeros (dead rectifiers) is not blown up to
// length 1, and no gradient exceeds 100 times that of the normalised row.
constexpr double kNormFloor = 1e-4;
// Slope of the attention's leaky rectifier (Velickovic et al., section 2.1).
constexpr double kAttentionSlope = 0.2;

// Uniform in [-1, 1), in steps a double holds exactly.
double draw(std::mt19937_64& engine) {
  return static_cast<double>(engine() >> 11) * 0x1p-52 - 1;
}

}  // namespace

Tensor Weights::matrix(const std::string& name, std::int64_t rows, std::int64_t columns,
                       double gain) {
  const double bound = gain * std::sqrt(6.0 / static_cast<double>(rows + columns));
  Tensor values = torch::empty({rows, columns}, torch::kFloat32);
  float* to = values.data_ptr<float>();
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    to[i] = static_cast<float>(bound * draw(engine_));
  }
  return module_->register_parameter(name, values);
}

Tensor Weights::constant(const std::string& name, std::int64_t size, double value) {
  return module_->register_parameter(name, torch::full({size}, value, torch::kFloat32));
}

Tensor Dropout::operator()(const Tensor& values) const {
  if (generator == nullptr || share <= 0) return values;
  const Tensor kept = torch::empty_like(values).bernoulli_(1 - share, *generator);
  return values * kept / (1 - share);
}

Dense::Dense(Weights& weights, const std::string& name, std::int64_t inputs, std::int64_t outputs,
             double gain)
    : weight(weights.matrix(name + "_weight", outputs, inputs, gain)),
      bias(weights.constant(name + "_bias", outputs, 0)) {}

Tensor Dense::operator()(const Tensor& x) const {
  return torch::nn::functional::linear(x, weight, bias);
}

Hop::Hop(Weights& weights, const std::string& name, const NetworkSpec& spec)
    : kind_(spec.graph), aggregate_(spec.aggregate), l2_norm_(spec.l2_norm), heads_(spec.heads) {
  const std::int64_t hidden = spec.hidden;
  switch (kind_) {
    case GraphLayer::kNone:
      f3_ = Dense(weights, name + "_f3", hidden, hidden);
      return;
    case GraphLayer::kSageUndirected:
      f2_in_ = Dense(weights, name + "_f2", hidden, hidden);
      f3_ = Dense(weights, name + "_f3", 2 * hidden, hidden);
      return;
    case GraphLayer::kSage:
      f2_in_ = Dense(weights, name + "_f2_in", hidden, hidden);
      f2_out_ = Dense(weights, name + "_f2_out", hidden, hidden);
      f3_ = Dense(weights, name + "_f3", 3 * hidden, hidden);
      return;
    case GraphLayer::kGat:
      transform_self_ = weights.matrix(name + "_self", hidden, hidden);
      transform_in_ = weights.matrix(name + "_in", hidden, hidden);
      transform_out_ = weights.matrix(name + "_out", hidden, hidden);
      attention_target_ = weights.matrix(name + "_attention_target", heads_, hidden / heads_);
      attention_self_ = weights.matrix(name + "_attention_self", heads_, hidden / heads_);
      attention_in_ = weights.matrix(name + "_attention_in", heads_, hidden / heads_);
      attention_out_ = weights.matrix(name + "_attention_out", heads_, hidden / heads_);
      bias_ = weights.constant(name + "_bias", hidden, 0);
      return;
  }
}

Tensor Hop::operator()(const Tensor& nodes, const Neighbours& neighbours) const {
  Tensor next;
  switch (kind_) {
    case GraphLayer::kNone:
      next = f3_(nodes);
      break;
    case GraphLayer::kSageUndirected: {
      const Tensor around = reduce(f2_in_(nodes).relu(), neighbours.both, aggregate_);
      next = f3_(torch::cat({nodes, around}, 1));
      break;
    }
    case GraphLayer::kSage: {
      const Tensor before = reduce(f2_in_(nodes).relu(), neighbours.in, aggregate_);
      const Tensor after = reduce(f2_out_(nodes).relu(), neighbours.out, aggregate_);
      next = f3_(torch::cat({nodes, before, after}, 1));
      break;
    }
    case GraphLayer::kGat:
      next = attend(nodes, neighbours);
      break;
  }
  next = next.relu();
  const bool sage = kind_ == GraphLayer::kSage || kind_ == GraphLayer::kSageUndirected;
  return sage && l2_norm_ ? l2_normalised(next) : next;
}

// Rows 0 ... N-1 of the messages are the nodes themselves, N ... 2N-1 producers, then consumers.
Tensor Hop::attend(const Tensor& nodes, const Neighbours& neighbours) const {
  const std::int64_t count = nodes.size(0);
  const auto heads = [&](const Tensor& rows) { return rows.view({rows.size(0), heads_, -1}); };
  const Tensor self = nodes.mm(transform_self_.t());
  const Tensor in = nodes.mm(transform_in_.t()), out = nodes.mm(transform_out_.t());
  const Tensor scores =
      torch::cat({(heads(self) * attention_self_).sum(2), (heads(in) * attention_in_).sum(2),
                  (heads(out) * attention_out_).sum(2)});
  const Tensor wanted = (heads(self) * attention_target_).sum(2);

  const Segments alone =
      make_segments(std::vector<std::int64_t>(static_cast<std::size_t>(count), 1));
  const Segments in_rows{neighbours.in.sources + count, neighbours.in.offsets};
  const Segments out_rows{neighbours.out.sources + 2 * count, neighbours.out.offsets};
  const Segments all = join(join(alone, in_rows), out_rows);
  const Tensor match = gather(scores, all.sources) + gather(wanted, all.targets());
  const Tensor shares = softmax(torch::leaky_relu(match, kAttentionSlope), all);
  const Tensor messages = heads(gather(torch::cat({self, in, out}), all.sources));
  const Tensor weighted = (messages * shares.unsqueeze(2)).flatten(1);
  return reduce(weighted, all.in_order(), Aggregate::kSum) + bias_;
}

Tensor l2_normalised(const Tensor& rows) {
  return rows * (rows.square().sum(1, /*keepdim=*/true) + kNormFloor).rsqrt();
}

}  // namespace tilecast::learned::torch_module
