// Running sums and the like: windows as long as a dimension, with a result for each of its
// elements. XLA's ReduceWindowRewriter scans blocks of 128 elements, then the last results of the
// blocks, which it adds to the elements of the blocks after them:
//
//   [R,N] -> [R,N/128,128] --scan blocks--> w --last elements, scanned, exclusive--> s;  w op s
//
// A TPU takes windows over a dimension that is none of the two minor ones (XLA's dumps), so the
// blocks are copied into such a layout and back.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/math.h"
#include "ir/fusion/fusion.h"
#include "ir/fusion/fusion_rewriter.h"
#include "ir/fusion/fusion_rules.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

constexpr std::int64_t kBlock = 128;  // ReduceWindowRewriter's base length

struct Scan {
  std::size_t dim = 0;
  bool backward = false;
  Opcode combiner = Opcode::kAdd;
};

// The scan that the op is; nullopt if it is none or as short as a block.
std::optional<Scan> long_scan(const Module& module, const Instruction& op) {
  const bool one = op.shape.is_array() && op.called.size() == 1;
  if (op.opcode != Opcode::kReduceWindow || !one) return std::nullopt;
  const std::optional<Opcode> made_by = applied_opcode(module.at(op.called.front()));
  if (!made_by || !has(*made_by, Trait::kCommutes)) return std::nullopt;
  const Window& window = op.as<WindowAttrs>().window;
  std::optional<Scan> found;
  for (std::size_t d = 0; d < window.size(); ++d) {
    const WindowDim& w = window[d];
    if (w == WindowDim{}) continue;
    const std::int64_t before = w.size - 1;
    const bool forward = w == WindowDim{.size = w.size, .pad_low = before};
    const bool backward = w == WindowDim{.size = w.size, .pad_high = before};
    if (found || !(forward || backward) || w.size != op.shape.dims[d]) return std::nullopt;
    found = Scan{d, backward, *made_by};
  }
  return found && op.shape.dims[found->dim] > kBlock ? found : std::nullopt;
}

// Layout of blocks for windows over dimension `block`; the dimension before it counts the blocks.
Dims order_for_windows(std::size_t rank, std::size_t block) {
  Dims order;
  const auto count = static_cast<std::int64_t>(block) - 1;
  for (std::int64_t d = static_cast<std::int64_t>(rank); d-- > 0;) {
    if (d != count && d != count + 1) order.push_back(d);
  }
  order.insert(order.begin() + std::min<std::ptrdiff_t>(1, std::ssize(order)), count);
  order.push_back(count + 1);
  return order;
}

class BlockScans {
 public:
  BlockScans(const Module& module, Computation computation, FreshNames& names)
      : module_(module), computation_(std::move(computation)), names_(names) {}

  Computation run() {
    rebuild(computation_, [&](Instruction&& op) {
      const std::optional<Scan> scan = long_scan(module_, op);
      return scan ? in_blocks(op, *scan) : append(std::move(op));
    });
    return std::move(computation_);
  }

 private:
  InstrId append(Instruction&& op) {
    computation_.instructions.push_back(std::move(op));
    return InstrId(computation_.instructions.size() - 1);
  }

  [[nodiscard]] const Shape& shape(InstrId id) const { return computation_.at(id).shape; }

  InstrId make(const Instruction& scan, Opcode opcode, Dims dims, std::vector<InstrId> operands,
               OpAttrs attrs = {}) {
    Instruction made;
    made.name = names_.next("scan");
    made.opcode = opcode;
    made.shape = Shape::array(scan.shape.dtype, std::move(dims));
    made.operands = std::move(operands);
    made.attrs = std::move(attrs);
    made.metadata = scan.metadata;
    made.offset = scan.offset;
    return append(std::move(made));
  }

  void lay_out(InstrId id, Dims order) {
    Shape& made = computation_.instructions[id.index()].shape;
    made.layout = default_layout(made.rank());
    made.layout.edit().minor_to_major = std::move(order);
  }

  InstrId slice(const Instruction& scan, InstrId id, std::size_t dim, std::int64_t start,
                std::int64_t size) {
    Dims dims = shape(id).dims;
    SliceAttrs attrs;
    for (const std::int64_t d : dims) attrs.dims.push_back({.start = 0, .limit = d});
    attrs.dims[dim] = {.start = start, .limit = start + size};
    dims[dim] = size;
    return make(scan, Opcode::kSlice, std::move(dims), {id}, std::move(attrs));
  }

