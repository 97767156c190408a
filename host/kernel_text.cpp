#include "host/kernel_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "host/c_symbols.h"

namespace tilecast::host {
namespace {

std::string list(const ir::Dims& numbers) {
  return fmt::format("{{{}}}", fmt::join(numbers, ","));
}

std::string shape(const TextValue& value) {
  ir::Dims order;
  for (std::int64_t d = std::ssize(value.dims); d-- > 0;) order.push_back(d);
  const std::string layout = order.empty() ? "" : list(order);
  return fmt::format("{}[{}]{}", value.dtype, fmt::join(value.dims, ","), layout);
}

std::string shape(const std::vector<TextValue>& values) {
  if (values.size() == 1) return shape(values[0]);
  std::string text;
  for (const TextValue& value : values) text += (text.empty() ? "" : ", ") + shape(value);
  return "(" + text + ")";
}

std::string names(const std::vector<TextValue>& values) {
  std::string text;
  for (const TextValue& value : values) text += (text.empty() ? "" : ", ") + value.name;
  return text;
}

}  // namespace

std::string KernelText::fresh(const std::string& stem) {
  return fmt::format("{}.{}", stem, next_++);
}

TextValue KernelText::parameter(const std::string& dtype, ir::Dims dims) {
  parameters_.push_back({fmt::format("p.{}", parameters_.size()), dtype, std::move(dims)});
  return parameters_.back();
}

TextValue KernelText::op(const std::string& opcode, const std::string& dtype, ir::Dims dims,
                         const std::vector<TextValue>& operands, const std::string& attributes) {
  TextValue value{fresh(opcode), dtype, std::move(dims)};
  lines_.push_back(
      {value.name, fmt::format("{} = {} {}({}){}{}", value.name, shape(value), opcode,
                               names(operands), attributes.empty() ? "" : ", ", attributes)});
  return value;
}

TextValue KernelText::fill(const std::string& dtype, const std::string& value, ir::Dims dims) {
  const TextValue constant{fresh("constant"), dtype, {}};
  lines_.push_back(
      {constant.name, fmt::format("{} = {}[] constant({})", constant.name, dtype, value), true});
  if (dims.empty()) return constant;
  return broadcast(constant, std::move(dims), {});
}

TextValue KernelText::map(const std::string& opcode, const std::vector<TextValue>& operands) {
  return op(opcode, operands[0].dtype, operands[0].dims, operands);
}

TextValue KernelText::scale(const TextValue& x, const std::string& factor) {
  return map("multiply", {x, fill(x.dtype, factor, x.dims)});
}

TextValue KernelText::convert(const TextValue& x, const std::string& dtype) {
  return op("convert", dtype, x.dims, {x});
}

TextValue KernelText::broadcast(const TextValue& x, ir::Dims dims, const ir::Dims& mapping) {
  return op("broadcast", x.dtype, std::move(dims), {x}, "dimensions=" + list(mapping));
}

TextValue KernelText::transpose(const TextValue& x, const ir::Dims& permutation) {
  ir::Dims dims;
  for (const std::int64_t p : permutation) dims.push_back(x.dims[static_cast<std::size_t>(p)]);
  return op("transpose", x.dtype, std::move(dims), {x}, "dimensions=" + list(permutation));
}

TextValue KernelText::reduce(const TextValue& x, const ir::Dims& dimensions,
                             const std::string& combiner) {
  const TextValue start = fill(x.dtype, combiner == "add" ? "0" : "-inf", {});
  const std::string called = combiner + "_" + x.dtype;
  combiners_[called] = fmt::format(
      "{0} {{\n  a = {1}[] parameter(0)\n  b = {1}[] parameter(1)\n"
      "  ROOT c = {1}[] {2}(a, b)\n}}\n\n",
      called, x.dtype, combiner);
  ir::Dims dims;
  for (std::int64_t d = 0; d < std::ssize(x.dims); ++d) {
    if (!contains(dimensions, d)) dims.push_back(x.dims[static_cast<std::size_t>(d)]);
  }
  return op("reduce", x.dtype, std::move(dims), {x, start},
            fmt::format("dimensions={}, to_apply={}", list(dimensions), called));
}

TextValue KernelText::dot(const TextValue& x, const TextValue& y, const ir::Dims& contract_x,
                          const ir::Dims& contract_y, int batch) {
  ir::Dims dims, batch_dims;
  for (std::int64_t d = 0; d < batch; ++d) batch_dims.push_back(d);
  for (std::int64_t d = 0; d < std::ssize(x.dims); ++d) {
    if (!contains(contract_x, d)) dims.push_back(x.dims[static_cast<std::size_t>(d)]);
  }
  for (std::int64_t d = batch; d < std::ssize(y.dims); ++d) {
    if (!contains(contract_y, d)) dims.push_back(y.dims[static_cast<std::size_t>(d)]);
  }
  std::string attributes = fmt::format("lhs_contracting_dims={}, rhs_contracting_dims={}",
                                       list(contract_x), list(contract_y));
  if (batch > 0) {
    attributes =
        fmt::format("lhs_batch_dims={0}, rhs_batch_dims={0}, {1}", list(batch_dims), attributes);
  }
  return op("dot", x.dtype, std::move(dims), {x, y}, attributes);
}

TextValue KernelText::convolution(const TextValue& x, const TextValue& weights, ConvText window) {
  const auto out = [&](std::size_t d) {
    return (x.dims[d] + 2 * window.padding - weights.dims[d - 1]) / window.stride + 1;
  };
  return op("convolution", x.dtype, {x.dims[0], out(1), out(2), weights.dims[3]}, {x, weights},
            fmt::format("window={{size={0}x{1} stride={2}x{2} pad={3}_{3}x{3}_{3}}}, "
                        "dim_labels=b01f_01io->b01f",
                        weights.dims[0], weights.dims[1], window.stride, window.padding));
}

std::string KernelText::combiners() const {
  std::string text;
  for (const auto& [name, computation] : combiners_) text += computation;
  return text;
}

std::string KernelText::module(const std::string& name,
                               const std::vector<TextValue>& results) const {
  TC_CHECK(!lines_.empty() && !results.empty(), "a kernel has an op and a result");
  std::string inputs;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    inputs +=
        fmt::format("  {} = {} parameter({})\n", parameters_[i].name, shape(parameters_[i]), i);
  }
  std::string text = fmt::format("HloModule {}, is_scheduled=true\n\n{}", name, combiners());
  std::string body = inputs;
  const bool is_last = results.size() == 1 && results[0].name == lines_.back().name;
  for (const Line& line : lines_) {
    body += fmt::format("  {}{}\n", is_last && &line == &lines_.back() ? "ROOT " : "", line.text);
  }
  if (!is_last) {
    body += fmt::format("  ROOT results = {} tuple({})\n", shape(results), names(results));
  }
  const auto constants = std::count_if(lines_.begin(), lines_.end(),
                                       [](const Line& line) { return line.is_constant; });
  if (std::ssize(lines_) == constants + 1) return text + fmt::format("ENTRY main {{\n{}}}\n", body);
  text += fmt::format("fused {{\n{}}}\n\nENTRY main {{\n{}", body, inputs);
  return text + fmt::format("  ROOT {} = {} fusion({}), kind=kLoop, calls=fused\n}}\n", name,
                            shape(results), names(parameters_));
}

}  // namespace tilecast::host
