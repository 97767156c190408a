#include "learned/kernel_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "ir/op_hash.h"
#include "learned/node_columns.h"
#include "schedule/tile_schedule.h"

namespace tilecast::learned {
namespace {

constexpr auto kOpcodes = static_cast<std::int32_t>(ir::kOpcodes);

// The name includes a digest of the opcodes' names and numbers, so that the schema's hash covers
// them.
FeatureSchema make_schema(GraphEncoding encoding) {
  ir::Hash128 hash;
  for (std::int32_t i = 0; i < kOpcodes; ++i) {
    const auto opcode = static_cast<ir::Opcode>(i);
    hash.add(ir::name(opcode));
    hash.add(static_cast<std::uint64_t>(opcode));
  }
  if (encoding == GraphEncoding::kSchedule) {
    for (std::size_t i = 0; i < schedule::kNodeKinds; ++i) {
      hash.add(schedule::name(static_cast<schedule::NodeKind>(i)));
    }
  }
  FeatureSchema schema;
  schema.name = fmt::format("{}.node/opcodes-{:016x}", name(encoding), hash.result()[0]);
  schema.version = 1;
  Columns columns(FeatureGroup::kNode, schema);
  if (encoding == GraphEncoding::kSchedule) {
    schedule_columns({}, columns);
  } else {
    tilecast_columns({}, columns);
  }
  return schema;
}

}  // namespace

std::int32_t opcode_count(GraphEncoding encoding) {
  return encoding == GraphEncoding::kSchedule ? schedule_type_count() : kOpcodes;
}

const FeatureSchema& node_schema(GraphEncoding encoding) {
  static const FeatureSchema tilecast = make_schema(GraphEncoding::kTilecast);
  static const FeatureSchema schedule = make_schema(GraphEncoding::kSchedule);
  return encoding == GraphEncoding::kSchedule ? schedule : tilecast;
}

KernelGraph make_graph(const ir::Kernel& kernel, GraphEncoding encoding) {
  return make_graph({.kernel = kernel}, hwdesc::Device{}, encoding);
}

KernelGraph make_graph(const analytical::KernelQuery& query, const hwdesc::Device& device,
                       GraphEncoding encoding) {
  TC_CHECK(encoding != GraphEncoding::kText, "a graph of ops or loops");
  const ir::Kernel& kernel = query.kernel;
  const std::size_t nodes = kernel.ops().size();
  if (nodes == 0) throw Error(kernel.name() + ": a kernel without ops has no graph");
  if (encoding == GraphEncoding::kSchedule) {
    return schedule_graph(schedule::loops_of(kernel, query.tile, schedule::target_of(device)));
  }
  KernelGraph graph;
  graph.opcodes.reserve(nodes);
  graph.features.resize(nodes * node_schema(encoding).columns.size());
  std::vector<bool> is_output(nodes, false);
  for (const ir::OpId id : kernel.outputs()) is_output[id.index()] = true;
  Columns row(graph.features.data());
  for (std::size_t i = 0; i < nodes; ++i) {
    const ir::Op& op = kernel.ops()[i];
    graph.opcodes.push_back(static_cast<std::int32_t>(op.opcode));
    tilecast_columns({.kernel = &kernel,
                      .op = &op,
                      .users = kernel.users(ir::OpId(i)).size(),
                      .is_output = is_output[i]},
                     row);
  }
  EdgeList edges(graph);
  for (std::size_t i = 0; i < nodes; ++i) {
    for (const ir::OpId operand : kernel.ops()[i].operands) {
      edges.add(static_cast<std::int32_t>(operand.index()), static_cast<std::int32_t>(i));
    }
  }
  std::vector<std::int32_t> roots;
  for (const ir::OpId id : kernel.outputs()) roots.push_back(static_cast<std::int32_t>(id.index()));
  order_nodes(roots, graph);
  return graph;
}

namespace {

constexpr int kTextVersion = 1;  // version of the tokens' definition

bool has_values(const TextSpec& spec) {
  return spec.numbers == NumberTokens::kValue;
}

}  // namespace

KernelGraph make_graph(const analytical::KernelQuery& query, const hwdesc::Device& device,
                       const NetworkFeatures& features) {
  if (features.encoding != GraphEncoding::kText) {
    return make_graph(query, device, features.encoding);
  }
  TC_CHECK(!features.vocabulary.empty(), "text without a vocabulary");
  TokenIds text = features.vocabulary.encode(query, device);
  KernelGraph graph;
  graph.topological.resize(text.ids.size());
  std::iota(graph.topological.begin(), graph.topological.end(), 0);
  graph.opcodes = std::move(text.ids);
  if (has_values(features.vocabulary.spec())) graph.features = std::move(text.values);
  return graph;
}

FeatureSchema node_schema(const NetworkFeatures& features) {
  if (features.encoding != GraphEncoding::kText) return node_schema(features.encoding);
  FeatureSchema schema{.name = fmt::format("text.node/vocabulary-{}", features.vocabulary.hash()),
                       .version = kTextVersion,
                       .columns = {}};
  if (has_values(features.vocabulary.spec())) {
    schema.columns.push_back(
        {"node.value", "1", "The number that the token stands for, else 0.", FeatureGroup::kNode});
  }
  return schema;
}

std::int32_t opcode_count(const NetworkFeatures& features) {
  return features.encoding == GraphEncoding::kText
             ? static_cast<std::int32_t>(features.vocabulary.size())
             : opcode_count(features.encoding);
}

GraphKey graph_key(const analytical::KernelQuery& query, const NetworkFeatures& features) {
  const bool of_tile = features.encoding == GraphEncoding::kText
                           ? features.vocabulary.spec().level == TextLevel::kLoops
                           : sees_tile(features.encoding);
  GraphKey key{.kernel = &query.kernel};
  if (of_tile && query.tile != nullptr) key.tile = to_string(*query.tile);
  return key;
}

namespace {

using schedule::BufferTouch;
using schedule::NodeContext;
using schedule::NodeKind;
using schedule::OpCounts;
using schedule::TreeNode;

// Buffer slots: the one written, and the two largest that are only read, such as operands of
// products.
constexpr std::array<std::string_view, 3> kSlots = {"written", "read_1", "read_2"};
using Slots = std::array<BufferTouch, kSlots.size()>;

Slots slots_of(const NodeContext& context) {
  Slots slots;
  std::size_t reads = 0;
  for (const BufferTouch& touch : context.touches) {
    if (touch.writes) {
      if (slots[0].buffer == nullptr) slots[0] = touch;
    } else if (++reads < kSlots.size()) {
      slots[reads] = touch;
    }
  }
  return slots;
}

double touched_bytes(const NodeContext& context) {
  return std::accumulate(context.touches.begin(), context.touches.end(), 0.0,
                         [](double sum, const BufferTouch& touch) { return sum + touch.bytes; });
}

void loop_columns(const NodeContext& context, Columns& to) {
  to.value({"extent", "Iterations of a loop; of others 0."}, context.extent);
  to.value({"depth", "Nodes above."}, context.depth);
  to.value({"top_down", "Product of the extents of the loops around, the node's included."},
           context.top_down);
  to.value({"bottom_up", "Iterations inside, where loops nest deepest, the node's included."},
           context.bottom_up);
  to.value({"parallel", "Part of top_down that is of parallel loops."}, context.parallel);
  to.value({"unrolled", "Part of top_down that is of unrolled loops."}, context.unrolled);
  to.value({"vectorized", "Part of top_down that is of vectorised loops."}, context.vectorized);
}

Columns::PartName op_part(std::size_t part) {
  constexpr std::array<std::string_view, 9> kNames = {
      "adds",   "multiplies", "divides", "transcendentals", "others", "loads",
      "stores", "copies",     "syncs"};
  return {std::string(kNames[part]), std::string(kNames[part])};
}

void memory_columns(const NodeContext& context, Columns& to) {
  static const auto part = [](std::size_t slot) {
    return Columns::PartName{std::string(kSlots[slot]), std::string(kSlots[slot])};
  };
  const Slots slots = slots_of(context);
  const auto each = [&](const Columns::Text& text, auto&& value) {
    std::array<double, kSlots.size()> values{};
    std::transform(slots.begin(), slots.end(), values.begin(), value);
    to.parts(text, values, part);
  };
  each({"bytes", "Different bytes of a buffer touched in one run of the node", "B"},
       [](const BufferTouch& touch) { return touch.bytes; });
  each({"accesses", "Its elements accessed, each as often as it is"},
       [](const BufferTouch& touch) { return touch.accesses; });
  each({"reuse", "Accesses over different elements"},
       [](const BufferTouch& touch) { return touch.reuse(); });
  each({"stride", "Elements between two iterations of the loop, or of the one around"},
       [](const BufferTouch& touch) { return touch.stride; });
  to.value({"touched_bytes", "Different bytes of all buffers.", "B"}, touched_bytes(context));
  to.value({"buffers", "Buffers touched."}, static_cast<double>(context.touches.size()));
}

void buffer_columns(const TreeNode& node, Columns& to) {
  const schedule::Buffer* const buffer = node.buffer;
  double elements = buffer == nullptr ? 0 : 1;
  if (buffer != nullptr) {
    for (const std::int64_t dim : buffer->dims) elements *= static_cast<double>(dim);
  }
  to.value({"buffer_bytes", "Size of a buffer, of one stage.", "B"}, elements * node.element_bytes);
  to.value({"stages", "Stages of a buffer; of others 0."}, buffer == nullptr ? 0 : buffer->stages);
  to.value({"is_input", "1: a buffer that the kernel reads from outside."},
           buffer != nullptr && buffer->role == schedule::Role::kInput ? 1 : 0);
  to.value({"is_output", "1: a buffer that it hands out."},
           buffer != nullptr && buffer->role == schedule::Role::kOutput ? 1 : 0);
}

// --- curves

using LoopValue = double (*)(const NodeContext& loop, const BufferTouch& touch);
struct LoopFeature {
  std::string_view name;
  LoopValue of;
};
constexpr LoopFeature kTouched = {
    "touched", [](const NodeContext&, const BufferTouch& touch) { return touch.elements; }};
constexpr LoopFeature kReuse = {
    "reuse", [](const NodeContext&, const BufferTouch& touch) { return touch.reuse(); }};
constexpr LoopFeature kStride = {
    "stride", [](const NodeContext&, const BufferTouch& touch) { return touch.stride; }};
constexpr LoopFeature kTopDown = {
    "top_down", [](const NodeContext& loop, const BufferTouch&) { return loop.top_down; }};
constexpr LoopFeature kBottomUp = {
    "bottom_up", [](const NodeContext& loop, const BufferTouch&) { return loop.bottom_up; }};

struct Relation {
  LoopFeature value, threshold;
};
// Relations per buffer between reuse, touched bytes, stride and iteration counts.
constexpr Relation kRelations[] = {{kReuse, kTouched},    {kTouched, kReuse},
                                   {kReuse, kTopDown},    {kTouched, kTopDown},
                                   {kBottomUp, kTouched}, {kStride, kTopDown}};

double threshold_at(std::size_t point) {
  return std::exp2(2.0 * static_cast<double>(point + 1));
}

Columns::PartName point_part(std::size_t point) {
  return {fmt::format("{}", point), fmt::format("4^{}", point + 1)};
}

}  // namespace

std::int32_t schedule_type_count() {
  return static_cast<std::int32_t>(schedule::kNodeKinds + ir::kOpcodes) - 1;
}

std::int32_t schedule_type(const TreeNode& node) {
  const auto kind = static_cast<std::int32_t>(node.kind);
  return node.kind == NodeKind::kApply ? kind + static_cast<std::int32_t>(node.opcode) : kind;
}

void schedule_columns(const TreeNode& node, Columns& to) {
  loop_columns(node.context, to);
  const OpCounts& ops = node.context.ops;
  const std::array<double, 9> counts = {
      ops.adds,   ops.multiplies, ops.divides, ops.transcendentals, ops.others, ops.loads,
      ops.stores, ops.copies,     ops.syncs};
  to.parts({"ops", "Done in one run of the node"}, counts, op_part);
  memory_columns(node.context, to);
  buffer_columns(node, to);
  to.value({"element_bytes", "Size of an element of a value or buffer.", "B"}, node.element_bytes);
  to.value({"bounds", "Conditions of a guard, an assignment or a padded copy."}, node.bounds);
}

KernelGraph schedule_graph(const schedule::LoopProgram& program) {
  const schedule::ScheduleTree tree = schedule::make_tree(program);
  KernelGraph graph;
  graph.features.resize(tree.nodes.size() * node_schema(GraphEncoding::kSchedule).columns.size());
  Columns row(graph.features.data());
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    const auto number = static_cast<std::int32_t>(i);
    graph.opcodes.push_back(schedule_type(node));
    graph.topological.push_back(number);  // parents come first
    if (node.parent >= 0) graph.edges.push_back({node.parent, number});
    schedule_columns(node, row);
  }
  return graph;
}

