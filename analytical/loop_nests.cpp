#include "analytical/loop_nests.h"

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <map>
#include <optional>

#include "analytical/iteration_space.h"
#include "ir/kernels/in_place_update.h"
#include "ir/kernels/kernel_split.h"

namespace tilecast::analytical {
namespace {

using ir::Kernel;
using ir::Op;
using ir::Opcode;
using ir::OpId;

// Whether `user` takes only a part of `operand`, wherever it lies.
bool takes_a_part(const Op& user, OpId operand) {
  using enum Opcode;
  const bool picks =
      ir::is_one_of(user.opcode, {kSlice, kDynamicSlice, kGather, kDynamicUpdateSlice, kScatter});
  return picks && user.operands[0] == operand && std::ranges::count(user.operands, operand) == 1;
}

// Dimensions that an output's loops run over.
const ir::Dims& dims_of(const Kernel& kernel, OpId output) {
  return kernel.op(ir::made_of(kernel, output)).shape.dims;
}

}  // namespace

std::vector<Kernel> loop_nests(const Kernel& kernel) {
  const std::size_t ops = kernel.ops().size(), outputs = kernel.outputs().size();
  if (outputs < 2) return {};
  boost::disjoint_sets_with_storage<> nests(ops);
  for (std::size_t i = 0; i < ops; ++i) {
    const Op& op = kernel.ops()[i];
    for (const OpId operand : op.operands) {
      const Op& source = kernel.op(operand);
      const bool outside =
          source.opcode == Opcode::kParameter || source.opcode == Opcode::kConstant;
      const bool apart = outside && (source.shape.is_scalar() || takes_a_part(op, operand));
      if (!apart) nests.union_set(i, operand.index());
    }
  }
  const std::vector<OpId> passed = passed_through(kernel);
  std::map<ir::Dims, OpId> with_dims;
  std::optional<OpId> made;
  for (const OpId output : kernel.outputs()) {
    const bool costs_nothing = std::ranges::find(passed, output) != passed.end();
    if (!costs_nothing) made = output;
    const auto& [dims, first] = *with_dims.emplace(dims_of(kernel, output), output).first;
    nests.union_set(first.index(), output.index());
  }
  for (const OpId output : passed) nests.union_set(made.value_or(output).index(), output.index());
  std::vector<std::vector<std::size_t>> parts;
  std::vector<std::size_t> part_of(ops, SIZE_MAX);
  for (std::size_t i = 0; i < outputs; ++i) {
    std::size_t& part = part_of[nests.find_set(kernel.outputs()[i].index())];
    if (part == SIZE_MAX) {
      part = parts.size();
      parts.emplace_back();
    }
    parts[part].push_back(i);
  }
  std::vector<Kernel> kernels;
  if (parts.size() < 2) return kernels;
  for (const auto& part : parts) kernels.push_back(ir::kernel_of_outputs(kernel, part));
  return kernels;
}

NestSequence::NestSequence(const std::vector<Kernel>& nests, const hwdesc::Device& device) {
  hwdesc::Device further = device;
  further.dispatch.kernel_launch = Seconds{0};
  launched_ = std::make_unique<const hwdesc::Device>(device);
  further_ = std::make_unique<const hwdesc::Device>(std::move(further));
  for (const Kernel& nest : nests) {
    auto model = tile_model(nest, nests_.empty() ? *launched_ : *further_);
    const TileConfig tile = best_tile(*model).tile;
    nests_.push_back({std::move(model), tile});
  }
}

Accounting NestSequence::account(BoundMask removed) const {
  Accounting sum = nests_.front().model->account(nests_.front().tile, removed);
  for (const Nest& nest : std::span(nests_).subspan(1))
    sum += nest.model->account(nest.tile, removed);
  return sum;
}

}  // namespace tilecast::analytical
