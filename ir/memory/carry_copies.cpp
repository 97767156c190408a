#include "ir/memory/carry_copies.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "ir/fusion/fusion_rewriter.h"
#include "ir/memory/buffer_sharing.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

class CarryCopies {
 public:
  CarryCopies(const Module& module, const Computation& body)
      : body_(body), users_(user_lists(body)), sharing_(module) {}

  // Elements of the root, a tuple, that need a copy.
  std::vector<std::size_t> find() {
    std::vector<std::size_t> found;
    const Instruction& root = body_.root_instruction();
    for (std::size_t i = 0; i < root.operands.size(); ++i) {
      const Shape& shape = body_.at(root.operands[i]).shape;
      if (shape.is_array() && !shape.is_scalar() && needs_copy(root.operands[i], i)) {
        found.push_back(i);
      }
    }
    return found;
  }

 private:
  [[nodiscard]] bool needs_copy(InstrId made, std::size_t element) {
    const std::vector<InstrId> old = elements(element);
    if (std::ranges::find(old, made) != old.end()) return false;
    std::size_t leaf = 0;
    while (body_.at(made).opcode == Opcode::kBitcast) made = body_.at(made).operands[0];
    if (body_.at(made).opcode == Opcode::kGetTupleElement) {
      leaf = static_cast<std::size_t>(body_.at(made).as<IndexAttrs>().index);
      made = body_.at(made).operands[0];
      if (made == body_.parameters.front()) return true;  // another element of the state
    }
    const Instruction& producer = body_.at(made);
    const std::vector<BufferShare> shares = sharing_.shares(body_, producer);
    for (const InstrId value : old) {
      for (std::size_t o = 0; o < producer.operands.size(); ++o) {
        if (producer.operands[o] != value) continue;
        const bool shared = std::ranges::any_of(shares, [&](const BufferShare& share) {
          return share.output == leaf && share.operand == o;
        });
        if (!shared) return true;
      }
    }
    return read_after(old, made);
  }

  // The instructions that stand for an element of the loop's state at the start of the body.
  [[nodiscard]] std::vector<InstrId> elements(std::size_t element) const {
    std::vector<InstrId> found;
    const auto add = [&](InstrId id) { found.push_back(id); };
    for (const InstrId user : users_[body_.parameters.front().index()]) {
      const Instruction& op = body_.at(user);
      if (op.opcode == Opcode::kGetTupleElement &&
          op.as<IndexAttrs>().index == static_cast<std::int64_t>(element)) {
        add(user);
      }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (const InstrId user : users_[found[i].index()]) {
        if (body_.at(user).opcode == Opcode::kBitcast) add(user);
      }
    }
    return found;
  }

  // Whether something that needs the new value reads the old one.
  [[nodiscard]] bool read_after(const std::vector<InstrId>& old, InstrId made) const {
    const std::vector<bool> after = dependents(users_, made);
    return std::ranges::any_of(old, [&](InstrId value) {
      return std::ranges::any_of(users_[value.index()], [&](InstrId reader) {
        return reader != body_.root && after[reader.index()];
      });
    });
  }

  const Computation& body_;
  UserLists users_;
  BufferSharing sharing_;
};

// Puts a copy of each of these elements of the root before the root.
void add_copies(Computation& body, const std::vector<std::size_t>& elements, FreshNames& names) {
  const std::uint32_t place = body.root.value;
  const auto count = static_cast<std::uint32_t>(elements.size());
  const auto move = [&](InstrId& id) {
    if (id.value >= place) id.value += count;
  };
  for (Instruction& op : body.instructions) change_sources(op, move);
  std::ranges::for_each(body.parameters, move);
  std::vector<Instruction> copies;
  Instruction& root = body.instructions[place];
  const std::vector<InstrId> operands = root.operands;
  std::vector<Shape> shapes;
  for (const std::size_t element : elements) {
    Instruction copy;
    copy.name = names.next("copy");
    copy.opcode = Opcode::kCopy;
    copy.operands = {operands[element]};
    copy.shape = root.shape.elements[element];
    copy.offset = root.offset;
    root.operands[element] = InstrId(place + copies.size());
    copies.push_back(std::move(copy));
  }
  body.root = InstrId(place + count);
  body.instructions.insert(body.instructions.begin() + place,
                           std::make_move_iterator(copies.begin()),
                           std::make_move_iterator(copies.end()));
}

}  // namespace

Module with_carry_copies(Module module) {
  FreshNames names(module);
  std::set<std::size_t> bodies;
  const std::vector<bool> sequential = sequential_computations(module);
  for (std::size_t i = 0; i < sequential.size(); ++i) {
    if (!sequential[i]) continue;
    for (const Instruction& op : module.computations[i].instructions) {
      if (op.opcode == Opcode::kWhile) bodies.insert(op.called.back().index());
    }
  }
  for (const std::size_t body : bodies) {
    const Computation& computation = module.computations[body];
    if (computation.root_instruction().opcode != Opcode::kTuple) continue;
    const std::vector<std::size_t> elements = CarryCopies(module, computation).find();
    if (!elements.empty()) add_copies(module.computations[body], elements, names);
  }
  return module;
}

}  // namespace tilecast::ir
