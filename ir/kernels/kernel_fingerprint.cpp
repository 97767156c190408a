#include "ir/kernels/kernel_fingerprint.h"

#include <algorithm>

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
  if (kernel.window_bytes() > 0) hash.add(static_cast<std::uint64_t>(kernel.window_bytes()));
  if (const auto& tile = kernel.compiler_tile()) {
    for (const Dims* bounds : {&tile->kernel_bounds, &tile->output_bounds, &tile->input_bounds}) {
      hash.add(*bounds);
    }
  }
  if (const auto& code = kernel.gpu_code()) {
    hash.add(static_cast<std::uint64_t>(code->emitter));
    hash.add(code->tile);
    hash.add(static_cast<std::uint64_t>(code->warps));
  }
  if (const auto& cost = kernel.custom_call_cost()) {
    hash.add(cost->flops);
    hash.add(cost->transcendentals);
    hash.add(cost->bytes_accessed);
    if (cost->full_precision) hash.add(1.0);
    if (const auto& of = cost->attention) {
      for (const std::int64_t size :
           {of->batch, of->heads, of->kv_heads, of->queries, of->keys, of->width, of->value_width,
            of->window, of->query_block, of->key_block, std::int64_t{of->segmented}}) {
        hash.add(static_cast<std::uint64_t>(size));
      }
      hash.add(std::uint64_t{of->causal} * 2 + std::uint64_t{of->backward});
      hash.add(static_cast<std::uint64_t>(of->gradients));
    }
  }
  return hash.result();
}

namespace {

bool is_closed(const Op& op) {
  const OpClass work = op_class(op.opcode);
  return work != OpClass::kCollective && work != OpClass::kCustomCall && work != OpClass::kHost &&
         work != OpClass::kControl && work != OpClass::kAsyncDone;
}

// A fingerprint of a kernel's cost and of what it computes.
Fingerprint content_fingerprint(const Kernel& kernel) {
  Hash128 hash;
  for (const std::uint64_t half : fingerprint(kernel)) hash.add(half);
  for (const Op& op : kernel.ops()) {
    add_value_attributes(hash, op.attrs);
    hash.add(static_cast<std::uint64_t>(op.applied.value_or(op.opcode)));
  }
  return hash.result();
}

}  // namespace

void KernelContents::share(Kernel& kernel) {
  if (!std::ranges::all_of(kernel.ops(), is_closed)) return;
  const Fingerprint print = content_fingerprint(kernel);
  const std::scoped_lock lock(mutex_);
  kernel.content_ = known_.emplace(print, kernel.content_).first->second;
}

}  // namespace tilecast::ir
