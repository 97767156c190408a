#include "ir/kernels/kernel_contents.h"

#include <algorithm>

#include "ir/op_hash.h"

namespace tilecast::ir {
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
