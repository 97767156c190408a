#include "ir/onnx/emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/error.h"
#include "ir/infer/shape_inference.h"
#include "ir/literal.h"
#include "ir/onnx/terms.h"

namespace tilecast::ir::onnx_reader {
namespace {

constexpr std::size_t kMostInstructions = 1'000'000;
// Integer tensors of the file (shapes, indices, axes) of up to this many elements become constants;
// larger tensors become parameters, which are read from memory.
constexpr std::int64_t kMostLiteral = 64;

std::string hlo_name(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    text += std::isalnum(letter) != 0 || c == '_' || c == '.' || c == '-' ? c : '_';
  }
  const bool starts_well =
      !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_');
  return starts_well ? text : "_" + text;
}

Literal literal_of(const Shape& shape, const Numbers& numbers) {
  const bool integral = is_integer(shape.dtype) || shape.dtype == DType::kPred;
  Literal literal;
  literal.is_integer = integral && numbers.size() <= static_cast<std::size_t>(kMostLiteral);
  if (literal.is_integer) {
    for (const double value : numbers) literal.integers.push_back(to_integer(value));
  }
  std::size_t next = 0;
  append_array_literal(literal.text, shape.dims, [&](std::string& out) {
    const double value = numbers[next++];
    if (shape.dtype == DType::kPred) {
      out += shape.dims.empty() ? (value != 0 ? "true" : "false") : (value != 0 ? "1" : "0");
    } else {
      out += integral ? fmt::format("{}", to_integer(value)) : canonical_float(value, shape.dtype);
    }
  });
  return literal;
}

void check_sizes(const Shape& shape) {
  if (shape.rank() > Shape::kMaxRank) {
    throw Error(
        fmt::format("a shape has at most {} dimensions, got {}", Shape::kMaxRank, shape.rank()));
  }
  for (const std::int64_t size : shape.dims) {
    if (size < 0) throw Error(fmt::format("a size is negative: {}", size));
  }
  if (shape.is_array()) static_cast<void>(element_count(shape));
}

void set_default_layouts(Shape& shape) {
  if (shape.is_array()) shape.layout = default_layout(shape.rank());
  for (Shape& element : shape.elements) set_default_layouts(element);
}

}  // namespace

const Shape& Term::shape() const {
  return emitter->entries_[index].shape;
}

const Numbers* Term::numbers() const {
  return emitter->entries_[index].numbers.get();
}

bool Term::is_literal() const {
  return emitter->is_small(emitter->entries_[index]);
}

bool Emitter::is_small(const Entry& entry) const {
  if (entry.numbers == nullptr || entry.is_written) return false;
  const auto count = static_cast<std::int64_t>(entry.numbers->size());
  return !is_entry_ || entry.name.empty() ||
         count <= (is_floating(entry.shape.dtype) ? 1 : kMostLiteral);
}

Term Emitter::add(Entry entry) {
  entries_.push_back(std::move(entry));
  return {this, entries_.size() - 1};
}

std::string Emitter::unique_name(std::string name) {
  std::string candidate = name;
  while (!names_.insert(candidate).second) {
    candidate = fmt::format("{}.{}", name, ++name_counts_[name]);
  }
  return candidate;
}

InstrId Emitter::write(Instruction instruction, const std::string& name) {
  if (computation_.instructions.size() >= kMostInstructions) {
    throw Error(fmt::format("more than {} instructions", kMostInstructions));
  }
  set_default_layouts(instruction.shape);
  instruction.name = unique_name(name);
  computation_.instructions.push_back(std::move(instruction));
  return InstrId(computation_.instructions.size() - 1);
}

Term Emitter::parameter(Shape shape, const std::string& name) {
  check_sizes(shape);
  const InstrId id =
      write(parameter_instruction({}, shape, computation_.parameters.size()), hlo_name(name));
  computation_.parameters.push_back(id);
  return add({std::move(shape), id, nullptr, {}, /*is_written=*/true});
}

Term Emitter::weight(Shape shape, std::string name) {
  check_sizes(shape);
  return add({std::move(shape), {}, nullptr, std::move(name), false});
}

Term Emitter::constant(const Shape& shape, Numbers numbers, std::string name) {
  Shape braces = shape;  // text of an empty array shows its outer dimensions
  for (std::int64_t& size : braces.dims) size = std::max<std::int64_t>(size, 1);
  check_sizes(braces);
  if (element_count(braces) > kMostFolded) return weight(shape, std::move(name));
  return add(
      {shape, {}, std::make_unique<const Numbers>(std::move(numbers)), std::move(name), false});
}

InstrId Emitter::materialise(const Term& term) {
  if (term.emitter != this) {  // numbers known in the calling computation
    const Entry& outer = term.emitter->entries_[term.index];
    TC_CHECK(term.is_literal(), "only literals are seen from inside a computation");
    return materialise(constant(outer.shape, *outer.numbers, outer.name));
  }
  Entry& entry = entries_[term.index];
  if (entry.id.valid()) return entry.id;
  if (is_entry_ && !is_small(entry)) {
    const Term made = parameter(entry.shape, entry.name);
    weights_.insert(entries_[made.index].id);
    return entry.id = entries_[made.index].id;
  }
  Instruction instruction;
  instruction.opcode = Opcode::kConstant;
  instruction.shape = entry.shape;
  instruction.attrs = ConstantAttrs{entry.numbers ? literal_of(entry.shape, *entry.numbers)
                                                  : Literal{.elided = true, .text = "{...}"}};
  return entry.id = write(std::move(instruction), "constant");
}

