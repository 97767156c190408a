// Products: matrix multiplication, Gemm, einsum, convolution and its transpose.
#include <fmt/format.h>

#include <algorithm>

#include "ir/infer/shape_inference.h"
#include "ir/onnx/graph_lowering.h"
#include "ir/onnx/products.h"

namespace tilecast::ir::onnx_reader {
namespace {

Term transposed_matrix(Term x) {
  Dims order = range(0, x.rank());
  if (order.size() < 2) throw Error("expects a matrix");
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(x, order);
}

Terms gemm(const NodeSite& s) {
  const bool left = s.flag("transA"), right = s.flag("transB");
  Term y = dot(s[0], s[1], {.lhs_contracting = {left ? 0 : 1}, .rhs_contracting = {right ? 1 : 0}});
  const double alpha = s.number("alpha", 1), beta = s.number("beta", 1);
  if (alpha != 1) y = y * alpha;
  if (s.has(2) && beta != 0) y = y + (beta == 1 ? s[2] : s[2] * beta);
  return {y};
}

// com.microsoft: alpha * op(a) . op(b)
Terms fused_matmul(const NodeSite& s) {
  if (s.flag("transBatchA") || s.flag("transBatchB"))
    throw Error("transBatchA and transBatchB have no mapping onto HLO");
  const Term a = s.flag("transA") ? transposed_matrix(s[0]) : s[0];
  const Term b = s.flag("transB") ? transposed_matrix(s[1]) : s[1];
  const double alpha = s.number("alpha", 1);
  const Term y = matmul(a, b);
  return {alpha == 1 ? y : y * alpha};
}

// An operand of an einsum, with a letter per dimension.
struct Lettered {
  Term x;
  std::string letters;

