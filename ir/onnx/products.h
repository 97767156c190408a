// Matrix products and convolutions that several ops share.
#pragma once

#include "ir/onnx/node_site.h"

namespace tilecast::ir::onnx_reader {

// NumPy's matmul: leading dimensions broadcast, vectors are rows or columns. `type`: of the sums.
[[nodiscard]] Term matmul(Term a, Term b, DType type = DType::kInvalid);
// Window attributes of Conv and pools: kernel_shape, strides, pads, dilations, auto_pad. `sizes`:
// of the input's spatial dimensions; `kernel`: sizes where kernel_shape is not given.
[[nodiscard]] Window window_of(const NodeSite& site, const Dims& sizes, const Dims& kernel);
// Convolution of NC... by OI... kernels; `type`: of the sums.
[[nodiscard]] Term convolution(Term x, Term w, Window window, std::int64_t groups,
                               DType type = DType::kInvalid);
// `transposed_kernel`: it is IO... as ConvTranspose has it.
[[nodiscard]] ConvDims conv_dims(std::size_t spatial, bool transposed_kernel = false);
[[nodiscard]] Dims spatial_dims(Term x);
[[nodiscard]] Term scaled_softmax(Term x, std::int64_t axis);

}  // namespace tilecast::ir::onnx_reader
