#include "host/c_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/math.h"
#include "host/c_expression.h"
#include "host/c_scalar.h"

namespace tilecast::host {

namespace {

using ir::Op;
using ir::Opcode;
using ir::OpId;

constexpr std::int64_t kBufferAlignment = 64;  // bytes
constexpr int kWorthSharing = 8;               // approximate additions per element

bool changes_index(const Op& op) {
  return op.opcode == Opcode::kGather ||
         (ir::op_class(op.opcode) == ir::OpClass::kDataMovement && op.opcode != Opcode::kCopy);
}

bool only_moves(Opcode opcode) {
  return ir::has(opcode, ir::Trait::kView) ||
         is_one_of(opcode, {Opcode::kDynamicSlice, Opcode::kOptBarrier, Opcode::kAddDependency});
}

PackSpec padded(Pass& pass, OpId id, const Box& box, const ir::Dims& order);
PackSpec concatenated(Pass& pass, OpId id, const Box& box, const ir::Dims& order);
PackSpec updated(Pass& pass, OpId id, const Box& box, const ir::Dims& order);

// Ops with stages of their own: a nest cannot compute them element by element at any index.
struct OwnRule {
  Opcode opcode;
  std::size_t (*sum)(Pass& pass, OpId id, const Box& box) = nullptr;
  // If it is not a sum, but assembled from boxes of operands. `order`: as for lay_out().
  PackSpec (*pieces)(Pass& pass, OpId id, const Box& box, const ir::Dims& order) = nullptr;
};
constexpr OwnRule kOwnRules[] = {
    {Opcode::kDot, dot_stage},
    {Opcode::kConvolution, convolution_stage},
    {Opcode::kReduce, reduce_stage},
    {Opcode::kReduceWindow, reduce_window_stage},
    {Opcode::kPad, nullptr, padded},
    {Opcode::kConcatenate, nullptr, concatenated},
    {Opcode::kDynamicUpdateSlice, nullptr, updated},
};

const OwnRule* own_rule(Opcode opcode) {
  const auto* found = std::ranges::find(kOwnRules, opcode, &OwnRule::opcode);
  return found == std::end(kOwnRules) ? nullptr : found;
}
bool has_own_rule(Opcode opcode) {
  return own_rule(opcode) != nullptr;
}

}  // namespace

bool is_load(Pass& pass, OpId id) {
  if (pass.function().source(id) != nullptr) return true;
  const Op& op = pass.op(id);
  if (!only_moves(op.opcode)) return false;
  if (pass.function().is_scalar(op.operands[0])) return false;
  return is_load(pass, op.operands[0]);
}

Pass::Pass(Function& function, const Labels& labels, const analytical::IterationSpace& space,
           std::vector<PassLoop> loops)
    : function_(function), labels_(labels), space_(space), loops_(std::move(loops)) {
  for (PassLoop& loop : loops_) {
    loop.variable = symbols().tile(loop.loop, loop.tile);
    loop.start = loop.variable * loop.tile.step;
    loop.size = loop.tile.ragged() ? symbols().piece(loop.loop) : Index(loop.tile.step);
  }
  scratch_ = function.kept_bytes();
  has_buffer_.assign(function.kernel().ops().size(), -1);
  costs_.assign(function.kernel().ops().size(), -1);
  frames_.emplace_back();
}

Box Pass::box_of(OpId id) const {
  const ir::Dims& dims = op(id).shape.dims;
  Box box;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    box.push_back({0, dims[d], dims[d]});
    const int label = labels_.loop(id, static_cast<std::int64_t>(d));
    for (const PassLoop& loop : loops_) {
      if (loop.loop == label && loop.cuts_output) {
        box.back() = {loop.start, loop.size, loop.tile.step};
      }
    }
  }
  return box;
}

int Pass::inline_cost(OpId id) {
  int& known = costs_[id.index()];
  if (known >= 0) return known;
  if (function_.is_scalar(id) || function_.source(id) != nullptr || has_own_rule(op(id).opcode)) {
    return known = 0;
  }
  int cost = element_cost(op(id)) + (op(id).opcode == Opcode::kGather ? 4 : 0);
  for (const OpId operand : op(id).operands) cost = std::min(cost + inline_cost(operand), 1000);
  costs_[id.index()] = cost;
  return cost;
}

