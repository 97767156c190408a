#include "ir/proto/attribute_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "ir/hlo_attributes.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::ir::proto_text {
namespace {

const std::string& name_of(const std::unordered_map<std::int64_t, std::string>& names,
                           std::int64_t id, std::string_view what) {
  const auto found = names.find(id);
  if (found == names.end()) throw Error(fmt::format("there is no {} with id {}", what, id));
  return found->second;
}

std::string name_list(const Site& at, const std::unordered_map<std::int64_t, std::string>& names,
                      const Numbers& ids, std::string_view what) {
  if (ids.empty() && !at.required) return {};
  std::string text;
  for (const std::int64_t id : ids) text += (text.empty() ? "%" : ", %") + name_of(names, id, what);
  return "{" + text + "}";
}

// A list in braces, without spaces after the commas.
template <class Items, class Print>
std::string group(const Items& items, Print&& print, std::string_view separator = ",") {
  std::string text;
  for (const auto& item : items) {
    text += text.empty() ? std::string_view() : separator;
    text += print(item);
  }
  return "{" + text + "}";
}

// `b01f`: letters at their dimensions, digits at the spatial ones, `?` elsewhere.
std::string labels(std::string_view letters, std::int64_t first, std::int64_t second,
                   const Numbers& spatial) {
  constexpr std::int64_t kMostDims = 10;  // one digit each
  std::string text;
  const auto put = [&text](std::int64_t dim, char label) {
    if (dim < 0 || dim >= kMostDims) fail_unknown("dimension of a convolution", dim);
    text.resize(std::max(text.size(), static_cast<std::size_t>(dim) + 1), '?');
    text[static_cast<std::size_t>(dim)] = label;
  };
  put(first, letters[0]);
  put(second, letters[1]);
  for (int i = 0; i < std::min<int>(spatial.size(), kMostDims); ++i) {
    put(spatial.Get(i), static_cast<char>('0' + i));
  }
  return text;
}

using Origins = std::map<Dims, const hlo_proto::OriginalElement*>;

std::string original_array(const hlo_proto::OriginalElement& element) {
  constexpr char kNameTag = '\x0a';  // first byte of an OriginalArray
  hlo_proto::OriginalArray array;
  const std::string& bytes = element.original_array();
  if (!bytes.starts_with(kNameTag) || !array.ParseFromString(bytes)) {
    array.set_instruction_name(bytes);
    *array.mutable_shape_index() = element.original_shape_index();
  }
  if (array.instruction_name().empty()) return {};
  return quoted_text(array.instruction_name()) +
         (array.shape_index().empty() ? "" : " " + list(array.shape_index()));
}

void append_origin(std::string& out, const Shape& shape, const Origins& origins, Dims& path) {
  if (!shape.is_tuple()) {
    const auto found = origins.find(path);
    out += "{" + (found == origins.end() ? std::string() : original_array(*found->second)) + "}";
    return;
  }
  out += '(';
  path.push_back(0);
  for (const Shape& element : shape.elements) {
    if (path.back() > 0) out += ", ";
    append_origin(out, element, origins, path);
    ++path.back();
  }
  path.pop_back();
  out += ')';
}

}  // namespace

std::string origin(const Site& at) {
  if (at.proto.original_value().elements().empty()) return {};
  Origins origins;
  for (const hlo_proto::OriginalElement& element : at.proto.original_value().elements()) {
    origins.emplace(Dims(element.shape_index().begin(), element.shape_index().end()), &element);
  }
  std::string text = "{";
  Dims path;
  append_origin(text, shape_of(at.proto.shape()), origins, path);
  return text + "}";
}

std::string numbers(const Site& at, const Numbers& values) {
  return values.empty() && !at.required ? std::string() : list(values);
}

std::string callee(const Site& at, int index) {
  if (index >= at.proto.called_computation_ids_size()) return {};
  return "%" +
         name_of(at.names.computations, at.proto.called_computation_ids(index), "computation");
}

std::string callees(const Site& at) {
  return name_list(at, at.names.computations, at.proto.called_computation_ids(), "computation");
}

