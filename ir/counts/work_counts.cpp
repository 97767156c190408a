#include "ir/counts/work_counts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "ir/counts/op_counts.h"

namespace tilecast::ir {
namespace {

constexpr std::int64_t kPointerBytes = 8;

bool every_leaf_has_layout(const Shape& shape) {
  bool all = true;
  for_each_leaf(shape, [&](const Shape& leaf) { all &= leaf.has_layout() || !leaf.is_array(); });
  return all;
}

std::int64_t default_shape_bytes(const Shape& shape) {
  if (shape.is_tuple()) return kPointerBytes * static_cast<std::int64_t>(shape.elements.size());
  if (shape.is_token()) return 0;
  if (shape.dtype == DType::kOpaque) return kPointerBytes;
  return unpadded_bytes(shape);
}

// Time of one resource; 0 if it is not used or has no rate.
float resource_time(float amount, float per_second, float min_latency) {
  if (amount == 0 || per_second <= 0) return 0;
  return std::max(amount / per_second, min_latency);
}

float bottleneck_time(const WorkCounts& counts, const WorkCountOptions& o) {
  return std::max({0.0F, resource_time(counts.flops, o.flops_per_s, o.flops_min_latency_s),
                   resource_time(counts.bytes_accessed, o.bytes_per_s, o.bytes_min_latency_s),
                   resource_time(counts.transcendentals, o.transcendentals_per_s,
                                 o.transcendentals_min_latency_s)});
}

// False for ops to which XLA assigns no time of their own: they are free, or have the time of their
// callees.
bool has_own_time(Opcode opcode) {
  using enum Opcode;
  return !is_one_of(opcode, {kParameter, kConstant, kGetTupleElement, kAfterAll, kAddDependency,
                             kDomain, kCall, kWhile, kConditional, kCustomCall});
}

class DepthGuard {
 public:
  DepthGuard(int& depth, const std::string& computation) : depth_(depth) {
    if (depth_ >= WorkCounter::kMaxCallDepth) {
      throw Error("computation " + computation +
                  ": calls nest too deep or recursively; expected "
                  "at most " +
                  std::to_string(WorkCounter::kMaxCallDepth) + " levels");
    }
    ++depth_;
  }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int& depth_;
};

}  // namespace

WorkCounter::WorkCounter(const Module& module, WorkCountOptions options)
    : module_(module), options_(options) {}

std::int64_t WorkCounter::shape_bytes(const Shape& shape) const {
  if (!every_leaf_has_layout(shape)) return 0;
  return options_.shape_bytes != nullptr ? options_.shape_bytes(shape) : default_shape_bytes(shape);
}

WorkCounts WorkCounter::of(ComputationId computation, InstrId instruction) {
  const Computation& body = module_.at(computation);
  const Instruction& op = body.at(instruction);
  WorkCounts counts = count_op({module_, body, op, *this});
  if (has_own_time(op.opcode)) counts.optimal_s = bottleneck_time(counts, options_);
  return counts;
}

const WorkCounts& WorkCounter::total(ComputationId computation) {
  if (const auto known = totals_.find(computation.value); known != totals_.end()) {
    return known->second;
  }
  const Computation& body = module_.at(computation);
  const DepthGuard guard(depth_, body.name);
  WorkCounts sum;
  for (std::size_t i = 0; i < body.instructions.size(); ++i) {
    add_counts(sum, of(computation, InstrId(i)));
  }
  return totals_.emplace(computation.value, std::move(sum)).first->second;
}

}  // namespace tilecast::ir
