// Result shape of convolution.
#include "ir/infer/infer_rules.h"

namespace tilecast::ir::infer {
namespace {

struct Convolution {
  const Shape& lhs;
  const Shape& rhs;
  const ConvAttrs& attrs;

  [[nodiscard]] std::string str() const {
    return fmt::format("got <conv>({}, {}) Dimension numbers: {{{}}}", human(lhs), human(rhs),
                       attrs.dims.text);
  }
  [[nodiscard]] std::int64_t lhs_size(std::int64_t dim) const {
    return lhs.dims[static_cast<std::size_t>(dim)];
  }
  [[nodiscard]] std::int64_t rhs_size(std::int64_t dim) const {
    return rhs.dims[static_cast<std::size_t>(dim)];
  }
};

void check_ranks(const Convolution& conv) {
  const ConvDims& dims = conv.attrs.dims;
  const std::size_t spatial = dims.input_spatial.size();
  fail_if(dims.kernel_spatial.size() != spatial,
          "Both arguments to convolution must have same number of dimensions. Numbers: {}",
          dims.text);
  fail_if(dims.output_spatial.size() != spatial,
          "Both input and output of convolution must have same number of dimensions. Numbers: {}",
          dims.text);
  fail_if(conv.attrs.window.size() != spatial,
          "Window must have same number of dimensions as dimension numbers. Window: {} Dimension "
          "numbers: {}.",
          conv.attrs.window.size(), dims.text);
  fail_if(conv.lhs.dims.size() != spatial + 2,
          "The LHS argument to a convolution should have rank {}; lhs: {}.", spatial + 2,
          human(conv.lhs));
  fail_if(conv.rhs.dims.size() != spatial + 2,
          "The RHS argument to a convolution should have rank {}; rhs: {}.", spatial + 2,
          human(conv.rhs));
}

void check_labels(const ConvDims& dims, const Dims& spatial, int first, int second,
                  std::string_view what) {
  Dims all = spatial;
  all.push_back(first);
  all.push_back(second);
  const auto rank = static_cast<int>(all.size());
  for (const std::int64_t dim : all) {
    fail_if(dim < 0 || dim >= rank, "A dimension number is out of range in convolution: {}.",
            dims.text);
  }
  fail_if(!is_permutation(all, rank),
          "{} dimensions of convolution must contain each dimension exactly once: {}.", what,
          dims.text);
}

void check_groups(const Convolution& conv) {
  const std::int64_t features = conv.attrs.feature_group_count;
  const std::int64_t batches = conv.attrs.batch_group_count;
  fail_if(features <= 0, "feature_group_count must be a positive number, got {}", features);
  fail_if(batches <= 0, "batch_group_count must be a positive number, got {}", batches);
  fail_if(batches > 1 && features > 1,
          "both batch_group_count {} and feature_group_count {} cannot be greater than 1", batches,
          features);
}

void check_feature_sizes(const Convolution& conv) {
  const ConvDims& dims = conv.attrs.dims;
  const std::int64_t groups = conv.attrs.feature_group_count;
  const std::int64_t batch_groups = conv.attrs.batch_group_count;
  const std::int64_t input_features = conv.lhs_size(dims.input_feature);
  const std::int64_t kernel_in = conv.rhs_size(dims.kernel_input_feature);
  const std::int64_t kernel_out = conv.rhs_size(dims.kernel_output_feature);
  fail_if(kernel_out % batch_groups != 0,
          "Expected output feature dimension size (value {}) to be a multiple of batch group count "
          "{}; {}.",
          kernel_out, batch_groups, conv);
  fail_if(
      input_features % groups != 0 || input_features / groups != kernel_in,
      "Expected LHS feature dimension (value {}) to be a multiple of feature_group_count (value "
      "{}), and LHS feature dimension / feature_group_count = RHS feature dimension (value {}); "
      "{}.",
      input_features, groups, kernel_in, conv);
  fail_if(kernel_out % groups != 0,
          "Expected output feature dimension (value {}) to be divisible by feature_group_count "
          "(value {}); {}.",
          kernel_out, groups, conv);
  fail_if(conv.lhs_size(dims.input_batch) % batch_groups != 0,
          "Expected input batch dimension (value {}) to be divisible by batch_group_count (value "
          "{}); {}.",
          conv.lhs_size(dims.input_batch), batch_groups, conv);
}

}  // namespace

Shape convolution(const Site& site) {
  const Convolution conv{site.operand(0), site.operand(1), site.attrs<ConvAttrs>()};
  const ConvDims& dims = conv.attrs.dims;
  expect_array(conv.lhs, "lhs of convolution");
  expect_array(conv.rhs, "rhs of convolution");
  check_groups(conv);
  check_ranks(conv);
  check_labels(dims, dims.input_spatial, dims.input_batch, dims.input_feature, "Input");
  check_labels(dims, dims.kernel_spatial, dims.kernel_input_feature, dims.kernel_output_feature,
               "Window");
  check_labels(dims, dims.output_spatial, dims.output_batch, dims.output_feature, "Output");
  check_feature_sizes(conv);
  Shape base;
  for (std::size_t i = 0; i < dims.kernel_spatial.size(); ++i) {
    fail_if(conv.rhs_size(dims.kernel_spatial[i]) != conv.attrs.window[i].size,
            "Window dimensions do not match RHS shape: RHS shape: {} Window size: {} {}.",
            human(conv.rhs), conv.attrs.window[i].size, conv);
    append_dim(base, conv.lhs, static_cast<int>(dims.input_spatial[i]));
  }
  const Shape windowed = window_output(base, conv.attrs.window, conv.lhs.dtype);
  Shape result = Shape::array(product_type(site), Dims(conv.lhs.dims.size()));
  const auto set = [&result](std::int64_t dim, std::int64_t size, bool dynamic) {
    result.dims[static_cast<std::size_t>(dim)] = size;
    if (dynamic) result.set_dynamic(static_cast<int>(dim));
  };
  set(dims.output_batch, conv.lhs_size(dims.input_batch) / conv.attrs.batch_group_count,
      conv.lhs.is_dynamic(dims.input_batch));
  set(dims.output_feature, conv.rhs_size(dims.kernel_output_feature), false);
  for (std::size_t i = 0; i < dims.output_spatial.size(); ++i) {
    set(dims.output_spatial[i], windowed.dims[i], windowed.is_dynamic(static_cast<int>(i)));
  }
  return result;
}

}  // namespace tilecast::ir::infer
