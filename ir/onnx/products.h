// Matrix products and convolutions, shared by several ops.
#pragma once

#include "ir/onnx/node_site.h"

namespace tilecast::ir::onnx_reader {

// NumPy's matmul: leading dimensions broadcast, vectors are rows or columns. `type`: accumulator
// type.
[[nodiscard]] Term matmul(Term a, Term b, DType type = DType::kInvalid);
// The window of Conv and pools, from the attributes kernel_shape, strides, pads, dilations and
// auto_pad. `sizes`: the input's spatial sizes; `kernel`: the window's sizes if kernel_shape is
// absent.
[[nodiscard]] Window window_of(const NodeSite& site, const Dims& sizes, const Dims& kernel);
// Convolution of an NC... input with an OI... kernel; `type`: accumulator type.
[[nodiscard]] Term convolution(Term x, Term w, Window window, std::int64_t groups,
                               DType type = DType::kInvalid);
// `transposed_kernel`: the kernel is IO..., as in ConvTranspose.
[[nodiscard]] ConvDims conv_dims(std::size_t spatial, bool transposed_kernel = false);
[[nodiscard]] Dims spatial_dims(Term x);
[[nodiscard]] Term scaled_softmax(Term x, std::int64_t axis);

}  // namespace tilecast::ir::onnx_reader
