// Footprints against an enumeration of all indices on which a tile depends.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "analytical/footprint.h"
#include "analytical/iteration_space.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

// Finds the elements of every op of a kernel that one tile needs, by enumerating indices: the slow,
// obvious reference for footprints. For ops with affine index maps on tiny shapes.

using Index = std::vector<std::int64_t>;
using IndexSet = std::set<Index>;

// Positions [begin, begin + size) of one loop.
struct Range {
  std::int64_t begin = 0, size = 1;
};

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

// Needed indices by op, for the tile that covers `loops` (by loop of the space).
std::vector<IndexSet> needed_indices(const ir::Kernel& kernel, const IterationSpace& space,
                                     const std::vector<Range>& loops) {
  return Walker(kernel, space, loops).run();
}

// Largest minus smallest index plus one, by dimension; zeros if empty.
Index bounding_extents(const IndexSet& indices, int rank) {
  Index extents(rank, 0);
  for (int d = 0; d < rank && !indices.empty(); ++d) {
    const auto by_dim = [d](const Index& a, const Index& b) { return a[d] < b[d]; };
    const auto [least, most] = std::minmax_element(indices.begin(), indices.end(), by_dim);
    extents[d] = (*most)[d] - (*least)[d] + 1;
  }
  return extents;
}

// Builds a random fused computation op by op; every parameter is used once.
class RandomFusion {
 public:
  explicit RandomFusion(std::uint64_t seed) : random_(seed) {}

  std::string text() {
    dims_ = random_dims(1 + below(3));
    value_ = parameter(dims_);
    for (std::int64_t n = below(4); n > 0; --n) affine_op();
    switch (below(5)) {
      case 0:
        dot();
        break;
      case 1:
        convolution();
        break;
      case 2:
        reduce();
        break;
      case 3:
        reduce_window();
        break;
      default:
        break;
    }
    for (std::int64_t n = 1 + below(2); n > 0; --n) elementwise();
    const std::size_t last = body_.rfind("  v");
    body_.insert(last + 2, "ROOT ");
    return fusion(parameters_, shape(dims_), body_);
  }

