// A module is the same whether it is read from an HLO proto or from HLO text.
#include "ir/proto/hlo_proto.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "tests/ir/proto_skeleton.h"
#include "tests/support/damage.h"
#include "tests/support/errors.h"

namespace tilecast::ir {
namespace {

using support::proto_skeleton;
using testing::HasSubstr;
using Proto = hlo_proto::Instruction;

Module parse_text(const std::string& text) {
  return parse_hlo(base::SourceText("twin.hlo", text));
}
Module read(const hlo_proto::Module& module) {
  return read_hlo_proto(module.SerializeAsString(), "twin.pb");
}
Proto& root_of(hlo_proto::Module& module) {
  hlo_proto::Computation& entry = *module.mutable_computations(module.computations_size() - 1);
  return *entry.mutable_instructions(entry.instructions_size() - 1);
}
std::string message_of(const hlo_proto::Module& module) {
  return support::error_of([&] { return read(module); }, "accepted");
}

template <class List>
void fill(List* list, std::initializer_list<std::int64_t> values) {
  for (const std::int64_t value : values) list->Add(static_cast<typename List::value_type>(value));
}

// Text of the entry's body, and the fields of its root besides name, shape, operands and callees.
struct Twin {
  const char* body;
  void (*fill_root)(Proto& root);
};

constexpr const char* kCallees = R"(HloModule m
%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}
%less (c: f32[], d: f32[]) -> pred[] {
  %c = f32[] parameter(0)
  %d = f32[] parameter(1)
  ROOT %t = pred[] compare(%c, %d), direction=LT
}
%twice (q: f32[4]) -> f32[4] {
  %q = f32[4]{0} parameter(0)
  ROOT %z = f32[4]{0} add(%q, %q)
}
%never (v: f32[4]) -> pred[] {
  %v = f32[4]{0} parameter(0)
  ROOT %no = pred[] constant(false)
}
)";

hlo_proto::Module proto_of(const Twin& twin) {
  hlo_proto::Module proto =
      proto_skeleton(parse_text(std::string(kCallees) + "ENTRY %e {\n" + twin.body + "\n}\n"));
  // A field missing in the skeleton of the callees.
  proto.mutable_computations(1)->mutable_instructions(2)->set_comparison_direction("LT");
  hlo_proto::Literal& never =
      *proto.mutable_computations(3)->mutable_instructions(1)->mutable_literal();
  never.mutable_shape()->set_element_type(1);
  never.add_preds(false);
  twin.fill_root(root_of(proto));
  return proto;
}

