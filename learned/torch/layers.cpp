#include "learned/torch/layers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilecast::learned::torch_module {
namespace {

using torch::Tensor;

// Added to squared lengths, so that a row of almost all zeros (dead rectifiers) is not scaled up to
// length 1, and no gradient exceeds 100 times that of the normalised row.
constexpr double kNormFloor = 1e-4;
// Slope of the attention's leaky rectifier (Velickovic et al., section 2.1).
constexpr double kAttentionSlope = 0.2;

// Uniform in [-1, 1), in steps that a double represents exactly.
double draw_symmetric(std::mt19937_64& engine) {
  return static_cast<double>(engine() >> 11) * 0x1p-52 - 1;
}

// Small, so that a sum of scalars over nodes starts near 0 for large kernels, too.
constexpr double kScalarGain = 0.05;
constexpr std::int64_t kWiden = 2;  // width of the encoder's inner layer / width of embeddings
// Value of masked scores: far below any score, but finite, so that no row becomes NaN.
constexpr double kMasked = -1e9;

Tensor compressed(const Tensor& sums) {
  return sums.sign() * sums.abs().log1p();
}

// Kernels from long to short, as packed sequences require; a stable order for equal lengths.
std::vector<std::int64_t> longest_first(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::int64_t kernel) {
    return lengths[static_cast<std::size_t>(kernel)];
  });
  return order;
}

std::vector<std::int64_t> first_rows(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> first(lengths.size());
  std::exclusive_scan(lengths.begin(), lengths.end(), first.begin(), std::int64_t{0});
  return first;
}

// The nodes at each step, for all sequences that are long enough.
struct Packed {
  std::vector<std::int64_t> rows, per_step;
};
Packed pack(const std::vector<std::int64_t>& lengths, const std::vector<std::int64_t>& order) {
  const std::vector<std::int64_t> first = first_rows(lengths);
  Packed packed;
  for (std::int64_t step = 0;; ++step) {
    std::int64_t running = 0;
    for (const std::int64_t kernel : order) {
      const auto k = static_cast<std::size_t>(kernel);
      if (lengths[k] <= step) break;
      packed.rows.push_back(first[k] + step);
      ++running;
    }
    if (running == 0) return packed;
    packed.per_step.push_back(running);
  }
}

Tensor indices(const std::vector<std::int64_t>& values) {
  return torch::tensor(values, torch::kInt64);
}

Tensor normalised(const Tensor& rows, const Tensor& scale, const Tensor& shift) {
  return torch::layer_norm(rows, {rows.size(-1)}, scale, shift);
}

}  // namespace

