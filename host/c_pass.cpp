#include "host/c_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/math.h"
#include "host/c_elementwise.h"
#include "host/c_types.h"

namespace tilecast::host {
namespace {

using ir::Op;
using ir::Opcode;
using ir::OpId;

constexpr std::int64_t kBufferAlignment = 64;  // bytes
constexpr int kWorthSharing = 8;               // approximate additions per element

// Whether a nest cannot compute the op element by element at any index.
bool has_own_rule(Opcode opcode) {
  switch (opcode) {
    case Opcode::kDot:
    case Opcode::kConvolution:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kPad:
    case Opcode::kConcatenate:
    case Opcode::kDynamicUpdateSlice:
      return true;
    default:
      return false;
  }
}

bool changes_index(const Op& op) {
  return op.opcode == Opcode::kGather ||
         (ir::op_class(op.opcode) == ir::OpClass::kDataMovement && op.opcode != Opcode::kCopy);
}

bool only_moves(Opcode opcode) {
  switch (opcode) {
    case Opcode::kCopy:
    case Opcode::kConvert:
    case Opcode::kBroadcast:
    case Opcode::kTranspose:
    case Opcode::kReshape:
    case Opcode::kBitcast:
    case Opcode::kSlice:
    case Opcode::kReverse:
    case Opcode::kDynamicSlice:
    case Opcode::kOptBarrier:
    case Opcode::kAddDependency:
      return true;
    default:
      return false;
  }
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

std::string Pass::begin() {
  frames_.emplace_back();
  return fmt::format("b{}", buffers_++);
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
  if (box_order == BoxOrder::kAny && function_.source(id) == nullptr) {
    switch (made.opcode) {
      case Opcode::kDot:
        return dot_stage(*this, id, box);
      case Opcode::kConvolution:
        return convolution_stage(*this, id, box);
      case Opcode::kReduce:
        return reduce_stage(*this, id, box);
      case Opcode::kReduceWindow:
        return reduce_window_stage(*this, id, box);
      default:
        break;
    }
  }
  ir::Dims order = analytical::physical_order(made.shape);
  if (box_order == BoxOrder::kRowMajor) std::sort(order.begin(), order.end());
  PackSpec spec;
  const bool own_rule = has_own_rule(made.opcode) && function_.source(id) == nullptr;
  const bool sums = ir::op_class(made.opcode) == ir::OpClass::kMatrix ||
                    ir::op_class(made.opcode) == ir::OpClass::kReduction;
  if (own_rule && !sums) {
    spec = pieces_of(*this, id, box, order);
  } else {
    Piece piece{.op = id, .dims = {}, .base = ir::Dims(box.size(), 0)};
    for (const std::int64_t d : order) {
      piece.dims.push_back(
          {.box = box[static_cast<std::size_t>(d)], .op_dim = static_cast<int>(d)});
    }
    spec.pieces.push_back(std::move(piece));
  }
  spec.type = storage_type(made.shape.dtype);
  const Packed packed = make_pack(spec, own_rule ? OpId() : id);
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

}  // namespace tilecast::host
