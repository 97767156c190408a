#include "measured/importers/torch_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "ir/attention.h"
#include "ir/kernels/kernel_sketch.h"

namespace tilecast::measured {
namespace {

using ir::Dims;
// A row of an operator table: columns and cells.
using TableRow = std::vector<std::pair<std::string, std::string>>;

// Throws Error for more than a machine holds.
std::int64_t element_product(const Dims& dims) {
  std::int64_t product = 1;
  for (const std::int64_t size : dims) {
    if (size > 0 && product > ir::KernelSketch::kMaxElements / size)
      throw Error("too many elements");
    product *= size;
  }
  return product;
}

std::int64_t all_but_last(const Dims& dims) {
  return dims.empty() || dims.back() == 0 ? 0 : element_product(dims) / dims.back();
}

TableRow table_row(std::string_view op, std::string_view dtype,
                   std::initializer_list<std::pair<const char*, std::int64_t>> sizes) {
  TableRow cells{{"op", std::string(op)}, {"dtype", std::string(dtype)}};
  for (const auto& [column, size] : sizes) cells.emplace_back(column, std::to_string(size));
  return cells;
}

// A call's arguments by position.
class TorchCall {
 public:
  explicit TorchCall(const TorchOp& op) : op_(op) {}

  // Throws Error if there is no tensor at this place.
  [[nodiscard]] const Dims& dims(std::size_t i, std::size_t rank = 0) const {
    if (!is_tensor(i) || (rank > 0 && op_.arguments[i].shapes.front().size() != rank)) {
      throw Error("{}: argument {} is no tensor of the expected rank", op_.name, i);
    }
    return op_.arguments[i].shapes.front();
  }
  [[nodiscard]] bool is_tensor(std::size_t i) const {
    return i < op_.arguments.size() && !op_.arguments[i].shapes.empty();
  }
  [[nodiscard]] std::string dtype(std::size_t i) const {
    return i < op_.arguments.size() ? hlo_type(op_.arguments[i].type) : std::string();
  }
  [[nodiscard]] std::string value(std::size_t i) const {
    return i < op_.arguments.size() ? op_.arguments[i].value : std::string();
  }
  [[nodiscard]] bool is_true(std::size_t i) const { return value(i) == "True"; }
  // The numbers of "[2, 2]"; empty if it is none.
  [[nodiscard]] std::vector<std::int64_t> list(std::size_t i) const {
    std::vector<std::int64_t> numbers;
    std::string_view rest = i < op_.arguments.size() ? op_.arguments[i].value : std::string_view();
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(','));
      const auto number = base::parse_number<std::int64_t>(base::trim(word, "[ ]"));
      if (number) numbers.push_back(*number);
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    }
    return numbers;
  }
  // The only number of a list of equal ones, `otherwise` if it is empty.
  [[nodiscard]] std::int64_t only(std::size_t i, std::int64_t otherwise) const {
    const std::vector<std::int64_t> numbers = list(i);
    if (numbers.empty()) return otherwise;
    if (std::ranges::adjacent_find(numbers, std::not_equal_to<>()) != numbers.end()) {
      throw Error("{}: argument {} differs by dimension", op_.name, i);
    }
    return numbers.front();
  }
  [[nodiscard]] const TorchOp& op() const { return op_; }

 private:
  const TorchOp& op_;
};

std::vector<TableRow> product(const TorchCall& call, std::size_t lhs, std::size_t rhs) {
  const Dims &a = call.dims(lhs), &b = call.dims(rhs);
  if (a.size() < 2 || b.size() != a.size())
    throw Error("{}: no product of matrices", call.op().name);
  const std::size_t last = a.size() - 1;
  TableRow cells = table_row("matmul", call.dtype(lhs),
                             {{"batch", element_product({a.begin(), a.end() - 2})},
                              {"m", a[last - 1]},
                              {"k", a[last]},
                              {"n", b[last]}});
  if (call.op().arguments[rhs].transposed) cells.emplace_back("transposed", "rhs");
  return {cells};
}

// x [..., k] with weights [n, k].
std::vector<TableRow> linear(const TorchCall& call) {
  const Dims &x = call.dims(0), &weights = call.dims(1, 2);
  return {table_row("matmul", call.dtype(0),
                    {{"m", all_but_last(x)}, {"k", weights[1]}, {"n", weights[0]}})};
}

struct ConvolutionPlaces {
  std::size_t x = 0, weights = 1, stride = 2, padding = 3, dilation = 4;
};

