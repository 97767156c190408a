// Ops that cross devices or the host.
#include <algorithm>
#include <charconv>

#include "ir/stablehlo/rules.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::ir::stablehlo {
namespace {

struct Axis {
  std::string name;
  std::int64_t size = 1;
};

// `<["x"=2, "y"=4]>`
std::vector<Axis> read_axes(const Lowering& lowering, const Operation& mesh) {
  std::vector<Axis> axes;
  const Attribute& value = lowering.required(mesh, "mesh");
  const std::string_view text = value.text;
  std::size_t at = 0;
  while ((at = text.find('"', at)) != std::string_view::npos) {
    const std::size_t end = text.find("\"=", at + 1);
    if (end == std::string_view::npos) break;
    Axis axis{std::string(text.substr(at + 1, end - at - 1)), 1};
    const char* first = text.data() + end + 2;
    const auto [last, error] = std::from_chars(first, text.data() + text.size(), axis.size);
    if (error != std::errc() || axis.size < 1) lowering.fail_at(value.offset, "axis of no size");
    axes.push_back(std::move(axis));
    at = end + 2;
  }
  return axes;
}

struct ChosenAxis {
  std::string name;
  std::int64_t before = 1, size = 0;  // sub-axis `"x":(2)4`; size 0 = whole axis
};

// `[#sdy<axis_ref"x">, #sdy.axis_ref<"y":(2)4>]`
std::vector<ChosenAxis> read_chosen(const Lowering& lowering, const Attribute& axes) {
  std::vector<ChosenAxis> chosen;
  const std::string_view text = axes.text;
  std::size_t at = 0;
  while ((at = text.find('"', at)) != std::string_view::npos) {
    const std::size_t end = text.find('"', at + 1);
    if (end == std::string_view::npos) break;
    ChosenAxis axis{std::string(text.substr(at + 1, end - at - 1))};
    at = end + 1;
    if (text.substr(at, 2) == ":(") {
      const char* last = text.data() + text.size();
      const auto [close, error] = std::from_chars(text.data() + at + 2, last, axis.before);
      const bool closes = error == std::errc() && close != last && *close == ')';
      if (!closes || std::from_chars(close + 1, last, axis.size).ec != std::errc()) {
        lowering.fail_at(axes.offset, "expects parts of axes as \"x\":(2)4");
      }
    }
    chosen.push_back(std::move(axis));
  }
  return chosen;
}

// Devices are numbered row-major over the axes of the mesh; the devices of a group differ only in
// `axes`.
ReplicaGroups mesh_groups(const Lowering& lowering, const Operation& op, const Attribute& groups) {
  const Attribute* name = groups.find("mesh");
  const Operation* mesh = name == nullptr ? nullptr : lowering.find_symbol(name->string);
  const Attribute* chosen = groups.find("axes");
  if (mesh == nullptr || chosen == nullptr)
    lowering.fail(op, "replica groups of a mesh that is not here");
  const std::vector<Axis> axes = read_axes(lowering, *mesh);
  std::int64_t devices = 1;
  constexpr std::int64_t kMostDevices = 1 << 20;
  for (const Axis& axis : axes) {
    if (axis.size > kMostDevices / devices)
      lowering.fail(op, "a mesh of more than {} devices", kMostDevices);
    devices *= axis.size;
  }
  std::vector<std::int64_t> offsets = {0};  // offsets of a group's members from its first
  std::vector<bool> is_first(static_cast<std::size_t>(devices), true);
  for (const ChosenAxis& part : read_chosen(lowering, *chosen)) {
    std::int64_t stride = devices;
    const auto axis = std::find_if(axes.begin(), axes.end(), [&](const Axis& each) {
      stride /= each.size;
      return each.name == part.name;
    });
    const std::int64_t before = part.before;
    const std::int64_t size = part.size == 0 && axis != axes.end() ? axis->size : part.size;
    if (axis == axes.end() || size < 1 || before < 1 || axis->size % before != 0 ||
        axis->size / before % size != 0) {
      lowering.fail(op, "axis \"{}\" of its replica groups is not one of the mesh", part.name);
    }
    stride *= axis->size / before / size;
    std::vector<std::int64_t> longer;
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < size; ++i) longer.push_back(offset + i * stride);
    }
    offsets = std::move(longer);
    for (std::int64_t id = 0; id < devices; ++id) {
      if (id / stride % size != 0) is_first[static_cast<std::size_t>(id)] = false;
    }
    if (offsets.size() > static_cast<std::size_t>(devices))
      lowering.fail(op, "an axis is chosen twice");
  }
  ReplicaGroups result;
  for (std::int64_t id = 0; id < devices; ++id) {
    if (!is_first[static_cast<std::size_t>(id)]) continue;
    std::vector<std::int64_t>& group = result.groups.emplace_back();
    for (const std::int64_t offset : offsets) group.push_back(id + offset);
  }
  return result;
}

