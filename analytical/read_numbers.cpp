#include "analytical/read_numbers.h"

#include <algorithm>
#include <optional>

namespace tilecast::analytical {
namespace {

using ir::Op;
using ir::OpClass;

bool has_class(const ir::Kernel& kernel, OpClass wanted) {
  return ir::op_class(kernel.opcode()) == wanted ||
         std::ranges::any_of(kernel.ops(),
                             [&](const Op& op) { return ir::op_class(op.opcode) == wanted; });
}

// One entry covers variants of a type, as in Device::matrix_peak and conversion_cost.
bool stands_for(std::string_view entry, std::string_view dtype) {
  return entry == dtype || (entry == "f8" && dtype.starts_with("f8")) ||
         (entry == "s8" && dtype == "u8") || (entry == "s4" && dtype == "u4");
}

bool has_type(const ir::Kernel& kernel, std::string_view entry) {
  return std::ranges::any_of(kernel.ops(), [&](const Op& op) {
    return op.shape.is_tuple() || stands_for(entry, ir::name(op.shape.dtype));
  });
}

bool reads_cost(const ir::Kernel& kernel, std::string_view entry) {
  constexpr std::string_view kConvert = "convert-";
  if (entry.starts_with(kConvert)) return has_type(kernel, entry.substr(kConvert.size()));
  if (entry == "widen-f8") return has_type(kernel, "f8");
  return std::ranges::any_of(kernel.ops(), [&](const Op& op) {
    return ir::name(op.opcode) == entry || (op.applied && ir::name(*op.applied) == entry);
  });
}

bool reads_passes(const ir::Kernel& kernel, const hwdesc::Device& device, std::string_view entry) {
  // A custom call may compute in any type; its rate is the fastest of them.
  if (kernel.custom_call_cost() || has_class(kernel, OpClass::kCustomCall)) return true;
  // Winograd convolutions and the loops of a processor core compute in f32.
  const bool f32 = entry == "f32" && device.execution != hwdesc::Execution::kScratchpad;
  return has_class(kernel, OpClass::kMatrix) && (f32 || has_type(kernel, entry));
}

std::optional<std::string_view> below(std::string_view path, std::string_view block) {
  if (!path.starts_with(block)) return std::nullopt;
  return path.substr(block.size());
}

}  // namespace

bool may_read(const ir::Kernel& kernel, const hwdesc::Device& device, std::string_view path) {
  if (path == "dispatch.host") return false;
  if (below(path, "energy.")) return device.power_limit().has_value();
  if (below(path, "interconnect.")) return has_class(kernel, OpClass::kCollective);
  if (const auto entry = below(path, "vector.op_cycles.")) return reads_cost(kernel, *entry);
  if (const auto entry = below(path, "transcendental.op_cost.")) return reads_cost(kernel, *entry);
  if (const auto entry = below(path, "matrix.passes.")) return reads_passes(kernel, device, *entry);
  return true;
}

}  // namespace tilecast::analytical