void curve_columns(const schedule::ScheduleTree& tree, Columns& to) {
  for (std::size_t slot = 0; slot < kSlots.size(); ++slot) {
    for (const Relation& relation : kRelations) {
      std::array<double, kCurvePoints> curve{};
      for (const TreeNode& node : tree.nodes) {
        if (!schedule::is_loop(node.kind)) continue;
        const BufferTouch touch = slots_of(node.context)[slot];
        if (touch.buffer == nullptr) continue;
        const double value = std::log2(1 + relation.value.of(node.context, touch));
        const double threshold = relation.threshold.of(node.context, touch);
        for (std::size_t point = 0; point < curve.size(); ++point) {
          if (threshold < threshold_at(point)) curve[point] = std::max(curve[point], value);
        }
      }
      const std::string name =
          fmt::format("{}.{}_by_{}", kSlots[slot], relation.value.name, relation.threshold.name);
      const std::string doc =
          fmt::format("Largest log2(1 + {}) of the loops whose {} of {} is below",
                      relation.value.name, relation.threshold.name, kSlots[slot]);
      to.parts({name, doc}, curve, point_part);
    }
  }
  const auto marked = [&](double NodeContext::*part) {
    double most = 1;
    for (const TreeNode& node : tree.nodes) most = std::max(most, node.context.*part);
    return std::log2(most);
  };
  to.value({"parallel", "log2 of the largest product of nested parallel loops."},
           marked(&NodeContext::parallel));
  to.value({"unrolled", "log2 of the largest product of nested unrolled loops."},
           marked(&NodeContext::unrolled));
  to.value({"vectorized", "log2 of the largest product of nested vectorised loops."},
           marked(&NodeContext::vectorized));
}

}  // namespace tilecast::learned
