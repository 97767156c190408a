#include "ir/mosaic/read_kernel_body.h"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "ir/array_elements.h"
#include "ir/mlir/mlir_bytecode.h"
#include "ir/mosaic/mosaic_code.h"

namespace tilecast::ir {

double KernelBody::steps() const {
  double steps = 1;
  for (const std::int64_t size : grid) steps *= static_cast<double>(size);
  return steps;
}

namespace mosaic {
namespace {

using mlir::Attribute;
using mlir::Operation;

constexpr std::size_t kMostEvaluations = std::size_t{1} << 22U;

// A whole number, or, not known, a number that is equal for equal ways to compute it.
struct Scalar {
  std::int64_t value = 0;
  bool known = false;
  friend bool operator==(const Scalar&, const Scalar&) = default;
};

Scalar unknown(std::size_t token) {
  return {.value = static_cast<std::int64_t>(token), .known = false};
}

// Runs code at a step of the grid, adding what it does to the body.
class Walk {
 public:
  Walk(const Code& code, KernelBody& body) : body_(body), values_(code.values()) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = unknown(i);
  }
  void set(ValueId value, Scalar scalar) { values_[value.index()] = scalar; }
  void run(const std::vector<Node>& nodes, double times) {
    for (const Node& node : nodes) run(node, times);
  }
  [[nodiscard]] const std::vector<Scalar>& returned() const { return returned_; }
  [[nodiscard]] std::size_t done() const { return done_; }

 private:
  [[nodiscard]] const Scalar& at(ValueId value) const { return values_[value.index()]; }
  void note(const char* text) {
    body_.by_data = true;
    if (std::ranges::find(body_.notes, text) == body_.notes.end()) body_.notes.emplace_back(text);
  }
  void run(const Node& node, double times);
  void compute(const Node& node);
  void branch(const Node& node, double times);
  void loop(const Node& node, double times);
  void give_back(const Node& node);
  void wait(const Node& node, double times);

