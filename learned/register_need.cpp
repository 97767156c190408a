#include "learned/register_need.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

using ir::Arithmetic;
using ir::Op;
using ir::Opcode;

constexpr int kUnseen = -2, kInvariant = -1;

bool is_view(Opcode opcode) {
  return ir::has(opcode, ir::Trait::kView);
}

// The operand's dimension that corresponds to dimension `along` of `op`.
int operand_dimension(const Op& op, const Op& operand, int along) {
  if (along < 0) return kInvariant;
  if (ir::has(op.opcode, ir::Trait::kReshapes)) return minor_dimension(operand.shape);
  const auto at = static_cast<std::size_t>(along);
  switch (op.opcode) {
    case Opcode::kBroadcast: {
      const auto found = std::ranges::find(op.dimensions, along);
      return found == op.dimensions.end() ? kInvariant
                                          : static_cast<int>(found - op.dimensions.begin());
    }
    case Opcode::kTranspose:
      return at < op.dimensions.size() ? static_cast<int>(op.dimensions[at]) : kInvariant;
    default:
      return operand.shape.rank() == op.shape.rank() ? along : kInvariant;
  }
}

class Expression {
 public:
  Expression(const ir::Kernel& kernel, ir::OpId root)
      : ops_(kernel.ops()),
        along_(root.index() + 1, kUnseen),
        uses_(root.index() + 1),
        need_(root.index() + 1) {
    along_[root.index()] = minor_dimension(ops_[root.index()].shape);
    for (std::size_t i = root.index() + 1; i-- > 0;) reach_operands(i);
    for (std::size_t i = 0; i <= root.index(); ++i) {
      if (along_[i] >= 0 && !changes(i)) along_[i] = kInvariant;
    }
    for (std::size_t i = 0; i <= root.index(); ++i) count_uses(i);
    for (std::size_t i = 0; i <= root.index(); ++i) {
      if (along_[i] != kUnseen) visit(i);
    }
    result_.pressure = std::max(need_.back(), 1.0);
  }

  [[nodiscard]] const RegisterNeed& result() const { return result_; }

 private:
  // Whether it is an array that is read, not computed in this expression.
  [[nodiscard]] bool is_read(std::size_t i) const {
    return !is_view(ops_[i].opcode) && !ir::is_elementwise(ops_[i].opcode);
  }

  void reach_operands(std::size_t i) {
    if (along_[i] == kUnseen || is_read(i)) return;
    for (const ir::OpId id : ops_[i].operands) {
      int& along = along_[id.index()];
      along = std::max(along, operand_dimension(ops_[i], ops_[id.index()], along_[i]));
    }
  }

  // Whether it changes along the loop. Operands must have been evaluated before.
  [[nodiscard]] bool changes(std::size_t i) const {
    if (is_read(i)) return ops_[i].opcode != Opcode::kConstant || ops_[i].shape.rank() > 0;
    return std::ranges::any_of(ops_[i].operands,
                               [&](ir::OpId id) { return along_[id.index()] >= 0; });
  }

  void count_uses(std::size_t i) {
    if (along_[i] < 0 || is_read(i)) return;
    for (const ir::OpId id : ops_[i].operands) ++uses_[id.index()];
  }

  void visit(std::size_t i) {
    const Op& op = ops_[i];
    if (along_[i] == kInvariant) {
      if (uses_[i] > 0) result_.invariants += 1;
    } else if (is_read(i)) {
      if (op.opcode == Opcode::kIota) return;
      const bool streams = along_[i] == minor_dimension(op.shape);
      (streams ? result_.streams : result_.strided) += 1;
      need_[i] = streams ? 0 : 1;
    } else if (is_view(op.opcode)) {
      need_[i] = op.operands.empty() ? 0 : need_[op.operands[0].index()];
      if (ir::arithmetic(op.opcode) == Arithmetic::kConversion) convert(i);
    } else {
      compute(i);
    }
  }

  void convert(std::size_t i) {
    result_.conversions += 1;
    need_[i] = std::max(need_[i], 1.0);
  }

  void compute(std::size_t i) {
    const Op& op = ops_[i];
    result_.ops += 1;
    result_.shared += uses_[i] > 1 ? 1 : 0;
    result_.functions += ir::op_class(op.opcode) == ir::OpClass::kTranscendental ? 1 : 0;
    const Arithmetic kind = ir::arithmetic(op.opcode);
    result_.divisions += kind == Arithmetic::kDivision || kind == Arithmetic::kRoot ? 1 : 0;
    result_.selections += kind == Arithmetic::kSelection || kind == Arithmetic::kExtremum ? 1 : 0;
    std::vector<double> needs;
    bool fused = false;
    const bool sums = kind == Arithmetic::kSum;
    for (const ir::OpId id : op.operands) {
      const bool product = ir::arithmetic(ops_[id.index()].opcode) == Arithmetic::kProduct &&
                           uses_[id.index()] == 1 && along_[id.index()] >= 0;
      if (sums && product && !fused) {
        fused = true;
        add_needs(ops_[id.index()], needs);
      } else {
        add_need(id, needs);
      }
    }
    need_[i] = registers(std::move(needs));
  }

  void add_needs(const Op& op, std::vector<double>& needs) const {
    for (const ir::OpId id : op.operands) add_need(id, needs);
  }
  void add_need(ir::OpId id, std::vector<double>& needs) const {
    if (along_[id.index()] >= 0) needs.push_back(need_[id.index()]);
  }

  // Registers for operands that change along the loop, given their needs (0: in memory). One
  // operand in memory is read where it is used.
  static double registers(std::vector<double> needs) {
    std::ranges::sort(needs, std::greater());
    if (!needs.empty() && needs.back() == 0) needs.pop_back();
    double most = 1;
    for (std::size_t held = 0; held < needs.size(); ++held) {
      most = std::max(most, std::max(needs[held], 1.0) + static_cast<double>(held));
    }
    return most;
  }

  std::span<const Op> ops_;
  std::vector<int> along_;  // by op: the dimension that the loop runs along
  std::vector<int> uses_;   // by op: uses by ops that change along the loop
  std::vector<double> need_;
  RegisterNeed result_;
};

}  // namespace

RegisterNeed register_need(const ir::Kernel& kernel, ir::OpId root) {
  const Op& op = kernel.op(root);
  const bool reduces = ir::has(op.opcode, ir::Trait::kFolds);
  return Expression(kernel, reduces && !op.operands.empty() ? op.operands[0] : root).result();
}

}  // namespace tilecast::learned