const Twin kTwins[] = {
    {"%p = f32[2,3]{1,0} parameter(0)\n%o = f32[3,4]{1,0} parameter(1)\nROOT %r = f32[2,4]{1,0} "
     "dot(%p, %o), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "operand_precision={highest,default}, algorithm=dot_bf16_bf16_f32_x3",
     [](Proto& root) {
       root.mutable_dot_dimension_numbers()->add_lhs_contracting_dimensions(1);
       root.mutable_dot_dimension_numbers()->add_rhs_contracting_dimensions(0);
       fill(root.mutable_precision_config()->mutable_operand_precision(), {2, 0});
       root.mutable_precision_config()->set_algorithm(7);
     }},
    {"%p = f32[8,16,16,4]{3,2,1,0} parameter(0)\n%o = f32[3,3,4,8]{3,2,1,0} parameter(1)\nROOT %r "
     "= f32[8,8,8,8]{3,2,1,0} convolution(%p, %o), window={size=3x3 stride=2x2 pad=0_1x0_1}, "
     "dim_labels=b01f_01io->b01f, metadata={op_name=\"c\" source_file=\"a.py\" source_line=3}",
     [](Proto& root) {
       for (int i = 0; i < 2; ++i) {
         hlo_proto::WindowDimension& dim = *root.mutable_window()->add_dimensions();
         dim.set_size(3);
         dim.set_stride(2);
         dim.set_padding_high(1);
         dim.set_base_dilation(1);
         dim.set_window_dilation(1);
       }
       hlo_proto::ConvolutionDimensions& dims = *root.mutable_convolution_dimension_numbers();
       dims.set_input_feature_dimension(3);
       dims.set_output_feature_dimension(3);
       dims.set_kernel_input_feature_dimension(2);
       dims.set_kernel_output_feature_dimension(3);
       fill(dims.mutable_input_spatial_dimensions(), {1, 2});
       fill(dims.mutable_output_spatial_dimensions(), {1, 2});
       fill(dims.mutable_kernel_spatial_dimensions(), {0, 1});
       root.set_feature_group_count(1);
       root.set_batch_group_count(1);
       root.mutable_metadata()->set_op_name("c");
       root.mutable_metadata()->set_source_file("a.py");
       root.mutable_metadata()->set_source_line(3);
     }},
    {"%p = f32[8,4]{1,0} parameter(0)\nROOT %r = f32[2,3]{1,0} slice(%p), slice={[1:5:2], [0:3]}",
     [](Proto& root) {
       for (const auto& [start, limit, stride] : {std::array{1, 5, 2}, std::array{0, 3, 1}}) {
         hlo_proto::SliceDimension& dim = *root.add_slice_dimensions();
         dim.set_start(start);
         dim.set_limit(limit);
         dim.set_stride(stride);
       }
     }},
    {"%p = f32[4]{0} parameter(0)\n%o = f32[] parameter(1)\nROOT %r = f32[9]{0} pad(%p, %o), "
     "padding=-1_3_1",
     [](Proto& root) {
       hlo_proto::PaddingDimension& dim = *root.mutable_padding_config()->add_dimensions();
       dim.set_edge_padding_low(-1);
       dim.set_edge_padding_high(3);
       dim.set_interior_padding(1);
     }},
    {"%p = f32[8,4]{1,0} parameter(0)\n%o = s32[5,1]{1,0} parameter(1)\nROOT %r = f32[5,4]{1,0} "
     "gather(%p, %o), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,4}, indices_are_sorted=true",
     [](Proto& root) {
       hlo_proto::GatherDimensions& dims = *root.mutable_gather_dimension_numbers();
       dims.add_offset_dims(1);
       dims.add_collapsed_slice_dims(0);
       dims.add_start_index_map(0);
       dims.set_index_vector_dim(1);
       fill(root.mutable_gather_slice_sizes(), {1, 4});
       root.set_indices_are_sorted(true);
     }},
    {"%p = f32[8,4]{1,0} parameter(0)\n%i = s32[5,1]{1,0} parameter(1)\n%u = f32[5,4]{1,0} "
     "parameter(2)\nROOT %r = f32[8,4]{1,0} scatter(%p, %i, %u), update_window_dims={1}, "
     "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
     "unique_indices=true, to_apply=%sum",
     [](Proto& root) {
       hlo_proto::ScatterDimensions& dims = *root.mutable_scatter_dimension_numbers();
       dims.add_update_window_dims(1);
       dims.add_inserted_window_dims(0);
       dims.add_scatter_dims_to_operand_dims(0);
       dims.set_index_vector_dim(1);
       root.set_unique_indices(true);
     }},
    {"%p = f32[8,4]{1,0} parameter(0)\n%o = f32[] parameter(1)\nROOT %r = f32[8]{0} reduce(%p, "
     "%o), dimensions={1}, to_apply=%sum",
     [](Proto& root) { root.add_dimensions(1); }},
    {"%p = f32[8]{0} parameter(0)\nROOT %r = f32[8]{0} sort(%p), dimensions={0}, is_stable=true, "
     "to_apply=%less",
     [](Proto& root) {
       root.add_dimensions(0);
       root.set_is_stable(true);
     }},
    {"%p = f32[4]{0} parameter(0)\nROOT %r = f32[4]{0} while(%p), condition=%never, body=%twice, "
     "backend_config={\"known_trip_count\":{\"n\":\"5\"}}",
     [](Proto& root) { root.set_backend_config(R"({"known_trip_count":{"n":"5"}})"); }},
    {"%p = pred[] parameter(0)\n%o = f32[4]{0} parameter(1)\nROOT %r = f32[4]{0} conditional(%p, "
     "%o, %o), true_computation=%twice, false_computation=%twice",
     [](Proto&) {}},
    {"%p = s32[] parameter(0)\n%o = f32[4]{0} parameter(1)\nROOT %r = f32[4]{0} conditional(%p, "
     "%o, %o), branch_computations={%twice, %twice}",
     [](Proto&) {}},
    {"%p = f32[4]{0} parameter(0)\nROOT %r = f32[4]{0} fusion(%p), kind=kLoop, calls=%twice, "
     "output_to_operand_aliasing={{}: (0, {})}",
     [](Proto& root) {
       root.set_fusion_kind("kLoop");
       root.add_output_operand_aliasing()->set_operand_index(0);
     }},
    {"%p = f32[4]{0} parameter(0)\nROOT %r = f32[4]{0} custom-call(%p), custom_call_target=\"a"
     "\\\"b\", operand_layout_constraints={f32[4]{0}}, custom_call_has_side_effect=true, "
     "called_computations={%twice}, schedule=SCHEDULE_LATEST, "
     "api_version=API_VERSION_STATUS_RETURNING, backend_config=\"opaque \\\\ text\"",
     [](Proto& root) {
       root.set_custom_call_target("a\"b");
       root.set_constrain_layout(true);
       *root.add_operand_shapes_with_layout() = root.shape();
       root.set_custom_call_has_side_effect(true);
       root.set_custom_call_schedule(1);
       root.set_custom_call_api_version(2);
       root.set_backend_config("opaque \\ text");
     }},
    {"%p = f32[4]{0} parameter(0)\nROOT %r = f32[8]{0} all-gather(%p), channel_id=1, "
     "replica_groups=[2,2]<=[2,2]T(1,0), dimensions={0}, use_global_device_ids=true",
     [](Proto& root) {
       root.set_channel_id(1);
       root.add_dimensions(0);
       root.set_use_global_device_ids(true);
       auto& groups = *root.mutable_collective_device_list()->mutable_iota_replica_group_list();
       groups.set_num_replica_groups(2);
       groups.set_num_devices_per_group(2);
       fill(groups.mutable_iota_reshape_dims(), {2, 2});
       fill(groups.mutable_iota_transpose_perm(), {1, 0});
     }},
    {"%p = f32[4]{0} parameter(0)\nROOT %r = f32[4]{0} all-reduce(%p), replica_groups={{0,1}}, "
     "to_apply=%sum",
     [](Proto& root) {
       fill(root.mutable_collective_device_list()->add_replica_groups()->mutable_replica_ids(),
            {0, 1});
     }},
    {"%p = f32[4]{0} parameter(0)\nROOT %r = f32[4]{0} all-to-all(%p), channel_id=3, "
     "replica_groups={{1,0}}, dimensions={0}",
     [](Proto& root) {
       root.set_all_reduce_id(3);
       root.add_dimensions(0);
       fill(root.add_replica_groups()->mutable_replica_ids(), {1, 0});
     }},
    {"%p = f32[4]{0} parameter(0)\nROOT %r = f32[4]{0} collective-permute(%p), "
     "source_target_pairs={{0,1},{1,0}}",
     [](Proto& root) {
       root.add_source_target_pairs()->set_target(1);
       root.add_source_target_pairs()->set_source(1);
     }},
    {"%p = f32[4]{0} parameter(0)\nROOT %r = pred[4]{0} compare(%p, %p), direction=GE, "
     "type=TOTALORDER",
     [](Proto& root) {
       root.set_comparison_direction("GE");
       root.set_comparison_type("TOTALORDER");
     }},
    {"%p = f32[8]{0} parameter(0)\nROOT %r = c64[5]{0} fft(%p), fft_type=RFFT, fft_length={8}",
     [](Proto& root) {
       root.set_fft_type(2);
       root.add_fft_length(8);
     }},
    {"%p = f32[4,4]{1,0} parameter(0)\n%o = f32[4,2]{1,0} parameter(1)\nROOT %r = f32[4,2]{1,0} "
     "triangular-solve(%p, %o), left_side=true, lower=true, transpose_a=ADJOINT",
     [](Proto& root) {
       root.mutable_triangular_solve_options()->set_left_side(true);
       root.mutable_triangular_solve_options()->set_lower(true);
       root.mutable_triangular_solve_options()->set_transpose_a(3);
     }},
    {"%p = f32[4,4]{1,0} parameter(0)\nROOT %r = f32[4,4]{1,0} cholesky(%p), lower=true",
     [](Proto& root) { root.mutable_cholesky_options()->set_lower(true); }},
    {"%p = u64[2]{0} parameter(0)\nROOT %r = (u64[2]{0}, u32[4]{0}) rng-bit-generator(%p), "
     "algorithm=rng_three_fry",
     [](Proto& root) { root.set_rng_algorithm(1); }},
    {"%p = f32[4]{0} parameter(0)\nROOT %r = f32[4]{0} reduce-precision(%p), exponent_bits=5, "
     "mantissa_bits=10",
     [](Proto& root) {
       root.set_exponent_bits(5);
       root.set_mantissa_bits(10);
     }},
    {"%p = f32[4,2]{1,0} parameter(0)\nROOT %r = f32[8]{0} reshape(%p), "
     "sharding={devices=[4,2]<=[8] last_tile_dim_replicate metadata={op_name=\"s\"}}, "
     "frontend_attributes={a=\"1\",b={\"c\":2}}, control-predecessors={%p}",
     [](Proto& root) {
       hlo_proto::Sharding& sharding = *root.mutable_sharding();
       sharding.set_type(3);
       fill(sharding.mutable_tile_assignment_dimensions(), {4, 2});
       fill(sharding.mutable_iota_reshape_dims(), {8});
       fill(sharding.mutable_iota_transpose_perm(), {0});
       sharding.set_replicate_on_last_tile_dim(true);
       sharding.add_metadata()->set_op_name("s");
       for (const auto& [key, value] : {std::pair{"b", "{\"c\":2}"}, std::pair{"a", "1"}}) {
         hlo_proto::TextEntry& entry = *root.mutable_frontend_attributes()->add_map();
         entry.set_key(key);
         entry.set_value(value);
       }
       root.add_control_predecessor_ids(root.operand_ids(0));
     }},
    {"%p = (f32[4]{0}, s32[]) parameter(0), parameter_replication={true,false}, "
     "sharding={{replicated}, {maximal device=1}}\nROOT %r = s32[] get-tuple-element(%p), index=1",
     [](Proto& root) { root.set_tuple_index(1); }},
    {"%p = f32[4]{0} parameter(0)\nROOT %r = (f32[4]{0}, (f32[4]{0}, f32[4]{0})) custom-call(%p), "
     "custom_call_target=\"t\", origin={({\"a\"}, ({}, {\"b\" {1}}))}",
     [](Proto& root) {
       root.set_custom_call_target("t");
       hlo_proto::OriginalArray array;
       array.set_instruction_name("a");
       hlo_proto::OriginalElement& first = *root.mutable_original_value()->add_elements();
       first.add_shape_index(0);
       first.set_original_array(array.SerializeAsString());
       hlo_proto::OriginalElement& older = *root.mutable_original_value()->add_elements();
       fill(older.mutable_shape_index(), {1, 1});
       older.set_original_array("b");
       older.add_original_shape_index(1);
     }},
};

