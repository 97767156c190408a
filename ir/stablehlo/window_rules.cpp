// Products, windows, gathers and scatters: ops with dimension numbers.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "ir/stablehlo/rules.h"
#include "ir/text/hlo_printer.h"
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
  Instruction made = lowering.applied(op, opcode);
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
  Instruction made = lowering.applied(op, Opcode::kConvolution, 2);
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
  Instruction made = lowering.applied(op, opcode);
  made.called = {lowering.scalar_region(op, 0)};
  lower_reduce_window(lowering, op, std::move(made), window);
}

void lower_select_and_scatter(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.applied(op, opcode);
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
  Instruction made = lowering.applied(op, Opcode::kGather, 2);
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
  Instruction made = lowering.applied(op, opcode, 2);
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
  Instruction made = lowering.applied(op, opcode);
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

// Ops that cross devices or the host.

namespace {

// `[#sdy<axis_ref"x">, #sdy.axis_ref<"y":(2)4>]` as `"x","y":(2)4`.
std::string axis_names(std::string_view axes) {
  std::string names;
  for (std::size_t at = axes.find('"'); at < axes.size(); at = axes.find('"', at)) {
    const std::size_t end = std::min(axes.find('>', at), axes.size());
    names += names.empty() ? "" : ",";
    names += axes.substr(at, end - at);
    at = end;
  }
  return names;
}

// Devices are numbered row-major over the axes of the mesh, `["x"=2, "y"=4]`, whatever its
// device_ids; the devices of a group differ only in `axes`. Read as HLO text writes them.
ReplicaGroups mesh_groups(const Lowering& lowering, const Operation& op, const Attribute& groups) {
  const Attribute* name = groups.find("mesh");
  const Operation* mesh = name == nullptr ? nullptr : lowering.find_symbol(name->string);
  const Attribute* chosen = groups.find("axes");
  if (mesh == nullptr || chosen == nullptr)
    lowering.fail(op, "replica groups of a mesh that is not here");
  const std::string_view sizes = lowering.required(*mesh, "mesh").text;
  const std::size_t open = std::min(sizes.find('['), sizes.size());
  const std::string_view axes = sizes.substr(open, sizes.find(']') - open);
  ReplicaGroups result;
  if (axes.find('"') == std::string_view::npos) {  // no axes: one device
    result.groups = {{0}};
    return result;
  }
  try {
    const base::SourceText source("replica_groups",
                                  fmt::format("mesh{}] {{{}}}", axes, axis_names(chosen->text)));
    Cursor cursor(source, {});
    result.groups = read_replica_groups(cursor).groups;
  } catch (const Error&) {
    lowering.fail_at(groups.offset, "the axes of its replica groups do not divide those of @{}",
                     name->string);
  }
  return result;
}

CollectiveAttrs collective_attributes(const Lowering& lowering, const Operation& op) {
  CollectiveAttrs attrs;
  if (const Attribute* groups = op.find("replica_groups")) {
    if (groups->kind == Attribute::Kind::kCustom) {
      attrs.groups = mesh_groups(lowering, op, *groups);
    } else {
      for (const Dims& row : lowering.rows(op, "replica_groups")) {
        std::vector<std::int64_t>& group = attrs.groups.groups.emplace_back();
        // -1 fills the rows of smaller groups
        std::copy_if(row.begin(), row.end(), std::back_inserter(group),
                     [](std::int64_t id) { return id >= 0; });
      }
      attrs.groups.text = to_string(attrs.groups);  // as the HLO text parser does
    }
  }
  if (const Attribute* channel = op.find("channel_handle")) {
    const Dims handle = lowering.field(*channel, "handle");
    if (!handle.empty()) attrs.channel_id = std::max<std::int64_t>(handle.front(), 0);
  }
  attrs.channel_id = std::max(attrs.channel_id, lowering.integer(op, "channel_id", 0));
  attrs.use_global_device_ids = lowering.flag(op, "use_global_device_ids");
  for (const Dims& pair : lowering.rows(op, "source_target_pairs")) {
    if (pair.size() != 2) lowering.fail(op, "source_target_pairs must be pairs");
    attrs.source_target_pairs.emplace_back(pair[0], pair[1]);
  }
  return attrs;
}

Instruction collective(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.applied(op, opcode);
  made.attrs = collective_attributes(lowering, op);
  if (!op.regions.empty()) made.called = {lowering.scalar_region(op, 0)};
  return made;
}

void lower_collective(Lowering& lowering, const Operation& op, Opcode opcode) {
  lowering.define(op, lowering.add(collective(lowering, op, opcode)));
}

template <const auto& name>
void along_dimension(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = collective(lowering, op, opcode);
  made.dimensions = {lowering.required_integer(op, name)};
  lowering.define(op, lowering.add(std::move(made)));
}

constexpr std::string_view kGatherDim = "all_gather_dim";
constexpr std::string_view kScatterDim = "scatter_dimension";

// HLO's all-to-all splits and concatenates the same dimension; if they differ, a reshape, transpose
// and reshape are added, as in XLA's builder.
InstrId exchanged(Lowering& lowering, const Operation& op, Instruction made, const Shape& result) {
  const std::int64_t split = lowering.required_integer(op, "split_dimension");
  const std::int64_t join = lowering.required_integer(op, "concat_dimension");
  const std::int64_t count = lowering.required_integer(op, "split_count");
  const Shape from = lowering.shape(made.operands[0]);
  if (split < 0 || split >= from.rank() || join < 0 || join >= from.rank() || count < 1 ||
      from.dims[static_cast<std::size_t>(split)] % count != 0) {
    lowering.fail(op, "dimensions {} and {} in {} parts do not fit its operand", split, join,
                  count);
  }
  made.dimensions = {split};
  made.shape = split == join ? result : from;
  const InstrId sent = lowering.add(std::move(made));
  if (split == join) return sent;
  Shape parts = Shape::array(from.dtype, from.dims);
  const auto at = parts.dims.begin() + split;
  *at /= count;
  parts.dims.insert(at, count);
  parts.layout = default_layout(parts.rank());
  Instruction transpose;
  transpose.opcode = Opcode::kTranspose;
  transpose.offset = op.offset;
  for (std::int64_t i = 0; i < parts.rank(); ++i) {
    if (i != split) transpose.dimensions.push_back(i);
  }
  transpose.dimensions.insert(transpose.dimensions.begin() + join, split);
  transpose.operands = {lowering.emit(op, Opcode::kReshape, {sent}, std::move(parts))};
  return lowering.emit(op, Opcode::kReshape, {lowering.add(std::move(transpose))}, result);
}

void lower_all_to_all(Lowering& lowering, const Operation& op, Opcode opcode) {
  const Instruction all = collective(lowering, op, opcode);
  if (op.operands.size() != op.result_count) lowering.fail(op, "has not one result per operand");
  for (std::uint32_t i = 0; i < op.result_count; ++i) {
    Instruction made = all;
    made.operands = {all.operands[i]};
    lowering.bind(op.result(i),
                  exchanged(lowering, op, std::move(made), lowering.written(op.result(i))));
  }
}

void lower_infeed(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.applied(op, opcode);
  if (op.result_count == 0) lowering.fail(op, "needs a token as result");
  std::vector<Shape> data =
      made.shape.is_tuple() ? made.shape.elements : std::vector<Shape>{made.shape};
  const Shape token = data.back();
  data.pop_back();
  made.shape = Shape::tuple({Shape::tuple(std::move(data)), token});
  const InstrId whole = lowering.add(std::move(made));
  const InstrId values = lowering.element(op, whole, 0);
  for (std::uint32_t i = 0; i + 1 < op.result_count; ++i) {
    lowering.bind(op.result(i), lowering.element(op, values, i));
  }
  lowering.bind(op.result(op.result_count - 1), lowering.element(op, whole, 1));
}

// All operands but the last, which is the token, as one value.
InstrId payload(Lowering& lowering, const Operation& op) {
  std::vector<InstrId> values = lowering.operands(op);
  if (values.empty()) lowering.fail(op, "needs a token as operand");
  values.pop_back();
  return values.size() == 1 ? values.front() : lowering.tuple(op, std::move(values));
}

void lower_outfeed(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  const InstrId sent = payload(lowering, op);
  made.operands = {sent, lowering.operand(op, op.operands.size() - 1)};
  made.raw.edit().push_back({"outfeed_shape", to_string(lowering.shape(sent))});
  lowering.define(op, lowering.add(std::move(made)));
}

// Lowers a send or receive and its done op.
void lower_transfer(Lowering& lowering, const Operation& op, Opcode opcode) {
  const bool sends = opcode == Opcode::kSend;
  Instruction start = lowering.instruction(op, opcode);

  CollectiveAttrs attrs = collective_attributes(lowering, op);
  attrs.is_host_transfer = lowering.flag(op, "is_host_transfer");
  Instruction done = lowering.instruction(op, info(opcode).partner);
  if (sends) {
    start.operands.push_back(payload(lowering, op));
    start.shape = lowering.shape(start.operands[0]);
  } else {
    std::vector<Shape> data = start.shape.is_tuple() ? start.shape.elements : std::vector<Shape>{};
    if (data.empty()) lowering.fail(op, "needs a result and a token");
    data.pop_back();
    start.shape = data.size() == 1 ? data.front() : Shape::tuple(std::move(data));
    done.shape = Shape::tuple({start.shape, Shape::token()});
  }
  start.operands.push_back(lowering.operand(op, op.operands.size() - 1));
  start.shape = Shape::tuple({start.shape, Shape::array(DType::kU32, {}), Shape::token()});
  start.attrs = attrs;
  done.attrs = attrs;
  done.operands = {lowering.add(std::move(start))};
  const InstrId ended = lowering.add(std::move(done));
  if (sends || op.result_count <= 2) return lowering.define(op, ended);
  const InstrId values = lowering.element(op, ended, 0);
  for (std::uint32_t i = 0; i + 1 < op.result_count; ++i) {
    lowering.bind(op.result(i), lowering.element(op, values, i));
  }
  lowering.bind(op.result(op.result_count - 1), lowering.element(op, ended, 1));
}

}  // namespace

std::span<const NamedRule> window_rules() {
  using enum Opcode;
  static constexpr NamedRule kRules[] = {
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
      {"all_gather", {kAllGather, along_dimension<kGatherDim>}},
      {"all_reduce", {kAllReduce, lower_collective}},
      {"all_to_all", {kAllToAll, lower_all_to_all}},
      {"collective_broadcast", {kCollectiveBroadcast, lower_collective}},
      {"collective_permute", {kCollectivePermute, lower_collective}},
      {"infeed", {kInfeed, lower_infeed}},
      {"outfeed", {kOutfeed, lower_outfeed}},
      {"recv", {kRecv, lower_transfer}},
      {"reduce_scatter", {kReduceScatter, along_dimension<kScatterDim>}},
      {"send", {kSend, lower_transfer}},
  };
  return kRules;
}

}  // namespace tilecast::ir::stablehlo
