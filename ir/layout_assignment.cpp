#include "ir/layout_assignment.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "base/error.h"

namespace tilecast::ir {
namespace {

// Another dimension order is chosen only if it reduces the padded size to this fraction: a new
// order costs transposes elsewhere, which are not visible from one array. Our choice, not measured.
constexpr double kWorthwhileFraction = 0.75;
// An order is not adopted from a convolution if it would enlarge an array by more than this factor:
// transposing at the convert moves less data. Our choice, not measured.
constexpr double kMostInflation = 4;

// Array sizes are at most 2^62; much smaller tiles ensure that rounding up cannot overflow.
constexpr std::int64_t kMaxTile = std::int64_t{1} << 20;

void check(const LayoutRules& rules) {
  const auto in_range = [](std::int64_t size) { return size > 0 && size <= kMaxTile; };
  if (in_range(rules.sublanes) && in_range(rules.lanes) && in_range(rules.max_rank1_tile) &&
      rules.word_bits > 0 && rules.word_bits <= 1024) {
    return;
  }
  throw Error("layout rules: tile sizes must be between 1 and 2^20; got sublanes " +
              std::to_string(rules.sublanes) + ", lanes " + std::to_string(rules.lanes) +
              ", max_rank1_tile " + std::to_string(rules.max_rank1_tile) + ", word_bits " +
              std::to_string(rules.word_bits));
}

// Number of elements per word; 1 for types at least as wide as a word.
std::int64_t packing(DType dtype, const LayoutRules& rules) {
  return std::max<std::int64_t>(1, rules.word_bits / std::max(1, bits(dtype)));
}

// The smallest of unit, 2 unit, 4 unit ... that is >= `size`, at most `limit` but at least unit.
std::int64_t smallest_tile(std::int64_t size, std::int64_t unit, std::int64_t limit) {
  std::int64_t tile = unit;
  while (tile < size && tile * 2 <= limit) tile *= 2;
  return tile;
}

double padded(std::int64_t size, std::int64_t tile) {
  const auto exact = static_cast<double>(size);
  const auto remainder = static_cast<double>(size % tile);
  return remainder == 0 ? exact : exact - remainder + static_cast<double>(tile);
}

// The factor by which tiling inflates an array, from the sizes of its two minormost dimensions.
class PaddingCost {
 public:
  PaddingCost(const Shape& shape, const LayoutRules& rules)
      : shape_(shape), rules_(rules), packing_(packing(shape.dtype, rules)) {}

  [[nodiscard]] std::int64_t rows(std::int64_t dim) const {
    return smallest_tile(size(dim), packing_, rules_.sublanes);
  }
  [[nodiscard]] double inflation(std::int64_t minor, std::int64_t second) const {
    const double lanes = padded(size(minor), rules_.lanes) / static_cast<double>(size(minor));
    return lanes * padded(size(second), rows(second)) / static_cast<double>(size(second));
  }
  // An unknown or empty dimension counts as one element.
  [[nodiscard]] std::int64_t size(std::int64_t dim) const {
    return std::max<std::int64_t>(1, shape_.dims[static_cast<std::size_t>(dim)]);
  }

