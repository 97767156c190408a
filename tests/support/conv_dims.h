// Dimension numbers of two-dimensional convolutions, for kernels that tests build by hand.
#pragma once

#include "ir/hlo_attributes.h"

namespace tilecast::support {

// Images and results [batch, rows, columns, features], filters [rows, columns, in, out].
inline ir::ConvDims channels_last() {
  return {.input_batch = 0,
          .input_feature = 3,
          .kernel_input_feature = 2,
          .kernel_output_feature = 3,
          .output_batch = 0,
          .output_feature = 3,
          .input_spatial = {1, 2},
          .kernel_spatial = {0, 1},
          .output_spatial = {1, 2},
          .text = "b01f_01io->b01f"};
}

}  // namespace tilecast::support
