// Compares real HLO protos with their decoded text, field by field. The files are third-party data
// beside the repository; without them the tests are skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "base/source_text.h"
#include "ir/proto/hlo_proto.h"
#include "ir/text/hlo_lexer.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "tests/ir/text_proto.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

namespace fs = std::filesystem;
using support::TextProto;
using Numbers = std::vector<std::int64_t>;

Numbers numbers(const Dims& dims) {
  return {dims.begin(), dims.end()};
}
std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void expect_shape(const Shape& shape, const TextProto& twin) {
  const std::string type = lower(twin.at("element_type").value);
  EXPECT_EQ(std::string(name(shape.dtype)), type == "opaque_type" ? "opaque" : type);
  EXPECT_EQ(numbers(shape.dims), twin.numbers("dimensions"));
  const auto elements = twin.all("tuple_shapes");
  ASSERT_EQ(shape.elements.size(), elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) expect_shape(shape.elements[i], *elements[i]);
  if (!shape.is_array()) return;
  const TextProto& layout = twin.at("layout");
  EXPECT_EQ(numbers(shape.layout->minor_to_major), layout.numbers("minor_to_major"));
  EXPECT_EQ(shape.layout->memory_space, layout.number("memory_space"));
  EXPECT_EQ(shape.layout->element_bits, layout.number("element_size_in_bits"));
  const auto tiles = layout.all("tiles");
  ASSERT_EQ(shape.layout->tiles.size(), tiles.size());
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    EXPECT_EQ(numbers(shape.layout->tiles[i]), tiles[i]->numbers("dimensions"));
  }
}

// Compares every number of the literal, in whichever field it is.
void expect_literal(const Literal& literal, const TextProto& twin) {
  std::vector<double> wanted, found;
  for (const TextProto& field : twin.fields) {
    if (field.name == "shape") continue;
    if (field.name == "bf16s" || field.name == "u16s") {
      for (std::size_t i = 0; i + 1 < field.value.size(); i += 2) {
        const auto low = static_cast<unsigned char>(field.value[i]);
        const auto high = static_cast<unsigned char>(field.value[i + 1]);
        const auto bits = static_cast<std::uint32_t>(low | high << 8);
        wanted.push_back(field.name == "u16s" ? bits : std::bit_cast<float>(bits << 16));
      }
      continue;
    }
    wanted.push_back(field.value == "true"    ? 1
                     : field.value == "false" ? 0
                                              : std::strtod(field.value.c_str(), nullptr));
  }
  std::string text = literal.text;
  for (char& c : text) c = c == '{' || c == '}' || c == ',' ? ' ' : c;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    found.push_back(word == "true" ? 1 : word == "false" ? 0 : std::strtod(word.c_str(), nullptr));
  }
  ASSERT_EQ(found.size(), wanted.size()) << literal.text;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool same = found[i] == wanted[i] || (std::isnan(found[i]) && std::isnan(wanted[i])) ||
                      std::abs(found[i] - wanted[i]) <= 4e-3 * std::abs(wanted[i]);
    EXPECT_TRUE(same) << found[i] << " " << wanted[i];
  }
}

void expect_window(const Window& window, const TextProto& twin) {
  const auto dims = twin.all("dimensions");
  ASSERT_EQ(window.size(), dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const TextProto& dim = *dims[i];
    const WindowDim wanted{dim.number("size"),
                           dim.number("stride", 1),
                           dim.number("padding_low"),
                           dim.number("padding_high"),
                           dim.number("base_dilation", 1),
                           dim.number("window_dilation", 1),
                           dim.at("window_reversal").value == "true"};
    EXPECT_EQ(window[i], wanted);
  }
}

void expect_convolution(const ConvAttrs& conv, const TextProto& twin) {
  expect_window(conv.window, twin.at("window"));
  const TextProto& dims = twin.at("convolution_dimension_numbers");
  EXPECT_EQ(conv.dims.input_batch, dims.number("input_batch_dimension"));
  EXPECT_EQ(conv.dims.input_feature, dims.number("input_feature_dimension"));
  EXPECT_EQ(conv.dims.kernel_input_feature, dims.number("kernel_input_feature_dimension"));
  EXPECT_EQ(conv.dims.kernel_output_feature, dims.number("kernel_output_feature_dimension"));
  EXPECT_EQ(conv.dims.output_batch, dims.number("output_batch_dimension"));
  EXPECT_EQ(conv.dims.output_feature, dims.number("output_feature_dimension"));
  EXPECT_EQ(numbers(conv.dims.input_spatial), dims.numbers("input_spatial_dimensions"));
  EXPECT_EQ(numbers(conv.dims.kernel_spatial), dims.numbers("kernel_spatial_dimensions"));
  EXPECT_EQ(numbers(conv.dims.output_spatial), dims.numbers("output_spatial_dimensions"));
  EXPECT_EQ(conv.feature_group_count, twin.number("feature_group_count", 1));
  EXPECT_EQ(conv.batch_group_count, twin.number("batch_group_count", 1));
}

