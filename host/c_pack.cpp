// Stages that fill a dense buffer from boxes of ops: loads of parameters, operands of matrix
// products, pads and concatenations, values kept for several uses.
#include <fmt/format.h>

#include <algorithm>

#include "base/math.h"
#include "host/c_expression.h"
#include "host/c_pass.h"
#include "host/c_types.h"

namespace tilecast::host {
namespace {

// Strides of packed dimensions, most major first.
ir::Dims packed_strides(const std::vector<PackDim>& dims, std::int64_t minor_multiple) {
  ir::Dims strides(dims.size(), 1);
  std::int64_t next = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = next;
    std::int64_t extent = dims[i].box.largest;
    if (i + 1 == dims.size()) {
      extent = base::round_up(extent, minor_multiple);
    }
    next *= std::max<std::int64_t>(extent, 1);
  }
  return strides;
}

std::int64_t packed_elements(const PackSpec& spec, const ir::Dims& strides) {
  const std::vector<PackDim>& dims = spec.pieces.front().dims;
  if (dims.empty()) return 1;
  std::int64_t outermost = dims[0].box.largest;
  if (dims.size() == 1) {
    outermost = base::round_up(outermost, spec.minor_multiple);
  }
  return std::max<std::int64_t>(outermost, 1) * strides[0];
}

}  // namespace

// The elements of a bordered dimension that are in the box: first .. first + count - 1.
Pass::Clamped Pass::clamp(const Border& border, const BoxDim& box) {
  const Index from = box.start - border.low;  // positions before the box
  const Index last = from + box.size - 1;
  const IndexRange from_range = symbols().range(from), last_range = symbols().range(last);
  const std::uint32_t loops = symbols().loops(from) | symbols().loops(last);
  Clamped made;
  made.largest = std::min(border.size, (box.largest - 1) / border.step + 1);
  if (from_range.high <= 0) {
    made.first = 0;
  } else if (from_range.low >= 0 && from_range.high <= border.size && border.step == 1) {
    made.first = from;
  } else {
    made.first = definition(
        {0, border.size},
        fmt::format("tc_first({}, {}, {})", from.text(), border.step, border.size), loops);
  }
  Index end;
  if (last_range.low >= (border.size - 1) * border.step) {
    end = border.size;
  } else if (border.step == 1 && last_range.high < border.size && last_range.low >= -1) {
    end = last + 1;
  } else if (last.is_constant()) {
    end = std::max<std::int64_t>(base::ceil_div(last.constant() + 1, border.step), 0);
  } else {
    end = definition(
        {0, border.size},
        fmt::format("tc_first({}, {}, {})", (last + 1).text(), border.step, border.size), loops);
  }
  made.count = end - made.first;
  const IndexRange count = symbols().range(made.count);
  const bool fits = count.low >= 0 && count.high <= made.largest;
  if (!fits) {
    made.count =
        definition({0, made.largest}, fmt::format("tc_count({})", made.count.text()), loops);
  }
  return made;
}

void Pass::write_piece(const Piece& piece, const Stage& stage, const ir::Dims& strides,
                       Writer& out) {
  Nest nest(symbols());
  Position index(piece.base.begin(), piece.base.end());
  Index address;
  for (std::size_t i = 0; i < piece.dims.size(); ++i) {
    const PackDim& dim = piece.dims[i];
    Index position, element;
    if (dim.border) {
      const Clamped inside = clamp(*dim.border, dim.box);
      element = inside.first + nest.add_loop(inside.count, inside.largest);
      position = element * dim.border->step + dim.border->low - dim.box.start;
    } else {
      position = nest.add_loop(dim.box.size, dim.box.largest);
      element = dim.box.start + position;
    }
    index[static_cast<std::size_t>(dim.op_dim)] =
        index[static_cast<std::size_t>(dim.op_dim)] + element * dim.scale;
    address = address + position * strides[i];
  }
  Expression expression(*this, nest, stage.is_load, stage.op);
  const std::string value = expression.value(piece.op, index);
  const ir::DType dtype = op(piece.op).shape.dtype;
  const std::string place = fmt::format("{}[{}]", stage.buffer, nest.at(address));
  const bool natural = stage.type == storage_type(dtype);
  nest.store(fmt::format("{} = {}", place, natural ? stored(dtype, value) : value));
  out.open("");
  nest.write(out);
  out.close();
}