CollectiveAttrs collective_attributes(const Lowering& lowering, const Operation& op) {
  CollectiveAttrs attrs;
  if (const Attribute* groups = op.find("replica_groups")) {
    if (groups->kind == Attribute::Kind::kCustom) {
      attrs.groups = mesh_groups(lowering, op, *groups);
    } else {
      for (const Dims& row : lowering.rows(op, "replica_groups")) {
        std::vector<std::int64_t>& group = attrs.groups.groups.emplace_back();
        // -1 fills the rows of smaller groups
        std::copy_if(row.begin(), row.end(), std::back_inserter(group),
                     [](std::int64_t id) { return id >= 0; });
      }
      attrs.groups.text = to_string(attrs.groups);  // as the HLO text parser does
    }
  }
  if (const Attribute* channel = op.find("channel_handle")) {
    const Dims handle = lowering.field(*channel, "handle");
    if (!handle.empty()) attrs.channel_id = std::max<std::int64_t>(handle.front(), 0);
  }
  attrs.channel_id = std::max(attrs.channel_id, lowering.integer(op, "channel_id", 0));
  attrs.use_global_device_ids = lowering.flag(op, "use_global_device_ids");
  for (const Dims& pair : lowering.rows(op, "source_target_pairs")) {
    if (pair.size() != 2) lowering.fail(op, "source_target_pairs must be pairs");
    attrs.source_target_pairs.emplace_back(pair[0], pair[1]);
  }
  return attrs;
}

Instruction collective(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  made.operands = lowering.operands(op);
  made.attrs = collective_attributes(lowering, op);
  if (!op.regions.empty()) made.called = {lowering.scalar_region(op, 0)};
  return made;
}

void lower_collective(Lowering& lowering, const Operation& op, Opcode opcode) {
  lowering.define(op, lowering.add(collective(lowering, op, opcode)));
}

template <const auto& name>
void along_dimension(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = collective(lowering, op, opcode);
  made.dimensions = {lowering.required_integer(op, name)};
  lowering.define(op, lowering.add(std::move(made)));
}

constexpr std::string_view kGatherDim = "all_gather_dim";
constexpr std::string_view kScatterDim = "scatter_dimension";

// HLO's all-to-all splits and concatenates the same dimension; if they differ, a reshape, transpose
// and reshape are added, as in XLA's builder.
InstrId exchanged(Lowering& lowering, const Operation& op, Instruction made, const Shape& result) {
  const std::int64_t split = lowering.required_integer(op, "split_dimension");
  const std::int64_t join = lowering.required_integer(op, "concat_dimension");
  const std::int64_t count = lowering.required_integer(op, "split_count");
  const Shape from = lowering.shape(made.operands[0]);
  if (split < 0 || split >= from.rank() || join < 0 || join >= from.rank() || count < 1 ||
      from.dims[static_cast<std::size_t>(split)] % count != 0) {
    lowering.fail(op, "dimensions {} and {} in {} parts do not fit its operand", split, join,
                  count);
  }
  made.dimensions = {split};
  made.shape = split == join ? result : from;
  const InstrId sent = lowering.add(std::move(made));
  if (split == join) return sent;
  Shape parts = Shape::array(from.dtype, from.dims);
  const auto at = parts.dims.begin() + split;
  *at /= count;
  parts.dims.insert(at, count);
  parts.layout = default_layout(parts.rank());
  Instruction transpose;
  transpose.opcode = Opcode::kTranspose;
  transpose.offset = op.offset;
  for (std::int64_t i = 0; i < parts.rank(); ++i) {
    if (i != split) transpose.dimensions.push_back(i);
  }
  transpose.dimensions.insert(transpose.dimensions.begin() + join, split);
  transpose.operands = {lowering.emit(op, Opcode::kReshape, {sent}, std::move(parts))};
  return lowering.emit(op, Opcode::kReshape, {lowering.add(std::move(transpose))}, result);
}

