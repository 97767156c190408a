#include "ir/kernels/kernel_fingerprint.h"

#include "ir/op_hash.h"

namespace tilecast::ir {
namespace {

void add_op(Hash128& hash, const Op& op) {
  hash.add(static_cast<std::uint64_t>(op.opcode));
  add_shape(hash, op.shape);
  hash.add(std::uint64_t{op.operands.size()});
  for (const OpId operand : op.operands) hash.add(std::uint64_t{operand.value});
  hash.add(op.dimensions);
  hash.add(op.applied_flops);
  hash.add(op.applied_transcendentals);
  add_cost_attributes(hash, op.attrs);
}

}  // namespace

Fingerprint fingerprint(const Kernel& kernel) {
  Hash128 hash;
  hash.add(static_cast<std::uint64_t>(kernel.opcode()));
  for (const Op& op : kernel.ops()) add_op(hash, op);
  for (const OpId id : kernel.outputs()) hash.add(std::uint64_t{id.value});
  for (const auto& [output, parameter] : kernel.in_place()) {
    hash.add(std::uint64_t{output});
    hash.add(std::uint64_t{parameter});
  }
  hash.add(static_cast<double>(kernel.work().flops));
  hash.add(static_cast<double>(kernel.work().bytes_accessed));
  hash.add(static_cast<std::uint64_t>(kernel.group_size()));
  if (kernel.on_host()) hash.add(std::uint64_t{1});
  if (const auto& tile = kernel.compiler_tile()) {
    for (const Dims* bounds : {&tile->kernel_bounds, &tile->output_bounds, &tile->input_bounds}) {
      hash.add(*bounds);
    }
  }
  if (const auto& cost = kernel.custom_call_cost()) {
    hash.add(cost->flops);
    hash.add(cost->transcendentals);
    hash.add(cost->bytes_accessed);
    if (cost->full_precision) hash.add(1.0);
  }
  return hash.result();
}

}  // namespace tilecast::ir
