// Converts parts of an HLO proto to HLO text as XLA prints it. A proto is read by converting it to
// text, so that both forms go through the same parser. Internal to ir/proto. Throws Error (message
// without position).
#pragma once

#include <google/protobuf/repeated_field.h>

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ir/op.h"
#include "ir/proto/hlo.pb.h"
#include "ir/shape.h"

namespace tilecast::ir::proto_text {

using Numbers = google::protobuf::RepeatedField<std::int64_t>;

// The names used in the text, by id: of all computations, and of the instructions of one
// computation.
struct Names {
  std::unordered_map<std::int64_t, std::string> computations, instructions;
};

[[nodiscard]] std::string list(const Numbers& values);            // {1,2}
[[nodiscard]] std::string quoted_text(std::string_view text);     // "..." with escapes
[[nodiscard]] std::string dict_or_quoted(std::string_view text);  // a JSON dictionary as it is
[[nodiscard]] std::string iota(const Numbers& reshape,
                               const google::protobuf::RepeatedField<std::int32_t>& permutation);

[[nodiscard]] Shape shape_of(const hlo_proto::Shape& shape);
// `{ 1, 2 }`; `{...}` for more than a million elements or if the proto has no contents.
[[nodiscard]] std::string literal(const hlo_proto::Literal& value);
[[nodiscard]] std::string sharding(const hlo_proto::Sharding& value);
[[nodiscard]] std::string metadata(const hlo_proto::Metadata& value);  // {op_name="..."}
// "" if there are none.
[[nodiscard]] std::string frontend_attributes(const hlo_proto::FrontendAttributes& value);

// Appends `, key=value` for each attribute that the opcode or any instruction can have.
// `predicated`: a conditional with a pred operand.
void append_attributes(std::string& out, const hlo_proto::Instruction& instruction, Opcode opcode,
                       bool predicated, const Names& names);

// The word at index `number`; throws Error if out of range.
template <std::size_t count>
[[nodiscard]] std::string word(const std::array<std::string_view, count>& words,
                               std::int64_t number, std::string_view what);
[[noreturn]] void fail_unknown(std::string_view what, std::int64_t number);

template <std::size_t count>
std::string word(const std::array<std::string_view, count>& words, std::int64_t number,
                 std::string_view what) {
  if (number < 0 || number >= static_cast<std::int64_t>(count)) fail_unknown(what, number);
  return std::string(words[static_cast<std::size_t>(number)]);
}

}  // namespace tilecast::ir::proto_text