// Values that several nests or indices need, and small arrays that are broadcast, are computed
// once.
bool Pass::worth_a_buffer(OpId id) {
  const int cost = inline_cost(id);
  if (cost == 0) return false;
  const auto users = function_.kernel().users(id);
  const bool output =
      std::count(function_.kernel().outputs().begin(), function_.kernel().outputs().end(), id) > 0;
  bool boundary = false, moved = false;
  for (const OpId user : users) {
    const Op& consumer = op(user);
    boundary = boundary || has_own_rule(consumer.opcode);
    moved = moved || changes_index(consumer);
    if (consumer.opcode == Opcode::kBroadcast &&
        ir::element_count(consumer.shape) > ir::element_count(op(id).shape)) {
      return true;
    }
  }
  const bool several = users.size() + (output ? 1 : 0) > 1;
  return several && ((boundary && cost >= kWorthSharing) || moved);
}

bool Pass::has_buffer(OpId id) {
  int& known = has_buffer_[id.index()];
  if (known < 0) {
    const bool needs = function_.source(id) != nullptr || has_own_rule(op(id).opcode);
    const int found = needs || worth_a_buffer(id) ? 1 : 0;
    has_buffer_[id.index()] = found;
    return found == 1;
  }
  return known == 1;
}

PassLoop* Pass::split_loop(int loop) {
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const bool further_in = static_cast<int>(i) > split_levels_.back();
    if (loops_[i].loop == loop && !loops_[i].cuts_output && further_in) return &loops_[i];
  }
  return nullptr;
}

std::string Pass::first_piece(const std::vector<const PassLoop*>& loops) const {
  std::string text;
  for (const PassLoop* loop : loops) {
    text += fmt::format("{}{} == 0", text.empty() ? "" : " && ", loop->variable.text());
  }
  return text;
}

Index Pass::definition(IndexRange range, const std::string& text, std::uint32_t loops) {
  if (range.low == range.high) return range.low;
  const auto found = defined_.find(text);
  if (found != defined_.end()) return found->second;
  Index made = symbols().value(range, loops);
  definitions_.push_back(fmt::format("const int64_t {} = {};", made.text(), text));
  return defined_.emplace(text, std::move(made)).first->second;
}

Index Pass::divided(const Index& value, std::int64_t divisor) {
  if (divides(divisor, value)) return value / divisor;
  const IndexRange range = symbols().range(value);
  // C division rounds towards zero, but positions need rounding towards minus infinity.
  if (range.low < 0) throw Refused{"a reshape of elements that padding may put before the first"};
  return definition({range.low / divisor, range.high / divisor},
                    fmt::format("({})/{}", value.text(), divisor), symbols().loops(value));
}

Stage Pass::begin(OpId id, const std::string& type, const Box& box,
                  const std::vector<const PassLoop*>& split) {
  frames_.emplace_back();
  Stage stage{.op = id, .type = type, .buffer = fmt::format("b{}", buffers_++)};
  for (const BoxDim& dim : box) {
    stage.starts.push_back(dim.start);
    stage.loops |= symbols().loops(dim.start) | symbols().loops(dim.size);
  }
  for (const PassLoop* loop : split) stage.split |= 1U << loop->loop;
  stage.loops |= stage.split;
  return stage;
}

void lay_out(Stage& stage, const Box& box, const ir::Dims& order, std::int64_t lanes) {
  stage.strides.assign(box.size(), 0);
  stage.elements = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t d = at(order[i]);
    stage.strides[d] = stage.elements;
    stage.elements *= box[d].largest;
    if (i + 1 == order.size()) stage.elements = base::round_up(stage.elements, lanes);
  }
}

std::size_t Pass::finish(Stage stage, Writer& code) {
  const Frame frame = frames_.back();
  frames_.pop_back();
  stage.loops |= frame.loops;
  stage.late = frame.late;
  stage.code = code.take();
  stage.offset = scratch_;
  scratch_ += base::round_up(stage.elements * bytes_of(stage.type), kBufferAlignment);
  stages_.push_back(std::move(stage));
  return stages_.size() - 1;
}