 private:
  using Sizes = std::vector<std::int64_t>;

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }

  Sizes random_dims(std::int64_t rank) {
    Sizes dims;
    for (std::int64_t d = 0; d < rank; ++d) dims.push_back(1 + below(6));
    return dims;
  }

  static std::string list(const Sizes& values) {
    std::string text;
    for (const std::int64_t v : values) text += (text.empty() ? "" : ",") + std::to_string(v);
    return text;
  }
  static std::string shape(const Sizes& dims) { return "f32[" + list(dims) + "]"; }

  std::string parameter(const Sizes& dims) {
    parameters_.push_back(shape(dims));
    return "p" + std::to_string(parameters_.size() - 1);
  }

  void add(const Sizes& dims, const std::string& expression) {
    value_ = "v" + std::to_string(++ops_);
    dims_ = dims;
    body_ += "  " + value_ + " = " + shape(dims) + " " + expression + "\n";
  }

  void elementwise() {
    if (below(2) == 0) return add(dims_, "negate(" + value_ + ")");
    Sizes kept;
    Sizes kept_sizes;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      if (below(2) == 0) continue;
      kept.push_back(static_cast<std::int64_t>(d));
      kept_sizes.push_back(dims_[d]);
    }
    const std::string before = value_;
    add(dims_, "broadcast(" + parameter(kept_sizes) + "), dimensions={" + list(kept) + "}");
    add(dims_, "add(" + before + ", " + value_ + ")");
  }

  void affine_op() {
    switch (below(5)) {
      case 0:
        return elementwise();
      case 1:
        return transpose();
      case 2:
        return slice();
      case 3:
        return pad();
      default:
        return broadcast();
    }
  }

  void broadcast() {
    if (dims_.size() >= 3) return;
    Sizes dims = dims_;
    const auto at = below(static_cast<std::int64_t>(dims.size()) + 1);
    dims.insert(dims.begin() + at, 1 + below(4));
    Sizes kept;
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(dims.size()); ++d) {
      if (d != at) kept.push_back(d);
    }
    add(dims, "broadcast(" + value_ + "), dimensions={" + list(kept) + "}");
  }

  void transpose() {
    Sizes order(dims_.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    Sizes dims;
    for (const std::int64_t d : order) dims.push_back(dims_[d]);
    add(dims, "transpose(" + value_ + "), dimensions={" + list(order) + "}");
  }

  void slice() {
    Sizes dims;
    std::string text;
    for (const std::int64_t size : dims_) {
      const std::int64_t start = below(size);
      const std::int64_t stride = 1 + below(3);
      const std::int64_t limit = start + 1 + below(size - start);
      dims.push_back((limit - start + stride - 1) / stride);
      text += (text.empty() ? "[" : ", [") + std::to_string(start) + ":" + std::to_string(limit) +
              ":" + std::to_string(stride) + "]";
    }
    add(dims, "slice(" + value_ + "), slice={" + text + "}");
  }

  void pad() {
    Sizes dims;
    std::string text;
    for (const std::int64_t size : dims_) {
      const std::int64_t low = below(3);
      const std::int64_t high = below(3);
      const std::int64_t interior = below(3);
      dims.push_back(low + size + (size - 1) * interior + high);
      text += (text.empty() ? "" : "x") + std::to_string(low) + "_" + std::to_string(high) + "_" +
              std::to_string(interior);
    }
    const std::string fill = parameter({});
    add(dims, "pad(" + value_ + ", " + fill + "), padding=" + text);
  }

  void dot() {
    if (dims_.size() != 2) return;
    const auto contracted = below(2);
    const auto other = below(2);
    const std::int64_t columns = 1 + below(6);
    Sizes rhs{dims_[contracted], dims_[contracted]};
    rhs[1 - other] = columns;
    const std::string weights = parameter(rhs);
    add({dims_[1 - contracted], columns},
        "dot(" + value_ + ", " + weights + "), lhs_contracting_dims={" +
            std::to_string(contracted) + "}, rhs_contracting_dims={" + std::to_string(other) + "}");
  }

  // Records a random window over one dimension; returns its output size.
  std::int64_t window(std::int64_t size, std::int64_t taps) {
    const std::int64_t stride = 1 + below(3);
    const std::int64_t dilation = 1 + below(2);
    const std::int64_t base = 1 + below(3);
    const std::int64_t reach = (taps - 1) * dilation + 1;
    const std::int64_t low = below(3);
    const std::int64_t spread = (size - 1) * base + 1;
    const std::int64_t high = std::max<std::int64_t>(reach - spread - low, 0) + below(3);
    window_fields_[0] += "x" + std::to_string(taps);
    window_fields_[1] += "x" + std::to_string(stride);
    window_fields_[2] += "x" + std::to_string(low) + "_" + std::to_string(high);
    window_fields_[3] += "x" + std::to_string(base);
    window_fields_[4] += "x" + std::to_string(dilation);
    return (low + spread + high - reach) / stride + 1;
  }

  std::string window_text() {
    static constexpr const char* kKeys[] = {"size", "stride", "pad", "lhs_dilate", "rhs_dilate"};
    std::string text;
    for (int i = 0; i < 5; ++i) {
      text += std::string(i == 0 ? "" : " ") + kKeys[i] + "=" + window_fields_[i].substr(1);
      window_fields_[i].clear();
    }
    return "window={" + text + "}";
  }

  void convolution() {
    if (dims_.size() != 3) return;
    const std::int64_t taps = 1 + below(3);
    const std::int64_t columns = 1 + below(4);
    const std::string weights = parameter({taps, dims_[2], columns});
    const std::int64_t out = window(dims_[1], taps);
    const std::string text = window_text();
    add({dims_[0], out, columns},
        "convolution(" + value_ + ", " + weights + "), " + text + ", dim_labels=b0f_0io->b0f");
  }

  void reduce() {
    const auto d = below(static_cast<std::int64_t>(dims_.size()));
    Sizes dims = dims_;
    dims.erase(dims.begin() + d);
    const std::string start = parameter({});
    add(dims, "reduce(" + value_ + ", " + start + "), dimensions={" + std::to_string(d) +
                  "}, to_apply=adder");
  }

  void reduce_window() {
    Sizes dims;
    for (const std::int64_t size : dims_) dims.push_back(window(size, 1 + below(3)));
    const std::string start = parameter({});
    const std::string text = window_text();
    add(dims, "reduce-window(" + value_ + ", " + start + "), " + text + ", to_apply=adder");
  }

  std::mt19937_64 random_;
  std::vector<std::string> parameters_;
  std::string body_, value_;
  Sizes dims_;
  int ops_ = 0;
  std::string window_fields_[5];
};

TEST(Footprints, AreNeverSmallerThanWhatATileDependsOn) {
  std::mt19937_64 random(7);
  int compared = 0;
  int exact = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const std::string text = RandomFusion(seed).text();
    const ir::Kernel kernel = kernel_of(text);
    const IterationSpace space = make_iteration_space(kernel, {});
    const Footprints footprints(kernel, space);
    LoopSizes tile;
    tile.fill(1);
    std::vector<Range> at;
    bool interior = true;
    for (std::size_t i = 0; i < space.loops.size(); ++i) {
      const std::int64_t size = space.loops[i].size;
      tile[i] = 1 + static_cast<std::int64_t>(random() % size);
      const std::int64_t trips = (size + tile[i] - 1) / tile[i];
      const std::int64_t begin = static_cast<std::int64_t>(random() % trips) * tile[i];
      at.push_back({begin, std::min(tile[i], size - begin)});
      interior = interior && at.back().size == tile[i];
    }
    std::vector<Extents> regions(footprints.groups().size());
    footprints.evaluate(tile, regions);
    const std::vector<IndexSet> needed = needed_indices(kernel, space, at);
    for (const ir::OpId p : kernel.parameters()) {
      const int rank = kernel.op(p).shape.rank();
      const Index extents = bounding_extents(needed[p.index()], rank);
      for (int d = 0; d < rank; ++d) {
        const std::int64_t region = regions[footprints.group_of(p)][d];
        ASSERT_GE(region, extents[d]) << kernel.name_of(p) << " dimension " << d << "\n" << text;
        ASSERT_LE(region, kernel.op(p).shape.dims[d]) << text;
        if (!interior) continue;
        ++compared;
        exact += region == extents[d] ? 1 : 0;
      }
    }
  }
  // Interior tiles need less than the region only next to padding and between holes.
  EXPECT_GT(exact, compared * 3 / 4) << "of " << compared;
}

}  // namespace
}  // namespace tilecast::analytical::testing