Tensor Weights::matrix(const std::string& name, std::int64_t rows, std::int64_t columns,
                       double gain) {
  const double bound = gain * std::sqrt(6.0 / static_cast<double>(rows + columns));
  Tensor values = torch::empty({rows, columns}, torch::kFloat32);
  float* to = values.data_ptr<float>();
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    to[i] = static_cast<float>(bound * draw_symmetric(engine_));
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
      bias(weights.bias(name + "_bias", outputs)) {}

Tensor Dense::operator()(const Tensor& x) const {
  return torch::nn::functional::linear(x, weight, bias);
}

Hop::Hop(Weights& weights, const std::string& name, const NetworkSpec& spec, std::int64_t inputs)
    : kind_(spec.graph), aggregate_(spec.aggregate), l2_norm_(spec.l2_norm), heads_(spec.heads) {
  const std::int64_t hidden = spec.hidden;
  switch (kind_) {
    case GraphLayer::kNone:
    case GraphLayer::kConv1d:  // has no hops; see sequences.h
    case GraphLayer::kGcn:
      f3_ = Dense(weights, name + "_f3", inputs, hidden);
      return;
    case GraphLayer::kSageUndirected:
      f2_in_ = Dense(weights, name + "_f2", inputs, hidden);
      f3_ = Dense(weights, name + "_f3", inputs + hidden, hidden);
      return;
    case GraphLayer::kSage:
      f2_in_ = Dense(weights, name + "_f2_in", inputs, hidden);
      f2_out_ = Dense(weights, name + "_f2_out", inputs, hidden);
      f3_ = Dense(weights, name + "_f3", inputs + 2 * hidden, hidden);
      return;
    case GraphLayer::kGat:
      transform_self_ = weights.matrix(name + "_self", hidden, inputs);
      transform_in_ = weights.matrix(name + "_in", hidden, inputs);
      transform_out_ = weights.matrix(name + "_out", hidden, inputs);
      attention_target_ = weights.matrix(name + "_attention_target", heads_, hidden / heads_);
      attention_self_ = weights.matrix(name + "_attention_self", heads_, hidden / heads_);
      attention_in_ = weights.matrix(name + "_attention_in", heads_, hidden / heads_);
      attention_out_ = weights.matrix(name + "_attention_out", heads_, hidden / heads_);
      bias_ = weights.bias(name + "_bias", hidden);
      return;
  }
}

Tensor Hop::operator()(const Tensor& nodes, const Neighbours& neighbours) const {
  Tensor next;
  switch (kind_) {
    case GraphLayer::kNone:
    case GraphLayer::kConv1d:
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
    case GraphLayer::kGcn:
      next = f3_(convolve(nodes, neighbours));
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
  const Tensor sums = reduce(weighted, all.in_order(), Aggregate::kSum);
  return bias_.defined() ? sums + bias_ : sums;
}

Tensor Hop::convolve(const Tensor& nodes, const Neighbours& neighbours) const {
  const Segments alone =
      make_segments(std::vector<std::int64_t>(static_cast<std::size_t>(nodes.size(0)), 1));
  const Segments all = join(alone, neighbours.both);
  if (aggregate_ != Aggregate::kSum) return reduce(nodes, all, aggregate_);
  const Tensor degrees = all.offsets.diff().to(nodes.scalar_type());
  const Tensor shares = degrees.rsqrt().unsqueeze(1);
  return reduce(nodes * shares, all, aggregate_) * shares;
}

Tensor l2_normalised(const Tensor& rows) {
  return rows * (rows.square().sum(1, /*keepdim=*/true) + kNormFloor).rsqrt();
}

Pool::Pool(Weights& weights, const NetworkSpec& spec) : spec_(spec) {
  const std::int64_t hidden = spec.hidden;
  if (spec.reduction == Reduction::kPerNode) {
    scalar_ = Dense(weights, "node_scalar", hidden, 1, kScalarGain);
  }
  if (spec.reduction == Reduction::kLstm) {
    gates_ = {weights.matrix("lstm_input", 4 * hidden, hidden),
              weights.matrix("lstm_state", 4 * hidden, hidden)};
    if (spec.biases) {
      gates_.push_back(weights.bias("lstm_input_bias", 4 * hidden));
      gates_.push_back(weights.bias("lstm_state_bias", 4 * hidden));
    }
  }
  if (spec.reduction != Reduction::kTransformer) return;
  for (int i = 0; i < spec.reduction_layers; ++i) {
    const std::string name = "encoder" + std::to_string(i) + "_";
    Encoder layer;
    layer.query = Dense(weights, name + "query", hidden, hidden);
    layer.key = Dense(weights, name + "key", hidden, hidden);
    layer.value = Dense(weights, name + "value", hidden, hidden);
    layer.out = Dense(weights, name + "out", hidden, hidden);
    layer.widen = Dense(weights, name + "widen", hidden, kWiden * hidden);
    layer.narrow = Dense(weights, name + "narrow", kWiden * hidden, hidden);
    layer.scale_1 = weights.constant(name + "scale_1", hidden, 1);
    layer.shift_1 = weights.constant(name + "shift_1", hidden, 0);
    layer.scale_2 = weights.constant(name + "scale_2", hidden, 1);
    layer.shift_2 = weights.constant(name + "shift_2", hidden, 0);
    encoders_.push_back(std::move(layer));
  }
}

std::int64_t Pool::width() const {
  if (spec_.reduction == Reduction::kNone) return 0;
  if (spec_.reduction == Reduction::kPerNode) return 1;
  if (spec_.reduction != Reduction::kColumnWise) return spec_.hidden;
  return spec_.hidden * (int{spec_.pool_mean} + int{spec_.pool_max} + int{spec_.pool_sum});
}

Tensor Pool::operator()(const Tensor& nodes, const Batch& batch, const Dropout& dropout) const {
  const Segments kernels = make_segments(batch.lengths);
  switch (spec_.reduction) {
    case Reduction::kPerNode:
      return reduce(scalar_(nodes), kernels, Aggregate::kSum);
    case Reduction::kColumnWise:
      return columns(nodes, kernels);
    case Reduction::kLstm:
      return last_state(nodes, batch);
    case Reduction::kTransformer:
    case Reduction::kNone:
      break;
  }
  return compressed(reduce(encode(nodes, batch, dropout), kernels, Aggregate::kSum));
}

Tensor Pool::columns(const Tensor& nodes, const Segments& kernels) const {
  std::vector<Tensor> parts;
  if (spec_.pool_mean) parts.push_back(reduce(nodes, kernels, Aggregate::kMean));
  if (spec_.pool_max) parts.push_back(reduce(nodes, kernels, Aggregate::kMax));
  if (spec_.pool_sum) parts.push_back(compressed(reduce(nodes, kernels, Aggregate::kSum)));
  return torch::cat(parts, 1);
}

Tensor Pool::last_state(const Tensor& nodes, const Batch& batch) const {
  const std::vector<std::int64_t> order = longest_first(batch.lengths);
  const Packed packed = pack(batch.lengths, order);
  const auto kernels = static_cast<std::int64_t>(order.size());
  const Tensor start = torch::zeros({1, kernels, spec_.hidden}, nodes.options());
  const auto [steps, state, cell] = torch::lstm(
      gather(nodes, indices(packed.rows)), indices(packed.per_step), {start, start}, gates_,
      /*has_biases=*/spec_.biases, /*num_layers=*/1, /*dropout=*/0.0, /*train=*/false,
      /*bidirectional=*/false);
  std::vector<std::int64_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  return gather(state.squeeze(0), indices(place));
}

Tensor Pool::encode(const Tensor& nodes, const Batch& batch, const Dropout& dropout) const {
  const auto kernels = static_cast<std::int64_t>(batch.lengths.size());
  const std::int64_t longest = *std::ranges::max_element(batch.lengths);
  const Tensor slot = batch.kernel_of * longest + batch.place;
  // Absent nodes read the kernel's first node; they are masked and their results are unused.
  Tensor row = indices(first_rows(batch.lengths)).repeat_interleave(longest);
  row.index_copy_(0, slot, torch::arange(nodes.size(0), torch::kInt64));
  Tensor absent = torch::full({kernels * longest}, kMasked, nodes.options());
  absent.index_fill_(0, slot, 0);
  absent = absent.view({kernels, 1, 1, longest});

  Tensor padded = gather(nodes, row).view({kernels, longest, spec_.hidden});
  for (const Encoder& layer : encoders_) {
    padded =
        normalised(padded + dropout(attend(layer, padded, absent)), layer.scale_1, layer.shift_1);
    const Tensor inner = layer.narrow(dropout(layer.widen(padded).relu()));
    padded = normalised(padded + dropout(inner), layer.scale_2, layer.shift_2);
  }
  return gather(padded.flatten(0, 1), slot);
}

Tensor Pool::attend(const Encoder& layer, const Tensor& padded, const Tensor& absent) const {
  const std::int64_t kernels = padded.size(0), longest = padded.size(1);
  const std::int64_t count = reduction_heads_of(spec_), width = spec_.hidden / count;
  const auto heads = [&](const Tensor& rows) {
    return rows.view({kernels, longest, count, width}).transpose(1, 2);
  };
  const Tensor query = heads(layer.query(padded)) / std::sqrt(static_cast<double>(width));
  const Tensor scores = query.matmul(heads(layer.key(padded)).transpose(2, 3)) + absent;
  const Tensor read = scores.softmax(3).matmul(heads(layer.value(padded)));
  return layer.out(read.transpose(1, 2).reshape({kernels, longest, spec_.hidden}));
}

}  // namespace tilecast::learned::torch_module
