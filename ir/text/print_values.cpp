#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "ir/text/hlo_printer.h"
#include "ir/text/print_attributes.h"

namespace tilecast::ir {
namespace {

template <class Item, class Append>
std::string join(const std::vector<Item>& items, std::string_view separator, Append&& append) {
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += separator;
    append(out, items[i]);
  }
  return out;
}

std::string braces(const Dims& values) {
  return fmt::format("{{{}}}", fmt::join(values, ","));
}

// ` key=1x2` unless every dimension has the default.
template <class Differs, class Append>
void append_window_item(std::string& out, std::string_view key, const Window& window,
                        Differs&& differs, Append&& append) {
  if (!std::any_of(window.begin(), window.end(), differs)) return;
  out += ' ';
  out += key;
  out += '=';
  out += join(window, "x", append);
}

void append_window_number(std::string& out, std::string_view key, const Window& window,
                          std::int64_t WindowDim::*field) {
  append_window_item(
      out, key, window, [field](const WindowDim& dim) { return dim.*field != 1; },
      [field](std::string& text, const WindowDim& dim) { text += std::to_string(dim.*field); });
}

}  // namespace

std::string to_string(const Window& window) {
  std::string out = "{";
  if (window.empty()) return out + '}';
  out += "size=" + join(window, "x", [](std::string& text, const WindowDim& dim) {
           text += std::to_string(dim.size);
         });
  append_window_number(out, "stride", window, &WindowDim::stride);
  append_window_item(
      out, "pad", window,
      [](const WindowDim& dim) { return dim.pad_low != 0 || dim.pad_high != 0; },
      [](std::string& text, const WindowDim& dim) {
        text += fmt::format("{}_{}", dim.pad_low, dim.pad_high);
      });
  append_window_number(out, "lhs_dilate", window, &WindowDim::base_dilation);
  append_window_number(out, "rhs_dilate", window, &WindowDim::window_dilation);
  append_window_item(
      out, "rhs_reversal", window, [](const WindowDim& dim) { return dim.reversal; },
      [](std::string& text, const WindowDim& dim) { text += dim.reversal ? '1' : '0'; });
  return out + '}';
}

std::string to_string(const std::vector<PadDim>& padding) {
  const bool has_interior = std::any_of(padding.begin(), padding.end(),
                                        [](const PadDim& dim) { return dim.interior != 0; });
  return join(padding, "x", [has_interior](std::string& text, const PadDim& dim) {
    text += fmt::format("{}_{}", dim.low, dim.high);
    if (has_interior) text += fmt::format("_{}", dim.interior);
  });
}

std::string to_string(const ReplicaGroups& groups) {
  if (groups.text.starts_with('[') || groups.text.starts_with("mesh")) return groups.text;
  const auto append_group = [](std::string& text, const std::vector<std::int64_t>& group) {
    text += fmt::format("{{{}}}", fmt::join(group, ","));
  };
  return "{" + join(groups.groups, ",", append_group) + "}";
}

void append_aliases(std::string& out, const std::vector<Alias>& aliases, bool with_kind) {
  out += join(aliases, ", ", [with_kind](std::string& text, const Alias& alias) {
    text += fmt::format("{}: ({}, {}", braces(alias.output_index), alias.operand,
                        braces(alias.operand_index));
    if (with_kind) text += alias.must_alias ? ", must-alias" : ", may-alias";
    text += ')';
  });
}

}  // namespace tilecast::ir