// NCHW input and OIHW weights. Throws Error for what the table has no columns for.
TableRow convolution(const TorchCall& call, std::string_view op, const ConvolutionPlaces& at) {
  const Dims &x = call.dims(at.x, 4), &w = call.dims(at.weights, 4);
  if (call.only(at.dilation, 1) != 1 || w[1] == 0 || x[1] % w[1] != 0) {
    throw Error("{}: dilated, or transposed", call.op().name);
  }
  TableRow cells = table_row(op, call.dtype(at.x),
                             {{"n", x[0]},
                              {"ci", x[1]},
                              {"h", x[2]},
                              {"w", x[3]},
                              {"co", w[0]},
                              {"kh", w[2]},
                              {"kw", w[3]},
                              {"stride", call.only(at.stride, 1)},
                              {"groups", x[1] / w[1]}});
  cells.emplace_back("padding", std::to_string(call.only(at.padding, 0)));
  return cells;
}

// aten::convolution_backward(grad, x, weights, bias sizes, stride, padding, dilation, transposed,
// output padding, groups, mask of the results that are wanted)
std::vector<TableRow> convolution_gradients(const TorchCall& call) {
  const ConvolutionPlaces at{.x = 1, .weights = 2, .stride = 4, .padding = 5, .dilation = 6};
  const std::string wanted = call.value(10);
  std::vector<TableRow> rows;
  if (wanted.starts_with("[True")) rows.push_back(convolution(call, "conv2d_grad_input", at));
  if (wanted.find(", True") != std::string::npos)
    rows.push_back(convolution(call, "conv2d_grad_weight", at));
  return rows;
}

// Over the dimensions in argument 1; all if there are none.
std::vector<TableRow> reduction(const TorchCall& call) {
  const Dims& x = call.dims(0);
  const std::int64_t all = element_product(x);
  std::int64_t columns = 1;
  for (const std::int64_t dimension : call.list(1)) {
    const auto rank = static_cast<std::int64_t>(x.size());
    const std::int64_t at = dimension < 0 ? dimension + rank : dimension;
    if (at >= 0 && at < rank) columns *= x[static_cast<std::size_t>(at)];
  }
  if (call.list(1).empty()) columns = all;
  if (columns == 0) return {};
  return {table_row("reduce", call.dtype(0), {{"rows", all / columns}, {"columns", columns}})};
}

std::vector<TableRow> over_rows(const TorchCall& call, std::string_view op) {
  const Dims& x = call.dims(0);
  return {table_row(op, call.dtype(0),
                    {{"rows", all_but_last(x)}, {"columns", x.empty() ? 1 : x.back()}})};
}

// As many reads as operands that are as large as the largest, one write.
std::vector<TableRow> torch_elementwise(const TorchCall& call) {
  std::int64_t largest = 0;
  std::size_t operands = 0;
  std::string dtype;
  for (std::size_t i = 0; i < call.op().arguments.size(); ++i) {
    if (!call.is_tensor(i)) continue;
    const std::int64_t size = element_product(call.dims(i));
    if (size > largest) operands = 0;
    if (size >= largest) ++operands;
    if (size > largest) dtype = call.dtype(i);
    largest = std::max(largest, size);
  }
  constexpr std::array<const char*, 4> kByReads = {"", "negate", "add", "select"};
  if (operands == 0) return {};
  return {table_row(kByReads[std::min<std::size_t>(operands, 3)], dtype, {{"elements", largest}})};
}

// aten::copy_(to, from)
std::vector<TableRow> torch_copy(const TorchCall& call) {
  TableRow cells = table_row(call.dtype(0) == call.dtype(1) ? "copy" : "convert", call.dtype(1),
                             {{"elements", element_product(call.dims(0))}});
  if (call.dtype(0) != call.dtype(1)) cells.emplace_back("out_dtype", call.dtype(0));
  return {cells};
}

std::vector<TableRow> concatenation(const TorchCall& call) {
  if (!call.is_tensor(0)) return {};
  std::int64_t elements = 0;
  for (const Dims& dims : call.op().arguments.front().shapes) elements += element_product(dims);
  // A list of tensors does not say their type; most are 16-bit floats.
  return {table_row("copy", "bf16", {{"elements", elements}})};
}

// Rows of weights [rows, width] chosen by indices: reads and writes of what is chosen.
std::vector<TableRow> embedding(const TorchCall& call) {
  return {table_row("copy", call.dtype(0),
                    {{"elements", element_product(call.dims(1)) * call.dims(0, 2)[1]}})};
}

