#include "tests/host/random_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "analytical/tile_space.h"
#include "base/error.h"
#include "ir/text/hlo_parser.h"
#include "tests/host/random_graph.h"
#include "tests/host/random_ops.h"
#include "tests/interpreter/evaluate_ops.h"

namespace tilecast::host {
namespace {

using ir::DType;

constexpr std::int64_t kLargest = 10000;  // elements of a generated array; movement may double it

int pick(std::mt19937_64& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

// Pointwise and movement ops, with occasional reductions and indexed ops.
NodeId grow(RandomOps& ops, NodeId x, int count) {
  for (; count > 0; --count) {
    const int way = ops.pick(1, 100);
    if (way <= 62) {
      x = ops.pointwise(x);
    } else if (way <= 88) {
      x = ops.move(x);
    } else if (way <= 93) {
      x = ops.reduce(x);
    } else if (way <= 95) {
      x = ops.dynamic_slice(x);
    } else if (way <= 96) {
      x = ops.dynamic_update_slice(x);
    } else if (way <= 98) {
      x = ops.gather(x);
    } else {
      x = ops.reduce_window(x);
    }
  }
  return x;
}

NodeId some_input(RandomOps& ops, int lowest_rank) {
  return ops.parameter(ops.random_type(), ops.random_dims(lowest_rank, 4));
}

// The central value of the kernel; others depend on it or feed it.
NodeId core(RandomOps& ops, std::vector<NodeId>& roots) {
  const int way = ops.pick(1, 100);
  if (way <= 36) return grow(ops, some_input(ops, 0), ops.pick(1, 10));
  if (way <= 50) return grow(ops, ops.dot(ops.random_type()), ops.pick(0, 4));
  if (way <= 64) return grow(ops, ops.convolution(ops.random_type()), ops.pick(0, 4));
  NodeId x = some_input(ops, 1);
  if (way <= 78) {  // one reduction, or several of the same input
    for (int n = ops.pick(0, 3); n > 0; --n) x = ops.pointwise(x);
    const NodeId first = ops.reduce(x);
    if (ops.chance(30)) roots.push_back(ops.reduce(x));
    return grow(ops, first, ops.pick(0, 3));
  }
  for (int n = ops.pick(0, 2); n > 0; --n) x = ops.pointwise(x);
  if (way <= 85) return grow(ops, ops.softmax(x), ops.pick(0, 2));
  if (way <= 91) return grow(ops, ops.normalize(x), ops.pick(0, 2));
  if (way <= 94) return grow(ops, ops.reduce_window(x), ops.pick(0, 2));
  if (way <= 97) return grow(ops, ops.gather(x), ops.pick(0, 2));
  return grow(ops, ops.chance(50) ? ops.dynamic_slice(x) : ops.dynamic_update_slice(x),
              ops.pick(0, 2));
}

// Additional results: intermediate values of the core.
void add_roots(RandomOps& ops, NodeId last, std::vector<NodeId>& roots) {
  roots.insert(roots.begin(), last);
  if (ops.chance(20)) {
    const std::vector<NodeId> way = ops.graph().needed({last});
    roots.push_back(way[static_cast<std::size_t>(ops.pick(0, static_cast<int>(way.size()) - 1))]);
  }
  std::vector<NodeId> distinct;
  for (const NodeId root : roots) {
    const std::string& opcode = ops.graph().at(root).opcode;
    const bool computed = opcode != "parameter" && opcode != "constant";
    if (computed && std::count(distinct.begin(), distinct.end(), root) == 0) {
      distinct.push_back(root);
    }
  }
  roots = distinct;
}

// Gives some results a different order of dimensions.
void turn_layouts(RandomOps& ops, const std::vector<NodeId>& roots) {
  for (const NodeId root : roots) {
    Node& node = ops.graph().at(root);
    if (!ops.chance(25) || node.dims.size() < 2 || node.opcode == "bitcast") continue;
    for (std::size_t d = 0; d < node.dims.size(); ++d) {
      node.minor_to_major.push_back(static_cast<std::int64_t>(d));
    }
    const auto turned =
        static_cast<std::ptrdiff_t>(ops.pick(0, static_cast<int>(node.dims.size()) - 1));
    std::rotate(node.minor_to_major.begin(), node.minor_to_major.begin() + turned,
                node.minor_to_major.end());
  }
}

// Ops with a unique result for NaN and infinities: they select or move.
bool only_moves(const ir::Kernel& kernel) {
  return std::none_of(kernel.ops().begin(), kernel.ops().end(), [](const ir::Op& op) {
    return op.opcode == ir::Opcode::kDot || op.opcode == ir::Opcode::kConvolution ||
           op.opcode == ir::Opcode::kReduce || op.opcode == ir::Opcode::kReduceWindow;
  });
}

ir::Kernel entry_kernel(const std::string& text) {
  const ir::Module module = ir::parse_hlo(base::SourceText("random.hlo", text));
  ir::WorkCounter counter(module);
  return ir::make_kernel(module, module.entry, module.entry_computation().root, counter);
}

double random_special(std::mt19937_64& random) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  switch (pick(random, 0, 3)) {
    case 0:
      return kInf;
    case 1:
      return -kInf;
    case 2:
      return -0.0;
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace

RandomKernel random_kernel(std::uint64_t seed) {
  RandomOps ops(seed, seed % 3 == 0 ? kLargest : 1500);
  std::vector<NodeId> roots;
  while (roots.empty()) {
    const NodeId last = core(ops, roots);
    add_roots(ops, last, roots);
  }
  turn_layouts(ops, roots);
  const std::string text = ops.graph().text(roots);
  try {
    RandomKernel made{text, entry_kernel(text), ops.graph().parameters(roots), false};
    made.specials = only_moves(made.kernel) && ops.chance(25);
    return made;
  } catch (const Error& error) {
    throw Error("the random kernel of seed " + std::to_string(seed) +
                " is not valid: " + error.what() + "\n" + text);
  }
}

analytical::TileConfig random_tile(const ir::Kernel& kernel, std::mt19937_64& random) {
  using analytical::LoopSizes;
  const analytical::IterationSpace space = analytical::make_iteration_space(kernel, {});
  const int way = pick(random, 1, 100);
  if (way <= 8) return {};
  if (way <= 50) {
    const auto all = analytical::tiles_of_extents(space, analytical::candidate_extents(space, 64));
    return all[static_cast<std::size_t>(pick(random, 0, static_cast<int>(all.size()) - 1))];
  }
  LoopSizes trips;
  trips.fill(1);
  double pieces = 1;
  for (std::size_t i = 0; i < space.loops.size(); ++i) {
    const auto units = static_cast<int>(space.loops[i].units());
    const int most = way <= 85 ? std::min(units, 4) : units;
    trips[i] = pick(random, 0, 2) == 0 ? 1 : pick(random, 1, most);
    pieces *= static_cast<double>(trips[i]);
    if (pieces > 4096) trips[i] = 1;  // a tile per element is slow and tests nothing more
  }
  return analytical::tile_of_trips(space, trips);
}

std::vector<interpreter::Elements> random_inputs(const RandomKernel& made,
                                                 std::mt19937_64& random) {
  std::vector<interpreter::Elements> inputs;
  for (const ir::OpId id : made.kernel.parameters()) {
    const ir::Op& parameter = made.kernel.op(id);
    const auto found = std::find_if(
        made.ranges.begin(), made.ranges.end(),
        [&](const ParameterRange& range) { return range.name == made.kernel.name_of(id); });
    TC_CHECK(found != made.ranges.end(), "every parameter has a range");
    const bool floating = is_float(parameter.shape.dtype);
    const auto [low, high] = found->range;
    std::uniform_real_distribution<double> number(low, floating ? high : high + 1);
    interpreter::Elements values;
    for (std::int64_t i = ir::element_count(parameter.shape); i > 0; --i) {
      double value = floating ? number(random) : std::min(std::floor(number(random)), high);
      if (floating && made.specials && pick(random, 0, 30) == 0) value = random_special(random);
      values.push_back(interpreter::as_type(value, parameter.shape.dtype));
    }
    inputs.push_back(std::move(values));
  }
  return inputs;
}

namespace {

std::string type_text(const Node& node) {
  std::string text = fmt::format("{}[{}]", name(node.dtype), join(node.dims));
  if (!node.minor_to_major.empty()) text += "{" + join(node.minor_to_major) + "}";
  return text;
}

// "add_f32": the name and text of the computation applied by a reduction.
std::string reducer_name(const Node& node) {
  const std::size_t at = node.attributes.rfind("to_apply=");
  return at == std::string::npos ? "" : node.attributes.substr(at + 9);
}
std::string reducer_text(const Node& node) {
  const std::string name = reducer_name(node);
  const std::string opcode = name.substr(0, name.find('_'));
  const auto type = ir::name(node.dtype);
  return fmt::format(
      "{0} {{\n  a = {1}[] parameter(0)\n  b = {1}[] parameter(1)\n  ROOT r = {1}[] {2}(a, "
      "b)\n}}\n",
      name, type, opcode);
}
}  // namespace

std::int64_t elements(const ir::Dims& dims) {
  std::int64_t count = 1;
  for (const std::int64_t size : dims) count *= size;
  return count;
}

std::string join(const ir::Dims& values) {
  return fmt::format("{}", fmt::join(values.begin(), values.end(), ","));
}

std::vector<NodeId> RandomGraph::needed(const std::vector<NodeId>& roots) const {
  std::vector<char> wanted(nodes_.size(), 0);
  for (const NodeId root : roots) wanted[root] = 1;
  for (NodeId id = nodes_.size(); id > 0; --id) {
    if (wanted[id - 1] == 0) continue;
    for (const NodeId operand : nodes_[id - 1].operands) wanted[operand] = 1;
  }
  std::vector<NodeId> order;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (wanted[id] != 0) order.push_back(id);
  }
  return order;
}

std::vector<ParameterRange> RandomGraph::parameters(const std::vector<NodeId>& roots) const {
  std::vector<ParameterRange> result;
  for (const NodeId id : needed(roots)) {
    if (at(id).opcode == "parameter") result.push_back({fmt::format("p{}", id), at(id).range});
  }
  return result;
}

std::string RandomGraph::text(const std::vector<NodeId>& roots) const {
  std::string reducers, body, entry, arguments;
  std::set<std::string> written;
  int parameters = 0;
  for (const NodeId id : needed(roots)) {
    const Node& node = at(id);
    std::string inside;
    if (node.opcode == "parameter") {
      const int number = parameters++;
      inside = std::to_string(number);
      entry += fmt::format("  p{} = {} parameter({})\n", id, type_text(node), number);
      arguments += fmt::format("{}p{}", number > 0 ? ", " : "", id);
    } else if (node.opcode == "constant") {
      inside = node.literal;
    } else {
      for (const NodeId operand : node.operands) {
        inside += fmt::format("{}n{}", inside.empty() ? "" : ", ", operand);
      }
    }
    const std::string reducer = reducer_name(node);
    if (!reducer.empty() && written.insert(reducer).second) reducers += reducer_text(node);
    const bool root = roots.size() == 1 && id == roots[0];
    body += fmt::format("  {}n{} = {} {}({}){}\n", root ? "ROOT " : "", id, type_text(node),
                        node.opcode, inside, node.attributes);
  }
  std::string type = type_text(at(roots[0]));
  if (roots.size() > 1) {
    std::string results;
    type.clear();
    for (const NodeId root : roots) {
      type += (type.empty() ? "" : ", ") + type_text(at(root));
      results += fmt::format("{}n{}", results.empty() ? "" : ", ", root);
    }
    type = "(" + type + ")";
    body += fmt::format("  ROOT t = {} tuple({})\n", type, results);
  }
  return fmt::format(
      "HloModule random\n\n{}\nfused {{\n{}}}\n\nENTRY main {{\n{}  ROOT kernel = {} fusion({}), "
      "kind=kLoop, calls=fused\n}}\n",
      reducers, body, entry, type, arguments);
}
}  // namespace tilecast::host
