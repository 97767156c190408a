#include "schedule/tree.h"

#include <algorithm>
#include <array>
#include <map>

#include "schedule/touched.h"

namespace tilecast::schedule {
namespace {

constexpr std::array<std::string_view, kNodeKinds> kNodeNames = {
    "program",  "main_buffer", "shared_buffer", "register_buffer", "loop",
    "parallel", "unroll",      "vector",        "guard",           "store",
    "load",     "number",      "copy",          "async_copy",      "multiply",
    "acquire",  "commit",      "wait",          "release",         "apply"};

template <class Part>
NodeKind kind_of(NodeKind first, Part part) {
  return static_cast<NodeKind>(static_cast<std::size_t>(first) + static_cast<std::size_t>(part));
}

void add_times(OpCounts& to, const OpCounts& from, double times) {
  for (double OpCounts::*count : {&OpCounts::adds, &OpCounts::multiplies, &OpCounts::divides,
                                  &OpCounts::transcendentals, &OpCounts::others, &OpCounts::loads,
                                  &OpCounts::stores, &OpCounts::copies, &OpCounts::syncs}) {
    to.*count += times * from.*count;
  }
}

double& count_of(ir::Opcode opcode, OpCounts& counts) {
  switch (ir::arithmetic(opcode)) {
    case ir::Arithmetic::kSum:
    case ir::Arithmetic::kExtremum:
      return counts.adds;
    case ir::Arithmetic::kProduct:
      return counts.multiplies;
    case ir::Arithmetic::kDivision:
      return counts.divides;
    default:
      break;
  }
  return ir::op_class(opcode) == ir::OpClass::kTranscendental ? counts.transcendentals
                                                              : counts.others;
}

double elements_of(const ir::Dims& dims) {
  double product = 1;
  for (const std::int64_t dim : dims) product *= static_cast<double>(dim);
  return product;
}

class Builder {
 public:
  explicit Builder(const LoopProgram& program)
      : program_(program), accesses_(accesses_in(program.body, {})) {}

  ScheduleTree build() {
    const std::size_t root = open(NodeKind::kProgram);
    for (const Buffer& buffer : program_.buffers) add_buffer(buffer);
    for (const Statement& statement : program_.body) add(statement);
    close(root, 1);
    tree_.nodes[root].context.touches = touches_of_all();
    return std::move(tree_);
  }

 private:
  NodeContext& context(std::size_t node) { return tree_.nodes[node].context; }

  std::size_t open(NodeKind kind) {
    TreeNode node;
    node.kind = kind;
    node.parent = parents_.empty() ? -1 : static_cast<std::int32_t>(parents_.back());
    node.context.depth = static_cast<double>(parents_.size());
    for (const Loop* loop : loops_) {
      const auto extent = static_cast<double>(loop->extent);
      node.context.top_down *= extent;
      if (loop->kind == LoopKind::kParallel) node.context.parallel *= extent;
      if (loop->kind == LoopKind::kUnrolled) node.context.unrolled *= extent;
      if (loop->kind == LoopKind::kVectorized) node.context.vectorized *= extent;
    }
    parents_.push_back(tree_.nodes.size());
    tree_.nodes.push_back(std::move(node));
    return parents_.back();
  }

  // Ends a node whose contents ran `times` times, and adds its counts to the parent.
  void close(std::size_t node, double times) {
    parents_.pop_back();
    NodeContext& of = context(node);
    of.bottom_up *= times;
    OpCounts counts;
    add_times(counts, of.ops, times);
    of.ops = counts;
    if (parents_.empty()) return;
    NodeContext& parent = context(parents_.back());
    parent.bottom_up = std::max(parent.bottom_up, of.bottom_up);
    add_times(parent.ops, of.ops, 1);
  }

  void add_buffer(const Buffer& buffer) {
    const std::size_t node = open(kind_of(NodeKind::kMainBuffer, buffer.scope));
    tree_.nodes[node].buffer = &buffer;
    tree_.nodes[node].element_bytes = ir::storage_bytes(buffer.dtype);
    close(node, 1);
  }

  void add(const Statement& statement) {
    if (const auto* loop = statement.get<Loop>()) return add(*loop);
    if (const auto* assign = statement.get<Assign>()) return add(*assign);
    if (const auto* copy = statement.get<Copy>()) return add(*copy);
    if (const auto* product = statement.get<Multiply>()) return add(*product);
    if (const auto* guard = statement.get<Guard>()) {
      const std::size_t node = open(NodeKind::kGuard);
      tree_.nodes[node].bounds = static_cast<double>(guard->where.size());
      for (const Statement& inner : guard->body) add(inner);
      return close(node, 1);
    }
    const std::size_t node = open(kind_of(NodeKind::kAcquire, statement.get<Sync>()->kind));
    context(node).ops.syncs = 1;
    close(node, 1);
  }

  void add(const Loop& loop) {
    loops_.push_back(&loop);
    const std::size_t node = open(kind_of(NodeKind::kSequentialLoop, loop.kind));
    for (const Statement& inner : loop.body) add(inner);
    close(node, static_cast<double>(loop.extent));
    context(node).extent = static_cast<double>(loop.extent);
    const std::size_t depth = loops_.size() - 1;
    std::map<std::string_view, std::vector<LoopAccess>> by_buffer;
    for (const LoopAccess& access : accesses_) {
      if (access.loops.size() > depth && access.loops[depth] == &loop) {
        by_buffer[access.access->buffer].push_back(access);
      }
    }
    for (const auto& [buffer, accesses] : by_buffer) {
      context(node).touches.push_back(touch(accesses, depth));
    }
    sort_touches(context(node).touches);
    loops_.pop_back();
  }

