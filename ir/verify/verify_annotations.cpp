// Annotations that must agree with the instruction: shardings, original values, names.
#include <algorithm>
#include <charconv>

#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

// Reads the few forms annotations use; every step says whether it matched.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) {
      ++at_;
    }
  }
  bool take(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  [[nodiscard]] char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool integer(std::int64_t& value) {
    skip_space();
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{}) return false;
    at_ += static_cast<std::size_t>(end - begin);
    return true;
  }
  // `1,2,3` or nothing.
  Dims integers() {
    Dims values;
    std::int64_t value = 0;
    while (integer(value)) {
      values.push_back(value);
      if (!take(",")) break;
    }
    return values;
  }
  // From `{` to its partner; quotes hide braces.
  bool skip_braces() {
    if (!take("{")) return false;
    int depth = 1;
    bool quoted = false;
    for (; at_ < text_.size() && depth > 0; ++at_) {
      const char c = text_[at_];
      if (c == '\\' && quoted) {
        ++at_;
      } else if (c == '"') {
        quoted = !quoted;
      } else if (!quoted) {
        depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      }
    }
    return depth == 0;
  }
  // Up to the next character of `stops` outside quotes and braces, or the end.
  std::string_view until(std::string_view stops) {
    skip_space();
    const std::size_t begin = at_;
    while (at_ < text_.size() && stops.find(text_[at_]) == std::string_view::npos) {
      if (text_[at_] == '{') {
        if (!skip_braces()) break;
      } else {
        ++at_;
      }
    }
    return text_.substr(begin, std::min(at_, text_.size()) - begin);
  }
  bool quoted(std::string& value) {
    if (!take("\"")) return false;
    value.clear();
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      value += text_[at_++];
    }
    return take("\"");
  }
  [[nodiscard]] bool done() {
    skip_space();
    return at_ >= text_.size();
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// ---- shardings ---------------------------------------------------------------------------------

void check_device(std::int64_t device, std::int64_t devices) {
  fail_if(device < 0, "Invalid sharding for instruction: device {} is negative in tile assignment",
          device);
  fail_if(devices > 1 && device >= devices,
          "Invalid sharding for instruction: device {} > num_devices ({}) in tile assignment",
          device, devices);
}

// One `{devices=[2,4]...}`; `rank` is negative where the shape is no array.
void check_tiled(Scanner& scanner, std::string_view text, int rank, std::int64_t devices) {
  if (!scanner.take("[")) return;
  const Dims tiles = scanner.integers();
  if (!scanner.take("]")) return;
  std::size_t data_dims = tiles.size();
  if (text.find("last_tile_dim_replicate") != std::string_view::npos && data_dims > 0) --data_dims;
  if (const auto kinds = text.find("last_tile_dims={"); kinds != std::string_view::npos) {
    Scanner list(text.substr(kinds + std::string_view("last_tile_dims={").size()));
    std::size_t subgroups = 0;
    while (!list.done() && list.peek() != '}') {
      ++subgroups;
      list.until(",}");
      if (!list.take(",")) break;
    }
    data_dims = data_dims > subgroups ? data_dims - subgroups : 0;
  }
  fail_if(rank >= 0 && data_dims != static_cast<std::size_t>(rank),
          "Invalid sharding for instruction: Number of tile assignment dimensions (excluding "
          "subgroups) is different than the input rank. sharding={}, rank={}",
          text, rank);
  if (scanner.take("<=")) return;  // an iota: unique and not negative
  Dims ids = scanner.integers();
  for (const std::int64_t id : ids) check_device(id, devices);
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) {
    fail("Invalid sharding for instruction: device {} is not unique in tile assignment", *twice);
  }
}

void check_one_sharding(std::string_view text, int rank, std::int64_t devices) {
  Scanner scanner(text);
  if (!scanner.take("{")) return;
  if (scanner.take("maximal device=") || scanner.take("maximal_mesh[device_id=")) {
    std::int64_t device = 0;
    if (scanner.integer(device)) check_device(device, devices);
  } else if (scanner.take("devices=")) {
    check_tiled(scanner, text, rank, devices);
  }
}