 private:
  const Shape& shape_;
  const LayoutRules& rules_;
  std::int64_t packing_;
};

// Moves `minor` and `second` to the front of the order; the rest keep their relative order.
Dims with_minor_pair(const Dims& order, std::int64_t minor, std::int64_t second) {
  Dims result = {minor, second};
  for (const std::int64_t dim : order) {
    if (dim != minor && dim != second) result.push_back(dim);
  }
  return result;
}

Dims choose_order(const Dims& given, const PaddingCost& cost) {
  Dims best = given;
  double best_inflation = cost.inflation(given[0], given[1]) * kWorthwhileFraction;
  for (const std::int64_t minor : given) {
    for (const std::int64_t second : given) {
      if (minor == second || cost.inflation(minor, second) >= best_inflation) continue;
      best_inflation = cost.inflation(minor, second);
      best = with_minor_pair(given, minor, second);
    }
  }
  return best;
}

void assign_vector_tiles(Layout& layout, const Shape& shape, const LayoutRules& rules) {
  const std::int64_t pack = packing(shape.dtype, rules);
  const std::int64_t unit = rules.lanes * pack;
  const std::int64_t size = shape.dims.empty() ? 1 : shape.dims[0];
  layout.tiles.push_back({smallest_tile(size, unit, rules.max_rank1_tile)});
  if (pack == 1 || shape.dims.empty()) return;
  layout.tiles.push_back({rules.lanes});
  layout.tiles.push_back({pack, 1});
}

void assign_matrix_tiles(Layout& layout, const Shape& shape, const LayoutRules& rules) {
  const PaddingCost cost(shape, rules);
  layout.tiles.push_back({cost.rows(layout.minor_to_major[1]), rules.lanes});
  const std::int64_t pack = packing(shape.dtype, rules);
  if (pack > 1) layout.tiles.push_back({pack, 1});
}

Layout ordered_layout(const Shape& shape, const Dims& order, const LayoutRules& rules) {
  Layout layout = shape.layout ? *shape.layout : default_layout(shape.rank());
  layout.minor_to_major = order;
  layout.tiles.clear();
  if (bits(shape.dtype) < 8) layout.element_bits = bits(shape.dtype);
  assign_matrix_tiles(layout, shape, rules);
  return layout;
}

// The dimension orders preferred by convolutions, by array dimensions.
struct PreferredOrder {
  Dims order;
  DType dtype;
};
using PreferredOrders = std::map<Dims, PreferredOrder>;

Dims order_from(std::int64_t minor, std::int64_t second, int rank) {
  Dims descending;
  for (int d = rank; d-- > 0;) descending.push_back(d);
  return with_minor_pair(descending, minor, second);
}

// The dimension other than these two that pads least as rows of `minor`; the last one among equals.
std::int64_t best_spatial(const PaddingCost& cost, int rank, std::int64_t minor,
                          std::int64_t other) {
  std::int64_t best = -1;
  for (std::int64_t d = 0; d < rank; ++d) {
    if (d == minor || d == other || cost.size(d) == 1) continue;
    if (best < 0 || cost.inflation(minor, d) <= cost.inflation(minor, best)) best = d;
  }
  return best < 0 ? other : best;
}

// The activations of a convolution have features and batch as the two minor dimensions, in the
// order that pads less; weights have output and input features there. This is the layout seen in
// TPU dumps. A batch of one would leave seven of eight sublanes empty, so a spatial dimension takes
// its place, like XLA's SpaceToBatchConverter.
Dims convolution_order(const Shape& shape, std::int64_t feature, std::int64_t batch,
                       const LayoutRules& rules) {
  const PaddingCost cost(shape, rules);
  if (cost.size(batch) == 1) batch = best_spatial(cost, shape.rank(), feature, batch);
  const double by_batch = cost.inflation(batch, feature),
               by_feature = cost.inflation(feature, batch);
  // If both are small and pad equally, the batch is minor, which makes the products faster.
  const bool few = std::max(cost.size(batch), cost.size(feature)) <= rules.sublanes;
  const bool batch_minor = by_batch < by_feature || (few && by_batch == by_feature);
  return batch_minor ? order_from(batch, feature, shape.rank())
                     : order_from(feature, batch, shape.rank());
}

struct ConvolutionArray {
  const Shape& shape;
  int feature, batch;
};

std::array<ConvolutionArray, 3> arrays_of(const ConvDims& dims, const Shape& input,
                                          const Shape& kernel, const Shape& output) {
  return {{{output, dims.output_feature, dims.output_batch},
           {input, dims.input_feature, dims.input_batch},
           {kernel, dims.kernel_output_feature, dims.kernel_input_feature}}};
}

PreferredOrders preferred_orders(const Module& module, const LayoutRules& rules) {
  PreferredOrders orders;
  for (const Computation& computation : module.computations) {
    for (const Instruction& op : computation.instructions) {
      const auto* conv = op.get<ConvAttrs>();
      if (conv == nullptr || op.opcode != Opcode::kConvolution) continue;
      for (const auto& [shape, feature, batch] :
           arrays_of(conv->dims, computation.at(op.operands[0]).shape,
                     computation.at(op.operands[1]).shape, op.shape)) {
        if (!shape.is_array() || shape.rank() < 3) continue;
        const Dims order = convolution_order(shape, feature, batch, rules);
        orders.emplace(shape.dims, PreferredOrder{order, shape.dtype});
      }
    }
  }
  return orders;
}

// Arrays with the dimensions of a convolution's arrays get the same order, so that ops between
// convolutions do not transpose. An array of another type, separated by a convert, does so only if
// its padding is small.
Layout layout_beside_convolutions(const Shape& shape, const LayoutRules& rules,
                                  const PreferredOrders& orders) {
  Layout own = device_layout(shape, rules);
  const auto found = orders.find(shape.dims);
  if (found == orders.end()) return own;
  const auto& [order, dtype] = found->second;
  const PaddingCost cost(shape, rules);
  const Dims& own_order = own.minor_to_major;
  const double worth_following = kMostInflation * cost.inflation(own_order[0], own_order[1]);
  if (dtype != shape.dtype && cost.inflation(order[0], order[1]) > worth_following) return own;
  return ordered_layout(shape, order, rules);
}

// Assigns layouts by the rules of one module; results for equal arrays are cached.
class LayoutAssigner {
 public:
  LayoutAssigner(const LayoutRules& rules, const PreferredOrders& orders)
      : rules_(rules), orders_(orders) {}

