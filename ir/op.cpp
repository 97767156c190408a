#include "ir/op.h"

#include <algorithm>
#include <array>

namespace tilecast::ir {
namespace {

constexpr std::array kOps = {
#define TILECAST_OPCODE_ROW(id, text, arity, work) OpInfo{Opcode::id, text, arity, OpClass::work},
    TILECAST_OPCODES(TILECAST_OPCODE_ROW)
#undef TILECAST_OPCODE_ROW
};

struct Spelling {
  std::string_view text;
  Opcode opcode;
};

// Names used by older dumps.
constexpr std::array kOldSpellings = {
    Spelling{"cross-replica-sum", Opcode::kAllReduce},
    Spelling{"tuple-select", Opcode::kSelect},
};

constexpr auto sorted_spellings() {
  std::array<Spelling, kOps.size() + kOldSpellings.size()> sorted{};
  auto end = std::transform(kOps.begin(), kOps.end(), sorted.begin(), [](const OpInfo& op) {
    return Spelling{op.name, op.opcode};
  });
  std::copy(kOldSpellings.begin(), kOldSpellings.end(), end);
  std::sort(sorted.begin(), sorted.end(),
            [](const Spelling& a, const Spelling& b) { return a.text < b.text; });
  return sorted;
}
constexpr auto kSpellings = sorted_spellings();

}  // namespace

const OpInfo& info(Opcode opcode) {
  return kOps[static_cast<std::size_t>(opcode)];
}

std::string_view name(OpClass work) {
  switch (work) {
    case OpClass::kFree:
      return "free";
    case OpClass::kElementwise:
      return "elementwise";
    case OpClass::kTranscendental:
      return "transcendental";
    case OpClass::kMatrix:
      return "matrix";
    case OpClass::kReduction:
      return "reduction";
    case OpClass::kDataMovement:
      return "data-movement";
    case OpClass::kIndexed:
      return "indexed";
    case OpClass::kSort:
      return "sort";
    case OpClass::kRandom:
      return "random";
    case OpClass::kNormalization:
      return "normalization";
    case OpClass::kLinearAlgebra:
      return "linear-algebra";
    case OpClass::kFusion:
      return "fusion";
    case OpClass::kCollective:
      return "collective";
    case OpClass::kAsyncDone:
      return "async-done";
    case OpClass::kControl:
      return "control";
    case OpClass::kCustomCall:
      return "custom-call";
    case OpClass::kHost:
      return "host";
  }
  return "unknown";
}

std::optional<Opcode> parse_opcode(std::string_view text) {
  const auto* found = std::lower_bound(
      kSpellings.begin(), kSpellings.end(), text,
      [](const Spelling& spelling, std::string_view wanted) { return spelling.text < wanted; });
  if (found == kSpellings.end() || found->text != text) return std::nullopt;
  return found->opcode;
}

bool is_elementwise(Opcode opcode) {
  const OpClass work = op_class(opcode);
  return work == OpClass::kElementwise || work == OpClass::kTranscendental;
}

bool is_expensive(Opcode opcode) {
  switch (op_class(opcode)) {
    case OpClass::kFree:
    case OpClass::kDataMovement:
    case OpClass::kAsyncDone:
      return false;
    case OpClass::kElementwise:
      return opcode == Opcode::kDivide || opcode == Opcode::kRemainder || opcode == Opcode::kMap;
    default:
      return true;
  }
}

}  // namespace tilecast::ir
