// Inside of ir/verify/verifier.h: the rules, one function per concern. Each throws Error with a
// message that lacks the position; verify() adds it.
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

inline constexpr int kHostMemory = 5;  // S(5)

using infer::fail;
using infer::fail_if;

// How strictly XLA verifies at its stages; the defaults are those of verify().
struct VerifyOptions {
  bool layout_sensitive = false;          // layouts must agree too
  bool allow_mixed_precision = true;      // floating-point operands may differ in width
  bool allow_unbounded_dynamism = false;  // `?` dimensions
  bool reshape_is_bitcast = false;        // reshapes move no data
};
void verify(const Module& module, const base::SourceText* text, const VerifyOptions& options);

// Facts about the whole module that single instructions are judged by.
struct ModuleFacts {
  std::vector<bool> called_by_async, called_by_fusion, called_by_while;  // by computation index
  bool has_buffers = false;                                              // some shape is b(...)
  bool has_send_recv = false;
  std::optional<bool> constrained_all_reduce;  // of the first all-reduce
};

// Who uses each instruction of one computation. A user that names an operand twice counts once.
struct Users {
  std::vector<std::uint32_t> count;
  std::vector<InstrId> first;
  std::vector<InstrId> last;
};

// An instruction, what is around it and how strictly to judge.
struct Site : infer::Site {
  const VerifyOptions& options;
  const ModuleFacts& facts;
  ComputationId computation_id;
  InstrId id;
  const Users& users;

  [[nodiscard]] const Instruction& operand_instruction(std::size_t index) const {
    return computation.at(instruction.operands[index]);
  }
  [[nodiscard]] bool is_root() const { return computation.root == id; }
  [[nodiscard]] ShapeText shown(const Shape& shape) const {
    return {shape, options.layout_sensitive};
  }
};

// ---- comparing shapes (verify_shapes.cpp)
// --------------------------------------------------------

struct Match {
  bool layout = false;               // compare layouts where both shapes have one
  bool minor_to_major_only = false;  // of the layout
  bool ignore_tiles = false;
  bool ignore_memory_space = false;
  bool ignore_fp = false;      // floating-point types may differ
  bool ignore_buffer = false;  // b(s) is s
};
[[nodiscard]] bool match(const Shape& a, const Shape& b, const Match& how);
// As XLA's ShapesSame: layouts count only in layout-sensitive mode.
[[nodiscard]] bool same(const Site& site, const Shape& a, const Shape& b);
[[nodiscard]] inline DimsText shown(const Dims& index) {
  return {index, true};
}  // {1, 2}
[[nodiscard]] const Shape* subshape(const Shape& shape, const Dims& index);  // null: no such part
[[nodiscard]] bool holds_buffer(const Shape& shape);

// ---- rules --------------------------------------------------------------------------------------

// Ids, parameter numbers, roots, shapes in range, call graph. Fills `facts`.
void check_structure(const Module& module, const VerifyOptions& options, ModuleFacts& facts,
                     const std::function<void(ComputationId, InstrId)>& at);
void count_users(const Computation& computation, Users& users);

void check_result_shape(const Site& site);  // verify_shapes.cpp
void check_operation(const Site& site);     // verify_ops.cpp: what one opcode demands
void check_custom_call(const Site& site);   // verify_aliases.cpp
void check_fusion_aliasing(const Site& site);
void check_callees(const Site& site);  // verify_calls.cpp: signatures, threads
void check_async(const Site& site);    // verify_async.cpp
void check_async_callee(const Site& start);
// First transfer between device and host on each channel.
using HostChannels = std::map<std::int64_t, const Instruction*>;
void check_channels(const Site& site, HostChannels& channels);
void check_collective(const Site& site);   // verify_collectives.cpp
void check_layouts(const Site& site);      // verify_layouts.cpp
void check_annotations(const Site& site);  // verify_annotations.cpp: sharding, origin, names
void check_buffers(const Module& module,   // verify_buffers.cpp
                   const ModuleFacts& facts, const VerifyOptions& options,
                   const std::function<void(ComputationId, InstrId)>& at);
void check_deadlocks(const Module& module,  // verify_deadlocks.cpp
                     const ModuleFacts& facts,
                     const std::function<void(ComputationId, InstrId)>& at);
void check_entry(const Module& module, const VerifyOptions& options);  // verify_aliases.cpp

// ---- annotation text ----------------------------------------------------------------------------

// Value of one key of frontend_attributes={...}, quotes taken off.
[[nodiscard]] std::optional<std::string> frontend_attribute(const Instruction& instruction,
                                                            std::string_view key);
using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
[[nodiscard]] Pairs parse_pairs(std::string_view text);  // {{0,1},{1,2}}

}  // namespace tilecast::ir::verification
