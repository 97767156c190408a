#include <algorithm>

#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

using ir::Op;
using Text = Columns::Text;

double flag(bool value) {
  return value ? 1 : 0;
}

// Sizes in layout order, most major first.
ir::Dims physical_dims(const ir::Shape& shape) {
  const auto rank = static_cast<std::size_t>(shape.rank());
  const bool laid_out = shape.layout && shape.layout->minor_to_major.size() == rank;
  ir::Dims sizes;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto dim =
        laid_out ? static_cast<std::size_t>(shape.layout->minor_to_major[rank - 1 - i]) : i;
    sizes.push_back(std::max<std::int64_t>(shape.dims[dim], 0));
  }
  return sizes;
}

struct ArrayTexts {
  Text sizes, rank, minor, dtype;
};
constexpr ArrayTexts kOutput = {
    {"output", "Sizes of the largest output as laid out, most major first."},
    {"output_rank", "Number of dimensions of the largest output."},
    {"output_minor", "Elements next to each other in the largest output."},
    {"output_dtype_bytes", "Size of an element of the largest output.", "B"}};
constexpr ArrayTexts kParameter = {
    {"parameter", "Sizes of the largest parameter as laid out, most major first."},
    {"parameter_rank", "Number of dimensions of the largest parameter."},
    {"parameter_minor", "Elements next to each other in the largest parameter."},
    {"parameter_dtype_bytes", "Size of an element of the largest parameter.", "B"}};

void array_columns(const ArrayTexts& texts, const Op* op, Columns& to) {
  if (op == nullptr) {
    to.list(texts.sizes, nullptr, kListEntries, 1);
    for (const Text& text : {texts.rank, texts.minor, texts.dtype}) to.value(text, kMissing);
    return;
  }
  to.list(texts.sizes, physical_dims(op->shape), kListEntries, 1);
  to.value(texts.rank, op->shape.rank());
  to.value(texts.minor, minor_size(op->shape));
  to.value(texts.dtype, ir::storage_bytes(op->shape.dtype));
}

void matrix_columns(const KernelScan& scan, Columns& to) {
  double lhs_contracted = kMissing, rhs_contracted = kMissing;
  if (scan.matrix != nullptr) {
    const int lhs = minor_dimension(scan.kernel->op(scan.matrix->operands[0]).shape);
    const int rhs = minor_dimension(scan.kernel->op(scan.matrix->operands[1]).shape);
    if (const auto* conv = scan.matrix->get<ir::ConvAttrs>()) {
      lhs_contracted = flag(lhs == conv->dims.input_feature);
      rhs_contracted = flag(rhs != conv->dims.kernel_output_feature);
    } else if (const auto* dot = scan.matrix->get<ir::DotAttrs>()) {
      lhs_contracted = flag(contains(dot->dims.lhs_contracting, lhs));
      rhs_contracted = flag(contains(dot->dims.rhs_contracting, rhs));
    }
  }
  const auto value = [&](const Text& text, double number) {
    to.value(text, scan.matrix == nullptr ? kMissing : number);
  };
  value({"matrix_batch", "Independent products of the dot or convolution with most work."},
        scan.sizes.batch);
  value({"matrix_m", "Rows of that product: of convolutions, output positions times batch."},
        scan.sizes.m);
  value({"matrix_n", "Columns of that product: of convolutions, output features."}, scan.sizes.n);
  value({"matrix_k",
         "Terms of each sum of that product: of convolutions, window times input features."},
        scan.sizes.k);
  value({"lhs_minor_contracted",
         "1 if the elements next to each other in the left operand are summed over, else 0."},
        lhs_contracted);
  value({"rhs_minor_contracted",
         "1 if the elements next to each other in the right operand are summed over, else 0."},
        rhs_contracted);
}

// The product over the window's dimensions; the sum of padding.
struct WindowFacts {
  double size = 1, stride = 1, padding = 0, base_dilation = 1, dilation = 1;

  explicit WindowFacts(const ir::Window& window) {
    for (const ir::WindowDim& d : window) {
      size *= static_cast<double>(d.size);
      stride *= static_cast<double>(d.stride);
      padding += static_cast<double>(d.pad_low) + static_cast<double>(d.pad_high);
      base_dilation *= static_cast<double>(d.base_dilation);
      dilation *= static_cast<double>(d.window_dilation);
    }
  }
};