std::optional<Emitter::Folded> Emitter::folded(const Spec& spec, Instruction instruction) const {
  std::vector<Known> operands;
  Computation scratch;
  bool literal = true;
  for (const Term& operand : spec.operands) {
    if (operand.numbers() == nullptr) return std::nullopt;
    literal = literal && operand.is_literal();
    operands.push_back({operand.shape(), *operand.numbers()});
    instruction.operands.emplace_back(scratch.instructions.size());
    scratch.instructions.push_back(parameter_instruction({}, operand.shape(), 0));
  }
  if (const auto shape = infer_shape(module_, scratch, instruction)) instruction.shape = *shape;
  if (!instruction.shape.is_array()) return std::nullopt;
  // Ops that produce more elements than they read are emitted unless small.
  const bool grows = has(spec.opcode, Trait::kSpreads);
  if (element_count(instruction.shape) > (grows ? kMostLiteral : kMostFolded)) return std::nullopt;
  auto numbers = fold(module_, instruction, operands);
  if (!numbers) return std::nullopt;
  return Folded{instruction.shape, std::move(*numbers), literal};
}

Term Emitter::emit(Spec spec) {
  Instruction instruction;
  instruction.opcode = spec.opcode;
  instruction.attrs = std::move(spec.attrs);
  instruction.dimensions = std::move(spec.dimensions);
  instruction.shape = std::move(spec.shape);
  instruction.called = std::move(spec.called);
  instruction.raw = std::move(spec.raw);
  check_sizes(instruction.shape);
  auto known = folded(spec, instruction);
  if (known && known->literal) return constant(known->shape, std::move(known->numbers));
  for (const Term& operand : spec.operands) instruction.operands.push_back(materialise(operand));
  instruction.metadata = metadata_;
  if (const auto shape = infer_shape(module_, computation_, instruction))
    instruction.shape = *shape;
  TC_CHECK(instruction.shape.dtype != DType::kInvalid, "the shape is neither given nor inferred");
  Entry entry{instruction.shape, {}, nullptr, {}, /*is_written=*/true};
  // Computed from weights: emitted, but the numbers are known.
  if (known) entry.numbers = std::make_unique<const Numbers>(std::move(known->numbers));
  entry.id = write(std::move(instruction), std::string(name(spec.opcode)));
  return add(std::move(entry));
}

ComputationId Emitter::computation(const std::string& name, const Terms& operands, const Body& body,
                                   bool gives_tuple) {
  Emitter inner(module_, fmt::format("{}.{}", name, module_.computations.size()));
  inner.metadata_ = metadata_;
  std::vector<Shape> shapes;
  for (const Term& operand : operands) shapes.push_back(operand.shape());
  const Term state = inner.parameter(Shape::tuple(std::move(shapes)), "state");
  const Terms results = body(inner, elements_of(state));
  return inner.finish(results, gives_tuple);
}

ComputationId Emitter::reduction(const std::string& name, const std::vector<Shape>& shapes,
                                 const Body& body) {
  for (std::size_t i = 0; i < module_.computations.size(); ++i) {
    if (module_.computations[i].name == name) return ComputationId(i);
  }
  Emitter inner(module_, name);
  Terms parameters;
  for (const Shape& shape : shapes) parameters.push_back(inner.parameter(shape, "p"));
  const Terms results = body(inner, parameters);
  return inner.finish(results, /*gives_tuple=*/false);
}

ComputationId Emitter::reducer(Opcode opcode, DType dtype) {
  const Shape scalar = Shape::array(dtype, {});
  return reduction(fmt::format("{}_{}", ir::name(opcode), ir::name(dtype)), {scalar, scalar},
                   [&](Emitter&, const Terms& p) -> Terms { return {binary(opcode, p[0], p[1])}; });
}

ComputationId Emitter::finish(const Terms& results, bool gives_tuple) {
  metadata_.clear();
  if (gives_tuple || results.size() != 1) {
    computation_.root = materialise(emit({.opcode = Opcode::kTuple, .operands = results}));
  } else {
    computation_.root = materialise(results[0]);
  }
  remove_dead();
  module_.computations.push_back(std::move(computation_));
  return ComputationId(module_.computations.size() - 1);
}

// Removes instructions and weights that the root does not need; the graph's inputs are kept.
void Emitter::remove_dead() {
  std::vector<Instruction>& all = computation_.instructions;
  std::vector<InstrId>& parameters = computation_.parameters;
  std::vector<bool> live(all.size());
  live[computation_.root.index()] = true;
  for (const InstrId id : parameters)
    live[id.index()] = live[id.index()] || weights_.count(id) == 0;
  for (std::size_t i = all.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (const InstrId operand : all[i].operands) live[operand.index()] = true;
  }
  std::vector<InstrId> moved(all.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!live[i]) continue;
    for (InstrId& operand : all[i].operands) operand = moved[operand.index()];
    moved[i] = InstrId(count);
    if (count != i) all[count] = std::move(all[i]);
    ++count;
  }
  all.resize(count);
  std::erase_if(parameters, [&](InstrId id) { return !live[id.index()]; });
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i] = moved[parameters[i].index()];
    all[parameters[i].index()].attrs.edit<ParameterAttrs>().number = static_cast<std::int64_t>(i);
  }
  computation_.root = moved[computation_.root.index()];
}

void Emitter::set_origin(const std::string& op_type, const std::string& op_name) {
  const auto quoted = [](const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '_' : c;
    }
    return out;
  };
  metadata_ = fmt::format("op_type=\"{}\" op_name=\"{}\"", quoted(op_type), quoted(op_name));
}

}  // namespace tilecast::ir::onnx_reader