void expect_dot(const DotDims& dims, const TextProto& twin) {
  EXPECT_EQ(numbers(dims.lhs_contracting), twin.numbers("lhs_contracting_dimensions"));
  EXPECT_EQ(numbers(dims.rhs_contracting), twin.numbers("rhs_contracting_dimensions"));
  EXPECT_EQ(numbers(dims.lhs_batch), twin.numbers("lhs_batch_dimensions"));
  EXPECT_EQ(numbers(dims.rhs_batch), twin.numbers("rhs_batch_dimensions"));
}

void expect_collective(const CollectiveAttrs& attrs, const TextProto& twin) {
  EXPECT_EQ(attrs.channel_id, twin.number("channel_id"));
  EXPECT_EQ(attrs.use_global_device_ids, twin.at("use_global_device_ids").value == "true");
  const TextProto& list = twin.at("collective_device_list");
  if (!list.at("iota_replica_group_list").fields.empty()) return;
  const auto groups = (list.fields.empty() ? twin : list).all("replica_groups");
  ASSERT_EQ(attrs.groups.groups.size(), groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    EXPECT_EQ(attrs.groups.groups[i], groups[i]->numbers("replica_ids"));
  }
}

struct Expect {
  const Instruction& instruction;
  const TextProto& twin;

  void operator()(const std::monostate&) const {}
  void operator()(const ParameterAttrs& a) const {
    EXPECT_EQ(a.number, twin.number("parameter_number"));
  }
  void operator()(const ConstantAttrs& a) const { expect_literal(a.literal, twin.at("literal")); }
  void operator()(const IndexAttrs& a) const {
    const bool iota = instruction.opcode == Opcode::kIota;
    EXPECT_EQ(a.index, twin.number(iota ? "dimensions" : "tuple_index"));
  }
  void operator()(const DotAttrs& a) const { expect_dot(a.dims, twin.at("dot_dimension_numbers")); }
  void operator()(const ConvAttrs& a) const { expect_convolution(a, twin); }
  void operator()(const WindowAttrs& a) const { expect_window(a.window, twin.at("window")); }
  void operator()(const SliceAttrs& a) const {
    const auto dims = twin.all("slice_dimensions");
    ASSERT_EQ(a.dims.size(), dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i) {
      EXPECT_EQ(a.dims[i].start, dims[i]->number("start"));
      EXPECT_EQ(a.dims[i].limit, dims[i]->number("limit"));
      EXPECT_EQ(a.dims[i].stride, dims[i]->number("stride"));
    }
  }
  void operator()(const PadAttrs& a) const {
    const auto dims = twin.at("padding_config").all("dimensions");
    ASSERT_EQ(a.dims.size(), dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i) {
      EXPECT_EQ(a.dims[i].low, dims[i]->number("edge_padding_low"));
      EXPECT_EQ(a.dims[i].high, dims[i]->number("edge_padding_high"));
      EXPECT_EQ(a.dims[i].interior, dims[i]->number("interior_padding"));
    }
  }
  void operator()(const DynamicSliceAttrs& a) const {
    EXPECT_EQ(numbers(a.sizes), twin.numbers("dynamic_slice_sizes"));
  }
  void operator()(const GatherAttrs& a) const {
    const TextProto& dims = twin.at("gather_dimension_numbers");
    EXPECT_EQ(numbers(a.offset_dims), dims.numbers("offset_dims"));
    EXPECT_EQ(numbers(a.start_index_map), dims.numbers("start_index_map"));
    EXPECT_EQ(numbers(a.slice_sizes), twin.numbers("gather_slice_sizes"));
  }
  void operator()(const ScatterAttrs& a) const {
    const TextProto& dims = twin.at("scatter_dimension_numbers");
    EXPECT_EQ(numbers(a.update_window_dims), dims.numbers("update_window_dims"));
    EXPECT_EQ(a.index_vector_dim, dims.number("index_vector_dim"));
  }
  void operator()(const CompareAttrs& a) const {
    EXPECT_EQ(a.direction, twin.at("comparison_direction").value);
    EXPECT_EQ(a.type, twin.at("comparison_type").value);
  }
  void operator()(const FusionAttrs& a) const {
    constexpr const char* kKinds[] = {"kLoop", "kInput", "kOutput", "kCustom"};
    EXPECT_EQ(kKinds[static_cast<int>(a.kind)], twin.at("fusion_kind").value);
  }
  void operator()(const CollectiveAttrs& a) const { expect_collective(a, twin); }
  void operator()(const CustomCallAttrs& a) const {
    EXPECT_EQ(a.target, twin.at("custom_call_target").value);
    const auto layouts = twin.all("operand_shapes_with_layout");
    const std::string* kept = instruction.find_raw("operand_layout_constraints");
    EXPECT_EQ(kept != nullptr, twin.at("constrain_layout").value == "true");
    if (kept != nullptr) {
      EXPECT_EQ(*kept == "{}", layouts.empty());
    }
  }
  template <class Other>
  void operator()(const Other&) const {
    ADD_FAILURE() << "no comparison for " << name(instruction.opcode);
  }
};

