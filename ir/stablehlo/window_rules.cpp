// Products, windows, gathers and scatters: ops with dimension numbers.
#include <algorithm>
#include <cctype>

#include "ir/stablehlo/rules.h"
#include "ir/text/value_readers.h"

namespace tilecast::ir::stablehlo {
namespace {

std::vector<std::string> precision_of(const Lowering& lowering, const Operation& op) {
  std::vector<std::string> result;
  const Attribute* found = op.find("precision_config");
  if (found == nullptr) return result;
  for (const Attribute& each : found->elements) {
    std::string word = lowering.word(each);
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    result.push_back(std::move(word));
  }
  return result;
}

// `#stablehlo.dot_algorithm<lhs_precision_type = tf32, ...>` as `dot_tf32_tf32_f32_x3`.
std::string algorithm_of(const Lowering& lowering, const Operation& op) {
  const Attribute* found = op.find("algorithm");
  if (found == nullptr || found->kind != Attribute::Kind::kCustom) return {};
  const auto type = [&](std::string_view name) {
    const Attribute* field = found->find(name);
    if (field == nullptr) lowering.fail_at(found->offset, "dot_algorithm lacks {}", name);
    std::string text(field->kind == Attribute::Kind::kType
                         ? lowering.tree().at(field->type).text
                         : std::string_view(lowering.word(*field)));
    if (text.starts_with("f8")) return std::string("any_f8");
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  };
  const auto number = [&](std::string_view name) {
    const Attribute* field = found->find(name);
    return field == nullptr ? std::int64_t{0} : field->integer;
  };
  std::string text = fmt::format("dot_{}_{}_{}", type("lhs_precision_type"),
                                 type("rhs_precision_type"), type("accumulation_type"));
  if (number("num_primitive_operations") > 1) {
    text += fmt::format("_x{}", number("num_primitive_operations"));
  }
  return number("allow_imprecise_accumulation") != 0 ? text + "_fast_accum" : text;
}

void lower_dot_with(Lowering& lowering, const Operation& op, Opcode opcode, DotDims dims) {
  Instruction made = lowering.instruction(op, opcode);
  made.operands = lowering.operands(op);
  made.attrs = DotAttrs{std::move(dims), algorithm_of(lowering, op), precision_of(lowering, op)};
  lowering.define(op, lowering.add(std::move(made)));
}

void lower_dot_general(Lowering& lowering, const Operation& op, Opcode opcode) {
  const Attribute& numbers = lowering.required(op, "dot_dimension_numbers");
  lower_dot_with(lowering, op, opcode,
                 {lowering.field(numbers, "lhs_contracting_dimensions"),
                  lowering.field(numbers, "rhs_contracting_dimensions"),
                  lowering.field(numbers, "lhs_batching_dimensions"),
                  lowering.field(numbers, "rhs_batching_dimensions"),
                  {},
                  {}});
}

// chlo.ragged_dot
void lower_ragged_dot(Lowering& lowering, const Operation& op, Opcode opcode) {
  const Attribute& numbers = lowering.required(op, "ragged_dot_dimension_numbers");
  lower_dot_with(lowering, op, opcode,
                 {lowering.field(numbers, "lhs_contracting_dimensions"),
                  lowering.field(numbers, "rhs_contracting_dimensions"),
                  lowering.field(numbers, "lhs_batching_dimensions"),
                  lowering.field(numbers, "rhs_batching_dimensions"),
                  lowering.field(numbers, "lhs_ragged_dimensions"),
                  lowering.field(numbers, "rhs_group_dimensions")});
}

// The old op, which contracts the last dimension of the left operand with the first of the right
// one.
void lower_dot(Lowering& lowering, const Operation& op, Opcode opcode) {
  const int rank = lowering.shape(lowering.operand(op, 0)).rank();
  if (rank == 0) lowering.fail(op, "needs operands of rank 1 or 2");
  lower_dot_with(lowering, op, opcode, {{rank - 1}, {0}, {}, {}, {}, {}});
}

// One part of `raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions
// = [1, 2], ...` as `b01f`; absent numbers are 0; `?` where no dimension is assigned.
std::string raw_labels(const Lowering& lowering, const Attribute& numbers, std::string_view part,
                       std::string_view batch, std::string_view feature) {
  const Dims spatial = lowering.field(numbers, fmt::format("{}_spatial_dimensions", part));
  std::string labels(spatial.size() + 2, '?');
  const auto put = [&labels](std::int64_t at, char label) {
    if (at >= 0 && at < std::ssize(labels)) labels[static_cast<std::size_t>(at)] = label;
  };
  for (const std::string_view name : {batch, feature}) {
    const Attribute* at = numbers.find(fmt::format("{}_{}_dimension", part, name));
    put(at == nullptr ? 0 : at->integer, name == "input_feature"    ? 'i'
                                         : name == "output_feature" ? 'o'
                                                                    : name.front());
  }
  for (std::size_t i = 0; i < spatial.size(); ++i) put(spatial[i], static_cast<char>('0' + i));
  return labels;
}

// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]` as `b01f_01io->b01f`.
ConvDims convolution_dims(const Lowering& lowering, const Operation& op) {
  const Attribute& numbers = lowering.required(op, "dimension_numbers");
  std::string labels;
  const bool raw = !numbers.fields.empty();
  if (raw) {
    labels = raw_labels(lowering, numbers, "input", "batch", "feature") + "_" +
             raw_labels(lowering, numbers, "kernel", "input_feature", "output_feature") + "->" +
             raw_labels(lowering, numbers, "output", "batch", "feature");
  }
  for (const char c : raw ? std::string_view() : numbers.text) {
    if (c == 'x') {
      labels += '_';
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '>' ||
               c == '?') {
      labels += c;
    }
  }
  try {
    const base::SourceText source("dimension_numbers", labels);
    Cursor cursor(source, {});
    return read_conv_dims(cursor);
  } catch (const Error&) {
    lowering.fail_at(numbers.offset, "dimension numbers of a convolution that HLO has not");
  }
}

void lower_convolution_with(Lowering& lowering, const Operation& op, std::vector<Dims> padding) {
  Instruction made = lowering.instruction(op, Opcode::kConvolution);
  made.operands = {lowering.operand(op, 0), lowering.operand(op, 1)};
  ConvAttrs attrs;
  attrs.dims = convolution_dims(lowering, op);
  const Shape& kernel = lowering.shape(made.operands[1]);
  Dims sizes;
  for (const std::int64_t dim : attrs.dims.kernel_spatial) {
    if (static_cast<std::size_t>(dim) >= kernel.dims.size()) {
      lowering.fail(op, "kernel dimension {} is outside of the kernel", dim);
    }
    sizes.push_back(kernel.dims[static_cast<std::size_t>(dim)]);
  }
  attrs.window = read_window_attributes(lowering, op, sizes);
  for (std::size_t i = 0; i < padding.size() && i < attrs.window.size(); ++i) {
    attrs.window[i].pad_low = padding[i].front();
    attrs.window[i].pad_high = padding[i].back();
  }
  attrs.feature_group_count = lowering.integer(op, "feature_group_count", 1);
  attrs.batch_group_count = lowering.integer(op, "batch_group_count", 1);
  attrs.precision = precision_of(lowering, op);
  made.attrs = std::move(attrs);
  lowering.define(op, lowering.add(std::move(made)));
}

void lower_convolution(Lowering& lowering, const Operation& op, Opcode) {
  lower_convolution_with(lowering, op, {});
}

void lower_dynamic_conv(Lowering& lowering, const Operation& op, Opcode) {
  const std::optional<Integers> padding = lowering.known_operand(op, 2);
  if (!padding) lowering.fail(op, "its padding is not known before it runs");
  std::vector<Dims> rows;
  for (std::size_t i = 0; i + 1 < padding->size(); i += 2) {
    rows.push_back({(*padding)[i], (*padding)[i + 1]});
  }
  lower_convolution_with(lowering, op, std::move(rows));
}

void lower_reduce_window_op(Lowering& lowering, const Operation& op, Opcode opcode) {
  const Window window =
      read_window_attributes(lowering, op, lowering.integers(op, "window_dimensions"));
  Instruction made = lowering.instruction(op, opcode);
  made.operands = lowering.operands(op);
  made.called = {lowering.scalar_region(op, 0)};
  lower_reduce_window(lowering, op, std::move(made), window);
}

void lower_select_and_scatter(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  made.operands = lowering.operands(op);
  Dims sizes = lowering.integers(op, "window_dimensions");
  if (sizes.empty()) sizes.assign(lowering.shape(made.operands.at(0)).dims.size(), 1);
  made.attrs = WindowAttrs{read_window_attributes(lowering, op, sizes)};
  made.called = {lowering.scalar_region(op, 0), lowering.scalar_region(op, 1)};
  lowering.define(op, lowering.add(std::move(made)));
}

void keep_flag(const Lowering& lowering, const Operation& op, std::string_view name,
               Instruction& made) {
  if (lowering.flag(op, name)) made.raw.edit().push_back({std::string(name), "true"});
}

void lower_gather_with(Lowering& lowering, const Operation& op, Dims slice_sizes) {
  const Attribute& numbers = lowering.required(op, "dimension_numbers");
  Instruction made = lowering.instruction(op, Opcode::kGather);
  made.operands = {lowering.operand(op, 0), lowering.operand(op, 1)};
  GatherAttrs attrs;
  attrs.offset_dims = lowering.field(numbers, "offset_dims");
  attrs.collapsed_slice_dims = lowering.field(numbers, "collapsed_slice_dims");
  attrs.start_index_map = lowering.field(numbers, "start_index_map");
  attrs.operand_batching_dims = lowering.field(numbers, "operand_batching_dims");
  attrs.start_indices_batching_dims = lowering.field(numbers, "start_indices_batching_dims");
  const Dims vector_dim = lowering.field(numbers, "index_vector_dim");
  attrs.index_vector_dim = vector_dim.empty() ? 0 : vector_dim.front();
  attrs.slice_sizes = std::move(slice_sizes);
  made.attrs = std::move(attrs);
  keep_flag(lowering, op, "indices_are_sorted", made);
  lowering.define(op, lowering.add(std::move(made)));
}

void lower_gather(Lowering& lowering, const Operation& op, Opcode) {
  lower_gather_with(lowering, op, lowering.integers(op, "slice_sizes"));
}

void lower_dynamic_gather(Lowering& lowering, const Operation& op, Opcode) {
  const std::optional<Integers> sizes = lowering.known_operand(op, 2);
  if (!sizes) lowering.fail(op, "its slice sizes are not known before it runs");
  lower_gather_with(lowering, op, Dims(sizes->begin(), sizes->end()));
}

// Lowers a selection of slices along dimension `dim` to a gather.
void lower_torch_index_select(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  made.operands = {lowering.operand(op, 0), lowering.operand(op, 1)};
  const std::int64_t dim = lowering.required_integer(op, "dim");
  const std::int64_t batch = lowering.integer(op, "batch_dims", 0);
  const Shape from = lowering.shape(made.operands[0]);
  const std::int64_t index_rank = lowering.shape(made.operands[1]).rank();
  if (dim < batch || dim >= from.rank() || batch < 0 || batch > index_rank) {
    lowering.fail(op, "dim {} with {} batch dimensions is outside of its operands", dim, batch);
  }
  GatherAttrs attrs;
  attrs.slice_sizes = from.dims;
  for (std::int64_t i = 0; i < from.rank(); ++i) {
    if (i < batch) {
      attrs.operand_batching_dims.push_back(i);
      attrs.start_indices_batching_dims.push_back(i);
    } else if (i != dim) {
      attrs.offset_dims.push_back(i < dim ? i : i - 1 + index_rank - batch);
    }
    if (i < batch || i == dim) attrs.slice_sizes[static_cast<std::size_t>(i)] = 1;
  }
  attrs.collapsed_slice_dims = {dim};
  attrs.start_index_map = {dim};
  attrs.index_vector_dim = index_rank;
  made.attrs = std::move(attrs);
  lowering.define(op, lowering.add(std::move(made)));
}

void lower_scatter(Lowering& lowering, const Operation& op, Opcode opcode) {
  const Attribute& numbers = lowering.required(op, "scatter_dimension_numbers");
  Instruction made = lowering.instruction(op, opcode);
  made.operands = lowering.operands(op);
  ScatterAttrs attrs;
  attrs.update_window_dims = lowering.field(numbers, "update_window_dims");
  attrs.inserted_window_dims = lowering.field(numbers, "inserted_window_dims");
  attrs.scatter_dims_to_operand_dims = lowering.field(numbers, "scatter_dims_to_operand_dims");
  attrs.input_batching_dims = lowering.field(numbers, "input_batching_dims");
  attrs.scatter_indices_batching_dims = lowering.field(numbers, "scatter_indices_batching_dims");
  const Dims vector_dim = lowering.field(numbers, "index_vector_dim");
  attrs.index_vector_dim = vector_dim.empty() ? 0 : vector_dim.front();
  made.attrs = std::move(attrs);
  keep_flag(lowering, op, "indices_are_sorted", made);
  keep_flag(lowering, op, "unique_indices", made);
  made.called = {lowering.scalar_region(op, 0)};
  lowering.define(op, lowering.add(std::move(made)));
}

}  // namespace

// A window of `sizes` with the strides, padding and dilations of `op`.
Window read_window_attributes(const Lowering& lowering, const Operation& op, const Dims& sizes) {
  const auto list = [&](std::string_view old_name, std::string_view name) {
    const Dims values = lowering.integers(op, name);
    return values.empty() ? lowering.integers(op, old_name) : values;
  };
  const Dims strides = lowering.integers(op, "window_strides");
  const Dims base = list("base_dilations", "lhs_dilation");
  const Dims dilations = list("window_dilations", "rhs_dilation");
  const Dims reversed = lowering.integers(op, "window_reversal");
  const std::vector<Dims> padding = lowering.rows(op, "padding");
  Window window(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    window[i].size = sizes[i];
    if (i < strides.size()) window[i].stride = strides[i];
    if (i < base.size()) window[i].base_dilation = base[i];
    if (i < dilations.size()) window[i].window_dilation = dilations[i];
    if (i < reversed.size()) window[i].reversal = reversed[i] != 0;
    if (i >= padding.size()) continue;
    if (padding[i].size() != 2) lowering.fail(op, "padding must be pairs");
    window[i].pad_low = padding[i][0];
    window[i].pad_high = padding[i][1];
  }
  return window;
}

void lower_reduce_window(Lowering& lowering, const Operation& op, Instruction made,
                         const Window& window) {
  made.attrs = WindowAttrs{window};
  lowering.define(op, lowering.add(std::move(made)));
}

std::vector<NamedRule> window_rules() {
  using enum Opcode;
  return {
      {"chlo.ragged_dot", {kRaggedDot, lower_ragged_dot}},
      {"convolution", {kConvolution, lower_convolution}},
      {"dot", {kDot, lower_dot}},
      {"dot_general", {kDot, lower_dot_general}},
      {"dynamic_conv", {kConvolution, lower_dynamic_conv}},
      {"dynamic_gather", {kGather, lower_dynamic_gather}},
      {"gather", {kGather, lower_gather}},
      {"reduce_window", {kReduceWindow, lower_reduce_window_op}},
      {"scatter", {kScatter, lower_scatter}},
      {"select_and_scatter", {kSelectAndScatter, lower_select_and_scatter}},
      {"torch_index_select", {kGather, lower_torch_index_select}},
  };
}

}  // namespace tilecast::ir::stablehlo