// aten::native_batch_norm(x, weight, bias, mean, variance, training, ...): in training, the
// statistics first.
std::vector<TableRow> batch_norm(const TorchCall& call) {
  const Dims& x = call.dims(0);
  if (x.size() < 2 || x[1] == 0) throw Error("{}: no channels", call.op().name);
  const TableRow apply = table_row("negate", call.dtype(0), {{"elements", element_product(x)}});
  if (!call.is_true(5)) return {apply};
  return {
      table_row("reduce", call.dtype(0), {{"rows", x[1]}, {"columns", element_product(x) / x[1]}}),
      apply};
}

// The gradient to the input reads it and the gradient of the result; those to the parameters do,
// too, in a kernel of their own.
std::vector<TableRow> norm_gradient(const TorchCall& call) {
  const TableRow both =
      table_row("add", call.dtype(0), {{"elements", element_product(call.dims(0))}});
  return {both, both};
}

std::vector<TableRow> torch_gelu(const TorchCall& call) {
  return {table_row("gelu", call.dtype(0), {{"elements", element_product(call.dims(0))}})};
}

struct KnownOp {
  std::string_view name, op_class;
  std::vector<TableRow> (*rows)(const TorchCall&);
};

constexpr auto kReduce = [](const TorchCall& call) { return reduction(call); };
constexpr auto kProduct = [](const TorchCall& call) { return product(call, 0, 1); };
constexpr auto kAddedProduct = [](const TorchCall& call) { return product(call, 1, 2); };
constexpr auto kSoftmax = [](const TorchCall& call) { return over_rows(call, "softmax"); };

// Operators without a row here have no kernels. An underscore at the end (in place) is
// dropped.
constexpr std::array kKnown{
    KnownOp{"mm", "matmul", kProduct},
    KnownOp{"bmm", "matmul", kProduct},
    KnownOp{"_int_mm", "matmul", kProduct},
    KnownOp{"_scaled_mm", "matmul", kProduct},
    KnownOp{"addmm", "matmul", kAddedProduct},
    KnownOp{"baddbmm", "matmul", kAddedProduct},
    KnownOp{"_addmm_activation", "matmul", kAddedProduct},
    KnownOp{"linear", "matmul", linear},
    KnownOp{"convolution_backward", "convolution", convolution_gradients},
    KnownOp{"_softmax", "softmax", kSoftmax},
    KnownOp{"_log_softmax", "softmax", kSoftmax},
    KnownOp{"native_layer_norm", "layernorm",
            [](const TorchCall& call) { return over_rows(call, "layernorm"); }},
    KnownOp{"_fused_rms_norm", "layernorm",
            [](const TorchCall& call) { return over_rows(call, "layernorm"); }},
    KnownOp{"native_layer_norm_backward", "layernorm", norm_gradient},
    KnownOp{"native_batch_norm_backward", "batchnorm", norm_gradient},
    KnownOp{"cudnn_batch_norm_backward", "batchnorm", norm_gradient},
    KnownOp{"native_batch_norm", "batchnorm", batch_norm},
    KnownOp{"cudnn_batch_norm", "batchnorm", batch_norm},
    KnownOp{"gelu", "gelu", torch_gelu},
    KnownOp{"sum", "reduce", kReduce},
    KnownOp{"mean", "reduce", kReduce},
    KnownOp{"amax", "reduce", kReduce},
    KnownOp{"amin", "reduce", kReduce},
    KnownOp{"copy", "copy", torch_copy},
    KnownOp{"cat", "copy", concatenation},
    KnownOp{"embedding", "copy", embedding},
};

struct Convolution {
  std::string_view name;
  ConvolutionPlaces at;
};
constexpr std::array kConvolutions{
    Convolution{"conv2d", {.stride = 3, .padding = 4, .dilation = 5}},
    Convolution{"convolution", {.stride = 3, .padding = 4, .dilation = 5}},
    Convolution{"cudnn_convolution", {.stride = 3, .padding = 2}},
    Convolution{"cudnn_convolution_relu", {.stride = 3, .padding = 4, .dilation = 5}},
    Convolution{"miopen_convolution", {.stride = 4, .padding = 3, .dilation = 5}},
};

// Elementwise operators, and gradients of row operators that are no more than that to memory.
constexpr std::array<std::string_view, 34> kElementwiseOps = {"add",
                                                              "sub",
                                                              "mul",
                                                              "div",
                                                              "neg",
                                                              "pow",
                                                              "exp",
                                                              "log",
                                                              "sqrt",
                                                              "rsqrt",
                                                              "relu",
                                                              "clamp_min",
                                                              "clamp",
                                                              "sigmoid",
                                                              "tanh",
                                                              "silu",
                                                              "where",
                                                              "masked_fill",
                                                              "addcmul",
                                                              "addcdiv",
                                                              "lerp",
                                                              "maximum",
                                                              "minimum",
                                                              "abs",
                                                              "cos",
                                                              "sin",
                                                              "native_dropout",
                                                              "threshold_backward",
                                                              "gelu_backward",
                                                              "silu_backward",
                                                              "tanh_backward",
                                                              "sigmoid_backward",
                                                              "_softmax_backward_data",
                                                              "_log_softmax_backward_data"};

