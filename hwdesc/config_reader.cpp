#include "hwdesc/config_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "hwdesc/plain_yaml.h"

namespace tilecast::hwdesc {
namespace {

constexpr std::size_t kMaxDepth = 16;

// Builds the tree from yaml-cpp's events: lighter than YAML::Load, and it sees what Load hides.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& file) : file_(file) {}

  [[nodiscard]] ConfigNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) fail(mark, "got a second document, expected one");
  }
  void OnDocumentEnd() override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark, "got an alias (*name), expected the value itself; use 'extends:' to share values");
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    if (expects_key()) fail(mark, "got an empty key, expected a word");
    add(node(mark, ConfigNode::Kind::kNull));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    require_plain_text(value, origin(mark));  // escapes can encode forbidden bytes
    if (expects_key()) return take_key(mark, value);
    ConfigNode scalar = node(mark, ConfigNode::Kind::kScalar);
    scalar.scalar = value;
    add(std::move(scalar));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, ConfigNode::Kind::kSequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, ConfigNode::Kind::kMapping);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    ConfigNode node;
    std::string key;  // of the entry being read
    Origin key_at;
    bool has_key = false;
  };

  [[nodiscard]] Origin origin(const YAML::Mark& mark) const {
    return {file_, mark.line + 1, mark.column + 1};
  }
  [[noreturn]] void fail(const YAML::Mark& mark, std::string_view message) const {
    throw Error(fmt::format("{}: {}", origin(mark).describe(), message));
  }
  [[nodiscard]] ConfigNode node(const YAML::Mark& mark, ConfigNode::Kind kind) const {
    ConfigNode made;
    made.kind = kind;
    made.at = origin(mark);
    return made;
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor == YAML::NullAnchor) return;
    fail(mark, "got an anchor (&name), expected a value; use 'extends:' to share values");
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    fail(mark, fmt::format("got the tag {}, expected a plain value", show_text(tag)));
  }
  [[nodiscard]] bool expects_key() const {
    return !open_.empty() && open_.back().node.is_mapping() && !open_.back().has_key;
  }
  void take_key(const YAML::Mark& mark, const std::string& key) {
    Open& top = open_.back();
    if (key.empty()) fail(mark, "got an empty key, expected a word");
    if (const ConfigNode* first = top.node.find(key)) {
      fail(mark, fmt::format("duplicate key {}; it was first given at {}", show_text(key),
                             first->at.describe()));
    }
    top.key = key;
    top.key_at = origin(mark);
    top.has_key = true;
  }
  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            ConfigNode::Kind kind) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (expects_key()) fail(mark, "got a mapping or list as a key, expected a word");
    if (open_.size() >= kMaxDepth) {
      fail(mark, fmt::format("nested deeper than the limit of {} levels", kMaxDepth));
    }
    open_.push_back({node(mark, kind), {}, {}, false});
  }
  void close() {
    ConfigNode done = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(done));
  }
  void add(ConfigNode value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& top = open_.back();
    if (top.node.is_mapping()) {
      value.key = std::move(top.key);
      value.at = std::move(top.key_at);
      top.has_key = false;
    }
    top.node.children.push_back(std::move(value));
  }

  const std::string& file_;
  int documents_ = 0;
  ConfigNode root_;
  std::vector<Open> open_;
};

// Length of the UTF-8 character at the start of `text`; 0 if it is invalid (surrogates and overlong
// forms included) or a control character that descriptions may not contain.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 || lead == '\n' || lead == '\r' || lead == '\t' ? 1 : 0;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool outside = (lead == 0xed && byte(1) >= 0xa0) || (lead == 0xf4 && byte(1) >= 0x90);
  return overlong || outside ? 0 : length;
}

}  // namespace

std::string Origin::describe() const {
  return line == 0 ? file : fmt::format("{}:{}:{}", file, line, column);
}

const ConfigNode* ConfigNode::find(std::string_view name) const {
  if (kind != Kind::kMapping) return nullptr;
  const auto entry = std::find_if(children.begin(), children.end(),
                                  [&](const ConfigNode& child) { return child.key == name; });
  return entry == children.end() ? nullptr : &*entry;
}

ConfigNode* ConfigNode::find(std::string_view name) {
  return const_cast<ConfigNode*>(static_cast<const ConfigNode&>(*this).find(name));
}

void ConfigNode::erase(std::string_view name) {
  std::erase_if(children, [&](const ConfigNode& child) { return child.key == name; });
}

std::string show_text(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string shown(text.substr(0, kShown));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return fmt::format("'{}{}'", shown, text.size() > kShown ? "..." : "");
}

void require_plain_text(std::string_view text, const Origin& where) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text.substr(at));
    if (length == 0) {
      throw Error(fmt::format("{}: got the byte 0x{:02x} at offset {}, expected UTF-8 text",
                              where.describe(), static_cast<unsigned char>(text[at]), at));
    }
    at += length;
  }
}

ConfigNode read_config(const std::string& text, const std::string& file) {
  if (text.size() > kMaxConfigBytes) {
    throw Error(fmt::format("{}: got {} bytes, expected a description of at most {}", file,
                            text.size(), kMaxConfigBytes));
  }
  require_plain_text(text, Origin{file});
  if (std::optional<ConfigNode> root = read_plain_yaml(text, file)) return *std::move(root);
  TreeBuilder builder(file);
  std::istringstream input(text);
  try {
    YAML::Parser parser(input);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const Origin at{file, error.mark.line + 1, error.mark.column + 1};
    throw Error(fmt::format("{}: not valid YAML: {}", at.describe(), error.msg));
  }
  return builder.take_root();
}

