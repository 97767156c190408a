#include "ir/stablehlo/print_bodies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "ir/literal.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::ir::stablehlo {
namespace {

std::string mlir_element(DType dtype) {
  if (dtype == DType::kPred) return "i1";
  if (dtype == DType::kC64) return "complex<f32>";
  if (dtype == DType::kC128) return "complex<f64>";
  std::string text(name(dtype));
  if (is_signed_integer(dtype)) return "i" + text.substr(1);
  if (is_unsigned_integer(dtype)) return "ui" + text.substr(1);
  // f8e4m3fn becomes f8E4M3FN.
  if (text.starts_with("f8") || text.starts_with("f4")) {
    std::transform(text.begin() + 2, text.end(), text.begin() + 2,
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  }
  return text;
}

std::string mlir_tensor_type(const Shape& shape) {
  std::string text = "tensor<", bounds;
  for (int i = 0; i < shape.rank(); ++i) {
    const std::int64_t size = shape.dims[static_cast<std::size_t>(i)];
    const bool open = size == kUnboundedSize || shape.is_dynamic(i);
    text += open ? "?x" : fmt::format("{}x", size);
    bounds += bounds.empty() ? "" : ", ";
    bounds += open && size != kUnboundedSize ? std::to_string(size) : "?";
  }
  text += mlir_element(shape.dtype);
  if (shape.dynamic_mask != 0) text += fmt::format(", #stablehlo.bounds<{}>", bounds);
  return text + ">";
}

// The bits of infinity, or of the NaN that HLO text prints without payload, in MLIR syntax; empty
// if unknown for the type.
std::string special_bits(DType dtype, bool is_nan, bool negative) {
  if (!is_floating(dtype) || bits(dtype) < 16) return {};
  const int width = bits(dtype), mantissa = nan_payload_bits(dtype);
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  const std::uint64_t infinity = sign - (std::uint64_t{1} << mantissa);
  const std::uint64_t quiet = std::uint64_t{1} << (mantissa - 1);
  return fmt::format("0x{:0{}X}", infinity | (is_nan ? quiet : 0) | (negative ? sign : 0),
                     width / 4);
}

}  // namespace

std::string mlir_type(const Shape& shape) {
  if (shape.is_array()) return mlir_tensor_type(shape);
  if (shape.is_token()) return "!stablehlo.token";
  if (shape.is_tuple()) {
    std::vector<std::string> elements;
    for (const Shape& element : shape.elements) elements.push_back(mlir_type(element));
    return fmt::format("tuple<{}>", fmt::join(elements, ", "));
  }
  return fmt::format("!mhlo.{}", name(shape.dtype));
}

std::vector<std::string> mlir_types(const Shape& shape, bool apart) {
  if (!apart || !shape.is_tuple()) return {mlir_type(shape)};
  std::vector<std::string> types;
  for_each_leaf(shape, [&](const Shape& leaf) { types.push_back(mlir_type(leaf)); });
  return types;
}

bool is_value(const Shape& shape) {
  return shape.is_array() || shape.is_token();
}

bool splits(const Shape& shape) {
  return is_value(shape) || (shape.is_tuple() && shape.elements.size() > 1 &&
                             std::ranges::all_of(shape.elements, is_value));
}

std::string mlir_number(std::string_view number, DType dtype) {
  std::string text(number);
  if (dtype == DType::kPred) return text == "1" || text == "true" ? "true" : "false";
  const bool is_nan = text.ends_with("nan");
  if (is_nan || text.ends_with("inf")) return special_bits(dtype, is_nan, text.front() == '-');
  const bool decimal = is_floating(dtype) || is_complex(dtype);
  if (decimal && text.find('.') == std::string::npos) {
    text.insert(std::min(text.find('e'), text.size()), ".0");
  }
  return text;
}

std::string mlir_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\{:02X}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string int_list(const Dims& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string int_array(const Dims& values) {
  return values.empty() ? "array<i64>" : fmt::format("array<i64: {}>", fmt::join(values, ", "));
}

std::optional<std::string> dense_text(const Literal& literal, const Shape& shape) {
  const bool has_payloads = literal.text.find("nan(") != std::string::npos;
  if (!shape.is_array() || shape.is_unbounded() || literal.elided || has_payloads) {
    return std::nullopt;
  }
  if (element_count(shape) == 0) return "";
  std::string out;
  const std::string_view text = literal.text;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" ,{}()/", i), text.size());
    if (end > i) {
      const std::string number = mlir_number(text.substr(i, end - i), shape.dtype);
      if (number.empty()) return std::nullopt;
      out += number;
      i = end;
    } else if (text[i] == '/') {  // /*i0=0*/
      i = text.find("*/", i) + 2;
    } else {
      if (text[i] != ' ') out += text[i] == '{' ? '[' : text[i] == '}' ? ']' : text[i];
      ++i;
    }
  }
  return out;
}

// ---- bodies
// --------------------------------------------------------------------------------------

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

Text plain_body(const OpSite& site) {
  return site.operands;
}

// In StableHLO, scalar selectors and limits are broadcast; only those of full size are printed.
Text same_sizes_body(const OpSite& site) {
  const Shape& result = site.instruction.shape;
  for (std::size_t i = 0; i < site.instruction.operands.size(); ++i) {
    if (!same_dims(site.operand_shape(i), result)) return std::nullopt;
  }
  return site.operands;
}

Text dims_body(const OpSite& site) {
  return fmt::format("{}, dims = {}", site.operands, int_list(site.instruction.dimensions));
}

