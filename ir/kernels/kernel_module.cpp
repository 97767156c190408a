#include "ir/kernels/kernel_module.h"

#include <fmt/format.h>

namespace tilecast::ir {
namespace {

// True if the op's computation combines two elements.
bool applies_pairs(Opcode opcode) {
  using enum Opcode;
  return is_one_of(opcode, {kReduce, kReduceWindow, kScatter, kAllReduce, kReduceScatter, kMap,
                            kSort, kSelectAndScatter});
}

class KernelPrinterModule {
 public:
  explicit KernelPrinterModule(const Kernel& kernel) : kernel_(kernel) {
    module_.name = kernel.name();
    module_.is_scheduled = true;
  }

  Module make() && {
    Computation main;
    main.name = "main";
    main.parameters.resize(kernel_.parameters().size());
    main.instructions.reserve(kernel_.ops().size() + 1);
    for (const Op& op : kernel_.ops()) main.instructions.push_back(instruction_of(op));
    for (std::size_t i = 0; i < kernel_.parameters().size(); ++i) {
      const OpId id = kernel_.parameters()[i];
      const Shape& shape = kernel_.op(id).shape;
      main.parameters[i] = InstrId(id.index());
      main.instructions[id.index()] = parameter_instruction(fmt::format("p{}", i), shape, i);
    }
    if (kernel_.outputs().size() == 1) {
      main.root = InstrId(kernel_.outputs()[0].index());
    } else {  // infeed and outfeed have none
      main.root = InstrId(main.instructions.size());
      main.instructions.push_back(tuple_of_outputs());
    }
    module_.entry = ComputationId(module_.computations.size());
    module_.computations.push_back(std::move(main));
    return std::move(module_);
  }

 private:
  Instruction instruction_of(const Op& op) {
    Instruction made;
    made.name = fmt::format("v{}", named_++);
    made.opcode = op.opcode;
    made.shape = op.shape;
    for (const OpId operand : op.operands) made.operands.emplace_back(operand.index());
    made.dimensions = op.dimensions;
    made.attrs = op.attrs;
    if (op.applied && applies_pairs(op.opcode)) {
      made.called.push_back(reducer(*op.applied, kernel_.op(op.operands.front()).shape.dtype));
    }
    return made;
  }

  Instruction tuple_of_outputs() const {
    Instruction made;
    made.name = "outputs";
    made.opcode = Opcode::kTuple;
    made.shape.dtype = DType::kTuple;
    for (const OpId output : kernel_.outputs()) {
      made.operands.emplace_back(output.index());
      made.shape.elements.push_back(kernel_.op(output).shape);
    }
    return made;
  }

  ComputationId reducer(Opcode opcode, DType dtype) {
    const Shape scalar = Shape::array(dtype, {});
    Computation made;
    made.name = fmt::format("pair{}", module_.computations.size());
    made.instructions = {parameter_instruction("a", scalar, 0),
                         parameter_instruction("b", scalar, 1), Instruction()};
    made.parameters = {InstrId(std::size_t{0}), InstrId(std::size_t{1})};
    made.root = InstrId(std::size_t{2});
    Instruction& root = made.instructions.back();
    root.name = "c";
    root.opcode = opcode;
    root.shape = scalar;
    root.operands = made.parameters;
    module_.computations.push_back(std::move(made));
    return ComputationId(module_.computations.size() - 1);
  }

  const Kernel& kernel_;
  Module module_;
  int named_ = 0;
};

}  // namespace

Module module_of(const Kernel& kernel) {
  return KernelPrinterModule(kernel).make();
}

bool is_whole(const Kernel& kernel) {
  for (const Op& op : kernel.ops()) {
    if (applies_pairs(op.opcode) && !op.applied) return false;
  }
  return true;
}

}  // namespace tilecast::ir
