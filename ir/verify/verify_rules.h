// Implementation of ir/verify/verifier.h: the rules, one function per concern. Each throws Error
// with a message without position; verify() adds it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/infer/infer_rules.h"
#include "ir/verify/verifier.h"

namespace tilecast::ir::verification {

using infer::fail;
using infer::fail_if;

// Facts about the whole module that checks of single instructions need.
struct ModuleFacts {
  std::vector<bool> called_by_async, called_by_fusion;  // by computation index
};

// The users of each instruction in a computation. A user that reads an operand twice counts once.
struct Users {
  std::vector<std::uint32_t> count;
  std::vector<InstrId> first;
  std::vector<InstrId> last;
};

// An instruction with its context.
struct Site : infer::Site {
  const ModuleFacts& facts;
  ComputationId computation_id;
  InstrId id;
  const Users& users;

  [[nodiscard]] const Instruction& operand_instruction(std::size_t index) const {
    return computation.at(instruction.operands[index]);
  }
  [[nodiscard]] bool is_root() const { return computation.root == id; }
};

// ---- comparing shapes (verify_ops.cpp) ---------------------------------------------------------

// How to compare types, sizes and elements; layouts are ignored.
struct Match {
  bool ignore_fp = false;      // floating-point types may differ
  bool ignore_buffer = false;  // b(s) matches s
};
[[nodiscard]] bool match(const Shape& a, const Shape& b, const Match& how = {});
// {1, 2}
[[nodiscard]] inline DimsText shown(const Dims& index) {
  return {index, true};
}
[[nodiscard]] const Shape* subshape(const Shape& shape, const Dims& index);  // null: no such part

// ---- rules --------------------------------------------------------------------------------------

// Ids, parameter numbers, roots, shapes in range, call graph. Fills `facts`.
void check_structure(const Module& module, ModuleFacts& facts,
                     const std::function<void(ComputationId, InstrId)>& at);
void count_users(const Computation& computation, Users& users);

void check_result_shape(const Site& site);  // verify_ops.cpp
void check_operation(const Site& site);     // verify_ops.cpp: rules of single opcodes
void check_custom_call(const Site& site);   // verifier.cpp
void check_fusion_aliasing(const Site& site);
void check_callees(const Site& site);     // verify_ops.cpp: signatures
void check_async(const Site& site);       // verify_collectives.cpp
void check_collective(const Site& site);  // verify_collectives.cpp
void check_entry(const Module& module);   // verifier.cpp

}  // namespace tilecast::ir::verification