// Where q and k are and whether only scores of earlier keys element_product (the argument's place;
// a mask type of 1 says so, too). `heads_last`: shapes are [batch, rows, heads, width], else
// [batch, heads, rows, width].
struct Attention {
  std::string_view name;
  std::size_t query = 0, causal = 0;
  bool heads_last = false, backward = false;
};
constexpr std::array kAttentions{
    Attention{"_cudnn_attention_forward", 0, 10},
    Attention{"_scaled_dot_product_cudnn_attention", 0, 6},
    Attention{"_scaled_dot_product_flash_attention", 0, 4},
    Attention{"_scaled_dot_product_efficient_attention", 0, 6},
    Attention{"_flash_attention_forward", 0, 8, true},
    Attention{"_efficient_attention_forward", 0, 9, true},
    Attention{"_cudnn_attention_backward", 1, 14, false, true},
    Attention{"_scaled_dot_product_flash_attention_backward", 1, 11, false, true},
    Attention{"_flash_attention_backward", 1, 11, true, true},
    Attention{"_efficient_attention_backward", 1, 14, true, true},
};

ir::Kernel attention(const TorchCall& call, const Attention& of) {
  const Dims &q = call.dims(of.query, 4), &k = call.dims(of.query + 1, 4),
             &v = call.dims(of.query + 2, 4);
  const auto dtype = ir::parse_dtype(call.dtype(of.query));
  if (element_product(q) < 1 || element_product(k) < 1 || element_product(v) < 1) {
    throw Error("{}: empty", call.op().name);
  }
  if (!dtype)
    throw Error("{}: type {} is unknown", call.op().name, call.op().arguments[of.query].type);
  const std::size_t rows = of.heads_last ? 1 : 2, heads = of.heads_last ? 2 : 1;
  const ir::Attention asked{.batch = q[0],
                            .heads = q[heads],
                            .kv_heads = k[heads],
                            .queries = q[rows],
                            .keys = k[rows],
                            .width = q[3],
                            .value_width = v[3],
                            .causal = call.is_true(of.causal) || call.value(of.causal) == "1",
                            .backward = of.backward,
                            .dtype = *dtype,
                            .kv_dtype = *dtype};
  if (const std::string wrong = ir::misfit(asked); !wrong.empty()) {
    throw Error("{}: {}", call.op().name, wrong);
  }
  return ir::attention_kernel(asked);
}

std::vector<ir::Kernel> kernels_of_rows(const std::vector<TableRow>& rows, const std::string& name,
                                        const OpDefaults& defaults) {
  std::vector<ir::Kernel> kernels;
  for (const TableRow& cells : rows) {
    CsvTable table{.file = name, .columns = {}, .rows = {}};
    CsvRow csv;
    for (const auto& [column, cell] : cells) {
      table.columns.push_back(column);
      csv.cells.push_back(cell);
    }
    for (ir::Kernel& kernel : operator_launches(table, csv, defaults))
      kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace

TorchKernels kernels_of(const TorchOp& op, const OpDefaults& defaults) {
  std::string_view name = op.name;
  if (name.starts_with("aten::")) name.remove_prefix(6);
  if (name.ends_with('_')) name.remove_suffix(1);
  TorchKernels result{.kernels = {}, .op_class = std::string(name)};
  const TorchCall call(op);
  try {
    if (const auto* known = std::ranges::find(kKnown, name, &KnownOp::name);
        known != kKnown.end()) {
      result.op_class = known->op_class;
      result.kernels = kernels_of_rows(known->rows(call), op.name, defaults);
    } else if (const auto* of = std::ranges::find(kConvolutions, name, &Convolution::name);
               of != kConvolutions.end()) {
      result.op_class = "convolution";
      result.kernels = kernels_of_rows({convolution(call, "conv2d", of->at)}, op.name, defaults);
    } else if (const auto* one = std::ranges::find(kAttentions, name, &Attention::name);
               one != kAttentions.end()) {
      result.op_class = "attention";
      result.kernels.push_back(attention(call, *one));
    } else if (std::ranges::find(kElementwiseOps, name) != kElementwiseOps.end()) {
      result.op_class = "elementwise";
      result.kernels = kernels_of_rows(torch_elementwise(call), op.name, defaults);
    }
  } catch (const Error&) {
    result.kernels.clear();  // an unusual call
  }
  return result;
}

}  // namespace tilecast::measured