namespace {

using Kind = ConfigNode::Kind;

constexpr std::array<std::string_view, 5> kNotInherited = {"name", "description", "profile_names",
                                                           "extends", "published"};
constexpr std::array<std::string_view, 2> kSharedBlocks = {"memory", "transfer"};

bool is_number_or_flag(const ConfigNode& node) {
  if (node.kind != Kind::kScalar || node.scalar.empty()) return false;
  const char first = node.scalar.front();
  return (first >= '0' && first <= '9') || first == '-' || node.scalar == "true" ||
         node.scalar == "false";
}

// Whether the mapping has a number of its own, not counting blocks with their own source.
bool overrides_numbers(const ConfigNode& parent, const ConfigNode& child) {
  return std::any_of(child.children.begin(), child.children.end(), [&](const ConfigNode& entry) {
    if (entry.key == "estimated") return false;
    if (!entry.is_mapping()) return is_number_or_flag(entry);
    const ConfigNode* inherited = parent.find(entry.key);
    if (entry.find("source") || (inherited && inherited->find("source"))) return false;
    return inherited && inherited->is_mapping() && overrides_numbers(*inherited, entry);
  });
}

// If the child names every entry, its order wins: a memory chain can be reordered.
void reorder_like(ConfigNode& merged, const ConfigNode& child) {
  const bool complete =
      std::all_of(merged.children.begin(), merged.children.end(),
                  [&](const ConfigNode& entry) { return child.find(entry.key) != nullptr; });
  if (!complete) return;
  std::vector<ConfigNode> ordered;
  for (const ConfigNode& entry : child.children) {
    if (ConfigNode* found = merged.find(entry.key)) ordered.push_back(std::move(*found));
  }
  merged.children = std::move(ordered);
}

void merge_into(ConfigNode& parent, const ConfigNode& child) {
  if (overrides_numbers(parent, child)) parent.erase("source");  // not of the new numbers
  if (child.find("source")) parent.erase("estimated");
  parent.at = child.at;
  for (const ConfigNode& entry : child.children) {
    ConfigNode* inherited = parent.find(entry.key);
    if (!inherited) {
      if (entry.kind != Kind::kNull) parent.children.push_back(entry);
    } else if (entry.kind == Kind::kNull) {
      parent.erase(entry.key);
    } else if (entry.is_mapping() && inherited->is_mapping()) {
      merge_into(*inherited, entry);
    } else if (entry.key == "source" || entry.kind != Kind::kScalar ||
               entry.scalar != inherited->scalar) {  // a repeated number keeps its origin
      *inherited = entry;
    }
  }
  reorder_like(parent, child);
}

std::vector<std::string> split_path(const std::string& path, const Origin& at) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  const bool empty_part =
      std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); });
  constexpr std::size_t kMaxParts = 8;
  if (empty_part || parts.size() > kMaxParts) {
    throw Error(fmt::format("{}: got the key {}, expected a path such as hbm.bandwidth",
                            at.describe(), show_text(path)));
  }
  return parts;
}

ConfigNode override_value(const std::string& value, const Origin& at) {
  require_plain_text(value, at);
  const bool flow = value.starts_with('[') || value.starts_with('{');
  ConfigNode node;
  if (flow) {
    node = read_config(value, at.describe());
  } else if (value != "null") {
    node.kind = Kind::kScalar;
    node.scalar = value;
  }
  node.at = at;
  return node;
}

// The mapping that contains the first word of a path: the top level, or `memory:` or `transfer:` if
// they have a block of that name.
ConfigNode& home_of(ConfigNode& root, const std::string& first) {
  if (root.find(first)) return root;
  for (const std::string_view shared : kSharedBlocks) {
    ConfigNode* blocks = root.find(shared);
    if (blocks && blocks->find(first)) return *blocks;
  }
  return root;
}

ConfigNode& child_mapping(ConfigNode& parent, const std::string& key, const Origin& at) {
  if (ConfigNode* found = parent.find(key)) {
    if (found->is_mapping()) return *found;
    throw Error(fmt::format("{}: {} is a value, expected a block to set a key in", at.describe(),
                            show_text(key)));
  }
  ConfigNode made;
  made.kind = Kind::kMapping;
  made.key = key;
  made.at = at;
  parent.children.push_back(std::move(made));
  return parent.children.back();
}

}  // namespace

ConfigNode merge(ConfigNode parent, const ConfigNode& child) {
  for (const std::string_view key : kNotInherited) parent.erase(key);
  merge_into(parent, child);
  return parent;
}

void apply_override(ConfigNode& root, const std::string& path, const std::string& value) {
  const Origin at{fmt::format("--set {}", path), 0, 0};
  const std::vector<std::string> parts = split_path(path, at);
  ConfigNode* block = &home_of(root, parts.front());
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) block = &child_mapping(*block, parts[i], at);
  ConfigNode node = override_value(value, at);
  node.key = parts.back();
  ConfigNode* existing = block->find(node.key);
  if (node.kind == Kind::kNull) {
    block->erase(node.key);
  } else if (existing) {
    *existing = std::move(node);
  } else {
    block->children.push_back(std::move(node));
  }
}

}  // namespace tilecast::hwdesc