TEST(HloProto, EveryAttributeIsThatOfTheTextTwin) {
  for (const Twin& twin : kTwins) {
    SCOPED_TRACE(twin.body);
    hlo_proto::Module proto = proto_of(twin);
    if (std::string_view(twin.body).find("parameter_replication") != std::string_view::npos) {
      Proto& parameter = *proto.mutable_computations(4)->mutable_instructions(0);
      parameter.mutable_parameter_replication()->add_replicated_at_leaf_buffers(true);
      parameter.mutable_parameter_replication()->add_replicated_at_leaf_buffers(false);
      parameter.mutable_sharding()->set_type(2);
      parameter.mutable_sharding()->add_tuple_shardings()->set_type(0);
      hlo_proto::Sharding& maximal = *parameter.mutable_sharding()->add_tuple_shardings();
      maximal.set_type(1);
      maximal.add_tile_assignment_devices(1);
    }
    const std::string text =
        print_hlo(parse_text(std::string(kCallees) + "ENTRY %e {\n" + twin.body + "\n}\n"));
    EXPECT_EQ(print_hlo(read(proto)), text);
  }
}

constexpr Twin kPlain = {"%p = f32[4]{0} parameter(0)\nROOT %r = f32[4]{0} negate(%p)",
                         [](Proto&) {}};

