// Layers of the network: their tensors and the functions on them.
//
// Every layer gets its tensors from a Weights, which names them, registers them with the module and
// initialises them, in the order of the calls.
#pragma once

#include <random>
#include <vector>

#include "learned/torch/batch.h"
#include "learned/torch/segments.h"

namespace tilecast::learned::torch_module {

// Creates weights: uniform with the variance of Glorot and Bengio (AISTATS 2010), from its own
// generator; biases 0.
class Weights {
 public:
  Weights(torch::nn::Module& module, std::uint64_t seed, bool biases = true)
      : module_(&module), engine_(seed), biases_(biases) {}

  [[nodiscard]] torch::Tensor matrix(const std::string& name, std::int64_t rows,
                                     std::int64_t columns, double gain = 1);
  [[nodiscard]] torch::Tensor constant(const std::string& name, std::int64_t size, double value);
  // Undefined in networks without biases.
  [[nodiscard]] torch::Tensor bias(const std::string& name, std::int64_t size) {
    return biases_ ? constant(name, size, 0) : torch::Tensor();
  }

 private:
  torch::nn::Module* module_;
  std::mt19937_64 engine_;
  bool biases_;
};

// Zeroes a share of the values and scales the others; the identity without a generator.
struct Dropout {
  double share = 0;
  torch::Generator* generator = nullptr;

  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& values) const;
};

// x -> x W^T + b; without b in networks without biases
struct Dense {
  torch::Tensor weight, bias;

  Dense() = default;
  Dense(Weights& weights, const std::string& name, std::int64_t inputs, std::int64_t outputs,
        double gain = 1);
  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& x) const;
};

// Neighbours of each node, limited in number: along edges into it, out of it, and both (in first).
struct Neighbours {
  Segments in, out, both;
};

// One hop over embeddings of width `inputs`: e' = l2(relu f3(concat(e, reduce relu f2(e_j)))).
//   kSage            separate f2 and reduction for producers and consumers, concatenated
//   kSageUndirected  one f2, one reduction over all neighbours
//   kGat             below
//   kNone            relu f3(e): no neighbours, no l2
//   kGcn             relu f3(reduce over the node and all its neighbours) (Kipf and Welling, ICLR
//                    2017, equation 2: each term of a sum is divided by sqrt(d_i d_j), with d =
//                    1 + neighbours used); mean and max are unscaled; no l2
// kGat (Velickovic et al., ICLR 2018) with directions: a node attends to itself, its producers and
// its consumers in one softmax per head; each of the three has its own transformation and attention
// vector. Heads are concatenated; relu after the bias, no l2.
class Hop {
 public:
  Hop(Weights& weights, const std::string& name, const NetworkSpec& spec, std::int64_t inputs);
  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& nodes,
                                         const Neighbours& neighbours) const;

 private:
  [[nodiscard]] torch::Tensor attend(const torch::Tensor& nodes,
                                     const Neighbours& neighbours) const;
  [[nodiscard]] torch::Tensor convolve(const torch::Tensor& nodes,
                                       const Neighbours& neighbours) const;

  GraphLayer kind_;
  Aggregate aggregate_;
  bool l2_norm_;
  std::int64_t heads_;
  Dense f2_in_, f2_out_, f3_;                                    // kSageUndirected: f2_in_ only
  torch::Tensor transform_self_, transform_in_, transform_out_;  // kGat, with its attention vectors
  torch::Tensor attention_target_, attention_self_, attention_in_, attention_out_, bias_;
};

// Scales rows to length 1, except rows of nearly 0.
[[nodiscard]] torch::Tensor l2_normalised(const torch::Tensor& rows);

// Node embeddings -> one embedding per kernel (Kaufman et al., MLSys 2021, section 3.2).
//
//   per_node     one scalar per node, summed: width 1
//   column_wise  the chosen ones of mean, maximum and sum over nodes, concatenated in this order
//   lstm         the final state over the nodes in topological order
//   none         empty: width 0
//   transformer  an encoder over the kernel's nodes (Vaswani et al., NeurIPS 2017; normalised
//                after each sub-layer, without positions: the graph layers carry the order), then
//                the sum over nodes
// Sums of vectors grow with the kernel, but log times do not. So sums are passed on as sign(x)
// log(1 + |x|), which keeps values of large kernels in range.
class Pool {
 public:
  Pool(Weights& weights, const NetworkSpec& spec);
  // (N, hidden) -> (G, width())
  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& nodes, const Batch& batch,
                                         const Dropout& dropout) const;
  [[nodiscard]] std::int64_t width() const;

 private:
  struct Encoder {
    Dense query, key, value, out, widen, narrow;
    torch::Tensor scale_1, shift_1, scale_2, shift_2;  // of the two normalisations
  };

  [[nodiscard]] torch::Tensor columns(const torch::Tensor& nodes, const Segments& kernels) const;
  [[nodiscard]] torch::Tensor last_state(const torch::Tensor& nodes, const Batch& batch) const;
  [[nodiscard]] torch::Tensor encode(const torch::Tensor& nodes, const Batch& batch,
                                     const Dropout& dropout) const;
  [[nodiscard]] torch::Tensor attend(const Encoder& layer, const torch::Tensor& padded,
                                     const torch::Tensor& absent) const;

  NetworkSpec spec_;
  Dense scalar_;                      // per_node
  std::vector<torch::Tensor> gates_;  // lstm: in the form of torch::lstm
  std::vector<Encoder> encoders_;     // transformer
};

}  // namespace tilecast::learned::torch_module