  KernelBody& body_;
  std::vector<Scalar> values_, returned_;
  struct Started {
    KernelBody::Copies copy;
    std::size_t after = 0;
  };
  std::map<std::int64_t, Started> started_;  // by semaphore
  std::size_t worked_ = 0, done_ = 0;
};

void add(KernelBody::Copies& to, const KernelBody::Copies& copy, double times) {
  to.count += times * copy.count;
  to.read_bytes += times * copy.read_bytes;
  to.written_bytes += times * copy.written_bytes;
}

void Walk::run(const Node& node, double times) {
  ++done_;
  switch (node.kind) {
    case Node::Kind::kConstant:
      set(node.op->first_result, {.value = node.number, .known = true});
      return;
    case Node::Kind::kArithmetic:
    case Node::Kind::kUnknown:
      compute(node);
      return;
    case Node::Kind::kWork:
      body_.work[node.work].times += times;
      ++worked_;
      return;
    case Node::Kind::kCopy:
      add(body_.beside, node.copy, times);
      if (node.semaphore.valid()) started_[at(node.semaphore).value] = {node.copy, worked_};
      return;
    case Node::Kind::kWait:
      wait(node, times);
      return;
    case Node::Kind::kIf:
      branch(node, times);
      return;
    case Node::Kind::kFor:
      loop(node, times);
      return;
    case Node::Kind::kOnce:
      for (const std::vector<Node>& region : node.regions) run(region, times);
      give_back(node);
      return;
    case Node::Kind::kEnd:
      returned_.clear();
      for (const ValueId value : node.op->operands) returned_.push_back(at(value));
  }
}

// A copy that nothing was done beside.
void Walk::wait(const Node& node, double times) {
  if (!node.semaphore.valid()) return;
  const auto found = started_.find(at(node.semaphore).value);
  if (found == started_.end()) return;
  if (found->second.after == worked_) {
    add(body_.beside, found->second.copy, -times);
    add(body_.in_turn, found->second.copy, times);
  }
  started_.erase(found);
}

// Numbers of comparisons: eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge (MLIR's arith dialect).
bool holds(std::int64_t which, std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kSignedOrders = 4;
  constexpr std::int64_t kFirstUnsigned = 6;
  if (which < 2) return (a == b) == (which == 0);
  const bool less = which < kFirstUnsigned
                        ? a < b
                        : static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b);
  switch ((which - 2) % kSignedOrders) {
    case 0:
      return less;
    case 1:
      return less || a == b;
    case 2:
      return !less && a != b;
    default:
      return !less;
  }
}

std::optional<std::int64_t> quotient(std::int64_t a, std::int64_t b, std::int64_t rounding) {
  if (b == 0 || b == -1) return std::nullopt;  // -1: may overflow
  const bool inexact = a % b != 0, below_zero = (a < 0) != (b < 0);
  if (rounding == Node::kFloor && inexact && below_zero) return a / b - 1;
  if (rounding == Node::kCeil && inexact && !below_zero) return a / b + 1;
  return a / b;
}

// Wraps around, as the machine's integers do.
std::optional<std::int64_t> result_of(const Node& node, std::int64_t a, std::int64_t b,
                                      std::int64_t c) {
  const auto left = static_cast<std::uint64_t>(a), right = static_cast<std::uint64_t>(b);
  constexpr std::uint64_t kBits = 64;
  switch (node.opcode) {
    case Opcode::kAdd:
      return static_cast<std::int64_t>(left + right);
    case Opcode::kSubtract:
      return static_cast<std::int64_t>(left - right);
    case Opcode::kMultiply:
      return static_cast<std::int64_t>(left * right);
    case Opcode::kDivide:
      return quotient(a, b, node.number);
    case Opcode::kRemainder:
      return b == 0 || b == -1 ? std::nullopt : std::optional(a % b);
    case Opcode::kMaximum:
      return std::max(a, b);
    case Opcode::kMinimum:
      return std::min(a, b);
    case Opcode::kAnd:
      return a & b;
    case Opcode::kOr:
      return a | b;
    case Opcode::kXor:
      return a ^ b;
    case Opcode::kShiftLeft:
      return right < kBits ? std::optional(static_cast<std::int64_t>(left << right)) : std::nullopt;
    case Opcode::kShiftRightArithmetic:
      return right < kBits ? std::optional(a >> b) : std::nullopt;
    case Opcode::kCompare:
      return holds(node.number, a, b) ? 1 : 0;
    case Opcode::kSelect:
      return (a & 1) != 0 ? b : c;
    case Opcode::kConvert:
      return a;
    default:
      return std::nullopt;
  }
}

void Walk::compute(const Node& node) {
  const auto& operands = node.op->operands;
  constexpr std::size_t kMostOperands = 3;
  bool known = node.kind == Node::Kind::kArithmetic && operands.size() <= kMostOperands;
  std::int64_t numbers[kMostOperands] = {};
  for (std::size_t i = 0; known && i < operands.size(); ++i) {
    known = at(operands[i]).known;
    numbers[i] = at(operands[i]).value;
  }
  const auto value = known ? result_of(node, numbers[0], numbers[1], numbers[2]) : std::nullopt;
  if (value && node.op->result_count == 1) {
    set(node.op->first_result, {.value = *value, .known = true});
    return;
  }
  std::size_t token = boost::hash_range(node.op->name.begin(), node.op->name.end());
  for (const ValueId operand : operands) boost::hash_combine(token, at(operand).value);
  boost::hash_combine(token, node.number);
  for (std::uint32_t r = 0; r < node.op->result_count; ++r) {
    boost::hash_combine(token, r);
    set(node.op->result(r), unknown(token));
  }
}

// Values of a region that end it; what an op gives that never ended is not known.
void Walk::give_back(const Node& node) {
  for (std::uint32_t r = 0; r < node.op->result_count; ++r) {
    set(node.op->result(r), r < returned_.size() ? returned_[r] : unknown(r));
  }
}

void Walk::branch(const Node& node, double times) {
  if (node.regions.size() != 2 || node.op->operands.empty()) return;
  const Scalar condition = at(node.op->operands[0]);
  const auto size = [](const std::vector<Node>& nodes) {
    double sum = 0;
    for (const Node& each : nodes) sum += each.size;
    return sum;
  };
  bool otherwise = (condition.value & 1) == 0;
  if (!condition.known) {
    otherwise = size(node.regions[1]) > size(node.regions[0]);
    if (node.size > 0) note("branches that data decide count in full");
  }
  returned_.clear();
  run(node.regions[otherwise ? 1 : 0], times);
  give_back(node);
  if (condition.known) return;
  for (std::uint32_t r = 0; r < node.op->result_count; ++r) {
    set(node.op->result(r), unknown(boost::hash_value(std::pair(condition.value, r))));
  }
}

void Walk::loop(const Node& node, double times) {
  constexpr std::size_t kBounds = 3;
  if (node.regions.size() != 1 || node.op->operands.size() < kBounds) return;
  const std::vector<mlir::Block>& blocks = node.op->regions[0].blocks;
  if (blocks.empty() || blocks[0].arguments.empty()) return;
  const auto& operands = node.op->operands;
  const Scalar from = at(operands[0]), to = at(operands[1]), step = at(operands[2]);
  const bool known = from.known && to.known && step.known && step.value > 0;
  double trips = 1;
  if (known) {
    const double span = static_cast<double>(to.value) - static_cast<double>(from.value);
    trips = std::max(0.0, std::ceil(span / static_cast<double>(step.value)));
  } else if (node.size > 0) {
    note("a loop of unknown length counted once");
  }
  const ValueId index = blocks[0].arguments[0];
  const bool each = known && node.branches &&
                    trips * static_cast<double>(node.regions[0].size()) <
                        static_cast<double>(kMostEvaluations) - static_cast<double>(done_);
  if (each) {
    for (double i = 0; i < trips; ++i) {
      const auto past = static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(step.value);
      const auto at_step = static_cast<std::int64_t>(static_cast<std::uint64_t>(from.value) + past);
      set(index, {.value = at_step, .known = true});
      run(node.regions[0], times);
    }
  } else if (trips > 0) {
    set(index, unknown(index.index()));
    run(node.regions[0], times * trips);
  }
  for (std::uint32_t r = 0; r < node.op->result_count; ++r) {
    set(node.op->result(r), unknown(node.op->result(r).index()));
  }
}

// Steps of the grid: the main function once for each setting of the loops that decide on branches.
class Grid {
 public:
  // `open_size`: of a loop whose size data decide.
  Grid(const mlir::Tree& tree, KernelBody& body, std::int64_t open_size)
      : tree_(tree), body_(body), code_(tree, body), open_size_(open_size) {}
  void read(std::size_t operands, std::size_t results);

