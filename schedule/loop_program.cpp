#include "schedule/loop_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace tilecast::schedule {

Value Value::of(double number, ir::DType dtype) {
  Value made;
  made.number = number;
  made.dtype = dtype;
  return made;
}

Value Value::of(Access read, ir::DType dtype) {
  Value made;
  made.kind = Kind::kRead;
  made.read = std::move(read);
  made.dtype = dtype;
  return made;
}

Value Value::apply(ir::Opcode opcode, ir::DType dtype, std::vector<Value> operands) {
  Value made;
  made.kind = Kind::kApply;
  made.opcode = opcode;
  made.dtype = dtype;
  made.operands = std::move(operands);
  return made;
}

const Body* Statement::body() const {
  if (const auto* loop = get<Loop>()) return &loop->body;
  if (const auto* guard = get<Guard>()) return &guard->body;
  return nullptr;
}

Body* Statement::body() {
  return const_cast<Body*>(std::as_const(*this).body());
}

const Buffer* LoopProgram::find(std::string_view buffer) const {
  const auto found = std::find_if(buffers.begin(), buffers.end(),
                                  [&](const Buffer& b) { return b.name == buffer; });
  return found == buffers.end() ? nullptr : &*found;
}

const Buffer& LoopProgram::buffer(std::string_view buffer) const {
  const Buffer* found = find(buffer);
  if (found == nullptr) throw Error(fmt::format("no buffer {} in {}", buffer, name));
  return *found;
}

Buffer& LoopProgram::buffer(std::string_view buffer) {
  return const_cast<Buffer&>(std::as_const(*this).buffer(buffer));
}

ir::Dims strides(const Buffer& buffer) {
  if (!buffer.strides.empty()) return buffer.strides;
  ir::Dims made(buffer.dims.size(), 1);
  for (std::size_t d = made.size(); d-- > 1;) made[d - 1] = made[d] * buffer.dims[d];
  return made;
}

std::int64_t elements(const Buffer& buffer) {
  return std::accumulate(buffer.dims.begin(), buffer.dims.end(), std::int64_t{1},
                         std::multiplies<>());
}

std::string_view name(Scope scope) {
  constexpr std::array<std::string_view, 3> kNames{"main", "shared", "register"};
  return kNames[static_cast<std::size_t>(scope)];
}

std::string_view name(LoopKind kind) {
  constexpr std::array<std::string_view, 4> kNames{"loop", "parallel", "unroll", "vector"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(Sync::Kind kind) {
  constexpr std::array<std::string_view, 4> kNames{"producer_acquire", "producer_commit",
                                                   "consumer_wait", "consumer_release"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace tilecast::schedule