std::string wrapped(const std::string& message) {
  std::string out = "\x0a";
  std::size_t length = message.size();
  for (; length >= 0x80; length >>= 7) out += static_cast<char>(0x80 | (length & 0x7f));
  return out + static_cast<char>(length) + message;
}

TEST(HloProto, TheThreeFormsGiveTheSameModule) {
  const std::string module = proto_of(kPlain).SerializeAsString();
  const std::string text = print_hlo(read_hlo_proto(module, "m"));
  const std::string buffers = "\x1a\x02\x08\x01";  // HloProto.buffer_assignment
  for (const std::string& bytes :
       {wrapped(module), wrapped(module) + buffers, wrapped(wrapped(module) + buffers)}) {
    EXPECT_TRUE(is_hlo_proto(bytes));
    EXPECT_EQ(print_hlo(read_hlo_proto(bytes, "m")), text);
  }
}

TEST(HloProto, OtherFilesAreNone) {
  for (const std::string& bytes :
       {std::string(), std::string("HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }"),
        std::string("module @m {}"),
        std::string("\x7f"
                    "ELF\2\1\1"),
        std::string("\x08\x07\x12\x07pytorch"), wrapped("\x08\x01\x12\x0d/device:TPU:0"),
        std::string("\x0a\xff\xff\xff\xff\x0f")}) {
    EXPECT_FALSE(is_hlo_proto(bytes)) << bytes;
    EXPECT_THROW((void)read_hlo_proto(bytes, "m"), Error);
  }
}

