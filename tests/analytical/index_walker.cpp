#include "index_walker.h"

#include <algorithm>
#include <functional>

namespace tilecast::analytical::testing {
namespace {

using ir::Op;
using ir::Opcode;
using ir::OpId;
using ir::Shape;
using Visit = std::function<void(Index)>;

bool inside(const Index& index, const Shape& shape) {
  for (int d = 0; d < shape.rank(); ++d) {
    if (index[d] < 0 || index[d] >= shape.dims[d]) return false;
  }
  return true;
}

// Calls `visit` for every index in the box.
void for_each_index(const std::vector<Range>& box, const Visit& visit) {
  Index index(box.size());
  const std::function<void(std::size_t)> descend = [&](std::size_t d) {
    if (d == box.size()) return visit(index);
    for (std::int64_t i = 0; i < box[d].size; ++i) {
      index[d] = box[d].begin + i;
      descend(d + 1);
    }
  };
  descend(0);
}

std::vector<Range> whole(const Shape& shape) {
  std::vector<Range> box;
  for (const std::int64_t size : shape.dims) box.push_back({0, size});
  return box;
}

class Walker {
 public:
  Walker(const ir::Kernel& kernel, const IterationSpace& space, const std::vector<Range>& loops)
      : kernel_(kernel), space_(space), loops_(loops), needed_(kernel.ops().size()) {}

  std::vector<IndexSet> run() {
    std::vector<Range> tile;
    for (const int loop : space_.anchor_loops) tile.push_back(loops_[loop]);
    for_each_index(tile, [&](Index i) { needed_[space_.anchor.index()].insert(std::move(i)); });
    std::vector<bool> made(kernel_.ops().size(), false);
    made[space_.anchor.index()] = true;
    for (std::size_t i = space_.anchor.index() + 1; i < needed_.size(); ++i) make(OpId(i), made);
    for (std::size_t i = needed_.size(); i-- > 0;) {
      const Op& op = kernel_.op(OpId(i));
      for (std::size_t k = 0; k < op.operands.size(); ++k) {
        if (made[op.operands[k].index()]) continue;
        IndexSet& demand = needed_[op.operands[k].index()];
        for (const Index& index : needed_[i]) {
          operand_indices(OpId(i), index, k, [&](Index at) { demand.insert(std::move(at)); });
        }
      }
    }
    return std::move(needed_);
  }

 private:
  // Adds the elements of `id` that read needed elements of operands made so far.
  void make(OpId id, std::vector<bool>& made) {
    const Op& op = kernel_.op(id);
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      if (!made[op.operands[k].index()]) continue;
      made[id.index()] = true;
      const IndexSet& source = needed_[op.operands[k].index()];
      for_each_index(whole(op.shape), [&](Index index) {
        bool touched = false;
        operand_indices(id, index, k,
                        [&](const Index& at) { touched = touched || source.contains(at); });
        if (touched) needed_[id.index()].insert(std::move(index));
      });
    }
  }

  // The elements of operand k from which element `index` of `id` is computed.
  void operand_indices(OpId id, const Index& index, std::size_t k, const Visit& visit) const {
    const Op& op = kernel_.op(id);
    const Shape& shape = kernel_.op(op.operands[k]).shape;
    if (shape.rank() == 0) return visit({});
    Index at(shape.rank());
    switch (op.opcode) {
      case Opcode::kBroadcast:
        for (int d = 0; d < shape.rank(); ++d) at[d] = index[op.dimensions[d]];
        return visit(at);
      case Opcode::kTranspose:
        for (std::size_t d = 0; d < index.size(); ++d) at[op.dimensions[d]] = index[d];
        return visit(at);
      case Opcode::kSlice: {
        const auto& dims = op.as<ir::SliceAttrs>().dims;
        for (int d = 0; d < shape.rank(); ++d) at[d] = dims[d].start + index[d] * dims[d].stride;
        return visit(at);
      }
      case Opcode::kPad:
        return pad(op, index, shape, visit);
      case Opcode::kReduce:
        return reduce(op, index, shape, visit);
      case Opcode::kReduceWindow:
        return reduce_window(op, index, shape, visit);
      case Opcode::kDot:
        return dot(op, index, k, shape, visit);
      case Opcode::kConvolution:
        return convolution(op, index, k, shape, visit);
      default:
        return visit(index);
    }
  }

