// An HLO module as data: computations of instructions, exactly what the text says.
//
// Parsed by ir/hlo_parser.h, checked by ir/verifier.h, printed by ir/hlo_printer.h. A module is not
// changed after it was verified, except through the named transformations (ir/fusion.h,
// ir/layout_assignment.h), which return a new one. Reading from several threads is safe.
// Instruction ids index `Computation::instructions`; textual order is kept.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "diag/strong_id.h"
#include "ir/op.h"
#include "ir/shape.h"

namespace tilecast::ir {

using InstrId = StrongId<struct InstrTag>;
using ComputationId = StrongId<struct ComputationTag>;

// ---- attribute values (specs/hlo.md 2.5) ------------------------------------------------------

struct WindowDim {
  std::int64_t size = 1, stride = 1, pad_low = 0, pad_high = 0;
  std::int64_t base_dilation = 1;    // lhs_dilate
  std::int64_t window_dilation = 1;  // rhs_dilate
  bool reversal = false;
  friend bool operator==(const WindowDim&, const WindowDim&) = default;
};
using Window = std::vector<WindowDim>;

// dim_labels `b01f_01io->b01f`; positions are dimension numbers, -1 where a label is absent.
struct ConvDims {
  int input_batch = -1, input_feature = -1;
  int kernel_input_feature = -1, kernel_output_feature = -1;
  int output_batch = -1, output_feature = -1;
  Dims input_spatial, kernel_spatial, output_spatial;
  std::string text;  // as written, for printing (holds `?` labels)
};

struct DotDims {
  Dims lhs_contracting, rhs_contracting, lhs_batch, rhs_batch;
  Dims lhs_ragged, rhs_group;  // ragged-dot
};

struct PadDim {
  std::int64_t low = 0, high = 0, interior = 0;
};
struct SliceDim {
  std::int64_t start = 0, limit = 0, stride = 1;
};

// `{{0,1},{2,3}}`, `{}` (all devices in one group) or `[2,10]<=[20]`.
struct ReplicaGroups {
  std::vector<std::vector<std::int64_t>> groups;  // expanded; empty = all devices
  std::string text;                               // as written
};

struct Literal {
  bool elided = false;                // `{...}`: contents unknown
  bool is_integer = false;            // values fit `integers`
  std::vector<std::int64_t> integers;  // small integral or pred constants, row-major (<= 64 kept)
  std::string text;                   // canonical text, for printing
};

// ---- opcode-specific attributes ----------------------------------------------------------------

struct ParameterAttrs { std::int64_t number = 0; std::string replication; };
struct ConstantAttrs { Literal literal; };
struct IndexAttrs { std::int64_t index = 0; };         // get-tuple-element, iota, topk k ...
struct DotAttrs { DotDims dims; std::string algorithm; std::vector<std::string> precision; };
struct ConvAttrs {
  Window window;
  ConvDims dims;
  std::int64_t feature_group_count = 1, batch_group_count = 1;
  std::vector<std::string> precision;
};
struct WindowAttrs { Window window; };                 // reduce-window, select-and-scatter
struct SliceAttrs { std::vector<SliceDim> dims; };
struct PadAttrs { std::vector<PadDim> dims; };
struct DynamicSliceAttrs { Dims sizes; };
struct GatherAttrs {
  Dims offset_dims, collapsed_slice_dims, start_index_map, slice_sizes;
  Dims operand_batching_dims, start_indices_batching_dims;
  std::int64_t index_vector_dim = 0;
};
struct ScatterAttrs {
  Dims update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims;
  Dims input_batching_dims, scatter_indices_batching_dims;
  std::int64_t index_vector_dim = 0;
};
struct CompareAttrs { std::string direction, type; };
enum class FusionKind : std::uint8_t { kLoop, kInput, kOutput, kCustom };
struct FusionAttrs { FusionKind kind = FusionKind::kLoop; };
struct CollectiveAttrs {
  ReplicaGroups groups;
  std::vector<std::pair<std::int64_t, std::int64_t>> source_target_pairs;
  std::int64_t channel_id = 0;  // 0 = none
  bool use_global_device_ids = false, constrain_layout = false, is_host_transfer = false;
};
struct CustomCallAttrs {
  std::string target;
  Window window;
  std::optional<ConvDims> dims;
  std::int64_t feature_group_count = 1, batch_group_count = 1;
  bool has_side_effect = false;
};
struct FftAttrs { std::string type; Dims length; };
struct TriangularAttrs { bool left_side = false, lower = false, unit_diagonal = false; std::string transpose_a; };
struct BatchNormAttrs { double epsilon = 0; std::int64_t feature_index = 0; };
struct AsyncAttrs { std::string execution_thread; };

using OpAttrs =
    std::variant<std::monostate, ParameterAttrs, ConstantAttrs, IndexAttrs, DotAttrs, ConvAttrs,
                 WindowAttrs, SliceAttrs, PadAttrs, DynamicSliceAttrs, GatherAttrs, ScatterAttrs,
                 CompareAttrs, FusionAttrs, CollectiveAttrs, CustomCallAttrs, FftAttrs,
                 TriangularAttrs, BatchNormAttrs, AsyncAttrs>;

// An attribute kept as its raw value: printing order is decided by the printer.
struct RawAttr {
  std::string key;
  std::string value;  // exactly as written, after `key=`
};

// output_to_operand_aliasing and input_output_alias entries.
struct Alias {
  Dims output_index;
  std::int64_t operand = 0;  // operand or parameter number
  Dims operand_index;
  bool must_alias = false;
};

struct Instruction {
  std::string name;  // without `%`
  Opcode opcode = Opcode::kParameter;
  Shape shape;
  std::vector<InstrId> operands;
  Dims dimensions;  // `dimensions={...}` of broadcast, reduce, transpose, concatenate, sort ...
  OpAttrs attrs;
  // Computations in attribute order: while {condition, body}; reduce, map, call {to_apply};
  // fusion, async-start {calls}; select-and-scatter {select, scatter}; conditional: branches
  // (predicated: true first).
  std::vector<ComputationId> called;
  std::vector<InstrId> control_predecessors;
  std::vector<Alias> aliasing;      // output_to_operand_aliasing
  std::string backend_config;       // raw text; empty = none
  std::string metadata;             // raw text inside {}; see op_name()
  std::vector<RawAttr> raw;         // everything else: sharding, frontend_attributes, origin ...
  std::size_t offset = 0;           // where the name stands in the source text