  [[nodiscard]] bool has(char letter) const { return letters.find(letter) != std::string::npos; }
  [[nodiscard]] std::int64_t at(char letter) const {
    return static_cast<std::int64_t>(letters.find(letter));
  }
};

// Sums over letters that neither the other operands nor the result use; diagonals are rejected.
Lettered summed(Lettered one, const std::string& needed) {
  Dims axes;
  std::string kept;
  for (const char letter : one.letters) {
    const bool stays = needed.find(letter) != std::string::npos;
    if (one.letters.find(letter) != one.letters.rfind(letter)) {
      throw Error("einsum over a diagonal has no mapping onto HLO");
    }
    if (stays) {
      kept += letter;
    } else {
      axes.push_back(one.at(letter));
    }
  }
  return {reduce(Opcode::kAdd, one.x, axes, /*keep=*/false), kept};
}

Lettered contracted(const Lettered& a, const Lettered& b, const std::string& needed) {
  DotDims dims;
  std::string batch, left, right;
  for (const char letter : a.letters) {
    const bool stays = needed.find(letter) != std::string::npos;
    if (!b.has(letter)) {
      left += letter;
    } else if (stays) {
      batch += letter;
      dims.lhs_batch.push_back(a.at(letter));
      dims.rhs_batch.push_back(b.at(letter));
    } else {
      dims.lhs_contracting.push_back(a.at(letter));
      dims.rhs_contracting.push_back(b.at(letter));
    }
  }
  for (const char letter : b.letters) {
    if (!a.has(letter)) right += letter;
  }
  return {dot(a.x, b.x, dims), batch + left + right};
}

Terms einsum(const NodeSite& s) {
  std::string text = s.text("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::size_t arrow = text.find("->");
  std::string inputs = text.substr(0, arrow), result;
  if (text.find("...") != std::string::npos)
    throw Error("einsum with an ellipsis has no mapping onto HLO");
  if (arrow != std::string::npos) {
    result = text.substr(arrow + 2);
  } else {  // letters that occur once, in alphabetical order
    for (char letter = 'A'; letter <= 'z'; ++letter) {
      if (std::count(inputs.begin(), inputs.end(), letter) == 1) result += letter;
    }
  }
  std::vector<Lettered> operands;
  for (std::size_t i = 0; i < s.count(); ++i) {
    const std::size_t comma = inputs.find(',');
    operands.push_back({s[i], inputs.substr(0, comma)});
    inputs = comma == std::string::npos ? "" : inputs.substr(comma + 1);
    if (operands[i].letters.size() != operands[i].x.dims().size())
      throw Error(fmt::format("einsum {}: ranks differ", text));
  }
  Lettered all = operands.at(0);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    std::string needed = result;
    for (std::size_t later = i + 1; later < operands.size(); ++later)
      needed += operands[later].letters;
    if (i == 0) {
      all = summed(all, needed);
    } else {
      all = contracted(all, summed(operands[i], needed + all.letters), needed);
      all = summed(all, needed);
    }
  }
  Dims order;
  for (const char letter : result) {
    if (!all.has(letter))
      throw Error(fmt::format("einsum {}: the result has a letter of no operand", text));
    order.push_back(all.at(letter));
  }
  return {transpose(all.x, order)};
}

Terms conv(const NodeSite& s) {
  const Term x = s[0], w = s[1];
  Dims kernel = spatial_dims(w);
  const Term y = convolution(x, w, window_of(s, spatial_dims(x), kernel), s.integer("group", 1));
  if (!s.has(2)) return {y};
  return {y + along(s[2], y, 1)};
}

Terms fused_conv(const NodeSite& s) {
  const Term y = s.has(3) ? conv(s)[0] + s[3] : conv(s)[0];
  const std::string activation = s.text("activation", "");
  if (activation == "Relu") return {maximum(y, 0)};
  if (activation == "Tanh") return {unary(Opcode::kTanh, y)};
  if (activation == "Sigmoid") return {unary(Opcode::kLogistic, y)};
  if (!activation.empty())
    throw Error(fmt::format("activation {} has no mapping onto HLO", activation));
  return {y};
}

// The window with padding of the dilated input so that the result has the sizes defined by ONNX.
Window transposed_window(const NodeSite& s, const Dims& sizes, const Dims& kernel) {
  const std::size_t rank = sizes.size();
  const Dims ones(rank, 1), zeros(rank, 0);
  const Dims strides = s.integers("strides").value_or(ones),
             dilations = s.integers("dilations").value_or(ones);
  const Dims extra = s.integers("output_padding").value_or(zeros);
  const auto wanted = s.integers("output_shape");
  Dims pads = s.integers("pads").value_or(Dims(2 * rank, 0));
  const std::string automatic = s.text("auto_pad", "NOTSET");
  if (kernel.size() != rank || pads.size() != 2 * rank) {
    throw Error(fmt::format("window attributes do not fit {} spatial dimensions", rank));
  }
  Window window;
  for (std::size_t i = 0; i < rank; ++i) {
    for (const std::int64_t one : {kernel[i], strides.at(i), dilations.at(i)})
      static_cast<void>(bounded(one, 1));
    for (const std::int64_t one : {pads[i], pads[rank + i], extra.at(i)})
      static_cast<void>(bounded(one));
    const std::int64_t reach = product({kernel[i] - 1, dilations.at(i)}) + 1;
    const std::int64_t whole =
        product({std::max<std::int64_t>(sizes[i] - 1, 0), strides.at(i)}) + reach + extra.at(i);
    if (wanted || automatic.starts_with("SAME")) {
      const std::int64_t target =
          wanted ? wanted->at(wanted->size() - rank + i) : product({sizes[i], strides.at(i)});
      const std::int64_t total = whole - target;
      const std::int64_t less = std::max<std::int64_t>(total, 0) / 2;
      pads[i] = automatic == "SAME_UPPER" ? less : std::max<std::int64_t>(total, 0) - less;
      pads[rank + i] = total - pads[i];
    }
    window.push_back({.size = kernel[i],
                      .stride = 1,
                      .pad_low = reach - 1 - pads.at(i),
                      .pad_high = reach - 1 - pads.at(rank + i) + extra[i],
                      .base_dilation = strides[i],
                      .window_dilation = dilations[i],
                      .reversal = true});
  }
  return window;
}

// For gradients of convolutions exported without output_padding: the remainder of the stride is
// known only from the size declared in the file.
void take_declared_sizes(const NodeSite& s, const Dims& sizes, Window& window) {
  const Dims declared = s.gives(0) ? s.graph.declared(s.node.output(0)) : Dims();
  if (declared.size() != window.size() + 2 || s.find("output_padding") != nullptr) return;
  bool changed = false;
  for (std::size_t i = 0; i < window.size(); ++i) {
    const std::int64_t missing = declared[i + 2] - window_output_size(sizes[i], window[i]);
    if (missing <= 0 || missing >= window[i].base_dilation) continue;
    window[i].pad_high += missing;
    changed = true;
  }
  if (changed) {
    s.graph.warn(
        fmt::format("{}: larger than its node says, as the file declares it", s.node.output(0)));
  }
}

Terms conv_transpose(const NodeSite& s) {
  const Term x = s[0];
  Term w = s[1];  // [c, m / group, ...]
  const std::int64_t groups = s.integer("group", 1);
  const Dims kernel = spatial_dims(w);
  if (groups < 1 || w.dim(0) % groups != 0)
    throw Error(fmt::format("{} channels in {} groups", w.dim(0), groups));
  if (groups > 1) {  // HLO expects [c / group, m, ...]
    Dims split = {groups, w.dim(0) / groups}, order = {1, 0},
         merged = {w.dim(0) / groups, product({w.dim(1), groups})};
    for (int i = 1; i < w.rank(); ++i) {
      split.push_back(w.dim(static_cast<std::size_t>(i)));
      order.push_back(i + 1);
      if (i > 1) merged.push_back(split.back());
    }
    w = reshape(transpose(reshape(w, split), order), merged);
  }
  ConvAttrs attrs;
  attrs.window = transposed_window(s, spatial_dims(x), kernel);
  take_declared_sizes(s, spatial_dims(x), attrs.window);
  attrs.dims = conv_dims(kernel.size(), /*transposed_kernel=*/true);
  attrs.feature_group_count = groups;
  const Term y =
      s.emitter.emit({.opcode = Opcode::kConvolution, .operands = {x, w}, .attrs = attrs});
  if (!s.has(2)) return {y};
  return {y + along(s[2], y, 1)};
}

constexpr OpRow kProducts[] = {
    {"MatMul", [](const NodeSite& s) -> Terms { return {matmul(s[0], s[1])}; }},
    {"Gemm", gemm},
    {"com.microsoft:FusedMatMul", fused_matmul},
    {"com.microsoft:TransposeMatMul", fused_matmul},
    {"Einsum", einsum},
    {"Conv", conv},
    {"com.microsoft:FusedConv", fused_conv},
    {"ConvTranspose", conv_transpose},
};

}  // namespace

Term matmul(Term a, Term b, DType type) {
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = reshape(a, {1, a.dim(0)});
  if (column) b = reshape(b, {b.dim(0), 1});
  if (a.rank() < 2 || b.rank() < 2) throw Error("a product of scalars is no matrix product");
  const auto leading = [](Term x) { return Dims(x.dims().begin(), x.dims().end() - 2); };
  Dims batch = broadcast_dims(leading(a), leading(b));
  Dims dims = batch;
  dims.push_back(a.dims().end()[-2]);
  dims.push_back(b.dims().back());
  Term y = a;
  if (product(leading(b)) == 1) {  // the same matrix for the whole batch
    const Term matrix = reshape(b, {b.dims().end()[-2], b.dims().back()});
    y = dot(a, matrix, {.lhs_contracting = {a.rank() - 1}, .rhs_contracting = {0}}, type);
  } else {
    const auto with_batch = [&](Term x) {
      Dims all = batch;
      all.insert(all.end(), x.dims().end() - 2, x.dims().end());
      return broadcast_to(x, all);
    };
    const auto n = static_cast<std::int64_t>(batch.size());
    y = dot(with_batch(a), with_batch(b),
            {.lhs_contracting = {n + 1},
             .rhs_contracting = {n},
             .lhs_batch = range(0, n),
             .rhs_batch = range(0, n)},
            type);
  }
  if (column) dims.pop_back();
  if (row) dims.erase(dims.end() - (column ? 1 : 2));
  return reshape(y, dims);
}

Dims spatial_dims(Term x) {
  static_cast<void>(of_rank(x, 3, 11));  // dimension labels have one digit
  return Dims(x.dims().begin() + 2, x.dims().end());
}

ConvDims conv_dims(std::size_t spatial, bool transposed_kernel) {
  const Dims places = range(2, 2 + static_cast<std::int64_t>(spatial));
  std::string digits;
  for (std::size_t i = 0; i < spatial; ++i) digits += static_cast<char>('0' + i);
  ConvDims dims{.input_batch = 0,
                .input_feature = 1,
                .kernel_input_feature = transposed_kernel ? 0 : 1,
                .kernel_output_feature = transposed_kernel ? 1 : 0,
                .output_batch = 0,
                .output_feature = 1,
                .input_spatial = places,
                .kernel_spatial = places,
                .output_spatial = places};
  dims.text = fmt::format("bf{0}_{1}{0}->bf{0}", digits, transposed_kernel ? "io" : "oi");
  return dims;
}

Term convolution(Term x, Term w, Window window, std::int64_t groups, DType type) {
  ConvAttrs attrs;
  attrs.dims = conv_dims(window.size());
  attrs.window = std::move(window);
  attrs.feature_group_count = groups;
  Shape shape;
  shape.dtype = type;
  return x.emitter->emit(
      {.opcode = Opcode::kConvolution, .operands = {x, w}, .attrs = attrs, .shape = shape});
}

Window window_of(const NodeSite& s, const Dims& sizes, const Dims& kernel) {
  const std::size_t rank = sizes.size();
  const Dims ones(rank, 1);
  const Dims shape = s.integers("kernel_shape").value_or(kernel),
             strides = s.integers("strides").value_or(ones),
             dilations = s.integers("dilations").value_or(ones),
             pads = s.integers("pads").value_or(Dims(2 * rank, 0));
  if (shape.size() != rank || strides.size() != rank || dilations.size() != rank ||
      pads.size() != 2 * rank) {
    throw Error(fmt::format("window attributes do not fit {} spatial dimensions", rank));
  }
  const std::string automatic = s.text("auto_pad", "NOTSET");
  Window window;
  for (std::size_t i = 0; i < rank; ++i) {
    WindowDim dim{.size = shape[i],
                  .stride = strides[i],
                  .pad_low = pads[i],
                  .pad_high = pads[rank + i],
                  .window_dilation = dilations[i]};
    for (const std::int64_t one : {dim.size, dim.stride, dim.window_dilation})
      static_cast<void>(bounded(one, 1));
    for (const std::int64_t one : {dim.pad_low, dim.pad_high}) static_cast<void>(bounded(one));
    if (automatic.starts_with("SAME")) {
      const std::int64_t steps = (sizes[i] + dim.stride - 1) / dim.stride;
      const std::int64_t reach = product({dim.size - 1, dim.window_dilation}) + 1;
      const std::int64_t total = std::max<std::int64_t>(
          product({std::max<std::int64_t>(steps - 1, 0), dim.stride}) + reach - sizes[i], 0);
      dim.pad_low = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      dim.pad_high = total - dim.pad_low;
    } else if (automatic == "VALID") {
      dim.pad_low = dim.pad_high = 0;
    }
    window.push_back(dim);
  }
  return window;
}

std::span<const OpRow> product_rows() {
  return kProducts;
}

}  // namespace tilecast::ir::onnx_reader