 private:
  [[nodiscard]] const Operation* find_function(std::string_view name) const;
  void read_windows(const Operation& main, std::size_t inputs, std::size_t results);
  void set_moves(const Function& map, KernelBody::Window& window);
  void visit_steps(const Function& main);
  void set_sums();
  void set_scores();

  const mlir::Tree& tree_;
  KernelBody& body_;
  Code code_;
  std::int64_t open_size_ = 1;
  std::size_t prefetched_ = 0;
};

const Operation* Grid::find_function(std::string_view name) const {
  for (const mlir::Region& region : tree_.module.regions) {
    for (const mlir::Block& block : region.blocks) {
      for (const Operation& op : block.operations) {
        const Attribute* said = op.find("sym_name");
        const bool is_main = name.empty() && op.find("dimension_semantics") != nullptr;
        if (op.name != "func.func") continue;
        if (is_main || (said != nullptr && !name.empty() && said->string == name)) return &op;
      }
    }
  }
  return nullptr;
}

void Grid::read(std::size_t operands, std::size_t results) {
  const Operation* main = find_function("");
  if (main == nullptr) main = find_function("main");
  if (main == nullptr) throw Error("Mosaic: got no function with dimension_semantics");
  std::size_t from_data = 0;
  if (const Attribute* bounds = main->find("iteration_bounds")) {
    for (const Attribute& bound : bounds->elements) {
      const bool open = bound.integer == kUnboundedSize;
      body_.grid.push_back(open && from_data == 0 ? open_size_
                                                  : std::max<std::int64_t>(bound.integer, 1));
      if (open) ++from_data;
    }
  }
  if (body_.grid.size() > kMostLoops) throw Error("Mosaic: a grid of more than 16 loops");
  body_.open_grid = from_data > 0;
  if (open_size_ > 1) body_.notes.emplace_back("as many steps as its cost_estimate has work for");
  if (body_.open_grid && open_size_ == 1) {
    body_.notes.emplace_back("a grid that data decide counts as one step");
  }
  if (const Attribute* count = main->find("scalar_prefetch")) {
    prefetched_ = static_cast<std::size_t>(std::max<std::int64_t>(count->integer, 0));
  }
  const Attribute* core = main->find("tpu.core_type");
  if (core != nullptr && core->text.find("sc_") != std::string_view::npos) {
    throw Error("Mosaic: a kernel of the SparseCore");
  }
  if (operands < prefetched_ + from_data) throw Error("Mosaic: fewer operands than scalars");
  const Function code = code_.function(*main, body_.grid.size());
  if (code.arguments.size() < body_.grid.size() + prefetched_) {
    throw Error("Mosaic: got {} arguments, expected those of a grid", code.arguments.size());
  }
  read_windows(*main, operands - prefetched_ - from_data, results);
  for (KernelBody::Window& window : body_.windows) {
    if (!window.written) window.array += prefetched_ + from_data;
  }
  visit_steps(code);
  set_sums();
}

void Grid::read_windows(const Operation& main, std::size_t inputs, std::size_t results) {
  const Attribute* said = main.find("window_params");
  const auto& arguments = main.regions[0].blocks[0].arguments;
  const std::size_t first = body_.grid.size() + prefetched_;
  if (arguments.size() < first + inputs + results) {
    throw Error("Mosaic: got {} arguments, expected {} arrays", arguments.size(), inputs + results);
  }
  if (said != nullptr && said->elements.size() != inputs + results) {
    throw Error("Mosaic: got {} windows, expected {}", said->elements.size(), inputs + results);
  }
  for (std::size_t i = 0; i < inputs + results; ++i) {
    const mlir::Type& type = tree_.type_of(arguments[first + i]);
    if (type.encoding.find("<vmem>") == std::string_view::npos || !type.shape.is_array()) continue;
    KernelBody::Window window{.written = i >= inputs, .array = i >= inputs ? i - inputs : i};
    window.block = type.shape.dims;
    window.moves.assign(body_.grid.size(), 0);
    const Attribute* bounds = said ? said->elements[i].find("window_bounds") : nullptr;
    if (bounds != nullptr && !bounds->elements.empty()) {
      window.block.clear();
      for (const Attribute& bound : bounds->elements) {
        window.block.push_back(std::max<std::int64_t>(bound.integer, 1));
      }
    }
    const Attribute* map = said ? said->elements[i].find("transform_indices") : nullptr;
    const Operation* function = map ? find_function(map->string) : nullptr;
    if (function != nullptr) set_moves(code_.function(*function, body_.grid.size()), window);
    body_.windows.push_back(std::move(window));
  }
}

// The pairs of steps between which loop `level` advances differ only in the loops that the map
// depends on.
void Grid::set_moves(const Function& map, KernelBody::Window& window) {
  const Dims& grid = body_.grid;
  if (map.nodes.empty() || map.nodes.back().kind != Node::Kind::kEnd) return;
  if (map.arguments.size() < grid.size()) throw Error("Mosaic: an index map of too few arguments");
  Sources from = 0;
  for (const ValueId value : map.nodes.back().op->operands) from |= code_.sources(value);
  if ((from & kOfData) != 0) {
    const std::string text = "blocks that data choose count as another one each";
    if (std::ranges::find(body_.notes, text) == body_.notes.end()) body_.notes.push_back(text);
  }
  KernelBody unused{.work = body_.work};
  Walk walk(code_, unused);
  std::vector<std::int64_t> at(grid.size(), 0);
  const auto indices = [&] {
    for (std::size_t i = 0; i < at.size(); ++i) {
      walk.set(map.arguments[i], {.value = at[i], .known = true});
    }
    walk.run(map.nodes, 0);
    return walk.returned();
  };
  const auto depends = [&](std::size_t loop) { return (from >> loop & 1U) != 0; };
  for (std::size_t level = 0; level < grid.size(); ++level) {
    bool inside = false;
    for (std::size_t i = level; i < grid.size(); ++i) inside |= depends(i) && grid[i] > 1;
    if (!inside || grid[level] < 2) continue;
    double settings = 1, equal = 1;  // of the loops outside; those that change nothing
    for (std::size_t i = 0; i <= level; ++i) {
      const auto size = static_cast<double>(i == level ? grid[i] - 1 : grid[i]);
      (depends(i) ? settings : equal) *= size;
    }
    if (settings + static_cast<double>(walk.done()) > static_cast<double>(kMostEvaluations)) {
      window.moves[level] = settings * equal;
      continue;
    }
    double moves = 0;
    for (std::size_t n = 0; n < static_cast<std::size_t>(settings); ++n) {
      std::ranges::fill(at, 0);
      std::size_t rest = n;
      for (std::size_t i = level + 1; i-- > 0;) {
        if (!depends(i)) continue;
        const auto size = static_cast<std::size_t>(i == level ? grid[i] - 1 : grid[i]);
        at[i] = static_cast<std::int64_t>(rest % size);
        rest /= size;
      }
      for (std::size_t i = level + 1; i < grid.size(); ++i) at[i] = grid[i] - 1;
      const std::vector<Scalar> before = indices();
      for (std::size_t i = level + 1; i < grid.size(); ++i) at[i] = 0;
      ++at[level];
      if (indices() != before) ++moves;
    }
    window.moves[level] = moves * equal;
  }
}

void Grid::visit_steps(const Function& main) {
  const Dims& grid = body_.grid;
  std::size_t settings = 1;
  double all = 1;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    if ((code_.deciding() >> i & 1U) != 0) all *= static_cast<double>(grid[i]);
  }
  const std::size_t most = kMostEvaluations / std::max<std::size_t>(main.nodes.size(), 1);
  settings =
      static_cast<std::size_t>(std::clamp(all, 1.0, std::max(static_cast<double>(most), 1.0)));
  const double times = body_.steps() / static_cast<double>(settings);
  Walk walk(code_, body_);
  for (std::size_t n = 0; n < settings; ++n) {
    double rest = std::floor(static_cast<double>(n) * all / static_cast<double>(settings));
    for (std::size_t i = grid.size(); i-- > 0;) {
      Scalar at = unknown(main.arguments[i].index());
      if ((code_.deciding() >> i & 1U) != 0) {
        const auto size = static_cast<double>(grid[i]);
        at = {.value = static_cast<std::int64_t>(std::fmod(rest, size)), .known = true};
        rest = std::floor(rest / size);
      }
      walk.set(main.arguments[i], at);
    }
    walk.run(main.nodes, times);
  }
}

