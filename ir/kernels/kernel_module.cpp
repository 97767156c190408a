#include "ir/kernels/kernel_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "ir/verify/verifier.h"

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

namespace {

bool continues_chain(Opcode opcode) {
  return opcode == Opcode::kAsyncUpdate || op_class(opcode) == OpClass::kAsyncDone;
}

class Isolator {
 public:
  Isolator(const Module& module, ComputationId computation, std::string name)
      : module_(module), source_(module.at(computation)) {
    result_.name = std::move(name);
    result_.file = module.file;
    result_.is_scheduled = true;
    result_.replica_count = module.replica_count;
    result_.num_partitions = module.num_partitions;
  }

  Module run(InstrId instruction) {
    const std::vector<InstrId> chain = chain_from(instruction);
    for (const InstrId id : chain) kept_names_.insert(source_.at(id).name);
    bring_callees(chain);
    std::map<InstrId, InstrId> copies;
    for (const InstrId id : chain) {
      Instruction copy = source_.at(id);
      for (InstrId& operand : copy.operands) {
        InstrId& known = copies[operand];
        if (!known.valid()) known = outside(source_.at(operand));
        operand = known;
      }
      for (ComputationId& called : copy.called) called = moved_[called.index()];
      copy.control_predecessors.reset();
      if (copy.opcode == Opcode::kParameter) {
        copies[id] = parameter(copy.shape, copy.name);
      } else {
        copies[id] = append(std::move(copy));
      }
    }
    return finish(copies[chain.back()]);
  }

 private:
  // The instruction and, if it is an asynchronous start, the chain up to its done.
  std::vector<InstrId> chain_from(InstrId first) const {
    const Instruction& instruction = source_.at(first);
    if (continues_chain(instruction.opcode)) {
      throw Error("instruction " + instruction.name + ": " + std::string(name(instruction.opcode)) +
                  " is the end of an asynchronous kernel; isolate its start");
    }
    std::vector<InstrId> chain = {first};
    if (!starts_asynchronously(instruction.opcode)) return chain;
    while (op_class(source_.at(chain.back()).opcode) != OpClass::kAsyncDone) {
      const InstrId next = next_in_chain(chain.back());
      if (!next.valid()) {
        throw Error("instruction " + instruction.name + ": its asynchronous chain has no end in " +
                    source_.name);
      }
      chain.push_back(next);
    }
    return chain;
  }

  InstrId next_in_chain(InstrId id) const {
    for (std::size_t i = 0; i < source_.instructions.size(); ++i) {
      const Instruction& user = source_.instructions[i];
      const bool uses =
          std::find(user.operands.begin(), user.operands.end(), id) != user.operands.end();
      if (uses && continues_chain(user.opcode)) return InstrId(i);
    }
    return {};
  }

  void bring_callees(const std::vector<InstrId>& chain) {
    std::vector<bool> needed(module_.computations.size(), false);
    std::vector<ComputationId> open;
    const auto need = [&](const Instruction& instruction) {
      for (const ComputationId called : instruction.called) {
        if (!needed[called.index()]) open.push_back(called);
        needed[called.index()] = true;
      }
    };
    for (const InstrId id : chain) need(source_.at(id));
    while (!open.empty()) {
      const Computation& computation = module_.at(open.back());
      open.pop_back();
      for (const Instruction& instruction : computation.instructions) need(instruction);
    }
    moved_.resize(module_.computations.size());
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i]) continue;
      moved_[i] = ComputationId(result_.computations.size());
      result_.computations.push_back(module_.computations[i]);
    }
    for (Computation& computation : result_.computations) {
      for (Instruction& instruction : computation.instructions) {
        for (ComputationId& called : instruction.called) called = moved_[called.index()];
      }
    }
  }

  // The replacement, in the new entry, of a value that the instruction reads.
  InstrId outside(const Instruction& producer) {
    if (is_scalar_constant(producer)) {
      Instruction constant = producer;
      constant.control_predecessors.reset();
      constant.name = unique(producer.name);
      return append(std::move(constant));
    }
    return whole(producer.shape, producer.name);
  }

  InstrId whole(const Shape& shape, const std::string& name) {
    if (!shape.is_tuple() && !shape.is_token()) return parameter(shape, unique(name));
    Instruction made;
    made.shape = shape;
    made.opcode = shape.is_token() ? Opcode::kAfterAll : Opcode::kTuple;
    for (std::size_t i = 0; i < shape.elements.size(); ++i) {
      made.operands.push_back(whole(shape.elements[i], name + "." + std::to_string(i)));
    }
    made.name = unique(name);
    return append(std::move(made));
  }

  InstrId parameter(const Shape& shape, std::string name) {
    result_.entry_parameter_layouts.push_back(shape);
    const std::size_t number = entry_.parameters.size();
    entry_.parameters.push_back(append(parameter_instruction(std::move(name), shape, number)));
    return entry_.parameters.back();
  }

  InstrId append(Instruction instruction) {
    entry_.instructions.push_back(std::move(instruction));
    return InstrId(entry_.instructions.size() - 1);
  }

  std::string unique(const std::string& name) {
    std::string candidate = name;
    for (int n = 1; !kept_names_.insert(candidate).second; ++n) {
      candidate = name + ".in" + std::to_string(n);
    }
    return candidate;
  }

  Module finish(InstrId root) {
    entry_.root = root;
    entry_.name = "main";
    const auto taken = [&](const Computation& other) { return other.name == entry_.name; };
    for (int n = 1; std::any_of(result_.computations.begin(), result_.computations.end(), taken);
         ++n) {
      entry_.name = "main.entry" + std::to_string(n);
    }
    result_.entry_result_layout = entry_.root_instruction().shape;
    result_.entry = ComputationId(result_.computations.size());
    result_.computations.push_back(std::move(entry_));
    verify(result_);
    return std::move(result_);
  }

  const Module& module_;
  const Computation& source_;
  Module result_;
  Computation entry_;
  std::vector<ComputationId> moved_;
  std::set<std::string> kept_names_;
};

}  // namespace

Module isolate(const Module& module, ComputationId computation, InstrId instruction,
               const std::string& name) {
  return Isolator(module, computation, name).run(instruction);
}

}  // namespace tilecast::ir
