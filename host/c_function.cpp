#include "host/c_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "analytical/iteration_space.h"
#include "host/c_scalar.h"

namespace tilecast::host {
namespace {

using ir::DType;
using ir::Kernel;
using ir::Op;
using ir::Opcode;
using ir::OpId;

bool passes_on(Opcode opcode) {
  return ir::has(opcode, ir::Trait::kPassesScalar) || ir::has(opcode, ir::Trait::kIdentity);
}

bool can_be_scalar(const Kernel& kernel, const Op& op, const std::vector<bool>& known) {
  if (!op.shape.is_scalar()) return false;
  if (ir::has(op.opcode, ir::Trait::kGiven)) return true;
  if (!ir::is_elementwise(op.opcode) && !passes_on(op.opcode)) return false;
  return !op.operands.empty() &&
         std::all_of(op.operands.begin(), op.operands.end(), [&](OpId operand) {
           return known[operand.index()] && kernel.op(operand).shape.is_array();
         });
}

// The numbers in "{ { 1, 2 }, { -inf, nan } }"; skips the position comments of large arrays.
std::vector<std::string> number_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool comment = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    if (text.compare(i, 2, "/*") == 0) comment = true;
    const bool separates = comment || c == '{' || c == '}' || c == ',' || c == ' ';
    if (text.compare(i, 2, "*/") == 0) {
      comment = false;
      ++i;
    }
    if (!separates) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

std::string parsed(DType dtype, const std::string& word) {
  if (word == "true") return number_text(dtype, std::int64_t{1});
  if (word == "false") return number_text(dtype, std::int64_t{0});
  if (ir::is_floating(dtype)) return number_text(dtype, std::strtod(word.c_str(), nullptr));
  if (ir::is_unsigned_integer(dtype)) {
    return number_text(dtype, static_cast<std::int64_t>(std::strtoull(word.c_str(), nullptr, 10)));
  }
  return number_text(dtype, static_cast<std::int64_t>(std::strtoll(word.c_str(), nullptr, 10)));
}

// A constant's elements in row-major order.
std::vector<std::string> elements_of(const Op& op) {
  const ir::Literal& literal = op.as<ir::ConstantAttrs>().literal;
  const auto count = static_cast<std::size_t>(ir::element_count(op.shape));
  std::vector<std::string> elements;
  if (literal.is_integer && literal.integers.size() == count) {
    for (const std::int64_t v : literal.integers) {
      elements.push_back(number_text(op.shape.dtype, v));
    }
    return elements;
  }
  if (literal.elided) throw Refused{"a constant whose value the dump left out"};
  for (const std::string& word : number_words(literal.text)) {
    elements.push_back(parsed(op.shape.dtype, word));
  }
  if (elements.size() != count) throw Refused{"a constant whose value is not understood"};
  return elements;
}

}  // namespace

ir::Dims dense_strides(const ir::Shape& shape) {
  ir::Dims strides(shape.dims.size(), 0);
  const ir::Dims order = analytical::physical_order(shape);
  std::int64_t next = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[static_cast<std::size_t>(order[i])] = next;
    next *= shape.dims[static_cast<std::size_t>(order[i])];
  }
  return strides;
}

Function::Function(const Kernel& kernel) : kernel_(kernel) {
  for (const Op& op : kernel.ops()) scalar_.push_back(can_be_scalar(kernel, op, scalar_));
  const auto parameters = kernel.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ir::Shape& shape = kernel.op(parameters[i]).shape;
    const auto type = storage_type(shape.dtype);
    prologue_ += fmt::format("const {0}* restrict const p{1} = (const {0}*)in[{1}];\n", type, i);
    sources_.insert_or_assign(parameters[i], Source{fmt::format("p{}", i), dense_strides(shape)});
  }
}

const Source* Function::source(OpId op) {
  if (kernel_.op(op).opcode == Opcode::kConstant && !sources_.contains(op)) {
    ir::Shape row_major = kernel_.op(op).shape;
    row_major.layout.reset();
    sources_.insert_or_assign(op, Source{table(op), dense_strides(row_major)});
  }
  const auto found = sources_.find(op);
  return found == sources_.end() ? nullptr : &found->second;
}

const Source& Function::keep(OpId op) {
  const ir::Shape& shape = kernel_.op(op).shape;
  const std::string name = fmt::format("w{}", op.index());
  prologue_ += fmt::format("{0}* const {1} = ({0}*)(scratch + {2});\n", storage_type(shape.dtype),
                           name, kept_bytes_);
  const std::int64_t bytes = ir::element_count(shape) * bytes_of(storage_type(shape.dtype));
  kept_bytes_ += (bytes + 63) / 64 * 64;
  kept_ = {name, dense_strides(shape)};
  return kept_;
}

std::string Function::table(OpId id) {
  const Op& op = kernel_.op(id);
  const DType dtype = op.shape.dtype;
  const std::string name = fmt::format("k{}", id.index());
  std::vector<std::string> values = elements_of(op);
  if (is_half(dtype)) {  // C has no literals of this type, so it is converted once
    prologue_ += fmt::format("uint16_t {}[{}];\n", name, values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      prologue_ += fmt::format("{}[{}] = {};\n", name, i, stored(dtype, values[i]));
    }
    return name;
  }
  std::string list;
  for (const std::string& value : values) list += (list.empty() ? "" : ", ") + value;
  prologue_ += fmt::format("static const {} {}[] = {{{}}};\n", storage_type(dtype), name, list);
  return name;
}

std::string Function::add_scalar(OpId op, const std::string& text) {
  const std::string name = fmt::format("u{}", op.index());
  prologue_ +=
      fmt::format("const {} {} = {};\n", value_type(kernel_.op(op).shape.dtype), name, text);
  return name;
}

std::string Function::scalar(OpId id) {
  const auto found = scalars_.find(id);
  if (found != scalars_.end()) return found->second;
  const Op& op = kernel_.op(id);
  std::string name;
  if (op.opcode == Opcode::kConstant) {
    name = elements_of(op)[0];
  } else if (op.opcode == Opcode::kParameter) {
    name = add_scalar(id, loaded(op.shape.dtype, source(id)->name + "[0]"));
  } else if (passes_on(op.opcode)) {
    name = scalar(op.operands[0]);
  } else {
    std::vector<std::string> values;
    std::vector<DType> types;
    for (const OpId operand : op.operands) {
      values.push_back(scalar(operand));
      types.push_back(kernel_.op(operand).shape.dtype);
    }
    const auto text = elementwise_text(op, types, values);
    if (!text) throw Refused{fmt::format("{} is not generated", ir::name(op.opcode))};
    name = add_scalar(id, *text);
  }
  scalars_.emplace(id, name);
  return name;
}

Index Function::clamped(const std::string& text, std::int64_t highest) {
  Index made = symbols_.value({0, highest}, 0);
  prologue_ += fmt::format("const int64_t {} = tc_index({}, {});\n", made.text(), text, highest);
  return made;
}

Index Function::clamped_index(OpId op, std::int64_t highest) {
  if (!is_scalar(op)) throw Refused{"a start index that is computed from arrays"};
  const bool wide = kernel_.op(op).shape.dtype == DType::kU64;
  const std::string name = scalar(op);
  return clamped(wide ? fmt::format("({0} > INT64_MAX ? INT64_MAX : {0})", name) : name, highest);
}

Index Function::clamped_element(OpId op, std::int64_t element, std::int64_t highest) {
  const Source* from = source(op);
  if (from == nullptr) throw Refused{"a start index that is computed from arrays"};
  return clamped(fmt::format("{}[{}]", from->name, element), highest);
}

}  // namespace tilecast::host
