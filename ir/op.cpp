#include "ir/op.h"

#include <algorithm>
#include <array>

#include "base/word_table.h"

namespace tilecast::ir {
namespace {

using Spelling = base::WordEntry<Opcode>;

// Spellings in older dumps.
constexpr std::array kOldSpellings = {
    Spelling{"cross-replica-sum", Opcode::kAllReduce},
    Spelling{"tuple-select", Opcode::kSelect},
};

constexpr auto all_spellings() {
  std::array<Spelling, kOps.size() + kOldSpellings.size()> all{};
  const auto end = std::transform(kOps.begin(), kOps.end(), all.begin(), [](const OpInfo& op) {
    return Spelling{op.name, op.opcode};
  });
  std::copy(kOldSpellings.begin(), kOldSpellings.end(), end);
  return all;
}
constexpr base::WordTable kOpcodeSpellings(all_spellings());

}  // namespace

std::string_view name(OpClass work) {
  constexpr std::array<std::string_view, 17> kNames = {
      // in the order of the enumerators
      "free",           "elementwise", "transcendental", "matrix",     "reduction",
      "data-movement",  "indexed",     "sort",           "random",     "normalization",
      "linear-algebra", "fusion",      "collective",     "async-done", "control",
      "custom-call",    "host"};
  static_assert(kNames.size() == static_cast<std::size_t>(OpClass::kHost) + 1);
  return kNames[static_cast<std::size_t>(work)];
}

std::optional<Opcode> parse_opcode(std::string_view text) {
  const Opcode* const found = kOpcodeSpellings.find(text);
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

bool is_elementwise(Opcode opcode) {
  const OpClass work = op_class(opcode);
  return work == OpClass::kElementwise || work == OpClass::kTranscendental;
}

bool starts_asynchronously(Opcode opcode) {
  using enum Opcode;
  return is_one_of(opcode, {kAsyncStart, kCopyStart, kAllGatherStart, kAllReduceStart,
                            kCollectivePermuteStart, kSend, kRecv});
}

bool is_async_chain(Opcode opcode) {
  return is_one_of(opcode, {Opcode::kAsyncStart, Opcode::kAsyncUpdate, Opcode::kAsyncDone});
}

bool is_expensive(Opcode opcode) {
  const OpClass work = op_class(opcode);
  if (work == OpClass::kElementwise) {
    return is_one_of(opcode, {Opcode::kDivide, Opcode::kRemainder, Opcode::kMap});
  }
  return work != OpClass::kFree && work != OpClass::kDataMovement && work != OpClass::kAsyncDone;
}

}  // namespace tilecast::ir
