#include "tests/interpreter/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "tests/interpreter/evaluate_ops.h"

namespace tilecast::interpreter {
namespace {

bool is_supported_type(DType dtype) {
  return is_integer(dtype) || dtype == DType::kPred || dtype == DType::kBF16 ||
         dtype == DType::kF16 || dtype == DType::kF32 || dtype == DType::kF64;
}

// The numbers in a literal's text; braces, commas and `/*i0=2*/` only order them.
std::optional<Elements> read_numbers(std::string_view text) {
  constexpr std::string_view kBetween = " ,{}";
  Elements numbers;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBetween);
    if (begin == std::string_view::npos) return numbers;
    text.remove_prefix(begin);
    if (text.starts_with("/*")) {
      text.remove_prefix(std::min(text.size(), text.find("*/") + 2));
      continue;
    }
    const std::string_view token = text.substr(0, text.find_first_of(kBetween));
    text.remove_prefix(token.size());
    double number = token == "true" ? 1 : 0;
    if (token != "true" && token != "false") {
      const auto read = std::from_chars(token.data(), token.data() + token.size(), number);
      if (read.ec != std::errc{}) return std::nullopt;
    }
    numbers.push_back(number);
  }
}

std::optional<Elements> constant_elements(const Op& op) {
  const auto* constant = op.get<ConstantAttrs>();
  if (constant == nullptr) return std::nullopt;
  const Literal& literal = constant->literal;
  const auto count = static_cast<std::size_t>(element_count(op.shape));
  std::optional<Elements> numbers;
  if (literal.is_integer && literal.integers.size() == count) {
    numbers = Elements(literal.integers.begin(), literal.integers.end());
  } else if (!literal.elided) {
    numbers = read_numbers(literal.text);
  }
  if (!numbers || numbers->size() != count) return std::nullopt;
  for (double& number : *numbers) number = as_type(number, op.shape.dtype);
  return numbers;
}

enum class Family { kNone, kConstant, kElementwise, kMovement, kReduction, kDot, kConvolution };

Family family(Opcode opcode) {
  using enum Opcode;
  if (opcode == kConstant) return Family::kConstant;
  if (opcode == kDot) return Family::kDot;
  if (opcode == kConvolution) return Family::kConvolution;
  if (is_one_of(opcode, {kReduce, kReduceWindow})) return Family::kReduction;
  if (is_one_of(opcode, {kBroadcast, kIota, kReshape, kBitcast, kCopy, kCopyStart, kOptBarrier,
                         kAddDependency, kTranspose, kSlice, kPad, kConcatenate, kReverse, kGather,
                         kDynamicSlice, kDynamicUpdateSlice})) {
    return Family::kMovement;
  }
  const bool none = is_one_of(
      opcode, {kComplex, kReal, kImag, kMap, kMulhi, kReducePrecision, kStochasticConvert});
  return is_elementwise(opcode) && !none ? Family::kElementwise : Family::kNone;
}

bool lacks_labels(const ConvDims& dims) {
  return std::min({dims.input_batch, dims.input_feature, dims.kernel_input_feature,
                   dims.kernel_output_feature, dims.output_batch, dims.output_feature}) < 0;
}

bool lacks_attributes(const Op& op) {
  switch (op.opcode) {
    case Opcode::kIota:
      return op.get<IndexAttrs>() == nullptr;
    case Opcode::kSlice:
      return op.get<SliceAttrs>() == nullptr;
    case Opcode::kPad:
      return op.get<PadAttrs>() == nullptr;
    case Opcode::kGather:
      return op.get<GatherAttrs>() == nullptr;
    case Opcode::kCompare:
      return op.get<CompareAttrs>() == nullptr;
    case Opcode::kReduceWindow:
      return op.get<WindowAttrs>() == nullptr;
    case Opcode::kDot:
      return op.get<DotAttrs>() == nullptr;
    case Opcode::kConvolution:
      return op.get<ConvAttrs>() == nullptr || lacks_labels(op.as<ConvAttrs>().dims);
    default:
      return false;
  }
}

// The order of application is unspecified, so only these have a unique result.
bool is_combiner(std::optional<Opcode> opcode) {
  using enum Opcode;
  return opcode && is_one_of(*opcode, {kAdd, kMultiply, kMaximum, kMinimum, kAnd, kOr, kXor});
}

}  // namespace

