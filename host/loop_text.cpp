#include "host/loop_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/c_elementwise.h"
#include "host/c_function.h"
#include "host/c_types.h"

namespace tilecast::host {

namespace loops = schedule;

std::string c_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '.' || c == '@'; }, '_');
  return name;
}

std::string index_text(const loops::Index& index) {
  return c_name(index.text());
}

std::string condition_text(const std::vector<loops::Bound>& where, const loops::Extents& extents) {
  std::string made;
  const auto add = [&made](const std::string& condition) {
    made += made.empty() ? condition : " && " + condition;
  };
  for (const loops::Bound& bound : where) {
    const std::int64_t constant = bound.index.constant();
    const std::string index = index_text(bound.index - loops::Index(constant));
    bool above = false, below = false;
    if (!extents.empty()) {
      const loops::IndexRange range = bound.index.range(extents);
      above = range.low >= 0;
      below = range.high < bound.limit;
    }
    if (!above) add(fmt::format("{} >= {}", index, -constant));
    if (!below) add(fmt::format("{} < {}", index, bound.limit - constant));
  }
  return made;
}

std::int64_t stage_elements(const loops::Buffer& buffer) {
  const ir::Dims by = loops::strides(buffer);
  std::int64_t most = 1;
  for (std::size_t d = 0; d < by.size(); ++d) most = std::max(most, by[d] * buffer.dims[d]);
  return most;
}

std::int64_t bytes_of_element(ir::DType dtype) {
  return bytes_of(storage_type(dtype));
}

loops::Index address_of(const loops::Buffer& buffer, const loops::Access& access,
                        const std::vector<loops::Index>& offset) {
  const ir::Dims by = loops::strides(buffer);
  loops::Index address;
  for (std::size_t d = 0; d < access.at.size(); ++d) {
    address = address + (access.at[d] + (offset.empty() ? loops::Index(0) : offset[d])) * by[d];
  }
  return address;
}

bool is_clipped(const loops::Buffer& buffer, const loops::Access& access, std::size_t dim) {
  const bool start = access.at[dim].is_constant() && access.at[dim].constant() == 0;
  return !start || buffer.scope == loops::Scope::kMain;
}

std::vector<loops::Bound> inside_bounds(const loops::Buffer& buffer, const loops::Access& access,
                                        const std::vector<loops::Index>& offset) {
  std::vector<loops::Bound> where;
  for (std::size_t d = 0; d < access.at.size(); ++d) {
    if (is_clipped(buffer, access, d)) {
      where.push_back({access.at[d] + offset[d], buffer.dims[d]});
    }
  }
  return where;
}

std::string value_text(const loops::Value& of, const ElementText& element) {
  if (of.kind == loops::Value::Kind::kNumber) return number_text(of.dtype, of.number);
  if (of.kind == loops::Value::Kind::kRead) return element(of.read);
  std::vector<std::string> operands;
  std::vector<ir::DType> types;
  for (const loops::Value& operand : of.operands) {
    operands.push_back("(" + value_text(operand, element) + ")");
    types.push_back(operand.dtype);
  }
  ir::Op op;
  op.opcode = of.opcode;
  op.shape = ir::Shape::array(of.dtype, {});
  if (!of.direction.empty()) op.attrs = ir::CompareAttrs{of.direction, ""};
  const auto made = elementwise_text(op, types, operands);
  if (!made) throw Refused{fmt::format("{} is not generated", ir::name(of.opcode))};
  return *made;
}

std::string combination_text(ir::Opcode combine, ir::DType dtype, const std::string& a,
                             const std::string& b) {
  const auto made = combined_text(combine, dtype, a, b);
  if (!made) throw Refused{fmt::format("a sum by {} is not generated", ir::name(combine))};
  return rounded(dtype, *made);
}

}  // namespace tilecast::host
