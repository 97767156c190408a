#include "ir/mlir/mlir_parser.h"

#include "ir/mlir/mlir_reader.h"

namespace tilecast::ir::mlir {

Reader::Reader(const base::SourceText& source) : source_(source), in_(source) {}

// Finds the alias definitions, `#name = ...` and `!name = ...` at the beginning of a line; they may
// follow their uses. Each part of a file between `// -----` lines has its own aliases.
void Reader::find_aliases() {
  constexpr std::string_view kDivider = "// -----";
  const std::string_view all = source_.text();
  std::erase_if(type_ids_, [this](const auto& type) { return aliases_.contains(type.first); });
  aliases_.clear();
  Scanner line(source_);
  std::size_t at = part_end_;
  const auto next_line = [&] { return std::min(all.find('\n', at), all.size() - 1) + 1; };
  for (bool first = true; at < all.size(); at = next_line(), first = false) {
    if (!first && all.substr(at, kDivider.size()) == kDivider) break;
    if (all[at] == '#' || all[at] == '!') find_alias(line, at);
  }
  part_end_ = at;
}

void Reader::find_alias(Scanner& line, std::size_t begin) {
  line.seek(begin + 1);
  if (!is_word_char(line.raw())) return;
  line.suffix_id();
  const std::string_view name = line.text_from(begin);
  if (!line.accept('=')) return;
  line.peek();
  if (!aliases_.emplace(name, line.offset()).second) {
    line.fail_at(begin, "an alias is defined twice");
  }
  if (name.front() != '#' || !line.accept("loc(")) return;
  line.seek(line.offset() - 1);
  const std::string_view whole = line.balanced();
  tree_.locations.insert_or_assign(name, whole.substr(1, whole.size() - 2));
}

// Whether the text after a module is another operation rather than, say, a log line.
bool Reader::starts_operation() {
  const bool is_generic = in_.peek() == '"';
  const std::size_t begin = in_.offset();
  const bool is_pretty = in_.accept_word("module") || in_.accept_word("builtin.module") ||
                         in_.accept_word("func.func");
  in_.seek(begin);
  return is_generic || is_pretty;
}

// Reads everything in the file: modules, functions, aliases, resources.
void Reader::top_level(Block& block) {
  for (char c = in_.peek(); c != '\0'; c = in_.peek()) {
    while (in_.offset() >= part_end_) find_aliases();
    if (c == '#' || c == '!') {
      const std::size_t begin = in_.offset();
      in_.seek(begin + 1);
      in_.suffix_id();
      in_.expect('=');
      if (c == '!') {
        type();
      } else {
        attribute();
      }
    } else if (in_.accept("{-#")) {
      const std::size_t close = source_.text().find("#-}", in_.offset());
      if (close == std::string_view::npos) in_.fail("a resource section is not closed");
      in_.seek(close + 3);
    } else if (!block.operations.empty() && block.operations.back().name == "builtin.module" &&
               !starts_operation()) {
      tree_.warnings.push_back(
          source_.describe(in_.offset(), "text after the module is ignored", "warning"));
      return;
    } else {
      operation(block);
    }
  }
  if (in_.offset() < source_.text().size()) in_.fail("a zero byte");
}

Tree Reader::read() {
  Block block;
  top_level(block);
  if (block.operations.empty()) in_.fail_expecting("a module");
  if (block.operations.size() == 1 && block.operations.front().name == "builtin.module") {
    tree_.module = std::move(block.operations.front());
  } else {
    tree_.module.name = "builtin.module";
    tree_.module.regions.resize(1);
    tree_.module.regions[0].blocks.push_back(std::move(block));
  }
  return std::move(tree_);
}

Tree parse_mlir(const base::SourceText& text) {
  return Reader(text).read();
}

}  // namespace tilecast::ir::mlir
