// Parses YAML text into a tree of nodes that know where they were written. The only user of
// yaml-cpp.
//
// Things that YAML allows but a description must not contain are rejected with `file:line:col:
// message`: duplicate keys at any depth, anchors and aliases (no expansion bombs), tags, keys that
// are not plain words, several documents, nesting deeper than 16, texts above 1 MiB, bytes that are
// not UTF-8 and control characters.
//
//   ConfigNode root = read_config("clock: 940 MHz\n", "chip.yaml");
//   root.find("clock")->scalar == "940 MHz";
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::hwdesc {

// Where a node was written: a place in a file, or (line 0) a command-line override.
struct Origin {
  std::string file;
  int line = 0, column = 0;

  [[nodiscard]] std::string describe() const;  // "chip.yaml:3:8" or "--set clock"
};

struct ConfigNode {
  enum class Kind { kNull, kScalar, kMapping, kSequence };

  Kind kind = Kind::kNull;
  std::string key;                   // in mappings: the entry's key; else empty
  Origin at;                         // in mappings: of the key; else of the value
  std::string scalar;                // kScalar: the text, quotes removed
  std::vector<ConfigNode> children;  // kMapping, kSequence: in file order

  [[nodiscard]] bool is_mapping() const { return kind == Kind::kMapping; }
  [[nodiscard]] const ConfigNode* find(std::string_view name) const;  // null when absent
  [[nodiscard]] ConfigNode* find(std::string_view name);
  void erase(std::string_view name);
};

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

// Throws Error unless the text is one strict YAML document. An empty text gives kNull.
[[nodiscard]] ConfigNode read_config(const std::string& text, const std::string& file);

// Throws Error unless `text` is UTF-8 without control characters other than tab and line ends.
void require_plain_text(std::string_view text, const Origin& where);

// "'text'", cut to 60 bytes, control characters replaced: safe to show in a message.
[[nodiscard]] std::string show_text(std::string_view text);

// Builds descriptions from others: `extends:` merges trees, `--set` edits one value.

// The parent overlaid with the child's keys, mapping by mapping; lists and scalars replace. A null
// value removes the inherited key. A block that overrides numbers does not inherit the parent's
// `source:` (the reader then requires one), and one with its own source does not inherit
// `estimated:`. `name`, `description`, `profile_names`, `extends` and `published` describe the
// parent itself and are not inherited.
[[nodiscard]] ConfigNode merge(ConfigNode parent, const ConfigNode& child);

// Sets the leaf at the dotted `path`. Blocks under `memory:` and `transfer:` are addressed by their
// own name (`hbm.bandwidth`, `hbm_to_vmem.setup`). `value` is a scalar, or a flow list or mapping
// if it starts with [ or {; `null` removes the key. Throws Error for a malformed path.
void apply_override(ConfigNode& root, const std::string& path, const std::string& value);

}  // namespace tilecast::hwdesc
