// The attributes of HLO instructions as typed values, named as in HLO text: one struct per kind of
// attribute. ir/op_attrs.h holds one of them. Plain values; other attributes stay raw text in
// ir/hlo.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/op_kinds.h"
#include "ir/shape.h"

namespace tilecast::ir {

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
  bool elided = false;                 // `{...}`: contents unknown
  bool is_integer = false;             // values fit `integers`
  std::vector<std::int64_t> integers;  // small integral or pred constants, row-major (<= 64 kept)
  std::string text;                    // canonical text, for printing
};

struct ParameterAttrs {
  std::int64_t number = 0;
  std::string replication;
};
struct ConstantAttrs {
  Literal literal;
};
struct IndexAttrs {
  std::int64_t index = 0;
};  // get-tuple-element, iota, topk k ...
struct DotAttrs {
  DotDims dims;
  std::string algorithm;
  std::vector<std::string> precision;
};
struct ConvAttrs {
  Window window;
  ConvDims dims;
  std::int64_t feature_group_count = 1, batch_group_count = 1;
  std::vector<std::string> precision;
};
struct WindowAttrs {
  Window window;
};  // reduce-window, select-and-scatter
struct SliceAttrs {
  std::vector<SliceDim> dims;
};
struct PadAttrs {
  std::vector<PadDim> dims;
};
struct DynamicSliceAttrs {
  Dims sizes;
};
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
struct CompareAttrs {
  std::string direction, type;
};
enum class FusionKind : std::uint8_t { kLoop, kInput, kOutput, kCustom };
struct FusionAttrs {
  FusionKind kind = FusionKind::kLoop;
};
struct CollectiveAttrs {
  ReplicaGroups groups;
  std::vector<std::pair<std::int64_t, std::int64_t>> source_target_pairs;
  std::int64_t channel_id = 0;  // 0 = none
  bool use_global_device_ids = false, constrain_layout = false, is_host_transfer = false;
  // What the host does with a transfer in a kernel (ir/collective_groups.h): `over_slices` between
  // so many slices; 0: nothing.
  std::int64_t slices = 0;
  Exchange over_slices = Exchange::kNone;
};
struct CustomCallAttrs {
  std::string target;
  Window window;
  std::optional<ConvDims> dims;
  std::int64_t feature_group_count = 1, batch_group_count = 1;
  bool has_side_effect = false;
};
struct FftAttrs {
  std::string type;
  Dims length;
};
struct TriangularAttrs {
  bool left_side = false, lower = false, unit_diagonal = false;
  std::string transpose_a;
};
struct BatchNormAttrs {
  double epsilon = 0;
  std::int64_t feature_index = 0;
};
struct AsyncAttrs {
  std::string execution_thread;
};

}  // namespace tilecast::ir
