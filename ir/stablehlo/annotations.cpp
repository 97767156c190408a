#include "ir/stablehlo/annotations.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "ir/stablehlo/lowering.h"
#include "ir/text/hlo_lexer.h"

namespace tilecast::ir::stablehlo {
namespace {

// The string literal at `at` with its quotes; empty if there is none.
std::string_view quoted_at(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '"') return {};
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return end < text.size() ? text.substr(at, end + 1 - at) : std::string_view();
}

std::string requoted(std::string_view quoted) {
  return "\"" + escape(unescape(quoted.substr(1, quoted.size() - 2))) + "\"";
}

struct Location {
  std::string_view name;  // with its quotes
  std::string source;
};

// Finds the first name and the first position in `"op name"("file.py":12:3)`, in any nesting of
// fused[...], callsite(...) and aliases, as XLA does.
void scan(const mlir::Tree& tree, std::string_view location, int depth, Location& found) {
  constexpr int kMostNested = 16;
  for (std::size_t i = 0; i < location.size() && found.source.empty(); ++i) {
    if (location[i] == '#' && depth < kMostNested) {
      const std::size_t end = std::min(location.find_first_of(" ,)]>", i), location.size());
      const auto alias = tree.locations.find(location.substr(i, end - i));
      if (alias != tree.locations.end()) scan(tree, alias->second, depth + 1, found);
      i = end;
      continue;
    }
    const std::string_view quoted = quoted_at(location, i);
    if (quoted.empty()) continue;
    i += quoted.size();
    std::int64_t line = 0;
    if (i + 1 < location.size() && location[i] == ':' &&
        std::from_chars(location.data() + i + 1, location.data() + location.size(), line).ec ==
            std::errc()) {
      found.source = fmt::format("source_file={}", requoted(quoted));
      if (line > 0) found.source += fmt::format(" source_line={}", line);
    } else if (found.name.empty()) {
      found.name = quoted;
      --i;
    }
  }
}

}  // namespace

bool is_word(std::string_view name) {
  const auto is_letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::all_of(name.begin(), name.end(), is_letter);
}

void keep_frontend_attribute(Instruction& instruction, std::string_view key,
                             std::string_view value) {
  const bool plain = std::all_of(key.begin(), key.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  });
  const std::string item =
      fmt::format("{}=\"{}\"", plain ? std::string(key) : "\"" + escape(key) + "\"", escape(value));
  for (RawAttr& attr : instruction.raw.edit()) {
    if (attr.key != "frontend_attributes") continue;
    attr.value.insert(attr.value.size() - 1, "," + item);
    return;
  }
  instruction.raw.edit().push_back({"frontend_attributes", "{" + item + "}"});
}

std::string metadata_of(const mlir::Tree& tree, std::string_view location) {
  Location found;
  scan(tree, location, 0, found);
  std::string text = found.name.size() > 2 ? "op_name=" + requoted(found.name) : "";
  if (!found.source.empty()) text += (text.empty() ? "" : " ") + found.source;
  return text;
}

const std::string& Lowering::metadata(std::string_view location) {
  const auto known = metadata_.find(location);
  if (known != metadata_.end()) return known->second;
  return metadata_.emplace(location, metadata_of(tree_, location)).first->second;
}

void keep_sharding(Instruction& instruction, const std::string& text) {
  if (text.empty()) return;
  if (text.front() == '{' && json_dict_end(text, 0) == text.size()) {
    instruction.raw.edit().push_back({"sharding", text});
  } else {
    keep_frontend_attribute(instruction, "mhlo.sharding", text);
  }
}

void Lowering::annotate(const Operation& op, Instruction& instruction) {
  if (!op.location.empty()) instruction.metadata = metadata(op.location);
  for (const mlir::NamedAttribute& attribute : op.attributes) {
    const std::string_view name = attribute.name;
    if (name == "mhlo.sharding") {
      keep_sharding(instruction, attribute.value.string);
    } else if (name == "mhlo.frontend_attributes") {
      for (const mlir::NamedAttribute& entry : attribute.value.fields) {
        keep_frontend_attribute(instruction, entry.name, spelt(entry.value));
      }
    } else if (name == "sdy.sharding") {
      keep_frontend_attribute(instruction, "xla.sdy.sharding", spelt(attribute.value));
    }
  }
}

}  // namespace tilecast::ir::stablehlo