const Stage& Pass::read(std::size_t index) {
  const Stage& stage = stages_[index];
  Frame& frame = frames_.back();
  frame.late |= stage.late | stage.split;
  frame.loops |= stage.loops & ~(stage.late | stage.split);
  return stage;
}

std::string Pass::key(const Box& box) {
  std::string text;
  for (const BoxDim& dim : box) text += dim.start.text() + ":" + dim.size.text() + ",";
  return text;
}

void Pass::enter_split(const std::vector<const PassLoop*>& loops) {
  int level = split_levels_.back();
  for (const PassLoop* loop : loops) {
    level = std::max(level, static_cast<int>(loop - loops_.data()));
  }
  split_levels_.push_back(level);
}

// Finds a stage of this box that is complete here: it only sums over loops further in.
bool Pass::find(const std::string& key, std::size_t& stage) const {
  std::uint32_t outside = 0;
  for (int i = 0; i <= split_levels_.back(); ++i) {
    outside |= 1U << loops_[static_cast<std::size_t>(i)].loop;
  }
  const auto [first, last] = boxes_.equal_range(key);
  for (auto found = first; found != last; ++found) {
    stage = found->second;
    if (((stages_[stage].late | stages_[stage].split) & outside) == 0) return true;
  }
  return false;
}

std::size_t Pass::box(OpId id, const Box& box, BoxOrder order) {
  const std::string name = fmt::format("{}/{}/{}", id.index(), static_cast<int>(order), key(box));
  std::size_t stage = 0;
  if (find(name, stage)) return stage;
  constexpr std::size_t kMaxStages = 400;
  if (stages_.size() > kMaxStages)
    throw Refused{"too many different parts of its values are needed"};
  stage = make_box(id, box, order);
  boxes_.emplace(name, stage);
  return stage;
}

std::size_t Pass::make_box(OpId id, const Box& box, BoxOrder box_order) {
  const Op& made = op(id);
  const OwnRule* own = function_.source(id) == nullptr ? own_rule(made.opcode) : nullptr;
  if (box_order == BoxOrder::kAny && own != nullptr && own->sum != nullptr) {
    return own->sum(*this, id, box);
  }
  ir::Dims order = analytical::physical_order(made.shape);
  if (box_order == BoxOrder::kRowMajor) std::sort(order.begin(), order.end());
  PackSpec spec;
  if (own != nullptr && own->pieces != nullptr) {
    spec = own->pieces(*this, id, box, order);
  } else {
    Piece piece{.op = id, .dims = {}, .base = ir::Dims(box.size(), 0)};
    for (const std::int64_t d : order) {
      piece.dims.push_back(
          {.box = box[static_cast<std::size_t>(d)], .op_dim = static_cast<int>(d)});
    }
    spec.pieces.push_back(std::move(piece));
  }
  spec.type = storage_type(made.shape.dtype);
  const Packed packed = make_pack(spec, own != nullptr ? OpId() : id);
  Stage& stage = stages_[packed.stage];
  stage.op = id;
  stage.strides.assign(box.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    stage.strides[static_cast<std::size_t>(order[i])] = packed.strides[i];
  }
  stage.starts.clear();
  for (const BoxDim& dim : box) stage.starts.push_back(dim.start);
  return packed.stage;
}

// The condition under which a stage runs in the innermost tile loop: in the first tile of the loops
// inside those that its box depends on, and in the last one of those it waits for.
std::string Pass::when(const Stage& stage) const {
  std::size_t inside = loops_.size();
  while (inside > 0 && (stage.loops >> loops_[inside - 1].loop & 1U) == 0) --inside;
  std::string text;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const bool late = (stage.late >> loops_[i].loop & 1U) != 0;
    if (!late && i < inside) continue;
    text += fmt::format("{}{} == {}", text.empty() ? "" : " && ", loops_[i].variable.text(),
                        late ? loops_[i].tile.trips() - 1 : 0);
  }
  return text;
}