  static void pad(const Op& op, const Index& index, const Shape& shape, const Visit& visit) {
    Index at(index);
    const auto& dims = op.as<ir::PadAttrs>().dims;
    for (int d = 0; d < shape.rank(); ++d) {
      at[d] -= dims[d].low;
      if (at[d] % (dims[d].interior + 1) != 0) return;
      at[d] /= dims[d].interior + 1;
    }
    if (inside(at, shape)) visit(at);
  }

  static void reduce(const Op& op, const Index& index, const Shape& shape, const Visit& visit) {
    std::vector<Range> box = whole(shape);
    int kept = 0;
    for (int d = 0; d < shape.rank(); ++d) {
      if (std::find(op.dimensions.begin(), op.dimensions.end(), d) == op.dimensions.end()) {
        box[d] = {index[kept++], 1};
      }
    }
    for_each_index(box, visit);
  }

  // Index into the (dilated, padded) array for window position `tap`; -1 in a hole.
  static std::int64_t windowed(const ir::WindowDim& w, std::int64_t output, std::int64_t tap) {
    const std::int64_t at = output * w.stride + tap * w.window_dilation - w.pad_low;
    return at % w.base_dilation == 0 ? at / w.base_dilation : -1;
  }

  static void reduce_window(const Op& op, const Index& index, const Shape& shape,
                            const Visit& visit) {
    const ir::Window& window = op.as<ir::WindowAttrs>().window;
    std::vector<Range> taps;
    for (const ir::WindowDim& w : window) taps.push_back({0, w.size});
    for_each_index(taps, [&](const Index& tap) {
      Index at(index);
      for (int d = 0; d < shape.rank(); ++d) at[d] = windowed(window[d], index[d], tap[d]);
      if (inside(at, shape)) visit(at);
    });
  }

  // One contracting dimension, no batch: [m,k] x [k,n] in any order of dimensions.
  void dot(const Op& op, const Index& index, std::size_t k, const Shape& shape,
           const Visit& visit) const {
    const ir::DotDims& dims = op.as<ir::DotAttrs>().dims;
    const auto contracted = k == 0 ? dims.lhs_contracting[0] : dims.rhs_contracting[0];
    const Range part = loops_[space_.matrix->contraction[0]];
    Index at(shape.rank());
    at[1 - contracted] = index[k];
    for (std::int64_t i = part.begin; i < part.begin + part.size; ++i) {
      at[contracted] = i;
      visit(at);
    }
  }

  // One spatial dimension.
  void convolution(const Op& op, const Index& index, std::size_t k, const Shape& shape,
                   const Visit& visit) const {
    const auto& attrs = op.as<ir::ConvAttrs>();
    const ir::ConvDims& dims = attrs.dims;
    const int loop = space_.matrix->window_loops[0];
    const bool paired = !space_.loops[loop].reduction;  // every output has one tap, its own
    const Range taps = paired ? Range{0, attrs.window[0].size} : loops_[loop];
    const Range features = loops_[space_.matrix->contraction[0]];
    const std::int64_t input = kernel_.op(op.operands[0]).shape.dims[dims.input_spatial[0]];
    for_each_index({taps, features}, [&](const Index& inner) {
      const std::int64_t met = windowed(attrs.window[0], index[dims.output_spatial[0]], inner[0]);
      if (paired && (met < 0 || met >= input)) return;
      Index at(shape.rank());
      if (k == 0) {
        at[dims.input_batch] = index[dims.output_batch];
        at[dims.input_feature] = inner[1];
        at[dims.input_spatial[0]] = met;
      } else {
        at[dims.kernel_output_feature] = index[dims.output_feature];
        at[dims.kernel_input_feature] = inner[1];
        at[dims.kernel_spatial[0]] = inner[0];
      }
      if (inside(at, shape)) visit(at);
    });
  }

  const ir::Kernel& kernel_;
  const IterationSpace& space_;
  const std::vector<Range>& loops_;
  std::vector<IndexSet> needed_;
};

}  // namespace

std::vector<IndexSet> needed_indices(const ir::Kernel& kernel, const IterationSpace& space,
                                     const std::vector<Range>& loops) {
  return Walker(kernel, space, loops).run();
}

Index bounding_extents(const IndexSet& indices, int rank) {
  Index extents(rank, 0);
  for (int d = 0; d < rank && !indices.empty(); ++d) {
    const auto by_dim = [d](const Index& a, const Index& b) { return a[d] < b[d]; };
    const auto [least, most] = std::minmax_element(indices.begin(), indices.end(), by_dim);
    extents[d] = (*most)[d] - (*least)[d] + 1;
  }
  return extents;
}

}  // namespace tilecast::analytical::testing