TEST(HloProto, TheHeaderHoldsScheduleAliasesLayoutsDevicesAndFrames) {
  hlo_proto::Module proto =
      proto_of({"%p = f32[4]{0} parameter(0)\n%a = f32[4]{0} negate(%p)\n%b "
                "= f32[4]{0} abs(%p)\nROOT %r = f32[4]{0} add(%a, %b)",
                [](Proto&) {}});
  const hlo_proto::Computation& entry = proto.computations(4);
  hlo_proto::SequenceEntry& sequence = *proto.mutable_schedule()->add_sequences();
  sequence.set_key(entry.id());
  for (const int i : {0, 2, 1, 3}) {  // b before a
    sequence.mutable_value()->add_instruction_ids(entry.instructions(i).id());
  }
  hlo_proto::AliasEntry& alias = *proto.mutable_input_output_alias()->add_entries();
  alias.set_parameter_number(0);
  alias.set_kind(2);
  *proto.mutable_host_program_shape()->add_parameters() = entry.instructions(0).shape();
  *proto.mutable_host_program_shape()->mutable_result() = entry.instructions(0).shape();
  proto.mutable_device_assignment()->set_replica_count(2);
  proto.mutable_device_assignment()->set_computation_count(4);
  proto.mutable_stack_frame_index()->add_file_names("a.py");
  proto.mutable_stack_frame_index()->add_function_names("f");
  hlo_proto::FileLocation& at = *proto.mutable_stack_frame_index()->add_file_locations();
  at.set_file_name_id(1);
  at.set_function_name_id(1);
  at.set_line(7);
  proto.mutable_stack_frame_index()->add_stack_frames()->set_file_location_id(1);
  const Module module = read(proto);
  EXPECT_TRUE(module.is_scheduled);
  EXPECT_EQ(module.entry_computation().instructions[1].name, "b");
  EXPECT_EQ(module.replica_count, 2);
  EXPECT_EQ(module.num_partitions, 4);
  const std::string text = print_hlo(module);
  EXPECT_THAT(text, HasSubstr("HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, "
                              "must-alias) }, entry_computation_layout={(f32[4]{0})->f32[4]{0}}, "
                              "replica_count=2, num_partitions=4\n"));
  EXPECT_THAT(text, HasSubstr("FileNames\n1 \"a.py\"\n"));
  EXPECT_THAT(text, HasSubstr("StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"));
}

TEST(HloProto, BufferDonorsAreKept) {
  hlo_proto::Module proto = proto_of(kPlain);
  proto.mutable_buffer_donor()->add_entries()->set_parameter_number(0);
  EXPECT_THAT(print_hlo(read(proto)), HasSubstr("buffer_donor={ (0, {}) }"));
}