std::string control_predecessors(const Site& at) {
  return name_list(at, at.names.instructions, at.proto.control_predecessor_ids(), "instruction");
}

std::string first_dimension(const Site& at) {
  return at.proto.dimensions().empty() ? std::string() : number(at.proto.dimensions(0));
}

std::string literal_with_shape(const Site& at) {
  if (!at.proto.has_literal()) return {};
  return to_string(shape_of(at.proto.literal().shape())) + " " + literal(at.proto.literal());
}

const hlo_proto::DotDimensions& dot_dims(const Site& at) {
  return at.opcode == Opcode::kRaggedDot
             ? at.proto.ragged_dot_dimension_numbers().dot_dimension_numbers()
             : at.proto.dot_dimension_numbers();
}

std::string window(const Site& at) {
  Window dims;
  const auto or_one = [](std::int64_t value) { return value == 0 ? 1 : value; };
  for (const hlo_proto::WindowDimension& dim : at.proto.window().dimensions()) {
    dims.push_back({dim.size(), or_one(dim.stride()), dim.padding_low(), dim.padding_high(),
                    or_one(dim.base_dilation()), or_one(dim.window_dilation()),
                    dim.window_reversal()});
  }
  return dims.empty() ? std::string() : to_string(dims);
}

std::string dim_labels(const Site& at) {
  if (!at.proto.has_convolution_dimension_numbers()) return {};
  const hlo_proto::ConvolutionDimensions& dims = at.proto.convolution_dimension_numbers();
  return labels("bf", dims.input_batch_dimension(), dims.input_feature_dimension(),
                dims.input_spatial_dimensions()) +
         "_" +
         labels("io", dims.kernel_input_feature_dimension(), dims.kernel_output_feature_dimension(),
                dims.kernel_spatial_dimensions()) +
         "->" +
         labels("bf", dims.output_batch_dimension(), dims.output_feature_dimension(),
                dims.output_spatial_dimensions());
}

std::string padding(const Site& at) {
  std::vector<PadDim> dims;
  for (const hlo_proto::PaddingDimension& dim : at.proto.padding_config().dimensions()) {
    dims.push_back({dim.edge_padding_low(), dim.edge_padding_high(), dim.interior_padding()});
  }
  return dims.empty() ? "\"\"" : to_string(dims);
}

std::string slices(const Site& at) {
  return group(
      at.proto.slice_dimensions(),
      [](const hlo_proto::SliceDimension& dim) {
        return fmt::format("[{}:{}:{}]", dim.start(), dim.limit(), dim.stride());
      },
      ", ");
}

std::string precision(const Site& at) {
  constexpr std::array<std::string_view, 4> kWords = {"default", "high", "highest",
                                                      "packed_nibble"};
  const auto& values = at.proto.precision_config().operand_precision();
  if (std::all_of(values.begin(), values.end(), [](std::int32_t value) { return value == 0; })) {
    return {};
  }
  return group(values, [&](std::int32_t value) { return word(kWords, value, "precision"); });
}

std::string algorithm(const Site& at) {
  constexpr std::array<std::string_view, 3> kRandom = {"rng_default", "rng_three_fry",
                                                       "rng_philox"};
  constexpr std::array<std::string_view, 14> kDot = {"",
                                                     "dot_any_f8_any_f8_f32",
                                                     "dot_any_f8_any_f8_f32_fast_accum",
                                                     "dot_f16_f16_f16",
                                                     "dot_f16_f16_f32",
                                                     "dot_bf16_bf16_bf16",
                                                     "dot_bf16_bf16_f32",
                                                     "dot_bf16_bf16_f32_x3",
                                                     "dot_bf16_bf16_f32_x6",
                                                     "dot_tf32_tf32_f32",
                                                     "dot_tf32_tf32_f32_x3",
                                                     "dot_f32_f32_f32",
                                                     "dot_f64_f64_f64",
                                                     "dot_bf16_bf16_f32_x9"};
  if (at.opcode == Opcode::kRngBitGenerator) {
    return word(kRandom, at.proto.rng_algorithm(), "random algorithm");
  }
  return word(kDot, at.proto.precision_config().algorithm(), "dot algorithm");
}