  template <class T>
  [[nodiscard]] const T& as() const { return std::get<T>(attrs); }
  template <class T>
  [[nodiscard]] const T* get() const { return std::get_if<T>(&attrs); }
  [[nodiscard]] const std::string* find_raw(std::string_view key) const;
  [[nodiscard]] std::string_view op_name() const;  // from metadata; "" when absent
};

struct Computation {
  std::string name;
  std::vector<Instruction> instructions;
  std::vector<InstrId> parameters;  // by parameter number
  InstrId root;
  std::string execution_thread;     // "" or "main" = main

  [[nodiscard]] const Instruction& at(InstrId id) const { return instructions[id.index()]; }
  [[nodiscard]] const Instruction& root_instruction() const { return at(root); }
};

struct Module {
  std::string name;
  std::string file;  // where it was read from, for messages
  std::vector<Computation> computations;  // callees before callers
  ComputationId entry;
  bool is_scheduled = false;
  std::int64_t replica_count = 1, num_partitions = 1;
  std::vector<Shape> entry_parameter_layouts;  // empty = none given
  std::optional<Shape> entry_result_layout;
  std::vector<Alias> input_output_alias;
  std::vector<RawAttr> raw;                    // other header attributes
  std::vector<std::string> warnings;           // lenient reading: what was kept but not understood

  [[nodiscard]] const Computation& at(ComputationId id) const { return computations[id.index()]; }
  [[nodiscard]] const Computation& entry_computation() const { return at(entry); }
};

}  // namespace tilecast::ir