void Pass::write(Writer& out) const {
  out.open("");
  for (const Stage& stage : stages_) {
    if (stage.buffer.empty()) continue;
    out.line(fmt::format("{0}* const {1} = ({0}*)(scratch + {2});", stage.type, stage.buffer,
                         stage.offset));
  }
  for (const PassLoop& loop : loops_) {
    const std::string name = loop.variable.text();
    out.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", name, loop.tile.trips()));
    if (!loop.tile.ragged()) continue;
    out.line(fmt::format("const int64_t {} = tc_smaller({}, {} - {}*{});", loop.size.text(),
                         loop.tile.step, loop.tile.size, name, loop.tile.step));
  }
  for (const std::string& line : definitions_) out.line(line);
  for (const Stage& stage : stages_) {
    const std::string condition = when(stage);
    if (!condition.empty()) out.open(fmt::format("if ({})", condition));
    out.text(stage.code);
    if (!condition.empty()) out.close();
  }
  for (std::size_t i = 0; i <= loops_.size(); ++i) out.close();
}

// Stages that fill a dense buffer from boxes of ops: loads of parameters, operands of matrix
// products, pads and concatenations, values kept for several uses.

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
  Box packed_box;
  for (const PackDim& dim : spec.pieces.front().dims) packed_box.push_back(dim.box);
  Stage stage = begin(root, spec.type, packed_box);
  stage.elements = packed_elements(spec, packed.strides);
  stage.is_load = std::all_of(spec.pieces.begin(), spec.pieces.end(), [this](const Piece& piece) {
    return tilecast::host::is_load(*this, piece.op);
  });
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
  Stage stage = begin(stores.front().op, "uint8_t", box);
  stage.buffer = "";
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

// Ops whose result is assembled from boxes of their operands: pad, concatenate,
// dynamic-update-slice.

namespace {

// Element j of an operand's dimension d is at low[d] + j * step[d] of the result.
Piece piece_at(Pass& pass, OpId operand, const Box& box, const ir::Dims& order, const Position& low,
               const ir::Dims& step) {
  const ir::Dims& sizes = pass.op(operand).shape.dims;
  Piece piece{.op = operand, .dims = {}, .base = ir::Dims(box.size(), 0)};
  for (const std::int64_t d : order) {
    PackDim dim{.box = box[at(d)], .op_dim = static_cast<int>(d)};
    dim.border = Border{low[at(d)], step[at(d)], sizes[at(d)]};
    piece.dims.push_back(std::move(dim));
  }
  return piece;
}

PackSpec padded(Pass& pass, OpId id, const Box& box, const ir::Dims& order) {
  const Op& op = pass.op(id);
  const auto& edges = op.as<ir::PadAttrs>().dims;
  Position low(box.size());
  ir::Dims step(box.size(), 1);
  for (std::size_t d = 0; d < box.size(); ++d) {
    low[d] = edges[d].low;
    step[d] = edges[d].interior + 1;
  }
  if (!pass.function().is_scalar(op.operands[1])) throw Refused{"a computed padding value"};
  PackSpec spec;
  spec.fill = pass.function().scalar(op.operands[1]);
  spec.fill_type = op.shape.dtype;
  spec.pieces.push_back(piece_at(pass, op.operands[0], box, order, low, step));
  return spec;
}

PackSpec concatenated(Pass& pass, OpId id, const Box& box, const ir::Dims& order) {
  const Op& op = pass.op(id);
  const std::size_t dim = at(op.dimensions[0]);
  PackSpec spec;
  Position low(box.size());
  for (const OpId operand : op.operands) {
    spec.pieces.push_back(piece_at(pass, operand, box, order, low, ir::Dims(box.size(), 1)));
    low[dim] = low[dim] + pass.op(operand).shape.dims[dim];
  }
  return spec;
}

PackSpec updated(Pass& pass, OpId id, const Box& box, const ir::Dims& order) {
  const Op& op = pass.op(id);
  const ir::Dims step(box.size(), 1);
  const Position low =
      dynamic_starts(pass, op, 2, op.shape.dims, pass.op(op.operands[1]).shape.dims);
  PackSpec spec;
  spec.pieces.push_back(piece_at(pass, op.operands[0], box, order, Position(box.size()), step));
  spec.pieces.push_back(piece_at(pass, op.operands[1], box, order, low, step));
  return spec;
}

}  // namespace
}  // namespace tilecast::host
