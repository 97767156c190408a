#include <algorithm>

#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

using ir::Op;

struct ShapeFacts {
  ListValues output = missing_list(), parameter = missing_list();
  double output_rank = kMissing, output_minor = kMissing, output_dtype_bytes = kMissing;
  double parameter_rank = kMissing, parameter_minor = kMissing, parameter_dtype_bytes = kMissing;
  double batch = kMissing, m = kMissing, n = kMissing, k = kMissing;
  double lhs_minor_contracted = kMissing, rhs_minor_contracted = kMissing;
  double conv_batch = kMissing, conv_spatial = kMissing, conv_in = kMissing, conv_out = kMissing;
  double conv_window = kMissing, conv_stride = kMissing, conv_padding = kMissing;
  double conv_base_dilation = kMissing, conv_window_dilation = kMissing, conv_groups = kMissing;
  double reduce_size = kMissing, reduce_kept = kMissing, reduce_minor = kMissing;
  double reduce_dimensions = kMissing, window_size = kMissing, window_stride = kMissing;
};

using Rows = std::span<const ColumnRow<ShapeFacts>>;

constexpr auto kArrayRows = std::to_array<ColumnRow<ShapeFacts>>({
    column<&ShapeFacts::output>("shape.output", "1",
                                "Sizes of the largest output as laid out, most major first"),
    column<&ShapeFacts::output_rank>("shape.output_rank", "1",
                                     "Number of dimensions of the largest output."),
    column<&ShapeFacts::output_minor>("shape.output_minor", "1",
                                      "Elements next to each other in the largest output."),
    column<&ShapeFacts::output_dtype_bytes>("shape.output_dtype_bytes", "B",
                                            "Size of an element of the largest output."),
    column<&ShapeFacts::parameter>("shape.parameter", "1",
                                   "Sizes of the largest parameter as laid out, most major first"),
    column<&ShapeFacts::parameter_rank>("shape.parameter_rank", "1",
                                        "Number of dimensions of the largest parameter."),
    column<&ShapeFacts::parameter_minor>("shape.parameter_minor", "1",
                                         "Elements next to each other in the largest parameter."),
    column<&ShapeFacts::parameter_dtype_bytes>("shape.parameter_dtype_bytes", "B",
                                               "Size of an element of the largest parameter."),
});

constexpr auto kWorkRows = std::to_array<ColumnRow<ShapeFacts>>({
    column<&ShapeFacts::batch>("shape.matrix_batch", "1",
                               "Independent products of the dot or convolution with most work."),
    column<&ShapeFacts::m>("shape.matrix_m", "1",
                           "Rows of that product: of convolutions, output positions times batch."),
    column<&ShapeFacts::n>("shape.matrix_n", "1",
                           "Columns of that product: of convolutions, output features."),
    column<&ShapeFacts::k>(
        "shape.matrix_k", "1",
        "Terms of each sum of that product: of convolutions, window times input features."),
    column<&ShapeFacts::lhs_minor_contracted>(
        "shape.lhs_minor_contracted", "1",
        "1 if the elements next to each other in the left operand are summed over, else 0."),
    column<&ShapeFacts::rhs_minor_contracted>(
        "shape.rhs_minor_contracted", "1",
        "1 if the elements next to each other in the right operand are summed over, else 0."),
    column<&ShapeFacts::conv_batch>("shape.conv_batch", "1", "Batch of the convolution."),
    column<&ShapeFacts::conv_spatial>("shape.conv_spatial", "1",
                                      "Output positions of the convolution."),
    column<&ShapeFacts::conv_in>("shape.conv_in", "1",
                                 "Input features of one group of the convolution."),
    column<&ShapeFacts::conv_out>("shape.conv_out", "1", "Output features of the convolution."),
    column<&ShapeFacts::conv_window>("shape.conv_window", "1", "Positions of its window."),
    column<&ShapeFacts::conv_stride>("shape.conv_stride", "1",
                                     "Product of its strides over the dimensions."),
    column<&ShapeFacts::conv_padding>("shape.conv_padding", "1",
                                      "Sum of its padding, both sides of all dimensions."),
    column<&ShapeFacts::conv_base_dilation>("shape.conv_base_dilation", "1",
                                            "Product of its dilations of the input."),
    column<&ShapeFacts::conv_window_dilation>("shape.conv_window_dilation", "1",
                                              "Product of its dilations of the window."),
    column<&ShapeFacts::conv_groups>("shape.conv_groups", "1",
                                     "Groups of its features or of its batch."),
    column<&ShapeFacts::reduce_size>("shape.reduce_size", "1",
                                     "Elements that make one result of the largest reduction."),
    column<&ShapeFacts::reduce_kept>("shape.reduce_kept", "1", "Results of that reduction."),
    column<&ShapeFacts::reduce_dimensions>("shape.reduce_dimensions", "1",
                                           "Number of dimensions it reduces."),
    column<&ShapeFacts::reduce_minor>(
        "shape.reduce_minor", "1", "1 if it reduces elements that are next to each other, else 0."),
    column<&ShapeFacts::window_size>("shape.window_size", "1",
                                     "Positions of its window, where it is a window reduction."),
    column<&ShapeFacts::window_stride>("shape.window_stride", "1",
                                       "Product of the strides of that window."),
});

// Sizes as laid out, most major first.
ListValues physical_dims(const ir::Shape& shape) {
  const auto rank = static_cast<std::size_t>(shape.rank());
  const bool laid_out = shape.layout && shape.layout->minor_to_major.size() == rank;
  ListBuilder sizes(1);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto dim =
        laid_out ? static_cast<std::size_t>(shape.layout->minor_to_major[rank - 1 - i]) : i;
    sizes.add(std::max<std::int64_t>(shape.dims[dim], 0));
  }
  return sizes.values();
}

