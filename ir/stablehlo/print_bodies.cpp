// Prints bodies of ops with windows, dimension numbers or device groups.
#include "ir/stablehlo/print_bodies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "ir/stablehlo/print_values.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::ir::stablehlo {
namespace {

// A list with one field of each window dimension.
template <std::int64_t WindowDim::*field>
std::string window_list(const Window& window) {
  Dims values;
  for (const WindowDim& dim : window) values.push_back(dim.*field);
  return int_array(values);
}
std::string padding_rows(const Window& window) {
  std::vector<std::string> rows;
  for (const WindowDim& dim : window) {
    rows.push_back(fmt::format("[{}, {}]", dim.pad_low, dim.pad_high));
  }
  return window.empty()
             ? "dense<> : tensor<0x2xi64>"
             : fmt::format("dense<[{}]> : tensor<{}x2xi64>", fmt::join(rows, ", "), window.size());
}
bool is_reversed(const Window& window) {
  return std::ranges::any_of(window, &WindowDim::reversal);
}

// `b01f_01io->b01f` as `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
std::string convolution_labels(std::string_view text) {
  std::string out = "[";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_') {
      out += "]x[";
    } else if (text[i] == '-') {
      out += "]->[";
      ++i;
    } else {
      out += out.back() == '[' ? "" : ", ";
      out += text[i];
    }
  }
  return out + "]";
}

// `name = [..]` for each list that is not empty, as fields of `#stablehlo.<kind><...>`.
std::string dimension_numbers(std::string_view kind,
                              std::initializer_list<std::pair<std::string_view, const Dims*>> lists,
                              std::int64_t vector_dim) {
  std::string text = fmt::format("#stablehlo.{}<", kind);
  for (const auto& [key, values] : lists) {
    if (!values->empty()) text += fmt::format("{} = {}, ", key, int_list(*values));
  }
  return text + fmt::format("index_vector_dim = {}>", vector_dim);
}

// The groups as rows, shorter ones padded with -1 as in StableHLO.
std::string group_rows(const ReplicaGroups& groups) {
  std::size_t longest = 0;
  for (const auto& group : groups.groups) longest = std::max(longest, group.size());
  std::string rows;
  for (const auto& group : groups.groups) {
    std::vector<std::int64_t> row = group;
    row.resize(longest, -1);
    rows += fmt::format("{}[{}]", rows.empty() ? "" : ", ", fmt::join(row, ", "));
  }
  return fmt::format("dense<{}> : tensor<{}x{}xi64>", rows.empty() ? "" : "[" + rows + "]",
                     groups.groups.size(), longest);
}

std::string_view global_ids(const OpSite& site) {
  return site.instruction.as<CollectiveAttrs>().use_global_device_ids ? ", use_global_device_ids"
                                                                      : "";
}

std::string collective_form(const OpSite& site) {
  const auto& attrs = site.instruction.as<CollectiveAttrs>();
  std::string text =
      attrs.channel_id == 0
          ? ""
          : fmt::format("channel_handle = #stablehlo.channel_handle<handle = {}, type = 1>, ",
                        attrs.channel_id);
  return text + "replica_groups = " + group_rows(attrs.groups);
}

// `dimension`: StableHLO's name of the attribute.
Text collective_along(const OpSite& site, std::string_view dimension) {
  if (site.instruction.dimensions.size() != 1) return std::nullopt;
  return fmt::format("{}, {} = {} : i64{}", collective_form(site), dimension,
                     site.instruction.dimensions.front(), global_ids(site));
}

}  // namespace

std::string upper_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

std::string raw_or(const Instruction& instruction, std::string_view key, std::string_view other) {
  const std::string* value = instruction.find_raw(key);
  return value != nullptr ? *value : std::string(other);
}

std::string precision_words(const std::vector<std::string>& precision, std::string_view item) {
  std::vector<std::string> words;
  for (const std::string& each : precision) {
    words.push_back(fmt::format(fmt::runtime(item), upper_case(each)));
  }
  return fmt::format("[{}]", fmt::join(words, ", "));
}

Text reduce_window_body(const OpSite& site) {
  const Window& window = site.instruction.as<WindowAttrs>().window;
  if (window.empty() || is_reversed(window)) return std::nullopt;
  return fmt::format(
      "base_dilations = {}, padding = {}, window_dilations = {}, window_dimensions = {}, "
      "window_strides = {}",
      window_list<&WindowDim::base_dilation>(window), padding_rows(window),
      window_list<&WindowDim::window_dilation>(window), window_list<&WindowDim::size>(window),
      window_list<&WindowDim::stride>(window));
}

