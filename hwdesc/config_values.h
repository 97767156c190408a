// Nodes of a YAML as values, for every reader of a YAML format. What is thrown says where the
// node was written: `file:line:col: key: what; got ..., expected ...`.
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
// Of a scalar that is not empty.
[[nodiscard]] const std::string& text_of(const ConfigNode& node);
// A mapping with no other keys.
void allow_only(const ConfigNode& node, const std::vector<std::string_view>& keys);
[[nodiscard]] const ConfigNode& required(const ConfigNode& node, std::string_view key);
[[nodiscard]] std::string text(const ConfigNode& node, std::string_view key);
// Which of `choices` the node names.
[[nodiscard]] std::size_t choice(const ConfigNode& node, std::span<const std::string_view> choices);
// Entries of a list that is not empty.
[[nodiscard]] const std::vector<ConfigNode>& list(const ConfigNode& node);
// A text, or a list of them.
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