// FLOPs as XLA counts them: of products, and one for each result of other arithmetic on floats.
void Grid::set_sums() {
  for (const KernelBody::Work& work : body_.work) {
    const double elements = work.times * array_elements(work.result);
    const OpClass kind = op_class(work.opcode);
    const bool moves = is_one_of(work.opcode, {Opcode::kConvert, Opcode::kSelect});
    if (const auto* dot = work.attrs.get<DotAttrs>()) {
      body_.flops += 2 * elements * contracted_elements(dot->dims, work.operands[0]);
    } else if (kind == OpClass::kTranscendental) {
      body_.transcendentals += elements;
    } else if (kind == OpClass::kReduction) {
      body_.flops += work.times * array_elements(work.operands[0]);
    } else if (kind == OpClass::kElementwise && is_floating(work.result.dtype) && !moves) {
      body_.flops += elements;
    }
  }
  if (code_.chains_products()) set_scores();
}

Dims without_ones(Dims dims) {
  dims.erase(std::remove(dims.begin(), dims.end(), 1), dims.end());
  return dims;
}

// Blocks of scores: the most frequent exponentials that are as large as a product's result.
void Grid::set_scores() {
  KernelBody::Scores& scores = body_.scores;
  double blocks = 0, products = 0, compares = 0;
  for (const KernelBody::Work& work : body_.work) {
    if (work.opcode == Opcode::kDot) products += work.times;
    const bool of_product = std::ranges::any_of(body_.work, [&](const KernelBody::Work& other) {
      return other.opcode == Opcode::kDot &&
             without_ones(other.result.dims) == without_ones(work.result.dims);
    });
    const double count = work.times * array_elements(work.result);
    if (work.opcode != Opcode::kExp || !of_product || count <= scores.count) continue;
    scores = {.count = count, .block = without_ones(work.result.dims)};
    blocks = work.times;
  }
  if (blocks <= 0) return;
  for (const KernelBody::Work& work : body_.work) {
    const auto* dot = work.attrs.get<DotAttrs>();
    if (dot != nullptr && scores.width == 0 && without_ones(work.result.dims) == scores.block) {
      scores.width = contracted_elements(dot->dims, work.operands[0]);
    }
    const bool compared =
        work.opcode == Opcode::kCompare && without_ones(work.result.dims) == scores.block;
    if (compared) compares += work.times;
  }
  scores.products = products / blocks;
  scores.compares = compares / blocks;
}

}  // namespace
}  // namespace mosaic

KernelBody read_kernel_body(std::string_view bytecode, std::size_t operands, std::size_t results,
                            double stated_flops) {
  const mlir::Tree tree = mlir::read_bytecode(bytecode);
  KernelBody body;
  mosaic::Grid(tree, body, 1).read(operands, results);
  const double sizes = body.flops > 0 ? stated_flops / body.flops : 0;
  constexpr double kMostSizes = 1e9;
  if (!body.open_grid || sizes < 2 || sizes > kMostSizes) return body;
  KernelBody sized;
  mosaic::Grid(tree, sized, std::llround(sizes)).read(operands, results);
  return sized;
}

}  // namespace tilecast::ir