Text select_and_scatter_body(const OpSite& site) {
  const Window& window = site.instruction.as<WindowAttrs>().window;
  const bool dilated = std::ranges::any_of(window, [](const WindowDim& dim) {
    return dim.base_dilation != 1 || dim.window_dilation != 1;
  });
  if (window.empty() || dilated || is_reversed(window)) return std::nullopt;
  return fmt::format("padding = {}, window_dimensions = {}, window_strides = {}",
                     padding_rows(window), window_list<&WindowDim::size>(window),
                     window_list<&WindowDim::stride>(window));
}

Text convolution_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<ConvAttrs>();
  if (attrs.dims.text.find('?') != std::string::npos) return std::nullopt;
  std::string text = fmt::format(
      "batch_group_count = {} : i64, dimension_numbers = #stablehlo.conv<{}>, "
      "feature_group_count = {} : i64",
      attrs.batch_group_count, convolution_labels(attrs.dims.text), attrs.feature_group_count);
  if (!attrs.window.empty()) {
    std::vector<std::string> reversal;
    for (const WindowDim& dim : attrs.window) reversal.push_back(dim.reversal ? "true" : "false");
    text += fmt::format(
        ", lhs_dilation = {}, padding = {}, rhs_dilation = {}, window_reversal = array<i1: {}>, "
        "window_strides = {}",
        window_list<&WindowDim::base_dilation>(attrs.window), padding_rows(attrs.window),
        window_list<&WindowDim::window_dilation>(attrs.window), fmt::join(reversal, ", "),
        window_list<&WindowDim::stride>(attrs.window));
  }
  if (!attrs.precision.empty()) {
    text += ", precision_config = " + precision_words(attrs.precision, "#stablehlo<precision {}>");
  }
  return text;
}

Text gather_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<GatherAttrs>();
  return fmt::format(
      "dimension_numbers = {}, indices_are_sorted = {}, slice_sizes = {}",
      dimension_numbers("gather",
                        {{"offset_dims", &attrs.offset_dims},
                         {"collapsed_slice_dims", &attrs.collapsed_slice_dims},
                         {"operand_batching_dims", &attrs.operand_batching_dims},
                         {"start_indices_batching_dims", &attrs.start_indices_batching_dims},
                         {"start_index_map", &attrs.start_index_map}},
                        attrs.index_vector_dim),
      raw_or(site.instruction, "indices_are_sorted", "false"), int_array(attrs.slice_sizes));
}

Text scatter_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<ScatterAttrs>();
  return fmt::format(
      "indices_are_sorted = {}, scatter_dimension_numbers = {}, unique_indices = {}",
      raw_or(site.instruction, "indices_are_sorted", "false"),
      dimension_numbers("scatter",
                        {{"update_window_dims", &attrs.update_window_dims},
                         {"inserted_window_dims", &attrs.inserted_window_dims},
                         {"input_batching_dims", &attrs.input_batching_dims},
                         {"scatter_indices_batching_dims", &attrs.scatter_indices_batching_dims},
                         {"scatter_dims_to_operand_dims", &attrs.scatter_dims_to_operand_dims}},
                        attrs.index_vector_dim),
      raw_or(site.instruction, "unique_indices", "false"));
}

Text all_gather_body(const OpSite& site) {
  return collective_along(site, "all_gather_dim");
}
Text all_reduce_body(const OpSite& site) {
  return collective_form(site) + std::string(global_ids(site));
}
Text reduce_scatter_body(const OpSite& site) {
  return collective_along(site, "scatter_dimension");
}

// all-to-all of a single array.
Text all_to_all_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<CollectiveAttrs>();
  if (!site.instruction.shape.is_array() || site.instruction.operands.size() != 1 ||
      site.instruction.dimensions.size() != 1 || attrs.groups.groups.empty()) {
    return std::nullopt;
  }
  const std::int64_t dimension = site.instruction.dimensions.front();
  return fmt::format(
      "{}, concat_dimension = {} : i64, split_count = {} : i64, "
      "split_dimension = {} : i64",
      collective_form(site), dimension, attrs.groups.groups.front().size(), dimension);
}

Text collective_permute_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<CollectiveAttrs>();
  if (attrs.source_target_pairs.empty() || site.instruction.operands.size() != 1) {
    return std::nullopt;
  }
  std::string pairs;
  for (const auto& [source, target] : attrs.source_target_pairs) {
    pairs += fmt::format("{}[{}, {}]", pairs.empty() ? "" : ", ", source, target);
  }
  return fmt::format(
      "channel_handle = #stablehlo.channel_handle<handle = {}, type = 1>, "
      "source_target_pairs = dense<[{}]> : tensor<{}x2xi64>",
      attrs.channel_id, pairs, attrs.source_target_pairs.size());
}

}  // namespace tilecast::ir::stablehlo
