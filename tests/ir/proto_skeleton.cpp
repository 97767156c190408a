#include "tests/ir/proto_skeleton.h"

#include <map>

namespace tilecast::support {
namespace {

using ir::DType;

// XLA's number of the type.
int number_of(DType dtype) {
  static const std::map<DType, int> kNumbers = {
      {DType::kPred, 1},      {DType::kS8, 2},          {DType::kS16, 3},
      {DType::kS32, 4},       {DType::kS64, 5},         {DType::kU8, 6},
      {DType::kU16, 7},       {DType::kU32, 8},         {DType::kU64, 9},
      {DType::kF16, 10},      {DType::kF32, 11},        {DType::kF64, 12},
      {DType::kTuple, 13},    {DType::kC64, 15},        {DType::kBF16, 16},
      {DType::kToken, 17},    {DType::kF8E5M2, 19},     {DType::kF8E4M3FN, 20},
      {DType::kS4, 21},       {DType::kF8E4M3FNUZ, 25}, {DType::kU2, 27},
      {DType::kF4E2M1FN, 32}, {DType::kF8E8M0FNU, 33}};
  return kNumbers.at(dtype);
}

void set_shape(hlo_proto::Shape& proto, const ir::Shape& shape) {
  proto.set_element_type(number_of(shape.dtype));
  for (const std::int64_t dim : shape.dims) proto.add_dimensions(dim);
  for (const ir::Shape& element : shape.elements) set_shape(*proto.add_tuple_shapes(), element);
  if (!shape.layout) return;
  for (const std::int64_t dim : shape.layout->minor_to_major) {
    proto.mutable_layout()->add_minor_to_major(dim);
  }
}

void add_instruction(hlo_proto::Computation& computation, const ir::Instruction& instruction,
                     std::int64_t first_id) {
  hlo_proto::Instruction& proto = *computation.add_instructions();
  proto.set_name(instruction.name);
  proto.set_opcode(std::string(ir::name(instruction.opcode)));
  set_shape(*proto.mutable_shape(), instruction.shape);
  proto.set_id(first_id + computation.instructions_size() - 1);
  for (const ir::InstrId operand : instruction.operands) {
    proto.add_operand_ids(first_id + static_cast<std::int64_t>(operand.index()));
  }
  // A loop's proto has the body first.
  std::vector<ir::ComputationId> called = instruction.called;
  if (instruction.opcode == ir::Opcode::kWhile) std::swap(called.at(0), called.at(1));
  for (const ir::ComputationId callee : called) {
    proto.add_called_computation_ids(static_cast<std::int64_t>(callee.index()) + 1);
  }
  if (const auto* parameter = instruction.get<ir::ParameterAttrs>()) {
    proto.set_parameter_number(parameter->number);
  }
}

}  // namespace

hlo_proto::Module proto_skeleton(const ir::Module& module) {
  constexpr std::int64_t kIdsPerComputation = std::int64_t{1} << 32;
  hlo_proto::Module proto;
  proto.set_name(module.name);
  proto.set_entry_computation_name(module.entry_computation().name);
  proto.set_entry_computation_id(static_cast<std::int64_t>(module.entry.index()) + 1);
  for (const ir::Computation& computation : module.computations) {
    hlo_proto::Computation& one = *proto.add_computations();
    one.set_name(computation.name);
    one.set_id(proto.computations_size());
    const std::int64_t first_id = one.id() * kIdsPerComputation;
    for (const ir::Instruction& instruction : computation.instructions) {
      add_instruction(one, instruction, first_id);
    }
    one.set_root_id(first_id + static_cast<std::int64_t>(computation.root.index()));
  }
  return proto;
}

}  // namespace tilecast::support
