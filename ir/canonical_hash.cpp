#include "ir/canonical_hash.h"

#include <limits>

#include "ir/graph_order.h"
#include "ir/op_hash.h"

namespace tilecast::ir {
namespace {

constexpr std::string_view kFormat = "tilecast.kernel/1";

class Canonical {
 public:
  explicit Canonical(const Kernel& kernel)
      : kernel_(kernel), number_(kernel.ops().size(), kUnnumbered) {}

  Hash128 hash() {
    hash_.add(kFormat);
    for (const std::uint32_t op : needed_ops()) {
      number_[op] = next_number_++;
      add(kernel_.ops()[op]);
    }
    hash_.add(std::uint64_t{kernel_.outputs().size()});
    for (const OpId output : kernel_.outputs()) hash_.add(number_[output.index()]);
    for (const auto& [output, parameter] : kernel_.in_place()) {
      const OpId buffer = kernel_.parameters()[parameter];
      hash_.add(std::uint64_t{output});
      hash_.add(number_[buffer.index()]);
    }
    hash_.add(static_cast<std::uint64_t>(kernel_.group_size()));
    if (kernel_.on_host()) hash_.add(std::uint64_t{1});
    return hash_;
  }

 private:
  static constexpr std::uint64_t kUnnumbered = std::numeric_limits<std::uint64_t>::max();

  // The ops that the outputs need, operands first.
  std::vector<std::uint32_t> needed_ops() const {
    std::vector<GraphEdge> edges;
    for (std::uint32_t op = 0; op < number_.size(); ++op) {
      for (const OpId operand : kernel_.ops()[op].operands) edges.emplace_back(op, operand.value);
    }
    std::vector<std::uint32_t> outputs;
    for (const OpId output : kernel_.outputs()) outputs.push_back(output.value);
    return depth_first(number_.size(), edges, outputs).post_order;
  }

  void add(const Op& op) {
    hash_.add(name(op.opcode));
    add_shape(hash_, op.shape);
    hash_.add(std::uint64_t{op.operands.size()});
    for (const OpId operand : op.operands) hash_.add(number_[operand.index()]);
    hash_.add(op.dimensions);
    hash_.add(op.applied ? name(*op.applied) : std::string_view{});
    hash_.add(op.applied_flops);
    hash_.add(op.applied_transcendentals);
    add_cost_attributes(hash_, op.attrs);
    add_value_attributes(hash_, op.attrs);
  }

  const Kernel& kernel_;
  std::vector<std::uint64_t> number_;
  std::uint64_t next_number_ = 0;
  Hash128 hash_;
};

}  // namespace

std::string canonical_hash(const Kernel& kernel) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t half : Canonical(kernel).hash().result()) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[half >> shift & 15U];
  }
  return text;
}

}  // namespace tilecast::ir
