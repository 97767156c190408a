// Converts YAML nodes to values, for readers of all YAML formats. Errors name the place of the
// node: `file:line:col: key: what; got ..., expected ...`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/config_reader.h"

namespace tilecast::hwdesc {

[[noreturn]] void fail_at(const ConfigNode& at, const std::string& message);
// The text of a scalar that is not empty.
[[nodiscard]] const std::string& text_of(const ConfigNode& node);
// Throws unless the node is a mapping with these keys only.
void allow_only(const ConfigNode& node, const std::vector<std::string_view>& keys);
[[nodiscard]] const ConfigNode& required(const ConfigNode& node, std::string_view key);
[[nodiscard]] std::string text(const ConfigNode& node, std::string_view key);
// Index of the node's text in `choices`.
[[nodiscard]] std::size_t choice(const ConfigNode& node, std::span<const std::string_view> choices);
// The entries of a list that is not empty.
[[nodiscard]] const std::vector<ConfigNode>& list(const ConfigNode& node);
// The texts of a list, or a single text.
[[nodiscard]] std::vector<std::string> texts(const ConfigNode& node);
[[nodiscard]] std::vector<std::string> optional_texts(const ConfigNode& node, std::string_view key);
[[nodiscard]] std::uint64_t whole_number(const ConfigNode& node, std::uint64_t low,
                                         std::uint64_t high);
[[nodiscard]] double seconds_of(const ConfigNode& node);  // above 0
// "0.88" or "6 %"; nullopt for anything else.
[[nodiscard]] std::optional<double> fraction(const std::string& text);

template <class T>
void read_number(const ConfigNode& node, std::string_view key, std::uint64_t low,
                 std::uint64_t high, T& value) {
  if (const ConfigNode* child = node.find(key)) {
    value = static_cast<T>(whole_number(*child, low, high));
  }
}

}  // namespace tilecast::hwdesc