void convolution_columns(const KernelScan& scan, Columns& to) {
  static const ir::ConvAttrs kNone;
  const auto* found = scan.matrix == nullptr ? nullptr : scan.matrix->get<ir::ConvAttrs>();
  const ir::ConvAttrs& conv = found == nullptr ? kNone : *found;
  const ir::Shape none;
  const ir::Shape& out = found == nullptr ? none : scan.matrix->shape;
  const ir::Shape& rhs = found == nullptr ? none : scan.kernel->op(scan.matrix->operands[1]).shape;
  const WindowFacts window(conv.window);
  double spatial = 1;
  for (const std::int64_t d : conv.dims.output_spatial) spatial *= dimension_size(out, d);
  const auto value = [&](const Text& text, double number) {
    to.value(text, found == nullptr ? kMissing : number);
  };
  value({"conv_batch", "Batch of the convolution."}, dimension_size(out, conv.dims.output_batch));
  value({"conv_spatial", "Output positions of the convolution."}, spatial);
  value({"conv_in", "Input features of one group of the convolution."},
        dimension_size(rhs, conv.dims.kernel_input_feature));
  value({"conv_out", "Output features of the convolution."},
        dimension_size(out, conv.dims.output_feature));
  value({"conv_window", "Positions of its window."}, window.size);
  value({"conv_stride", "Product of its strides over the dimensions."}, window.stride);
  value({"conv_padding", "Sum of its padding, both sides of all dimensions."}, window.padding);
  value({"conv_base_dilation", "Product of its dilations of the input."}, window.base_dilation);
  value({"conv_window_dilation", "Product of its dilations of the window."}, window.dilation);
  value({"conv_groups", "Groups of its features or of its batch."},
        static_cast<double>(std::max(conv.feature_group_count, conv.batch_group_count)));
}

struct ReductionFacts {
  double size = kMissing, kept = kMissing, dimensions = kMissing, minor = kMissing;
  double window_size = kMissing, window_stride = kMissing;

  explicit ReductionFacts(const KernelScan& scan) {
    if (scan.reduction == nullptr || scan.reduction->operands.empty()) return;
    const Op& op = *scan.reduction;
    const ir::Shape& from = scan.kernel->op(op.operands[0]).shape;
    const bool several = op.shape.is_tuple() && !op.shape.elements.empty();
    kept = elements_of(several ? op.shape.elements[0] : op.shape);  // elements of one result
    if (const auto* attrs = op.get<ir::WindowAttrs>()) {
      const WindowFacts window(attrs->window);
      size = window_size = window.size;
      window_stride = window.stride;
      dimensions = 0;
      for (std::size_t d = 0; d < attrs->window.size(); ++d) {
        const bool reduces = attrs->window[d].size > 1;
        dimensions += flag(reduces);
        if (static_cast<int>(d) == minor_dimension(from)) minor = flag(reduces);
      }
      return;
    }
    size = ratio(elements_of(from), kept);
    dimensions = static_cast<double>(op.dimensions.size());
    minor = flag(contains(op.dimensions, minor_dimension(from)));
  }
};

void reduction_columns(const KernelScan& scan, Columns& to) {
  const ReductionFacts facts(scan);
  to.value({"reduce_size", "Elements that make one result of the largest reduction."}, facts.size);
  to.value({"reduce_kept", "Results of that reduction."}, facts.kept);
  to.value({"reduce_dimensions", "Number of dimensions it reduces."}, facts.dimensions);
  to.value({"reduce_minor", "1 if it reduces elements that are next to each other, else 0."},
           facts.minor);
  to.value({"window_size", "Positions of its window, where it is a window reduction."},
           facts.window_size);
  to.value({"window_stride", "Product of the strides of that window."}, facts.window_stride);
}

}  // namespace

void shape_columns(const KernelScan& scan, Columns& to) {
  array_columns(kOutput, scan.largest_output, to);
  array_columns(kParameter, scan.largest_parameter, to);
  matrix_columns(scan, to);
  convolution_columns(scan, to);
  reduction_columns(scan, to);
}

}  // namespace tilecast::learned
