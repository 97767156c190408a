#include "ir/kernels/kernel_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "base/error.h"

namespace tilecast::ir {
namespace {

bool travels_along(Opcode opcode) {
  return opcode == Opcode::kConstant || opcode == Opcode::kBroadcast || opcode == Opcode::kConvert;
}

float float_elements(const Shape& shape) {
  return static_cast<float>(element_count(shape));
}

// Extracts the part of the fused kernel that one launch computes.
class Launch {
 public:
  // `cache`: where values between launches are found (Layout::cache).
  Launch(const Kernel& kernel, const std::vector<bool>& stored, OpId root, int cache)
      : kernel_(kernel),
        stored_(stored),
        root_(root),
        cache_(cache),
        builder_(fmt::format("{}.{}", kernel.name(), root.index()), Opcode::kFusion) {}

  Kernel build() {
    const OpId out = copy(root_);
    work_.output_bytes = static_cast<float>(unpadded_bytes(kernel_.op(root_).shape));
    work_.bytes_accessed = work_.output_bytes;
    for (const float bytes : work_.operand_bytes) work_.bytes_accessed += bytes;
    builder_.set_work(work_);
    return builder_.build({out});
  }

 private:
  OpId copy(OpId id) {
    if (const auto known = copied_.find(id); known != copied_.end()) return known->second;
    const Op& op = kernel_.op(id);
    const bool loaded = op.opcode == Opcode::kParameter || (stored_[id.index()] && id != root_);
    OpId made;
    if (loaded) {
      work_.operand_bytes.push_back(static_cast<float>(unpadded_bytes(op.shape)));
      made = builder_.parameter(placed(id), kernel_.name_of(id));
    } else {
      Op own = op;
      own.shape = placed(id);
      for (OpId& operand : own.operands) operand = copy(operand);
      count(op);
      made = builder_.add(std::move(own), kernel_.name_of(id));
    }
    copied_.emplace(id, made);
    return made;
  }

  [[nodiscard]] Shape placed(OpId id) const {
    Shape shape = kernel_.op(id).shape;
    const bool outside = kernel_.op(id).opcode == Opcode::kParameter ||
                         std::ranges::find(kernel_.outputs(), id) != kernel_.outputs().end();
    if (cache_ == 0 || outside || !stored_[id.index()]) return shape;
    if (!shape.has_layout()) shape.layout = default_layout(shape.rank());
    shape.layout.edit().cache = cache_;
    return shape;
  }

  void count(const Op& op) {
    if (op.opcode == Opcode::kReduce) {
      work_.flops +=
          float_elements(kernel_.op(op.operands.front()).shape) - float_elements(op.shape);
    } else if (is_elementwise(op.opcode)) {
      const bool transcendental = op_class(op.opcode) == OpClass::kTranscendental;
      (transcendental ? work_.transcendentals : work_.flops) += float_elements(op.shape);
    }
  }

  const Kernel& kernel_;
  const std::vector<bool>& stored_;
  OpId root_;
  int cache_;
  KernelBuilder builder_;
  WorkCounts work_;
  std::map<OpId, OpId> copied_;
};

// What a product reads is an array, through views.
void store_operands(const Kernel& kernel, const Op& product, std::vector<bool>& stored) {
  for (OpId id : product.operands) {
    while (has(kernel.op(id).opcode, Trait::kReshapes)) id = kernel.op(id).operands[0];
    stored[id.index()] = kernel.op(id).opcode != Opcode::kParameter;
  }
}

}  // namespace

std::vector<Kernel> split_kernel(const Kernel& kernel, Launches launches) {
  if (launches == Launches::kFused) return {kernel};
  std::vector<bool> stored(kernel.ops().size(), false);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const Opcode opcode = kernel.ops()[i].opcode;
    const bool reduction = opcode == Opcode::kReduce;
    if (opcode == Opcode::kParameter) continue;
    if (launches == Launches::kPerProduct) {
      const bool product = has(opcode, Trait::kTwoFactors);
      stored[i] = stored[i] || product || reduction || op_class(opcode) == OpClass::kTranscendental;
      if (product) store_operands(kernel, kernel.ops()[i], stored);
      continue;
    }
    if (!reduction && !travels_along(opcode) && !is_elementwise(opcode)) {
      throw Error(
          fmt::format("kernel {}: {} cannot be launched apart; expected elementwise ops, "
                      "broadcasts and reductions",
                      kernel.name(), name(opcode)));
    }
    stored[i] = reduction || (launches == Launches::kPerOp && !travels_along(opcode));
  }
  for (const OpId output : kernel.outputs()) stored[output.index()] = true;
  constexpr int kOwnCache = 2;  // the first that is not shared between cores
  const int cache = launches == Launches::kPerProduct ? kOwnCache : 0;
  std::vector<Kernel> result;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (stored[i]) result.push_back(Launch(kernel, stored, OpId(i), cache).build());
  }
  return result;
}

Kernel kernel_of_outputs(const Kernel& kernel, std::span<const std::size_t> outputs) {
  std::vector<bool> needed(kernel.ops().size(), false);
  for (const std::size_t output : outputs) needed[kernel.outputs()[output].index()] = true;
  for (std::size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const OpId operand : kernel.ops()[i].operands) needed[operand.index()] = true;
  }
  KernelBuilder builder(kernel.name(), kernel.opcode());
  builder.set_gpu_code(kernel.gpu_code());
  builder.set_window_bytes(kernel.window_bytes());
  std::vector<OpId> place(needed.size());
  std::vector<std::size_t> parameter_at(kernel.parameters().size(), SIZE_MAX);
  for (std::size_t i = 0; i < parameter_at.size(); ++i) {
    const OpId id = kernel.parameters()[i];
    if (!needed[id.index()]) continue;
    parameter_at[i] = builder.parameters().size();
    place[id.index()] = builder.parameter(kernel.op(id).shape, kernel.name_of(id));
  }
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i] || place[i].valid()) continue;
    Op op = kernel.ops()[i];
    for (OpId& operand : op.operands) operand = place[operand.index()];
    place[i] = builder.add(std::move(op), kernel.name_of(OpId(i)));
  }
  std::vector<OpId> made;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    made.push_back(place[kernel.outputs()[outputs[i]].index()]);
    for (const auto& [output, parameter] : kernel.in_place()) {
      const bool kept = output == outputs[i] && parameter_at[parameter] != SIZE_MAX;
      if (kept) builder.add_in_place(i, parameter_at[parameter]);
    }
  }
  return builder.build(std::move(made));
}

}  // namespace tilecast::ir