double dimension(const ir::Shape& shape, std::int64_t d) {
  return d < 0 || d >= shape.rank() ? 1 : static_cast<double>(shape.dims[d]);
}

bool contains(const ir::Dims& dimensions, std::int64_t d) {
  return std::ranges::find(dimensions, d) != dimensions.end();
}

double flag(bool value) {
  return value ? 1 : 0;
}

void set_convolution(const ir::ConvAttrs& attrs, const Op& op, const ir::Shape& rhs,
                     ShapeFacts& facts) {
  facts.conv_batch = dimension(op.shape, attrs.dims.output_batch);
  facts.conv_spatial = facts.conv_window = facts.conv_stride = 1;
  facts.conv_base_dilation = facts.conv_window_dilation = 1;
  facts.conv_padding = 0;
  for (const std::int64_t d : attrs.dims.output_spatial) {
    facts.conv_spatial *= dimension(op.shape, d);
  }
  for (const ir::WindowDim& d : attrs.window) {
    facts.conv_window *= static_cast<double>(d.size);
    facts.conv_stride *= static_cast<double>(d.stride);
    facts.conv_padding += static_cast<double>(d.pad_low) + static_cast<double>(d.pad_high);
    facts.conv_base_dilation *= static_cast<double>(d.base_dilation);
    facts.conv_window_dilation *= static_cast<double>(d.window_dilation);
  }
  facts.conv_in = dimension(rhs, attrs.dims.kernel_input_feature);
  facts.conv_out = dimension(op.shape, attrs.dims.output_feature);
  facts.conv_groups =
      static_cast<double>(std::max(attrs.feature_group_count, attrs.batch_group_count));
}

void set_matrix(const KernelScan& scan, ShapeFacts& facts) {
  const Op& op = *scan.matrix;
  const ir::Shape& lhs = scan.kernel->op(op.operands[0]).shape;
  const ir::Shape& rhs = scan.kernel->op(op.operands[1]).shape;
  facts.batch = scan.sizes.batch;
  facts.m = scan.sizes.m;
  facts.n = scan.sizes.n;
  facts.k = scan.sizes.k;
  if (const auto* conv = op.get<ir::ConvAttrs>()) {
    facts.lhs_minor_contracted = flag(minor_dimension(lhs) == conv->dims.input_feature);
    facts.rhs_minor_contracted = flag(minor_dimension(rhs) != conv->dims.kernel_output_feature);
    set_convolution(*conv, op, rhs, facts);
  } else if (const auto* dot = op.get<ir::DotAttrs>()) {
    facts.lhs_minor_contracted = flag(contains(dot->dims.lhs_contracting, minor_dimension(lhs)));
    facts.rhs_minor_contracted = flag(contains(dot->dims.rhs_contracting, minor_dimension(rhs)));
  }
}

// Of a variadic reduction, the elements of one result.
double result_elements(const ir::Shape& shape) {
  return elements_of(shape.is_tuple() && !shape.elements.empty() ? shape.elements[0] : shape);
}

void set_reduction(const KernelScan& scan, ShapeFacts& facts) {
  const Op& op = *scan.reduction;
  if (op.operands.empty()) return;
  const ir::Shape& from = scan.kernel->op(op.operands[0]).shape;
  facts.reduce_kept = result_elements(op.shape);
  if (const auto* attrs = op.get<ir::WindowAttrs>()) {
    facts.window_size = facts.window_stride = 1;
    facts.reduce_dimensions = 0;
    for (std::size_t d = 0; d < attrs->window.size(); ++d) {
      const ir::WindowDim& window = attrs->window[d];
      facts.window_size *= static_cast<double>(window.size);
      facts.window_stride *= static_cast<double>(window.stride);
      facts.reduce_dimensions += flag(window.size > 1);
      if (static_cast<int>(d) == minor_dimension(from)) facts.reduce_minor = flag(window.size > 1);
    }
    facts.reduce_size = facts.window_size;
    return;
  }
  facts.reduce_size = ratio(elements_of(from), facts.reduce_kept);
  facts.reduce_dimensions = static_cast<double>(op.dimensions.size());
  facts.reduce_minor = flag(contains(op.dimensions, minor_dimension(from)));
}

ShapeFacts facts_of_shapes(const KernelScan& scan) {
  ShapeFacts facts;
  if (scan.largest_output != nullptr) {
    const ir::Shape& shape = scan.largest_output->shape;
    facts.output = physical_dims(shape);
    facts.output_rank = shape.rank();
    facts.output_minor = minor_size(shape);
    facts.output_dtype_bytes = ir::storage_bytes(shape.dtype);
  }
  if (scan.largest_parameter != nullptr) {
    const ir::Shape& shape = scan.largest_parameter->shape;
    facts.parameter = physical_dims(shape);
    facts.parameter_rank = shape.rank();
    facts.parameter_minor = minor_size(shape);
    facts.parameter_dtype_bytes = ir::storage_bytes(shape.dtype);
  }
  if (scan.matrix != nullptr) set_matrix(scan, facts);
  if (scan.reduction != nullptr) set_reduction(scan, facts);
  return facts;
}

}  // namespace

void shape_columns(std::vector<FeatureColumn>& columns) {
  append_columns(Rows(kArrayRows), FeatureGroup::kShape, columns);
  append_columns(Rows(kWorkRows), FeatureGroup::kShape, columns);
}

std::size_t write_shape(const KernelScan& scan, std::span<float> out) {
  const ShapeFacts facts = facts_of_shapes(scan);
  const std::size_t arrays = write_columns(Rows(kArrayRows), facts, out);
  return arrays + write_columns(Rows(kWorkRows), facts, out.subspan(arrays));
}

}  // namespace tilecast::learned