// Fields of instructions that are compared, or that have no equivalent in a module's text.
const std::set<std::string> kComparedFields = [] {
  std::istringstream names(
      "name opcode shape metadata literal parameter_number fusion_kind tuple_index dimensions "
      "window convolution_dimension_numbers slice_dimensions dynamic_slice_sizes padding_config "
      "custom_call_target dot_dimension_numbers gather_dimension_numbers gather_slice_sizes id "
      "operand_ids called_computation_ids control_predecessor_ids sharding backend_config "
      "replica_groups feature_group_count batch_group_count precision_config constrain_layout "
      "operand_shapes_with_layout parameter_replication comparison_direction comparison_type "
      "frontend_attributes use_global_device_ids channel_id collective_device_list "
      "custom_call_api_version statistics_viz scatter_dimension_numbers unique_indices is_stable "
      "indices_are_sorted custom_call_has_side_effect");
  return std::set<std::string>(std::istream_iterator<std::string>(names), {});
}();

void expect_raw(const Instruction& instruction, const TextProto& twin) {
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const TextProto& metadata = twin.at("metadata");
  for (const char* field : {"op_name", "op_type", "source_file", "deduplicated_name"}) {
    const std::string& value = metadata.at(field).value;
    const std::string item = std::string(field) + "=\"" + escape(value) + "\"";
    EXPECT_EQ(contains(instruction.metadata, item), !value.empty()) << instruction.metadata;
  }
  for (const char* field : {"source_line", "stack_frame_id", "source_end_column"}) {
    const std::int64_t value = metadata.number(field);
    if (value == 0) continue;
    const std::string item = std::string(field) + "=" + std::to_string(value);
    EXPECT_TRUE(contains(instruction.metadata, item)) << instruction.metadata;
  }
  const std::string& config = twin.at("backend_config").value;
  const bool dict = config.starts_with('{') && json_dict_end(config, 0) == config.size();
  EXPECT_EQ(*instruction.backend_config,
            config.empty() || dict ? config : "\"" + escape(config) + "\"");
  for (const char* flag : {"is_stable", "unique_indices", "is_stable", "indices_are_sorted"}) {
    EXPECT_EQ(instruction.find_raw(flag) != nullptr, twin.at(flag).value == "true") << flag;
  }
  const std::string* frontend = instruction.find_raw("frontend_attributes");
  for (const TextProto* entry : twin.at("frontend_attributes").all("map")) {
    ASSERT_NE(frontend, nullptr);
    EXPECT_TRUE(contains(*frontend, entry->at("key").value + "="));
  }
  const std::string* sharding = instruction.find_raw("sharding");
  EXPECT_EQ(sharding != nullptr, !twin.all("sharding").empty());
  const std::int64_t leaves =
      static_cast<std::int64_t>(twin.at("sharding").all("tuple_shardings").size());
  if (leaves > 1) {
    EXPECT_EQ(std::count(sharding->begin(), sharding->end(), '{'), leaves + 1);
  }
  const std::string& type = twin.at("sharding").at("type").value;
  for (const auto& [word, text] :
       {std::pair{"OTHER", "{devices=["}, std::pair{"MAXIMAL", "{maximal device="}}) {
    if (sharding != nullptr) {
      EXPECT_EQ(type == word, sharding->starts_with(text)) << *sharding;
    }
  }
}

class TwinComparison {
 public:
  TwinComparison(const Module& module, const TextProto& twin) : module_(module), twin_(twin) {
    for (const TextProto* computation : twin.all("computations")) {
      computation_names_[computation->number("id")] = computation->at("name").value;
    }
  }