void check_sharding(const Site& site, std::string_view text) {
  const std::int64_t devices = site.module.num_partitions;
  const Shape& shape = site.instruction.shape;
  Scanner scanner(text);
  if (!scanner.take("{")) return;
  if (scanner.peek() != '{') {
    check_one_sharding(text, shape.is_array() ? shape.rank() : -1, devices);
    return;
  }
  std::vector<const Shape*> leaves;
  for_each_leaf(shape, [&](const Shape& leaf) { leaves.push_back(&leaf); });
  fail_if(
      !shape.is_tuple(),
      "Invalid sharding for instruction: Sharding is tuple-shaped but validation shape is not.");
  std::size_t index = 0;
  while (scanner.peek() == '{') {
    const std::string_view element = scanner.until(",}");
    const bool array = index < leaves.size() && leaves[index]->is_array();
    check_one_sharding(element, array ? leaves[index]->rank() : -1, devices);
    ++index;
    if (!scanner.take(",")) break;
  }
}

// ---- original values ---------------------------------------------------------------------------

enum class Outcome : std::uint8_t { kSame, kDifferent, kUnreadable };

// `({"v1"}, {"v2" {0}})` against a tuple, `{"v1"}` or `{}` against a leaf.
Outcome compare_structure(Scanner& scanner, const Shape& shape, int depth) {
  if (depth > 128) return Outcome::kUnreadable;
  if (scanner.peek() == '{') {
    if (!scanner.skip_braces()) return Outcome::kUnreadable;
    return shape.is_tuple() ? Outcome::kDifferent : Outcome::kSame;
  }
  if (!scanner.take("(")) return Outcome::kUnreadable;
  if (!shape.is_tuple()) return Outcome::kDifferent;
  std::size_t index = 0;
  while (scanner.peek() != ')') {
    if (index >= shape.elements.size()) return Outcome::kDifferent;
    const Outcome part = compare_structure(scanner, shape.elements[index++], depth + 1);
    if (part != Outcome::kSame) return part;
    if (!scanner.take(",") && scanner.peek() != ')') return Outcome::kUnreadable;
  }
  scanner.take(")");
  return index == shape.elements.size() ? Outcome::kSame : Outcome::kDifferent;
}

void check_origin(const Site& site, std::string_view text) {
  if (text.find("synthetic_call") != std::string_view::npos) return;
  Scanner scanner(text);
  if (!scanner.take("{") || scanner.peek() == '}') return;
  fail_if(compare_structure(scanner, site.instruction.shape, 0) == Outcome::kDifferent,
          "Mismatched tuple structure in shape and original value. Shape {}, original value {}",
          human(site.instruction.shape), text);
}

// ---- names -------------------------------------------------------------------------------------

void check_name(const Site& site) {
  constexpr std::string_view kKey = "scheduling_name=\"";
  const std::string& metadata = site.instruction.metadata;
  const std::size_t key = metadata.find(kKey);
  if (key == std::string::npos) return;
  const std::size_t begin = key + kKey.size();
  const std::string_view was =
      std::string_view(metadata).substr(begin, metadata.find('"', begin) - begin);
  const std::string& is = site.instruction.name;
  if (was.empty() || was == is || is.find(".remat") != std::string::npos ||
      is.find(".clone") != std::string::npos) {
    return;
  }
  fail("Expected instruction name to remain the same. Was '{}' is '{}'.", was, is);
}

}  // namespace

std::optional<std::string> frontend_attribute(const Instruction& instruction,
                                              std::string_view key) {
  const std::string* text = instruction.find_raw("frontend_attributes");
  if (text == nullptr) return std::nullopt;
  Scanner scanner(*text);
  if (!scanner.take("{")) return std::nullopt;
  while (!scanner.done() && scanner.peek() != '}') {
    std::string found;
    if (scanner.peek() != '"' || !scanner.quoted(found)) found = scanner.until("= ");
    if (!scanner.take("=")) return std::nullopt;
    std::string value;
    if (scanner.peek() != '"' || !scanner.quoted(value)) value = scanner.until(",}");
    if (found == key) return value;
    if (!scanner.take(",")) break;
  }
  return std::nullopt;
}

Pairs parse_pairs(std::string_view text) {
  Scanner scanner(text);
  Pairs pairs;
  if (!scanner.take("{")) return pairs;
  while (scanner.take("{")) {
    std::pair<std::int64_t, std::int64_t> pair;
    if (!scanner.integer(pair.first) || !scanner.take(",") || !scanner.integer(pair.second)) break;
    pairs.push_back(pair);
    if (!scanner.take("}") || !scanner.take(",")) break;
  }
  return pairs;
}

void check_annotations(const Site& site) {
  for (const RawAttr& raw : *site.instruction.raw) {
    if (raw.key == "sharding") {
      check_sharding(site, raw.value);
    } else if (raw.key == "origin") {
      check_origin(site, raw.value);
    }
  }
  check_name(site);
}

}  // namespace tilecast::ir::verification