struct Constant {
  const char* text;  // the literal of this instruction
  void (*fill)(hlo_proto::Literal& literal);
};
const Constant kConstants[] = {
    {"f32[3]{0} constant({1.5, -2, nan})",
     [](hlo_proto::Literal& l) {
       for (const float f : {1.5F, -2.0F, std::numeric_limits<float>::quiet_NaN()}) l.add_f32s(f);
     }},
    {"f32[] constant(nan(0x12))",
     [](hlo_proto::Literal& l) { l.add_f32s(std::bit_cast<float>(0x7f800012)); }},
    {"f64[2]{0} constant({0.1, -inf})",
     [](hlo_proto::Literal& l) {
       l.add_f64s(0.1);
       l.add_f64s(-std::numeric_limits<double>::infinity());
     }},
    {"bf16[2]{0} constant({1, -2.5})",
     [](hlo_proto::Literal& l) { l.set_bf16s(std::string("\x80\x3f\x20\xc0", 4)); }},
    {"f16[2]{0} constant({65504, 5.9605e-08})",
     [](hlo_proto::Literal& l) { l.set_f16s(std::string("\xff\x7b\x01\x00", 4)); }},
    {"f8e5m2[3]{0} constant({1, inf, -nan})",
     [](hlo_proto::Literal& l) { l.set_f8e5m2s("\x3c\x7c\xfe"); }},
    {"f8e4m3fn[3]{0} constant({448, nan, -1})",
     [](hlo_proto::Literal& l) { l.set_f8e4m3fns("\x7e\x7f\xb8"); }},
    {"f8e4m3fnuz[2]{0} constant({240, nan})",
     [](hlo_proto::Literal& l) { l.set_f8e4m3fnuzs("\x7f\x80"); }},
    {"f8e8m0fnu[3]{0} constant({1, 2, nan})",
     [](hlo_proto::Literal& l) { l.set_f8e8m0fnus("\x7f\x80\xff"); }},
    {"f4e2m1fn[3]{0} constant({0.5, 6, -1.5})",
     [](hlo_proto::Literal& l) { l.set_f4e2m1fns("\x01\x07\x0b"); }},
    {"s4[3]{0} constant({1, -8, 7})", [](hlo_proto::Literal& l) { l.set_s4s("\x18\x70"); }},
    {"u2[5]{0} constant({3, 0, 1, 2, 3})", [](hlo_proto::Literal& l) { l.set_u2s("\xc6\xc0"); }},
    {"s8[2]{0} constant({-1, 127})", [](hlo_proto::Literal& l) { l.set_s8s("\xff\x7f"); }},
    {"u16[1]{0} constant({513})", [](hlo_proto::Literal& l) { l.set_u16s("\x01\x02"); }},
    {"s64[1]{0} constant({-9223372036854775808})",
     [](hlo_proto::Literal& l) { l.add_s64s(INT64_MIN); }},
    {"u64[1]{0} constant({18446744073709551615})",
     [](hlo_proto::Literal& l) { l.add_u64s(UINT64_MAX); }},
    {"c64[1]{0} constant({(1, -2)})",
     [](hlo_proto::Literal& l) {
       l.add_c64s(1);
       l.add_c64s(-2);
     }},
    // In the order of the layout: the columns.
    {"s32[2,3]{0,1} constant({ { 1, 2, 3 }, { 4, 5, 6 } })",
     [](hlo_proto::Literal& l) {
       fill(l.mutable_s32s(), {1, 4, 2, 5, 3, 6});
     }},
    {"pred[] constant(true)", [](hlo_proto::Literal& l) { l.add_preds(true); }},
    {"s32[2,0]{1,0} constant({ {}, {} })", [](hlo_proto::Literal&) {}},
    {"f32[1000000000]{0} constant({...})", [](hlo_proto::Literal&) {}},
    {"(s32[], (pred[1]{0})) constant(( 7, ( {1} ) ))",
     [](hlo_proto::Literal& l) {
       l.add_tuple_literals()->add_s32s(7);
       l.add_tuple_literals()->add_tuple_literals()->add_preds(true);
     }},
};