  std::size_t run() {
    EXPECT_EQ(module_.name, twin_.at("name").value);
    EXPECT_EQ(module_.entry_computation().name, twin_.at("entry_computation_name").value);
    EXPECT_EQ(module_.is_scheduled, !twin_.all("schedule").empty());
    const auto computations = twin_.all("computations");
    EXPECT_EQ(module_.computations.size(), computations.size());
    for (std::size_t i = 0; i < computations.size(); ++i) {
      compare(module_.computations.at(i), *computations[i]);
    }
    return instructions_;
  }

 private:
  void compare(const Computation& computation, const TextProto& twin) {
    SCOPED_TRACE(computation.name);
    EXPECT_EQ(computation.name, twin.at("name").value);
    std::map<std::int64_t, const TextProto*> by_id;
    std::vector<std::int64_t> order;
    for (const TextProto* instruction : twin.all("instructions")) {
      order.push_back(instruction->number("id"));
      by_id[order.back()] = instruction;
    }
    for (const TextProto* entry : twin_.at("schedule").all("sequences")) {
      if (entry->number("key") == twin.number("id")) {
        order = entry->at("value").numbers("instruction_ids");
      }
    }
    ASSERT_EQ(computation.instructions.size(), order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      compare(computation, computation.instructions[i], *by_id.at(order[i]), by_id);
    }
    EXPECT_EQ(computation.root_instruction().name,
              by_id.at(twin.number("root_id"))->at("name").value);
  }

  void compare(const Computation& computation, const Instruction& instruction,
               const TextProto& twin, const std::map<std::int64_t, const TextProto*>& by_id) {
    SCOPED_TRACE(instruction.name);
    ++instructions_;
    for (const TextProto& field : twin.fields) {
      EXPECT_TRUE(kComparedFields.contains(field.name)) << field.name << " is not compared";
    }
    EXPECT_EQ(instruction.name, twin.at("name").value);
    EXPECT_EQ(std::string(name(instruction.opcode)), twin.at("opcode").value);
    expect_shape(instruction.shape, twin.at("shape"));
    std::vector<std::string> operands, wanted;
    for (const InstrId id : instruction.operands) operands.push_back(computation.at(id).name);
    for (const InstrId id : *instruction.control_predecessors) {
      operands.push_back(computation.at(id).name);
    }
    for (const char* field : {"operand_ids", "control_predecessor_ids"}) {
      for (const std::int64_t id : twin.numbers(field)) {
        wanted.push_back(by_id.at(id)->at("name").value);
      }
    }
    EXPECT_EQ(operands, wanted);
    std::vector<std::string> called;
    for (const ComputationId id : instruction.called) called.push_back(module_.at(id).name);
    if (instruction.opcode == Opcode::kWhile) std::swap(called.at(0), called.at(1));
    wanted.clear();
    for (const std::int64_t id : twin.numbers("called_computation_ids")) {
      wanted.push_back(computation_names_.at(id));
    }
    EXPECT_EQ(called, wanted);
    if (!is_one_of(instruction.opcode, {Opcode::kIota, Opcode::kReshape})) {
      EXPECT_EQ(numbers(instruction.dimensions), twin.numbers("dimensions"));
    }
    instruction.attrs.visit(Expect{instruction, twin});
    expect_raw(instruction, twin);
  }

  const Module& module_;
  const TextProto& twin_;
  std::map<std::int64_t, std::string> computation_names_;
  std::size_t instructions_ = 0;
};

TEST(HloProtoTwins, AreEqualFieldByField) {
  const fs::path folder = support::shared_dir() / "inputs" / "protos";
  if (!fs::exists(folder)) GTEST_SKIP() << "no data at " << folder;
  std::size_t instructions = 0;
  const std::vector<fs::path> protos = support::files_below(folder, ".pb");
  for (const fs::path& proto : protos) {
    const std::string path = proto.string();
    SCOPED_TRACE(path);
    const bool packed = fs::exists(path + ".textproto.gz");
    const TextProto twin =
        support::read_text_proto(path + (packed ? ".textproto.gz" : ".textproto"));
    const base::SourceText file = base::SourceText::read_file(path);
    ASSERT_TRUE(is_hlo_proto(file.text()));
    const Module module = read_hlo_proto(file.text(), path);
    EXPECT_TRUE(module.warnings.empty());
    const TextProto& wrapped = twin.at("hlo_module");
    instructions += TwinComparison(module, wrapped.fields.empty() ? twin : wrapped).run();
    const std::string text = print_hlo(module);
    EXPECT_EQ(print_hlo(parse_hlo(base::SourceText("text", text))), text);
  }
  std::cout << protos.size() << " protos with " << instructions << " instructions\n";
  EXPECT_FALSE(protos.empty());
}

}  // namespace
}  // namespace tilecast::ir