std::string replica_groups(const Site& at) {
  const hlo_proto::CollectiveDevices& devices = at.proto.collective_device_list();
  if (!devices.unknown_fields().empty()) {
    throw Error("its replica groups are in a form that is not known; expected lists or iota");
  }
  if (devices.has_iota_replica_group_list()) {
    const hlo_proto::IotaReplicaGroups& groups = devices.iota_replica_group_list();
    return fmt::format("[{},{}]", groups.num_replica_groups(), groups.num_devices_per_group()) +
           iota(groups.iota_reshape_dims(), groups.iota_transpose_perm());
  }
  const auto& groups =
      devices.replica_groups().empty() ? at.proto.replica_groups() : devices.replica_groups();
  return group(groups, [](const hlo_proto::ReplicaGroup& g) { return list(g.replica_ids()); });
}

std::string source_target_pairs(const Site& at) {
  return group(at.proto.source_target_pairs(), [](const hlo_proto::SourceTarget& pair) {
    return fmt::format("{{{},{}}}", pair.source(), pair.target());
  });
}

std::string aliasing(const Site& at) {
  if (at.proto.output_operand_aliasing().empty()) return {};
  return group(
      at.proto.output_operand_aliasing(),
      [](const hlo_proto::OutputOperandAlias& alias) {
        return fmt::format("{}: ({}, {})", list(alias.output_shape_index()), alias.operand_index(),
                           list(alias.operand_shape_index()));
      },
      ", ");
}

std::string operand_layouts(const Site& at) {
  if (!at.proto.constrain_layout()) return {};
  return group(
      at.proto.operand_shapes_with_layout(),
      [](const hlo_proto::Shape& shape) { return to_string(shape_of(shape)); }, ", ");
}

std::string result_accuracy(const Site& at) {
  const hlo_proto::ResultAccuracy& accuracy = at.proto.result_accuracy();
  if (!accuracy.has_tolerance()) return accuracy.mode() == 1 ? "{mode=highest}" : "";
  const hlo_proto::Tolerance& tolerance = accuracy.tolerance();
  return fmt::format("{{tolerance={{atol={:g},rtol={:g},ulps={}}}}}", tolerance.atol(),
                     tolerance.rtol(), tolerance.ulps());
}

std::string statistics(const Site& at) {
  const hlo_proto::Statistics& viz = at.proto.statistics_viz();
  if (viz.statistics().empty()) return {};
  std::string text = fmt::format("{{visualizing_index={}", viz.stat_index_to_visualize());
  for (const hlo_proto::Statistic& item : viz.statistics()) {
    text += fmt::format(",{}={:g}", item.stat_name(), item.stat_val());
  }
  return text + "}";
}

std::string replication(const Site& at) {
  const auto& leaves = at.proto.parameter_replication().replicated_at_leaf_buffers();
  if (leaves.empty()) return {};
  return group(leaves, [](bool leaf) { return leaf ? "true" : "false"; });
}

std::string permute_slices(const Site& at) {
  const Numbers& sizes = at.proto.dynamic_slice_sizes();
  if (sizes.empty()) return {};
  const Shape result = shape_of(at.proto.shape());
  const Shape& slice = result.is_tuple() && !result.elements.empty() ? result.elements[0] : result;
  const int rank = std::max(1, slice.rank());
  std::string text;
  for (int i = 0; i < sizes.size(); ++i) {
    text += i % rank != 0 ? "," : i == 0 ? "{" : "},{";
    text += number(sizes.Get(i));
  }
  return "{" + text + "}}";
}

std::string domain(const Site& at) {
  return fmt::format("{{kind=\"sharding\", entry={}, exit={}}}",
                     sharding(at.proto.domain_entry_sharding()),
                     sharding(at.proto.domain_exit_sharding()));
}

}  // namespace tilecast::ir::proto_text
