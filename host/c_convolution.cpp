// Convolutions: the input packed in padded and dilated coordinates to x[group][batch][spatial
// ...][c], the weights to w[group][window ...][c][f], the result to [batch][spatial ...][f]; one
// matrix product per window position (positions along the last window dimension are merged into the
// depth if they are contiguous).
#include <fmt/format.h>

#include <algorithm>

#include "host/c_matrix.h"
#include "host/c_types.h"

namespace tilecast::host {
namespace {

using ir::ConvAttrs;
using ir::Dims;
using ir::Op;
using ir::OpId;

struct Convolution {
  const Op* op = nullptr;
  const ConvAttrs* attrs = nullptr;
  std::vector<const PassLoop*> split;
  std::vector<BoxDim> window;    // window positions, by spatial dimension
  BoxDim group, depth, columns;  // depth, columns: within a group
  BoxDim features;               // features of the result: those of the box, or all of its groups
  std::int64_t groups = 1, group_depth = 1, group_columns = 1, group_batch = 0;
  bool channelwise = false;  // one input and one output channel per group
  bool skinny = false;       // vectors run along the depth

  [[nodiscard]] std::size_t spatial() const { return attrs->window.size(); }
};

BoxDim whole(std::int64_t size) {
  return {0, size, size};
}

BoxDim piece_or_whole(Pass& pass, Convolution& conv, int loop, std::int64_t size) {
  PassLoop* own = pass.split_loop(loop);
  if (own == nullptr) return whole(size);
  own->used = true;
  conv.split.push_back(own);
  return {own->start, own->size, own->tile.step};
}

void cut_window(Pass& pass, OpId id, Convolution& conv) {
  const ir::Shape& weights = pass.op(conv.op->operands[1]).shape;
  const auto& matrix = pass.space().matrix;
  const bool anchor = matrix && pass.space().anchor == id;
  for (std::size_t i = 0; i < conv.spatial(); ++i) {
    const int loop = anchor && i < matrix->positions.size() ? matrix->positions[i] : -1;
    const std::int64_t size = weights.dims[at(conv.attrs->dims.kernel_spatial[i])];
    conv.window.push_back(piece_or_whole(pass, conv, loop, size));
  }
  const int loop = anchor && !matrix->contraction.empty() ? matrix->contraction[0] : -1;
  conv.depth = piece_or_whole(pass, conv, loop, conv.group_depth);
}

// Finds the groups that the columns of the box belong to.
void cut_groups(Pass& pass, const Box& box, Convolution& conv) {
  const BoxDim& features = box[at(conv.attrs->dims.output_feature)];
  conv.group = whole(1);
  conv.columns = features;
  conv.features = features;
  if (conv.groups == 1) return;
  const std::int64_t each = conv.group_columns;
  if (conv.channelwise) {
    conv.group = features;
    conv.columns = whole(1);
  } else if (divides(each, features.start) && divides(each, features.size)) {
    conv.group = {features.start / each, features.size / each, features.largest / each};
    conv.columns = whole(each);
  } else if (each % features.largest == 0 && divides(features.largest, features.start)) {
    conv.group = {pass.divided(features.start, each), 1, 1};
    conv.columns.start = features.start - conv.group.start * each;
  } else {  // whole groups, including features that the tile does not need
    const std::int64_t count = std::min((features.largest + each - 2) / each + 1, conv.groups);
    const Index first = pass.divided(features.start, each);
    const Index start =
        pass.definition({0, conv.groups - count},
                        fmt::format("tc_smaller({}, {})", first.text(), conv.groups - count),
                        pass.symbols().loops(first));
    conv.group = {start, count, count};
    conv.columns = whole(each);
    conv.features = {start * each, count * each, count * each};
  }
}

PackSpec input_spec(Pass& pass, const Box& box, const Convolution& conv, const std::string& type) {
  const ConvAttrs& attrs = *conv.attrs;
  const ir::Shape& input = pass.op(conv.op->operands[0]).shape;
  Piece piece{.op = conv.op->operands[0], .dims = {}, .base = Dims(input.dims.size(), 0)};
  const int feature = attrs.dims.input_feature, batch = attrs.dims.input_batch;
  const bool by_batch = attrs.batch_group_count > 1;
  if (!conv.channelwise || by_batch) {
    piece.dims.push_back({.box = conv.group,
                          .op_dim = by_batch ? batch : feature,
                          .scale = by_batch ? conv.group_batch : conv.group_depth});
  }
  piece.dims.push_back({.box = box[at(attrs.dims.output_batch)], .op_dim = batch});
  for (std::size_t i = 0; i < conv.spatial(); ++i) {
    const ir::WindowDim& w = attrs.window[i];
    const BoxDim& out = box[at(attrs.dims.output_spatial[i])];
    const BoxDim& in = conv.window[i];
    const auto dim = static_cast<int>(attrs.dims.input_spatial[i]);
    const std::int64_t reach = (in.largest - 1) * w.window_dilation + 1;
    piece.dims.push_back({.box = {out.start * w.stride + in.start * w.window_dilation,
                                  (out.size - 1) * w.stride + (in.size - 1) * w.window_dilation + 1,
                                  (out.largest - 1) * w.stride + reach},
                          .op_dim = dim,
                          .border = Border{w.pad_low, w.base_dilation, input.dims[at(dim)]}});
  }
  piece.dims.push_back(conv.channelwise && !by_batch
                           ? PackDim{.box = conv.group, .op_dim = feature}
                           : PackDim{.box = conv.depth, .op_dim = feature});
  return {
      .type = type, .pieces = {std::move(piece)}, .fill = "0", .fill_type = conv.op->shape.dtype};
}

// Window positions of a reversed dimension are counted from its end.
PackSpec weight_spec(Pass& pass, const Convolution& conv, const std::string& type,
                     std::int64_t multiple) {
  const ConvAttrs& attrs = *conv.attrs;
  const ir::Shape& weights = pass.op(conv.op->operands[1]).shape;
  Piece piece{.op = conv.op->operands[1], .dims = {}, .base = Dims(weights.dims.size(), 0)};
  const PackDim group{
      .box = conv.group, .op_dim = attrs.dims.kernel_output_feature, .scale = conv.group_columns};
  const PackDim columns{.box = conv.columns, .op_dim = attrs.dims.kernel_output_feature};
  if (!conv.channelwise) piece.dims.push_back(group);
  if (conv.skinny) piece.dims.push_back(columns);
  for (std::size_t i = 0; i < conv.spatial(); ++i) {
    const auto dim = static_cast<int>(attrs.dims.kernel_spatial[i]);
    PackDim position{.box = conv.window[i], .op_dim = dim};
    if (attrs.window[i].reversal) {
      position.scale = -1;
      piece.base[at(dim)] = weights.dims[at(dim)] - 1;
    }
    piece.dims.push_back(position);
  }
  piece.dims.push_back({.box = conv.depth, .op_dim = attrs.dims.kernel_input_feature});
  if (conv.channelwise) {
    piece.dims.push_back(group);
  } else if (!conv.skinny) {
    piece.dims.push_back(columns);
  }
  return {.type = type, .pieces = {std::move(piece)}, .fill = {}, .minor_multiple = multiple};
}

// Widens the box to whole feature groups if necessary.
Convolution convolution_of(Pass& pass, OpId id, Box& box) {
  Convolution conv;
  conv.op = &pass.op(id);
  conv.attrs = conv.op->get<ConvAttrs>();
  if (conv.attrs == nullptr || conv.op->shape.dtype == ir::DType::kPred) {
    throw Refused{"this kind of convolution is not generated"};
  }
  const ConvAttrs& attrs = *conv.attrs;
  const ir::Shape& weights = pass.op(conv.op->operands[1]).shape;
  if (attrs.feature_group_count > 1 && attrs.batch_group_count > 1) {
    throw Refused{"a convolution grouped by feature and batch is not generated"};
  }
  conv.groups = std::max(attrs.feature_group_count, attrs.batch_group_count);
  conv.group_depth = weights.dims[at(attrs.dims.kernel_input_feature)];
  conv.group_columns = conv.op->shape.dims[at(attrs.dims.output_feature)] / conv.groups;
  conv.group_batch = conv.op->shape.dims[at(attrs.dims.output_batch)];
  conv.channelwise =
      attrs.feature_group_count > 1 && conv.group_depth == 1 && conv.group_columns == 1;
  cut_window(pass, id, conv);
  cut_groups(pass, box, conv);
  box[at(attrs.dims.output_feature)] = conv.features;
  const std::int64_t run = conv.window.empty() ? 1 : conv.window.back().largest;
  conv.skinny = !conv.channelwise && conv.columns.largest < kSkinny &&
                conv.depth.largest * run >= 2 * kSkinny;
  return conv;
}

// [batch][spatial ...][f]
void lay_out(const Box& box, const ConvAttrs& attrs, std::int64_t lanes, Stage& stage) {
  stage.strides.assign(box.size(), 0);
  const auto feature = at(attrs.dims.output_feature);
  stage.strides[feature] = 1;
  stage.elements = (box[feature].largest + lanes - 1) / lanes * lanes;
  for (std::size_t i = attrs.dims.output_spatial.size(); i-- > 0;) {
    const auto d = at(attrs.dims.output_spatial[i]);
    stage.strides[d] = stage.elements;
    stage.elements *= box[d].largest;
  }
  stage.strides[at(attrs.dims.output_batch)] = stage.elements;
  stage.elements *= box[at(attrs.dims.output_batch)].largest;
}

struct Strides {  // strides of the packed operands
  std::int64_t x_group = 0, x_batch = 0, w_group = 0, w_depth = 0, w_columns = 0;
  Dims x_spatial, w_window;
};

Strides strides_of(const Convolution& conv, const Dims& x, const Dims& w) {
  Strides s;
  std::size_t i = 0;
  const bool x_grouped = !conv.channelwise || conv.attrs->batch_group_count > 1;
  if (x_grouped) s.x_group = x[i++];
  s.x_batch = x[i++];
  for (std::size_t d = 0; d < conv.spatial(); ++d) s.x_spatial.push_back(x[i++]);
  i = 0;
  if (!conv.channelwise) s.w_group = w[i++];
  if (conv.skinny) s.w_columns = w[i++];
  for (std::size_t d = 0; d < conv.spatial(); ++d) s.w_window.push_back(w[i++]);
  s.w_depth = w[i++];
  if (!conv.skinny && !conv.channelwise) s.w_columns = w[i];
  return s;
}

void write_convolution(Pass& pass, const Box& box, const Convolution& conv, const Strides& s,
                       Product product, const Dims& c, Writer& out) {
  const ConvAttrs& attrs = *conv.attrs;
  product.outer.push_back(
      {conv.group.size, conv.group.largest, s.x_group, s.w_group, conv.group_columns});
  if (conv.channelwise) product.outer.clear();
  product.depth = {conv.depth.size, conv.depth.largest, 1, s.w_depth, 0};
  product.columns = {conv.columns.size, conv.columns.largest, 0, s.w_columns, 1};
  if (conv.channelwise) {
    product.columns = {conv.group.size, conv.group.largest, 1, 1, 1};
    product.depth = {1, 1, 0, 0, 0};
  }
  std::vector<ProductDim> window;
  for (std::size_t i = 0; i < conv.spatial(); ++i) {
    window.push_back({conv.window[i].size, conv.window[i].largest,
                      s.x_spatial[i] * attrs.window[i].window_dilation, s.w_window[i], 0});
  }
  if (!conv.channelwise) {
    window.push_back(product.depth);
    window = joined(std::move(window));
    product.depth = {1, 1, 0, s.w_depth, 0};
    if (!window.empty() && window.back().a == 1) {
      product.depth = window.back();
      window.pop_back();
    }
  } else {
    window = joined(std::move(window));
  }
  product.outer.insert(product.outer.end(), window.begin(), window.end());
  const auto batch = at(attrs.dims.output_batch);
  product.rows.push_back({box[batch].size, box[batch].largest, s.x_batch, 0, c[batch]});
  for (std::size_t i = 0; i < conv.spatial(); ++i) {
    const auto d = at(attrs.dims.output_spatial[i]);
    product.rows.push_back(
        {box[d].size, box[d].largest, s.x_spatial[i] * attrs.window[i].stride, 0, c[d]});
  }
  product.ldb = conv.skinny ? s.w_columns : product.depth.b;
  write_product(std::move(product), out);
}

}  // namespace

std::size_t convolution_stage(Pass& pass, OpId id, const Box& wanted) {
  Box box = wanted;
  Stage stage;
  stage.buffer = pass.begin();
  stage.op = id;
  stage.type = std::string(product_type(pass.op(id).shape.dtype));
  stage.accumulates = true;
  const Convolution conv = convolution_of(pass, id, box);
  const std::int64_t lanes = conv.skinny || conv.groups > 1 ? 1 : padded_lanes(stage.type);
  const PackSpec x_spec = input_spec(pass, box, conv, stage.type);
  const PackSpec w_spec = weight_spec(pass, conv, stage.type, lanes);
  pass.enter_split(conv.split);
  const Packed x = pass.pack(x_spec), w = pass.pack(w_spec);
  const std::string function = conv.channelwise ? "tc_mul_" : conv.skinny ? "tc_mmt_" : "tc_mm_";
  Product product{.function = function + product_suffix(pass.op(id).shape.dtype),
                  .a = pass.read(x.stage).buffer,
                  .b = pass.read(w.stage).buffer,
                  .c = stage.buffer,
                  .lanes = lanes};
  pass.leave_split();
  lay_out(box, *conv.attrs, lanes, stage);
  for (const BoxDim& dim : box) {
    stage.starts.push_back(dim.start);
    stage.loops |= pass.symbols().loops(dim.start) | pass.symbols().loops(dim.size);
  }
  for (const PassLoop* loop : conv.split) stage.split |= 1U << loop->loop;
  stage.loops |= stage.split;
  Writer out;
  clear(pass, stage, conv.split, out);
  write_convolution(pass, box, conv, strides_of(conv, x.strides, w.strides), std::move(product),
                    stage.strides, out);
  return pass.finish(std::move(stage), out);
}

}  // namespace tilecast::host