  void assign(Shape& shape) {
    for (Shape& element : shape.elements) assign(element);
    if (!shape.is_array()) return;
    if (!rules_.tiled) {
      if (shape.layout && !shape.layout->tiles.empty()) shape.layout.edit().tiles.clear();
      if (!shape.layout) shape.layout = default_layout(shape.rank());
      return;
    }
    if (shape.layout && !shape.layout->tiles.empty()) return;
    Known& known = known_[slot(shape)];
    if (!known.result || known.given != shape) {
      known = {shape, layout_beside_convolutions(shape, rules_, orders_)};
    }
    shape.layout = known.result;
  }

 private:
  struct Known {
    Shape given;
    Shared<Layout> result;
  };
  static constexpr std::size_t kSlots = 256;  // a power of two; a slot keeps its latest array

  [[nodiscard]] static std::size_t slot(const Shape& shape) {
    std::uint64_t hash = static_cast<std::uint64_t>(shape.dtype) + shape.dims.size();
    for (const std::int64_t size : shape.dims) {
      hash = (hash ^ static_cast<std::uint64_t>(size)) * 0x9E3779B97F4A7C15U;
    }
    return static_cast<std::size_t>(hash >> 32U) % kSlots;
  }

  const LayoutRules& rules_;
  const PreferredOrders& orders_;
  std::vector<Known> known_ = std::vector<Known>(kSlots);
};

void pack(Shape& shape) {
  std::ranges::for_each(shape.elements, pack);
  if (!shape.is_array() || bits(shape.dtype) >= 8) return;
  if (!shape.layout) shape.layout = default_layout(shape.rank());
  if (shape.layout->element_bits == 0) shape.layout.edit().element_bits = bits(shape.dtype);
}

bool is_tiled(const Shape& shape) {
  return (shape.layout && !shape.layout->tiles.empty()) ||
         std::any_of(shape.elements.begin(), shape.elements.end(), is_tiled);
}

}  // namespace

bool has_device_layouts(const Module& module) {
  std::size_t tiled = 0;
  std::size_t plain = 0;
  for (const Computation& computation : module.computations) {
    for (const Instruction& op : computation.instructions) {
      const bool computed = op_class(op.opcode) != OpClass::kFree && op.shape.is_array();
      if (computed && op.shape.rank() > 0) ++(is_tiled(op.shape) ? tiled : plain);
    }
  }
  return tiled > plain;
}

Layout device_layout(const Shape& shape, const LayoutRules& rules) {
  check(rules);
  Layout layout = shape.layout ? *shape.layout : default_layout(shape.rank());
  layout.tiles.clear();
  if (bits(shape.dtype) < 8) layout.element_bits = bits(shape.dtype);
  if (!rules.tiled) return layout;
  if (shape.rank() >= 2) {
    const Dims order = choose_order(layout.minor_to_major, PaddingCost(shape, rules));
    return ordered_layout(shape, order, rules);
  }
  assign_vector_tiles(layout, shape, rules);
  return layout;
}

std::array<Layout, 3> convolution_layouts(const ConvDims& dims, const Shape& input,
                                          const Shape& kernel, const Shape& output,
                                          const LayoutRules& rules) {
  check(rules);
  std::array<Layout, 3> layouts;
  for (std::size_t i = 0;
       const auto& [shape, feature, batch] : arrays_of(dims, input, kernel, output)) {
    layouts[i++] =
        rules.tiled ? ordered_layout(shape, convolution_order(shape, feature, batch, rules), rules)
                    : device_layout(shape, rules);
  }
  return layouts;
}

void pack_narrow_types(Module& module) {
  for (Computation& computation : module.computations) {
    for (Instruction& op : computation.instructions) pack(op.shape);
  }
}

Module assign_layouts(Module module, const LayoutRules& rules) {
  check(rules);
  module.window_bytes = rules.scratchpad.windows;
  const PreferredOrders orders = preferred_orders(module, rules);
  LayoutAssigner assigner(rules, orders);
  for (Computation& computation : module.computations) {
    for (Instruction& op : computation.instructions) assigner.assign(op.shape);
  }
  for (Shape& shape : module.entry_parameter_layouts) assigner.assign(shape);
  if (module.entry_result_layout) assigner.assign(*module.entry_result_layout);
  return module;
}

}  // namespace tilecast::ir
