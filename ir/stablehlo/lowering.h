// Part of the implementation of ir/stablehlo/stablehlo.h: builds the module from the tree; this is
// the interface for the rules of the ops (ir/stablehlo/rules.h). Use one Lowering per tree.
//
// Each value is an instruction of its computation. If the module has dynamic shapes, known small
// integer tensors (sizes, limits, strides) are kept as numbers instead and become constants when an
// op uses them.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/mlir/mlir_parser.h"
#include "ir/stablehlo/attribute_values.h"
#include "ir/stablehlo/lowering_state.h"
#include "ir/stablehlo/stablehlo.h"

namespace tilecast::ir::stablehlo {

class Lowering : public AttributeValues {
 public:
  Lowering(const mlir::Tree& tree, const base::SourceText& text, const ReadOptions& options);
  Module run();

  void warn(const std::string& message);  // each message once

  // Operands in the current computation.
  [[nodiscard]] InstrId operand(const Operation& op, std::size_t index);
  [[nodiscard]] std::vector<InstrId> operands(const Operation& op, std::size_t first = 0);
  [[nodiscard]] const Shape& shape(InstrId id) const;
  // The shape as written, with row-major layouts; `?` sizes may remain.
  [[nodiscard]] const Shape& written(ValueId value) const;
  [[nodiscard]] Shape written_results(const Operation& op) const;  // a tuple unless there is one
  [[nodiscard]] const Integers* known(ValueId value) const;
  // The known value of an operand; nullopt if it is not known.
  [[nodiscard]] std::optional<Integers> known_operand(const Operation& op, std::size_t index) const;
  void set_known(ValueId value, Integers values);

  // A new instruction with the annotations and result shapes of `op`, without operands or name.
  [[nodiscard]] Instruction instruction(const Operation& op, Opcode opcode);
  // The same with all operands of `op`, or with the first `count`, which it must have.
  [[nodiscard]] Instruction applied(const Operation& op, Opcode opcode);
  [[nodiscard]] Instruction applied(const Operation& op, Opcode opcode, std::size_t count);
  // Adds an instruction; missing sizes and types are inferred, or taken from the bound.
  InstrId add(Instruction instruction);
  InstrId emit(const Operation& op, Opcode opcode, std::vector<InstrId> operands, Shape shape = {});
  InstrId tuple(const Operation& op, std::vector<InstrId> elements);
  InstrId element(const Operation& op, InstrId tuple, std::int64_t index);
  InstrId constant(const Operation& op, const Attribute& value, TypeId type);
  InstrId constant(const Operation& op, const Shape& shape, const mlir::DenseValues& values);
  // Adds a constant; `offset`: in the source text.
  InstrId literal(Literal value, Shape shape, std::size_t offset);
  // A number broadcast to the sizes and type of `like`.
  InstrId splat(const Operation& op, double value, const Shape& like);
  // The scalar `id` broadcast to the sizes of `like`; arrays are returned unchanged.
  InstrId broadcast_scalar(const Operation& op, InstrId id, const Shape& like);
  // Packs values into one: the value itself, or a tuple.
  InstrId one_value(const Operation& op, std::span<const ValueId> values);
  // Binds the results of `op` to `id`, or to the elements of the tuple `id`.
  void define(const Operation& op, InstrId id);
  void bind(ValueId value, InstrId id);
  void unbind(ValueId value) { bindings_[value.index()] = {}; }

  // `shape` with every `?` replaced from `sizes`, else by the bound.
  [[nodiscard]] Shape resolved(const Operation& op, Shape shape, const Integers* sizes);

  ComputationId region(const Operation& op, const Region& region, const RegionForm& form);
  // The parameters are the arguments of the region's block, with their written types.
  ComputationId scalar_region(const Operation& op, std::size_t index);
  [[nodiscard]] std::vector<Shape> region_shapes(const Operation& op, std::size_t index) const;
  [[nodiscard]] std::vector<ValueId> captures(const std::vector<const Region*>& regions);
  [[nodiscard]] InstrId captured(ValueId value) { return use(value, 0); }
  // Adds the body's operations to the current computation, with its block's arguments bound to
  // `arguments`.
  std::vector<ValueId> inline_region(const Operation& op, const Region& region,
                                     const std::vector<InstrId>& arguments);
  void call(const Operation& op, const std::string& callee, Instruction instruction);
  // The computation of a function with static shapes, such as a reducer of a custom call.
  ComputationId function_computation(const Operation& op, const std::string& name);
  [[nodiscard]] const Operation* find_symbol(const std::string& name) const;

 private:
  void read_types();
  void read_module_attributes();
  [[nodiscard]] const Operation& entry_function() const;
  void lower_entry(const Operation& function);
  void describe_argument(const Operation& function, std::size_t index, Instruction& parameter);
  void lower(const Operation& op);
  std::vector<ValueId> lower_block(const Operation& op, const mlir::Block& block);
  InstrId use(ValueId value, std::size_t offset);
  InstrId clone_constant(ValueId value);
  [[nodiscard]] const Scope* scope_of(ValueId value) const;
  [[nodiscard]] bool is_constant(ValueId value) const;
  std::vector<ValueId> lower_body(const Operation& function);
  void scan(const Region& region, std::vector<ValueId>& found);
  [[nodiscard]] const mlir::Block& only_block(const Operation& op, const Region& region) const;
  ComputationId finish(Scope& scope, InstrId root);
  const Specialised& specialise(const Operation& call, const Operation& function,
                                const std::vector<Shape>& shapes,
                                const std::vector<std::optional<Integers>>& known);
  [[nodiscard]] std::string computation_name(std::string_view wanted);
  void annotate(const Operation& op, Instruction& instruction);
  [[nodiscard]] const std::string& metadata(std::string_view location);
  [[nodiscard]] Scope& scope() { return *scopes_.back(); }

  ReadOptions options_;
  const Operation& module_op_;
  Module module_;
  std::vector<Shape> shapes_;      // by type
  std::vector<Binding> bindings_;  // by value
  std::unordered_map<ValueId, Integers> known_;
  std::vector<std::uint32_t> marks_;  // by value: the last scan that visited it
  std::uint32_t scans_ = 0, serials_ = 0;
  std::vector<Scope*> scopes_;  // innermost last
  std::unordered_map<std::string, const Operation*> symbols_;
  std::unordered_map<std::string, Specialised> functions_;
  std::unordered_set<const Operation*> running_;  // functions being lowered
  std::unordered_set<std::string> computation_names_;
  std::unordered_map<std::string_view, std::string> metadata_;
  std::set<std::string> warned_;
  std::string donors_;  // buffer_donor entries: `(0, {}), (2, {})`
  std::size_t instruction_count_ = 0, region_count_ = 0;
  bool folds_ = false;      // some shape or op is dynamic
  bool quantised_ = false;  // some type is quantised
};

}  // namespace tilecast::ir::stablehlo
