// Adds random ops to a graph; used by random_kernels.h.
//
// Each function takes a value and returns a new one, or the same one if the op does not apply to
// its type, sizes or range.
#pragma once

#include <random>

#include "tests/host/random_graph.h"

namespace tilecast::host {

class RandomOps {
 public:
  RandomOps(std::uint64_t seed, std::int64_t most_elements)
      : random_(seed), most_elements_(most_elements) {}

  [[nodiscard]] RandomGraph& graph() { return graph_; }
  int pick(int low, int high);  // inclusive bounds
  bool chance(int percent);
  // One of `all`.
  template <class T>
  const T& any(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(pick(0, static_cast<int>(all.size()) - 1))];
  }
  ir::DType random_type();
  ir::Dims random_dims(int lowest_rank, int highest_rank);

  NodeId parameter(ir::DType dtype, const ir::Dims& dims);
  // A value with the type and sizes of x: another one, a parameter, or a broadcast.
  NodeId like(NodeId x);
  NodeId unary(NodeId x);
  NodeId binary(NodeId x);
  NodeId choose(NodeId x);  // compare and select
  NodeId clamp(NodeId x);
  NodeId convert(NodeId x);
  NodeId pointwise(NodeId x);  // any of the five
  NodeId broadcast(NodeId x);
  NodeId reshape(NodeId x);
  NodeId transpose(NodeId x);
  NodeId slice(NodeId x);
  NodeId pad(NodeId x);
  NodeId concatenate(NodeId x);
  NodeId reverse(NodeId x);
  NodeId bitcast(NodeId x);
  NodeId move(NodeId x);  // any of the eight
  NodeId dynamic_slice(NodeId x);
  NodeId dynamic_update_slice(NodeId x);
  NodeId gather(NodeId x);
  NodeId reduce(NodeId x);
  NodeId reduce_window(NodeId x);
  NodeId softmax(NodeId x);
  NodeId normalize(NodeId x);
  NodeId dot(ir::DType dtype);          // of new parameters, each with up to two pointwise ops
  NodeId convolution(ir::DType dtype);  // the same

  // Scales large numbers down by a power of two to avoid overflow.
  NodeId tame(NodeId x);

 private:
  NodeId add(const std::string& opcode, ir::DType dtype, ir::Dims dims,
             std::vector<NodeId> operands, Range range, std::string attributes = {});
  NodeId scalar(ir::DType dtype, double value);
  NodeId spread(NodeId scalar, const ir::Dims& dims);
  NodeId same(const std::string& opcode, NodeId x, std::vector<NodeId> others, Range range);
  NodeId reduce_dims(NodeId x, const std::string& opcode, const ir::Dims& dims);
  NodeId back(NodeId reduced, NodeId x, const ir::Dims& reduced_dims);
  NodeId initial(ir::DType dtype, const std::string& opcode);
  std::string combiner(ir::DType dtype);
  ir::Dims random_subset(int rank);
  ir::Dims shuffled(std::size_t count);
  NodeId index(std::int64_t last);
  NodeId prologue(NodeId x);
  ir::WindowDim random_window(std::int64_t size, bool dilated);

  std::mt19937_64 random_;
  std::int64_t most_elements_;
  RandomGraph graph_;
};

[[nodiscard]] bool is_float(ir::DType dtype);
// From the lower to the higher end of both.
[[nodiscard]] Range joined(const Range& a, const Range& b);
[[nodiscard]] std::string dimensions_text(const ir::Dims& dims);  // ", dimensions={0,2}"
// The smallest and largest number of `dtype`.
[[nodiscard]] Range type_range(ir::DType dtype);
// Number of window positions over `size` elements.
[[nodiscard]] std::int64_t window_outputs(const ir::WindowDim& window, std::int64_t size);
[[nodiscard]] std::string window_text(const std::vector<ir::WindowDim>& window);

}  // namespace tilecast::host