  [[nodiscard]] BufferTouch touch(const std::vector<LoopAccess>& accesses,
                                  std::size_t depth) const {
    const Buffer& buffer = program_.buffer(accesses[0].access->buffer);
    BufferTouch made{.buffer = &buffer,
                     .elements = touched_elements(buffer, accesses, depth).elements,
                     .stride = access_stride(buffer, accesses[0], depth)};
    made.bytes = made.elements * ir::storage_bytes(buffer.dtype);
    for (const LoopAccess& access : accesses) {
      made.writes |= access.use == Use::kWrite;
      made.accesses += access_count(access, depth);
    }
    return made;
  }

  [[nodiscard]] std::vector<BufferTouch> touches_of_all() const {
    std::map<std::string_view, std::vector<LoopAccess>> by_buffer;
    for (const LoopAccess& access : accesses_) by_buffer[access.access->buffer].push_back(access);
    std::vector<BufferTouch> touches;
    for (const auto& [buffer, accesses] : by_buffer) {
      touches.push_back(touch(accesses, 0));
      touches.back().stride = 0;
    }
    sort_touches(touches);
    return touches;
  }

  static void sort_touches(std::vector<BufferTouch>& touches) {
    std::stable_sort(touches.begin(), touches.end(),
                     [](const BufferTouch& a, const BufferTouch& b) {
                       return a.writes != b.writes ? a.writes : a.bytes > b.bytes;
                     });
  }

  // A node's own access: a load, a store, the target of a copy.
  [[nodiscard]] BufferTouch own_touch(const Access& access, Use use, const ir::Dims& box) const {
    const Buffer& buffer = program_.buffer(access.buffer);
    const LoopAccess of{&access, use, box, loops_};
    const double elements = elements_of(box);
    return {.buffer = &buffer,
            .writes = use == Use::kWrite,
            .elements = elements,
            .bytes = elements * ir::storage_bytes(buffer.dtype),
            .accesses = elements,
            .stride = loops_.empty() ? 0 : access_stride(buffer, of, loops_.size() - 1)};
  }

  void add_load(const Access& access, const ir::Dims& box = {}) {
    const std::size_t node = open(NodeKind::kLoad);
    tree_.nodes[node].element_bytes = ir::storage_bytes(program_.buffer(access.buffer).dtype);
    context(node).touches = {own_touch(access, Use::kRead, box)};
    context(node).ops.loads = elements_of(box);
    close(node, 1);
  }

  void add(const Value& value) {
    if (value.kind == Value::Kind::kRead) return add_load(value.read);
    const bool applies = value.kind == Value::Kind::kApply;
    const std::size_t node = open(applies ? NodeKind::kApply : NodeKind::kNumber);
    tree_.nodes[node].element_bytes = ir::storage_bytes(value.dtype);
    if (applies) {
      tree_.nodes[node].opcode = value.opcode;
      count_of(value.opcode, context(node).ops) += 1;
    }
    for (const Value& operand : value.operands) add(operand);
    close(node, 1);
  }

  void add(const Assign& assign) {
    const std::size_t node = open(NodeKind::kStore);
    const double bytes = ir::storage_bytes(program_.buffer(assign.to.buffer).dtype);
    tree_.nodes[node].element_bytes = bytes;
    tree_.nodes[node].bounds = static_cast<double>(assign.where.size());
    context(node).touches = {own_touch(assign.to, Use::kWrite, {})};
    context(node).ops.stores = 1;
    if (assign.combine) {
      const std::size_t combine = open(NodeKind::kApply);
      tree_.nodes[combine].opcode = *assign.combine;
      tree_.nodes[combine].element_bytes = bytes;
      count_of(*assign.combine, context(combine).ops) += 1;
      add_load(assign.to);
      add(assign.value);
      close(combine, 1);
    } else {
      add(assign.value);
    }
    close(node, 1);
  }

  void add(const Copy& copy) {
    const std::size_t node = open(copy.async ? NodeKind::kAsyncCopy : NodeKind::kCopy);
    tree_.nodes[node].element_bytes = ir::storage_bytes(program_.buffer(copy.to.buffer).dtype);
    tree_.nodes[node].bounds = copy.padded ? 1 : 0;
    context(node).touches = {own_touch(copy.to, Use::kWrite, copy.extents)};
    context(node).ops.stores = elements_of(copy.extents);
    context(node).ops.copies = 1;
    add_load(copy.from, copy.extents);
    close(node, 1);
  }

  void add(const Multiply& product) {
    const std::size_t node = open(NodeKind::kMultiply);
    const ir::Dims box{product.rows, product.columns};
    tree_.nodes[node].element_bytes = ir::storage_bytes(program_.buffer(product.c.buffer).dtype);
    context(node).touches = {own_touch(product.c, Use::kWrite, box)};
    const double terms = elements_of({product.rows, product.columns, product.depth});
    context(node).ops = {.adds = terms, .multiplies = terms, .stores = elements_of(box)};
    add_load(product.c, box);
    add_load(product.a, {product.rows, product.depth});
    add_load(product.b, {product.depth, product.columns});
    close(node, 1);
  }

  const LoopProgram& program_;
  std::vector<LoopAccess> accesses_;
  ScheduleTree tree_;
  std::vector<std::size_t> parents_;  // open nodes
  std::vector<const Loop*> loops_;
};

}  // namespace

std::string_view name(NodeKind kind) {
  return kNodeNames[static_cast<std::size_t>(kind)];
}

ScheduleTree make_tree(const LoopProgram& program) {
  return Builder(program).build();
}

}  // namespace tilecast::schedule