std::string cannot_evaluate_op(const Op& op) {
  if (op.opcode == Opcode::kGetTupleElement) return "an op with several results";
  const std::string opcode(name(op.opcode));
  if (op.opcode != Opcode::kParameter && family(op.opcode) == Family::kNone) return opcode;
  if (!op.shape.is_array()) return opcode + " with several results";
  if (!is_supported_type(op.shape.dtype)) {
    return fmt::format("elements of type {}", name(op.shape.dtype));
  }
  if (op.shape.dynamic_mask != 0) return "a dynamic dimension";
  if (lacks_attributes(op)) return opcode + " without its attributes";
  if (family(op.opcode) == Family::kReduction && !is_combiner(op.applied)) {
    return fmt::format(
        "{} whose computation is not one of add, multiply, maximum, minimum, and, "
        "or, xor",
        opcode);
  }
  if (op.opcode == Opcode::kConstant && !constant_elements(op)) {
    return "a constant whose value the dump left out";
  }
  return {};
}

Elements evaluate_op(const Op& op, Values operands) {
  switch (family(op.opcode)) {
    case Family::kConstant:
      return constant_elements(op).value();
    case Family::kElementwise:
      return elementwise(op, operands);
    case Family::kMovement:
      return movement(op, operands);
    case Family::kReduction:
      return reduce(op, operands);
    case Family::kDot:
      return dot(op, operands);
    case Family::kConvolution:
      return convolution(op, operands);
    case Family::kNone:
      break;
  }
  throw Error(fmt::format("no evaluation of {}", name(op.opcode)));
}

namespace {

// The reason why a bitcast between these types cannot be evaluated; "" for other ops.
std::string cannot_pair(const Kernel& kernel, const Op& op) {
  if (op.opcode != Opcode::kBitcast && op.opcode != Opcode::kBitcastConvert) return {};
  const DType from = kernel.op(op.operands[0]).shape.dtype, to = op.shape.dtype;
  if (from == to) return {};
  const auto exact = [](DType dtype) { return bits(dtype) <= 32 && dtype != DType::kF16; };
  if (op.opcode == Opcode::kBitcastConvert && bits(from) == bits(to) && exact(from) && exact(to)) {
    return {};
  }
  return fmt::format("{} from {} to {}", name(op.opcode), name(from), name(to));
}

void check_inputs(const Kernel& kernel, std::span<const Elements> inputs) {
  const auto parameters = kernel.parameters();
  if (inputs.size() != parameters.size()) {
    throw Error(fmt::format("kernel {}: wrong number of inputs; got {}, expected {}", kernel.name(),
                            inputs.size(), parameters.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Op& parameter = kernel.op(parameters[i]);
    if (static_cast<std::int64_t>(inputs[i].size()) != element_count(parameter.shape)) {
      throw Error(
          fmt::format("kernel {}: input {} has the wrong number of elements; got {}, "
                      "expected {} of {}",
                      kernel.name(), i, inputs[i].size(), element_count(parameter.shape),
                      to_string(parameter.shape, /*with_layout=*/false)));
    }
  }
}

}  // namespace

std::string cannot_evaluate(const Kernel& kernel) {
  for (const Op& op : kernel.ops()) {
    std::string reason = cannot_evaluate_op(op);
    if (reason.empty()) reason = cannot_pair(kernel, op);
    if (!reason.empty()) return reason;
  }
  return {};
}

std::vector<Elements> evaluate(const Kernel& kernel, std::span<const Elements> inputs) {
  if (const std::string reason = cannot_evaluate(kernel); !reason.empty()) {
    throw Error(fmt::format("kernel {}: cannot be evaluated: {}", kernel.name(), reason));
  }
  check_inputs(kernel, inputs);
  std::vector<Elements> values(kernel.ops().size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[kernel.parameters()[i].index()] = inputs[i];
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Op& op = kernel.ops()[i];
    if (op.opcode == Opcode::kParameter) continue;
    std::vector<Value> operands;
    for (const OpId id : op.operands)
      operands.push_back({&kernel.op(id).shape, &values[id.index()]});
    values[i] = evaluate_op(op, operands);
  }
  std::vector<Elements> outputs;
  for (const OpId id : kernel.outputs()) outputs.push_back(values[id.index()]);
  return outputs;
}

}  // namespace tilecast::interpreter
