#include "host/assembly.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace tilecast::host {
namespace {

using Flow = AsmInstruction::Flow;

constexpr int kVectorRegisters = 32;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// "name" of "%name..."; "" for anything else.
std::string_view register_name(std::string_view text) {
  if (!text.starts_with('%')) return {};
  const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789", 1);
  return text.substr(1, end == std::string_view::npos ? end : end - 1);
}

struct VectorRegister {
  int number = 0, bytes = 0;
};

std::optional<VectorRegister> vector_register(std::string_view name) {
  if (name.size() < 4 || name.substr(1, 2) != "mm") return std::nullopt;
  const int bytes = name[0] == 'x' ? 16 : name[0] == 'y' ? 32 : name[0] == 'z' ? 64 : 0;
  int number = -1;
  const auto [end, error] = std::from_chars(name.data() + 3, name.data() + name.size(), number);
  if (bytes == 0 || error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  if (number < 0 || number >= kVectorRegisters) return std::nullopt;
  return VectorRegister{number, bytes};
}

struct Operand {
  std::uint32_t registers = 0;  // vector registers in its text
  int bytes = 0;                // width, if it is a vector register; else 0
  bool memory = false;
};

Operand operand_of(std::string_view text) {
  Operand operand;
  operand.memory = !text.starts_with('%') && !text.starts_with('$');
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    const auto found = vector_register(register_name(text.substr(at)));
    if (!found) continue;
    operand.registers |= 1U << static_cast<unsigned>(found->number);
    if (at == 0) operand.bytes = found->bytes;
  }
  return operand;
}

// Splits at commas outside of parentheses.
std::vector<std::string_view> operands_of(std::string_view text) {
  std::vector<std::string_view> operands;
  int depth = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c != ',' || depth != 0) continue;
    const std::string_view operand = trimmed(text.substr(first, i - first));
    if (!operand.empty()) operands.push_back(operand);
    first = i + 1;
  }
  return operands;
}

template <std::size_t kCount>
bool starts_with_one_of(std::string_view text, const std::array<std::string_view, kCount>& list) {
  return std::ranges::any_of(list, [&](std::string_view each) { return text.starts_with(each); });
}

// Whether a vector mnemonic, without its v, only moves values.
bool moves(std::string_view stem) {
  constexpr std::array<std::string_view, 18> kMoves{
      "mov",   "lddqu",  "broadcast", "pbroadcast", "shuf",    "pshuf",
      "unpck", "punpck", "perm",      "insert",     "pinsr",   "extract",
      "pextr", "pack",   "palignr",   "gather",     "pgather", "maskmov"};
  return starts_with_one_of(stem, kMoves) || stem.starts_with("pmaskmov") ||
         stem.starts_with("zero");
}

// Whether it only sets flags, so that its last operand is a source.
bool compares(std::string_view stem) {
  constexpr std::array<std::string_view, 4> kCompares{"ucomis", "comis", "ptest", "testp"};
  return starts_with_one_of(stem, kCompares);
}

// Whether it reads its destination.
bool accumulates(std::string_view stem, bool three_operands) {
  constexpr std::array<std::string_view, 7> kInto{"fmadd",  "fmsub",   "fnmadd", "fnmsub",
                                                  "pdpbus", "pgather", "gather"};
  if (starts_with_one_of(stem, kInto)) return true;
  constexpr std::array<std::string_view, 5> kFresh{"mov", "cvt", "sqrt", "pshuf", "lddqu"};
  return !three_operands && !starts_with_one_of(stem, kFresh);
}

// Whether it sets zeros or all ones by equal sources, which it does not depend on.
bool is_idiom(std::string_view stem, const std::vector<Operand>& operands) {
  constexpr std::array<std::string_view, 4> kIdioms{"xorp", "pxor", "psub", "pcmpeq"};
  return starts_with_one_of(stem, kIdioms) && operands.size() >= 2 && operands[0].registers != 0 &&
         operands[0].registers == operands[1].registers && !operands[0].memory;
}

int lanes_of(std::string_view stem, int bytes) {
  if (stem.ends_with("ss") || stem.ends_with("sd")) return 1;
  constexpr int kLane = 4;
  return std::max(1, bytes / (stem.ends_with("pd") ? 2 * kLane : kLane));
}