Text concatenate_body(const OpSite& site) {
  return fmt::format("{}, dim = {}", site.operands, site.instruction.dimensions.front());
}

Text iota_body(const OpSite& site) {
  return fmt::format("dim = {}", site.instruction.as<IndexAttrs>().index);
}

Text tuple_element_body(const OpSite& site) {
  return fmt::format("{}[{}]", site.operands, site.instruction.as<IndexAttrs>().index);
}

Text constant_body(const OpSite& site) {
  const Literal& literal = site.instruction.as<ConstantAttrs>().literal;
  if (literal.elided && site.instruction.shape.is_array()) return "dense_resource<__elided__>";
  const Text dense = dense_text(literal, site.instruction.shape);
  return dense ? Text(fmt::format("dense<{}>", *dense)) : std::nullopt;
}

Text slice_body(const OpSite& site) {
  std::vector<std::string> ranges;
  for (const SliceDim& dim : site.instruction.as<SliceAttrs>().dims) {
    ranges.push_back(fmt::format("{}:{}{}", dim.start, dim.limit,
                                 dim.stride == 1 ? "" : fmt::format(":{}", dim.stride)));
  }
  return fmt::format("{} [{}]", site.operands, fmt::join(ranges, ", "));
}

Text pad_body(const OpSite& site) {
  Dims low, high, interior;
  for (const PadDim& dim : site.instruction.as<PadAttrs>().dims) {
    low.push_back(dim.low);
    high.push_back(dim.high);
    interior.push_back(dim.interior);
  }
  return fmt::format("{}, low = {}, high = {}, interior = {}", site.operands, int_list(low),
                     int_list(high), int_list(interior));
}

Text dynamic_slice_body(const OpSite& site) {
  return fmt::format("{}, sizes = {}", site.operands,
                     int_list(site.instruction.as<DynamicSliceAttrs>().sizes));
}

Text compare_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<CompareAttrs>();
  return fmt::format("{}, {}{}{}", attrs.direction, site.operands, attrs.type.empty() ? "" : ", ",
                     attrs.type);
}

Text dot_general_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<DotAttrs>();
  std::string text = site.operands;
  if (!attrs.dims.lhs_batch.empty()) {
    text += fmt::format(", batching_dims = {} x {}", int_list(attrs.dims.lhs_batch),
                        int_list(attrs.dims.rhs_batch));
  }
  text += fmt::format(", contracting_dims = {} x {}", int_list(attrs.dims.lhs_contracting),
                      int_list(attrs.dims.rhs_contracting));
  if (!attrs.precision.empty()) {
    text += ", precision = " + precision_words(attrs.precision, "{}");
  }
  return text;
}

Text reduce_body(const OpSite& site) {
  return "dimensions = " + int_array(site.instruction.dimensions);
}

Text sort_body(const OpSite& site) {
  return fmt::format("dimension = {} : i64, is_stable = {}", site.instruction.dimensions.front(),
                     raw_or(site.instruction, "is_stable", "false"));
}

Text dimension_body(const OpSite& site) {
  return fmt::format("dimension = {} : i64", site.instruction.dimensions.front());
}

Text fft_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<FftAttrs>();
  return fmt::format("fft_length = {}, fft_type = #stablehlo<fft_type {}>", int_array(attrs.length),
                     attrs.type);
}

Text cholesky_body(const OpSite& site) {
  return fmt::format("lower = {}", site.instruction.as<TriangularAttrs>().lower);
}

Text triangular_solve_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<TriangularAttrs>();
  if (attrs.transpose_a.empty()) return std::nullopt;
  return fmt::format(
      "left_side = {}, lower = {}, transpose_a = #stablehlo<transpose {}>, unit_diagonal = {}",
      attrs.left_side, attrs.lower, attrs.transpose_a, attrs.unit_diagonal);
}

// Custom calls with called computations use the fallback form.
Text custom_call_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<CustomCallAttrs>();
  if (!site.instruction.called.empty()) return std::nullopt;
  return fmt::format("call_target_name = {}, has_side_effect = {}", mlir_string(attrs.target),
                     attrs.has_side_effect);
}

Text no_attributes_body(const OpSite&) {
  return "";
}

Text reduce_precision_body(const OpSite& site) {
  return fmt::format("exponent_bits = {} : i32, mantissa_bits = {} : i32",
                     raw_or(site.instruction, "exponent_bits", "8"),
                     raw_or(site.instruction, "mantissa_bits", "23"));
}

Text batch_norm_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<BatchNormAttrs>();
  return fmt::format("epsilon = {} : f32, feature_index = {} : i64",
                     mlir_number(fmt::format("{}", attrs.epsilon), DType::kF32),
                     attrs.feature_index);
}

Text rng_bits_body(const OpSite& site) {
  constexpr std::string_view kPrefix = "rng_";
  const std::string algorithm = raw_or(site.instruction, "algorithm", "rng_default");
  if (!algorithm.starts_with(kPrefix)) return std::nullopt;
  return fmt::format("rng_algorithm = #stablehlo<rng_algorithm {}>",
                     upper_case(algorithm.substr(kPrefix.size())));
}

Text top_k_body(const OpSite& site) {
  if (raw_or(site.instruction, "largest", "false") != "true") return std::nullopt;
  return fmt::format("k = {} : i64", site.instruction.as<IndexAttrs>().index);
}

}  // namespace tilecast::ir::stablehlo
