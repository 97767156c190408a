// The attributes of an instruction in an HLO proto as text; "" if there is nothing to write.
// Internal to ir/proto/instruction_text.cpp.
#pragma once

#include "ir/proto/proto_text.h"

namespace tilecast::ir::proto_text {

struct Site {
  const hlo_proto::Instruction& proto;
  Opcode opcode;
  bool required;  // the attribute is written even if empty
  const Names& names;
};

[[nodiscard]] inline std::string number(std::int64_t value) {
  return std::to_string(value);
}
[[nodiscard]] inline std::string count(std::int64_t value) {
  return value > 0 ? number(value) : std::string();
}
[[nodiscard]] inline std::string flag(bool value) {
  return value ? "true" : "";
}
[[nodiscard]] std::string numbers(const Site& at, const Numbers& values);
[[nodiscard]] std::string callee(const Site& at, int index);
[[nodiscard]] std::string callees(const Site& at);
[[nodiscard]] std::string control_predecessors(const Site& at);
[[nodiscard]] std::string first_dimension(const Site& at);
[[nodiscard]] std::string literal_with_shape(const Site& at);
[[nodiscard]] const hlo_proto::DotDimensions& dot_dims(const Site& at);
[[nodiscard]] std::string window(const Site& at);
[[nodiscard]] std::string dim_labels(const Site& at);
[[nodiscard]] std::string padding(const Site& at);
[[nodiscard]] std::string slices(const Site& at);
[[nodiscard]] std::string precision(const Site& at);
[[nodiscard]] std::string algorithm(const Site& at);
[[nodiscard]] std::string replica_groups(const Site& at);
[[nodiscard]] std::string source_target_pairs(const Site& at);
[[nodiscard]] std::string aliasing(const Site& at);
[[nodiscard]] std::string operand_layouts(const Site& at);
[[nodiscard]] std::string result_accuracy(const Site& at);
[[nodiscard]] std::string statistics(const Site& at);
[[nodiscard]] std::string replication(const Site& at);
// One list of sizes per slice, each with as many entries as the operand has dimensions.
[[nodiscard]] std::string permute_slices(const Site& at);
// `{({"a"}, {"b" {1}})}`: the array before optimisation that each leaf of the result corresponds
// to.
[[nodiscard]] std::string origin(const Site& at);
[[nodiscard]] std::string domain(const Site& at);

}  // namespace tilecast::ir::proto_text