void read_vector(std::string_view mnemonic, const std::vector<Operand>& operands,
                 AsmInstruction& read) {
  const bool vex = mnemonic.starts_with('v');
  const std::string_view stem = vex ? mnemonic.substr(1) : mnemonic;
  const Operand& last = operands.back();
  int bytes = 0;
  for (const Operand& operand : operands) {
    read.names |= operand.registers;
    bytes = std::max(bytes, operand.bytes);
  }
  if (read.names == 0) return;
  const bool writes = last.bytes > 0 && !compares(stem);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i + 1 < operands.size() || !writes) read.reads |= operands[i].registers;
  }
  const bool idiom = is_idiom(stem, operands);
  if (writes) {
    read.writes = last.registers;
    if (accumulates(stem, vex)) read.reads |= last.registers;
    if (idiom) read.reads = 0;
  }
  if (!moves(stem) && !idiom) read.lanes = lanes_of(stem, bytes);
}

void read_memory(std::string_view mnemonic, const std::vector<Operand>& operands,
                 AsmInstruction& read) {
  constexpr std::array<std::string_view, 4> kNone{"lea", "prefetch", "nop", "clflush"};
  if (starts_with_one_of(mnemonic, kNone)) return;
  const bool only_reads = mnemonic.starts_with("cmp") || mnemonic.starts_with("test") ||
                          compares(mnemonic) || compares(mnemonic.substr(1));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].memory) continue;
    const bool is_last = i + 1 == operands.size();
    if (!is_last || only_reads || operands.size() == 1) read.loads = true;
    if (is_last && !only_reads) read.stores = true;
    // read-modify-write, such as add $1, (mem)
    if (is_last && read.stores && read.names == 0 && !mnemonic.starts_with("mov"))
      read.loads = true;
  }
}

AsmInstruction instruction_of(std::string_view line) {
  const std::size_t hash = line.find('#');
  const std::string_view comment =
      hash == std::string_view::npos ? std::string_view() : line.substr(hash);
  const std::string_view text = trimmed(line.substr(0, hash));
  AsmInstruction read{.text = std::string(text)};
  const std::size_t blank = text.find_first_of(" \t");
  const std::string_view mnemonic = text.substr(0, blank);
  const std::string_view rest = blank == std::string_view::npos ? "" : trimmed(text.substr(blank));
  if (mnemonic.starts_with("ret")) read.flow = Flow::kReturn;
  if (mnemonic.starts_with("call")) read.flow = Flow::kCall;
  if (mnemonic.starts_with('j')) read.flow = mnemonic == "jmp" ? Flow::kJump : Flow::kBranch;
  if (read.flow != Flow::kNext) {
    if (!rest.starts_with('*')) read.target = rest.substr(0, rest.find('@'));
    return read;
  }
  std::vector<Operand> operands;
  for (const std::string_view operand : operands_of(rest)) operands.push_back(operand_of(operand));
  if (operands.empty()) return read;
  read_vector(mnemonic, operands, read);
  read_memory(mnemonic, operands, read);
  if (read.names != 0 && comment.find("%sfp") != std::string_view::npos) {
    read.spills = read.stores;
    read.reloads = read.loads;
  }
  return read;
}

}  // namespace

std::vector<AsmFunction> parse_assembly(const std::string& text) {
  std::vector<AsmFunction> functions;
  std::map<std::string, bool> is_function;
  bool inside = false;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trimmed(std::string_view(text).substr(begin, end - begin));
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with(".type") && line.ends_with("@function")) {
      const std::string_view name = trimmed(line.substr(5, line.find(',') - 5));
      is_function[std::string(name)] = true;
    } else if (line.starts_with(".size")) {
      inside = false;
    } else if (const std::size_t colon = line.find(':');
               colon != std::string_view::npos && line.find_first_of(" \t\"#") > colon) {
      std::string name(line.substr(0, colon));
      if (is_function.contains(name)) {
        functions.push_back({.name = std::move(name)});
        inside = true;
      } else if (inside) {
        functions.back().labels[std::move(name)] = functions.back().code.size();
      }
    } else if (inside && !line.starts_with('.')) {
      functions.back().code.push_back(instruction_of(line));
    }
  }
  return functions;
}

}  // namespace tilecast::host