TEST(HloProto, LiteralsOfEveryTypeAreThoseOfTheText) {
  for (const Constant& constant : kConstants) {
    SCOPED_TRACE(constant.text);
    const std::string text =
        std::string("HloModule m\nENTRY %e {\n  ROOT %r = ") + constant.text + "\n}\n";
    hlo_proto::Module proto = proto_skeleton(parse_text(text));
    *root_of(proto).mutable_literal()->mutable_shape() = root_of(proto).shape();
    constant.fill(*root_of(proto).mutable_literal());
    EXPECT_EQ(print_hlo(read(proto)), print_hlo(parse_text(text)));
    EXPECT_THAT(print_hlo(read(proto)), HasSubstr(constant.text));
  }
}

TEST(HloProto, ALiteralOfAnotherSizeIsRefused) {
  hlo_proto::Module proto = proto_skeleton(
      parse_text("HloModule m\nENTRY %e {\n  ROOT %r = s32[3]{0} constant({1,2,3})\n}\n"));
  *root_of(proto).mutable_literal()->mutable_shape() = root_of(proto).shape();
  root_of(proto).mutable_literal()->add_s32s(1);
  EXPECT_THAT(message_of(proto), HasSubstr("twin.pb: computation e, instruction r: the literal "
                                           "holds 1 numbers, s32[3] expects 3"));
}

TEST(HloProto, WhatIsWrongIsNamedWithItsPlace) {
  const auto expect_message = [](void (*damage)(hlo_proto::Module&), const char* message) {
    hlo_proto::Module proto = proto_of(kPlain);
    damage(proto);
    EXPECT_THAT(message_of(proto), HasSubstr(message));
  };
  expect_message([](auto& m) { root_of(m).set_operand_ids(0, 99); },
                 "twin.pb: computation e, instruction r: operand 0: there is no instruction with "
                 "id 99");
  expect_message([](auto& m) { root_of(m).set_opcode("frobnicate"); },
                 "unknown opcode 'frobnicate'");
  expect_message([](auto& m) { m.mutable_computations(4)->set_root_id(-1); },
                 "computation e: there is no instruction with id -1, its root");
  expect_message(
      [](auto& m) {
        m.set_entry_computation_id(-1);
        m.set_entry_computation_name("x");
      },
      "the entry computation 'x' (id -1) is not in the module");
  expect_message([](auto& m) { *m.add_computations() = m.computations(0); }, "two computations");
  expect_message([](auto& m) { root_of(m).set_id(root_of(m).operand_ids(0)); }, "two instructions");
  expect_message([](auto& m) { root_of(m).mutable_shape()->set_element_type(77); },
                 "unknown element type 77");
  expect_message(
      [](auto& m) {
        for (int i = 0; i < 40; ++i) root_of(m).mutable_shape()->add_dimensions(1);
      },
      "at most 32 dimensions");
  expect_message([](auto& m) { root_of(m).add_control_predecessor_ids(98); },
                 "there is no instruction with id 98");
  expect_message([](auto& m) { root_of(m).mutable_shape()->set_dimensions(0, 5); },
                 "twin.pb (as HLO text)");
}

TEST(HloProto, NestingIsLimited) {
  hlo_proto::Module proto = proto_of(kPlain);
  hlo_proto::Shape* shape = root_of(proto).mutable_shape();
  for (int i = 0; i < 200; ++i) {
    shape->set_element_type(13);
    shape = shape->add_tuple_shapes();
  }
  EXPECT_THAT(message_of(proto), HasSubstr("nested more than 100 levels deep"));
}

TEST(HloProto, NamesBecomeLegalAndStayUnique) {
  hlo_proto::Module proto = proto_of(kPlain);
  root_of(proto).set_name("p");
  proto.mutable_computations(4)->mutable_instructions(0)->set_name("1/x");
  const Module module = read(proto);
  EXPECT_EQ(module.entry_computation().instructions[0].name, "_1_x");
  root_of(proto).set_name("1/x");
  EXPECT_EQ(read(proto).entry_computation().instructions[1].name, "_1_x.1");
}

TEST(HloProto, DamagedOnesAreAnsweredOrRefused) {
  std::vector<std::string> sources;
  for (const Twin& twin : kTwins) sources.push_back(proto_of(twin).SerializeAsString());
  support::expect_answer_or_error(sources, 20000, 1, [](const std::string& bytes) {
    const Module module = read_hlo_proto(bytes, "damaged.pb");
    EXPECT_EQ(print_hlo(parse_text(print_hlo(module))), print_hlo(module));
  });
}

}  // namespace
}  // namespace tilecast::ir