  InstrId window(const Instruction& scan, InstrId id, std::size_t dim, WindowDim along) {
    Dims dims = shape(id).dims;
    dims[dim] += along.pad_low + along.pad_high - along.size + 1;
    Window windows(dims.size());
    windows[dim] = along;
    const InstrId made = make(scan, Opcode::kReduceWindow, std::move(dims), {id, scan.operands[1]},
                              WindowAttrs{std::move(windows)});
    computation_.instructions[made.index()].called = scan.called;
    return made;
  }

  InstrId in_blocks(const Instruction& scan, const Scan& along) {
    const auto whole = static_cast<std::ptrdiff_t>(along.dim);
    const std::int64_t size = scan.shape.dims[along.dim];
    const std::int64_t blocks = base::ceil_div(size, kBlock);
    Dims padded = scan.shape.dims;
    padded[along.dim] = blocks * kBlock;
    InstrId source = scan.operands[0];
    if (padded[along.dim] != size) source = pad(scan, source, along.dim, padded);
    Dims split = padded;
    split[along.dim] = blocks;
    split.insert(split.begin() + whole + 1, kBlock);
    const std::size_t inside = along.dim + 1;
    const bool moved = inside + 2 >= split.size();  // one of the two minor dimensions
    const Dims order = moved ? order_for_windows(split.size(), inside) : Dims{};
    const auto as_windows = [&](InstrId id) {
      if (moved) lay_out(id, order);
      return id;
    };
    InstrId from = make(scan, Opcode::kReshape, split, {source});
    if (moved) from = as_windows(make(scan, Opcode::kCopy, split, {from}));
    WindowDim scanned{.size = kBlock};
    (along.backward ? scanned.pad_high : scanned.pad_low) = kBlock - 1;
    const InstrId within = as_windows(window(scan, from, inside, scanned));
    InstrId made = as_windows(combined(scan, along, within, split));
    if (moved) made = make(scan, Opcode::kCopy, split, {made});
    made = make(scan, Opcode::kReshape, padded, {made});
    return padded[along.dim] == size ? made : slice(scan, made, along.dim, 0, size);
  }

  // The scanned blocks with what the blocks before them sum up to.
  InstrId combined(const Instruction& scan, const Scan& along, InstrId within, const Dims& split) {
    const std::size_t inside = along.dim + 1;
    const std::int64_t blocks = split[along.dim];
    const InstrId ends = slice(scan, within, inside, along.backward ? 0 : kBlock - 1, 1);
    Dims per_block = split;
    per_block.erase(per_block.begin() + static_cast<std::ptrdiff_t>(inside));
    InstrId sums = make(scan, Opcode::kReshape, per_block, {ends});
    WindowDim exclusive{.size = blocks};
    (along.backward ? exclusive.pad_high : exclusive.pad_low) = blocks;
    sums = slice(scan, window(scan, sums, along.dim, exclusive), along.dim, along.backward ? 1 : 0,
                 blocks);
    const InstrId spread = make(scan, Opcode::kBroadcast, split, {sums});
    for (std::int64_t d = 0; d < std::ssize(split); ++d) {
      if (d != static_cast<std::int64_t>(inside)) {
        computation_.instructions[spread.index()].dimensions.push_back(d);
      }
    }
    return make(scan, along.combiner, split, {within, spread});
  }

  InstrId pad(const Instruction& scan, InstrId id, std::size_t dim, const Dims& padded) {
    PadAttrs attrs;
    attrs.dims.resize(padded.size());
    attrs.dims[dim].high = padded[dim] - shape(id).dims[dim];
    return make(scan, Opcode::kPad, padded, {id, scan.operands[1]}, std::move(attrs));
  }

  const Module& module_;
  Computation computation_;
  FreshNames& names_;
};

}  // namespace

Module with_block_scans(Module module) {
  FreshNames names(module);
  const std::vector<bool> sequential = sequential_computations(module);
  for (std::size_t i = 0; i < sequential.size(); ++i) {
    const auto is_scan = [&](const Instruction& op) { return long_scan(module, op).has_value(); };
    if (!sequential[i] || std::ranges::none_of(module.computations[i].instructions, is_scan)) {
      continue;
    }
    Computation computation = std::move(module.computations[i]);
    module.computations[i] = BlockScans(module, std::move(computation), names).run();
  }
  return module;
}

}  // namespace tilecast::ir