void lower_all_to_all(Lowering& lowering, const Operation& op, Opcode opcode) {
  const Instruction all = collective(lowering, op, opcode);
  if (op.operands.size() != op.result_count) lowering.fail(op, "has not one result per operand");
  for (std::uint32_t i = 0; i < op.result_count; ++i) {
    Instruction made = all;
    made.operands = {all.operands[i]};
    lowering.bind(op.result(i),
                  exchanged(lowering, op, std::move(made), lowering.written(op.result(i))));
  }
}

void lower_infeed(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  made.operands = lowering.operands(op);
  if (op.result_count == 0) lowering.fail(op, "needs a token as result");
  std::vector<Shape> data =
      made.shape.is_tuple() ? made.shape.elements : std::vector<Shape>{made.shape};
  const Shape token = data.back();
  data.pop_back();
  made.shape = Shape::tuple({Shape::tuple(std::move(data)), token});
  const InstrId whole = lowering.add(std::move(made));
  const InstrId values = lowering.element(op, whole, 0);
  for (std::uint32_t i = 0; i + 1 < op.result_count; ++i) {
    lowering.bind(op.result(i), lowering.element(op, values, i));
  }
  lowering.bind(op.result(op.result_count - 1), lowering.element(op, whole, 1));
}

// All operands but the last, which is the token, as one value.
InstrId payload(Lowering& lowering, const Operation& op) {
  std::vector<InstrId> values = lowering.operands(op);
  if (values.empty()) lowering.fail(op, "needs a token as operand");
  values.pop_back();
  return values.size() == 1 ? values.front() : lowering.tuple(op, std::move(values));
}

void lower_outfeed(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  const InstrId sent = payload(lowering, op);
  made.operands = {sent, lowering.operand(op, op.operands.size() - 1)};
  made.raw.edit().push_back({"outfeed_shape", to_string(lowering.shape(sent))});
  lowering.define(op, lowering.add(std::move(made)));
}

// Lowers a send or receive and its done op.
void lower_transfer(Lowering& lowering, const Operation& op, Opcode opcode) {
  const bool sends = opcode == Opcode::kSend;
  Instruction start = lowering.instruction(op, opcode);

  CollectiveAttrs attrs = collective_attributes(lowering, op);
  attrs.is_host_transfer = lowering.flag(op, "is_host_transfer");
  Instruction done = lowering.instruction(op, sends ? Opcode::kSendDone : Opcode::kRecvDone);
  if (sends) {
    start.operands.push_back(payload(lowering, op));
    start.shape = lowering.shape(start.operands[0]);
  } else {
    std::vector<Shape> data = start.shape.is_tuple() ? start.shape.elements : std::vector<Shape>{};
    if (data.empty()) lowering.fail(op, "needs a result and a token");
    data.pop_back();
    start.shape = data.size() == 1 ? data.front() : Shape::tuple(std::move(data));
    done.shape = Shape::tuple({start.shape, Shape::token()});
  }
  start.operands.push_back(lowering.operand(op, op.operands.size() - 1));
  start.shape = Shape::tuple({start.shape, Shape::array(DType::kU32, {}), Shape::token()});
  start.attrs = attrs;
  done.attrs = attrs;
  done.operands = {lowering.add(std::move(start))};
  const InstrId ended = lowering.add(std::move(done));
  if (sends || op.result_count <= 2) return lowering.define(op, ended);
  const InstrId values = lowering.element(op, ended, 0);
  for (std::uint32_t i = 0; i + 1 < op.result_count; ++i) {
    lowering.bind(op.result(i), lowering.element(op, values, i));
  }
  lowering.bind(op.result(op.result_count - 1), lowering.element(op, ended, 1));
}

}  // namespace

std::vector<NamedRule> collective_rules() {
  using enum Opcode;
  return {
      {"all_gather", {kAllGather, along_dimension<kGatherDim>}},
      {"all_reduce", {kAllReduce, lower_collective}},
      {"all_to_all", {kAllToAll, lower_all_to_all}},
      {"collective_broadcast", {kCollectiveBroadcast, lower_collective}},
      {"collective_permute", {kCollectivePermute, lower_collective}},
      {"infeed", {kInfeed, lower_infeed}},
      {"outfeed", {kOutfeed, lower_outfeed}},
      {"recv", {kRecv, lower_transfer}},
      {"reduce_scatter", {kReduceScatter, along_dimension<kScatterDim>}},
      {"send", {kSend, lower_transfer}},
  };
}

}  // namespace tilecast::ir::stablehlo