// Is every element of the box an element of the piece, in every tile?
bool Pass::covers(const Piece& piece) {
  return std::all_of(piece.dims.begin(), piece.dims.end(), [this](const PackDim& dim) {
    if (!dim.border) return true;
    return dim.border->step == 1 && clamp(*dim.border, dim.box).count == dim.box.size;
  });
}

Packed Pass::make_pack(const PackSpec& spec, ir::OpId root) {
  Packed packed;
  packed.strides = packed_strides(spec.pieces.front().dims, spec.minor_multiple);
  Stage stage;
  stage.buffer = begin();
  stage.op = root;
  stage.type = spec.type;
  stage.elements = packed_elements(spec, packed.strides);
  stage.is_load = std::all_of(spec.pieces.begin(), spec.pieces.end(), [this](const Piece& piece) {
    return tilecast::host::is_load(*this, piece.op);
  });
  for (const PackDim& dim : spec.pieces.front().dims) {
    stage.loops |= symbols().loops(dim.box.start) | symbols().loops(dim.box.size);
  }
  Writer out;
  if (!spec.fill.empty() && !covers(spec.pieces.front())) {
    out.open(fmt::format("for (int64_t i = 0; i < {}; ++i)", stage.elements));
    const bool natural = stage.type == storage_type(spec.fill_type);
    out.line(fmt::format("{}[i] = {};", stage.buffer,
                         natural ? stored(spec.fill_type, spec.fill) : spec.fill));
    out.close();
  }
  for (const Piece& piece : spec.pieces) write_piece(piece, stage, packed.strides, out);
  packed.stage = finish(std::move(stage), out);
  return packed;
}

Packed Pass::pack(const PackSpec& spec) {
  std::string name = spec.type + fmt::format("/{}/{}", spec.fill, spec.minor_multiple);
  for (const Piece& piece : spec.pieces) {
    name += fmt::format("/{}", piece.op.index());
    for (const PackDim& dim : piece.dims) {
      name += fmt::format(";{}*{}", dim.op_dim, dim.scale) + key({dim.box});
      if (!dim.border) continue;
      name += fmt::format("^{}*{}", dim.border->low.text(), dim.border->step);
    }
    for (const std::int64_t base : piece.base) name += fmt::format("+{}", base);
  }
  const auto found = packs_.find(name);
  if (found != packs_.end()) return found->second;
  const Packed packed = make_pack(spec, {});
  packs_.emplace(name, packed);
  return packed;
}

void Pass::store(const std::vector<Store>& stores, const Box& box) {
  Stage stage;
  stage.buffer = "";
  (void)begin();
  stage.op = stores.front().op;
  stage.type = "uint8_t";
  for (const BoxDim& dim : box) {
    stage.loops |= symbols().loops(dim.start) | symbols().loops(dim.size);
  }
  Nest nest(symbols());
  std::vector<std::size_t> order(box.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
  const ir::Dims& strides = stores.front().strides;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  Position index(box.size());
  for (const std::size_t d : order) {
    index[d] = box[d].start + nest.add_loop(box[d].size, box[d].largest);
  }
  Expression expression(*this, nest, /*direct=*/false);
  for (const Store& store : stores) {
    Index address;
    for (std::size_t d = 0; d < box.size(); ++d) address = address + index[d] * store.strides[d];
    const std::string value = expression.value(store.op, index);
    nest.store(fmt::format("{}[{}] = {}", store.name, nest.at(address),
                           stored(op(store.op).shape.dtype, value)));
  }
  Writer out;
  out.open("");
  nest.write(out);
  out.close();
  finish(std::move(stage), out);
}

}  // namespace tilecast::host
