#include "measured/op_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "base/math.h"
#include "base/text.h"
#include "ir/attention.h"
#include "ir/kernels/kernel_sketch.h"
#include "measured/expert_kernels.h"
#include "measured/op_sketch.h"

namespace tilecast::measured {
namespace {

// --- convolutions
//
// The kernels of a 2-d convolution (NHWC x HWIO -> NHWC) and of its two gradients from a
// table row. Output size of the forward convolution: floor((size + low + high - k) / stride) + 1
// (XLA's window rule).

// One spatial dimension of the forward convolution.
struct Axis {
  std::int64_t size = 1, kernel = 1, stride = 1, low = 0, high = 0, out = 1;
};

struct Problem {
  std::int64_t n = 1, ci = 1, co = 1, groups = 1;
  Axis h, w;
};

void set_padding(const OpRow& row, Axis& axis) {
  const std::string_view text = row.text("padding");
  if (text == "same" || text == "SAME") {
    const std::int64_t outputs = (axis.size + axis.stride - 1) / axis.stride;
    const std::int64_t pad =
        std::max<std::int64_t>((outputs - 1) * axis.stride + axis.kernel - axis.size, 0);
    axis.low = pad / 2;
    axis.high = pad - axis.low;
  } else if (!text.empty() && text != "valid" && text != "VALID" && text != "0") {
    axis.low = axis.high = row.integer("padding");
  }
}

Axis axis(const OpRow& row, std::string_view size, std::string_view kernel) {
  if (row.text("stride").find_first_of("x,") != std::string_view::npos) {
    row.fail("stride",
             fmt::format("got '{}', expected one stride for both dimensions; write others "
                         "as HLO, window={{size=3x3 stride=2x1}}, for tilecast simulate",
                         row.text("stride")));
  }
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;
  Axis axis{
      .size = row.integer(size), .kernel = row.integer(kernel), .stride = row.integer("stride", 1)};
  set_padding(row, axis);
  if (std::max({axis.size, axis.kernel, axis.stride, axis.low}) > kMaxExtent) {
    row.fail(size, fmt::format("extents, strides and padding may be at most {}", kMaxExtent));
  }
  const std::int64_t reach = axis.size + axis.low + axis.high - axis.kernel;
  if (reach < 0) {
    row.fail(kernel, fmt::format("the window of {} is larger than the padded input of {}",
                                 axis.kernel, axis.size + axis.low + axis.high));
  }
  axis.out = reach / axis.stride + 1;
  return axis;
}

Problem problem(const OpRow& row) {
  const Problem p{.n = row.integer("n"),
                  .ci = row.integer("ci"),
                  .co = row.integer("co"),
                  .groups = row.integer("groups", 1),
                  .h = axis(row, "h", "kh"),
                  .w = axis(row, "w", "kw")};
  if (p.groups != 1 && row.text("op") != "conv2d") {
    row.fail("groups", fmt::format("got {}, expected 1 for a gradient", p.groups));
  }
  if (p.ci % p.groups != 0 || p.co % p.groups != 0) {
    row.fail("groups",
             fmt::format("got {}, expected a divisor of ci {} and co {}", p.groups, p.ci, p.co));
  }
  return p;
}

// `batch_feature`: positions of batch and feature in the three arrays. The spatial dimensions are
// the same everywhere or, for the weight gradient, first in the output.
ir::ConvDims labels(std::string text, std::array<int, 6> batch_feature, ir::Dims kernel_spatial,
                    ir::Dims output_spatial) {
  return {.input_batch = batch_feature[0],
          .input_feature = batch_feature[1],
          .kernel_input_feature = batch_feature[2],
          .kernel_output_feature = batch_feature[3],
          .output_batch = batch_feature[4],
          .output_feature = batch_feature[5],
          .input_spatial = {1, 2},
          .kernel_spatial = std::move(kernel_spatial),
          .output_spatial = std::move(output_spatial),
          .text = std::move(text)};
}

ir::WindowDim forward_window(const Axis& a) {
  return {.size = a.kernel, .stride = a.stride, .pad_low = a.low, .pad_high = a.high};
}

ir::WindowDim input_gradient_window(const Axis& a) {
  const std::int64_t dilated = (a.out - 1) * a.stride + 1;
  const std::int64_t low = a.kernel - 1 - a.low;
  return {.size = a.kernel,
          .pad_low = low,
          .pad_high = a.size - dilated - low + a.kernel - 1,
          .base_dilation = a.stride,
          .reversal = true};
}

ir::WindowDim weight_gradient_window(const Axis& a) {
  const std::int64_t dilated = (a.out - 1) * a.stride + 1;
  return {.size = a.out,
          .pad_low = a.low,
          .pad_high = a.kernel - 1 - a.size - a.low + dilated,
          .window_dilation = a.stride};
}

ir::Kernel conv2d(const OpRow& row, const ir::LayoutRules& layout) {
  const Problem p = problem(row);
  ir::KernelSketch sketch("conv2d", ir::Opcode::kConvolution, layout);
  const ir::OpId x = sketch.parameter(row.dtype(), {p.n, p.h.size, p.w.size, p.ci});
  const ir::OpId k = sketch.parameter(row.dtype(), {p.h.kernel, p.w.kernel, p.ci / p.groups, p.co});
  ir::ConvAttrs attrs{.window = {forward_window(p.h), forward_window(p.w)},
                      .dims = labels("b01f_01io->b01f", {0, 3, 2, 3, 0, 3}, {0, 1}, {1, 2}),
                      .feature_group_count = p.groups};
  return sketch.build(
      {sketch.convolution(x, k, std::move(attrs), {p.n, p.h.out, p.w.out, p.co}, row.out_dtype())});
}

ir::Kernel conv2d_grad_input(const OpRow& row, const ir::LayoutRules& layout) {
  const Problem p = problem(row);
  ir::KernelSketch sketch("conv2d_grad_input", ir::Opcode::kConvolution, layout);
  const ir::OpId dy = sketch.parameter(row.dtype(), {p.n, p.h.out, p.w.out, p.co});
  const ir::OpId k = sketch.parameter(row.dtype(), {p.h.kernel, p.w.kernel, p.ci, p.co});
  ir::ConvAttrs attrs{.window = {input_gradient_window(p.h), input_gradient_window(p.w)},
                      .dims = labels("b01f_01oi->b01f", {0, 3, 3, 2, 0, 3}, {0, 1}, {1, 2})};
  return sketch.build({sketch.convolution(dy, k, std::move(attrs), {p.n, p.h.size, p.w.size, p.ci},
                                          row.out_dtype())});
}

ir::Kernel conv2d_grad_weight(const OpRow& row, const ir::LayoutRules& layout) {
  const Problem p = problem(row);
  ir::KernelSketch sketch("conv2d_grad_weight", ir::Opcode::kConvolution, layout);
  const ir::OpId x = sketch.parameter(row.dtype(), {p.n, p.h.size, p.w.size, p.ci});
  const ir::OpId dy = sketch.parameter(row.dtype(), {p.n, p.h.out, p.w.out, p.co});
  ir::ConvAttrs attrs{.window = {weight_gradient_window(p.h), weight_gradient_window(p.w)},
                      .dims = labels("f01b_i01o->01bf", {3, 0, 0, 3, 2, 3}, {1, 2}, {0, 1})};
  return sketch.build({sketch.convolution(x, dy, std::move(attrs),
                                          {p.h.kernel, p.w.kernel, p.ci, p.co}, row.out_dtype())});
}

using ir::DType;
using ir::Opcode;
using ir::OpId;

// Part of the scratchpad that compilers reserve for the tiles of kernels. If it is larger (TPU v5e
// and later), the rest holds arrays of the program. Source: JAX's scoped VMEM limits are 16 to 32
// MiB.
constexpr double kScopedBytes = 32.0 * 1024 * 1024;

// Widens 16-bit floats for the arithmetic of a fusion; the result is narrowed at its end.
OpId widen(OpSketch& sketch, OpId x) {
  const DType dtype = sketch.shape(x).dtype;
  return dtype == DType::kBF16 || dtype == DType::kF16 ? sketch.to(x, DType::kF32) : x;
}

void require_floating(const OpRow& row) {
  if (!ir::is_floating(row.dtype())) {
    row.fail("dtype", fmt::format("got {}, expected a floating-point type for {}",
                                  ir::name(row.dtype()), row.text("op")));
  }
}

ir::Kernel matmul(const OpRow& row, const OpDefaults& defaults) {
  const std::int64_t batch = row.integer("batch", 1), m = row.integer("m"), n = row.integer("n"),
                     k = row.integer("k");
  const std::string_view transposed = row.text("transposed");
  const bool both = transposed == "both";
  const bool lhs_is = both || transposed == "lhs", rhs_is = both || transposed == "rhs";
  if (!lhs_is && !rhs_is && !transposed.empty()) {
    row.fail("transposed", fmt::format("got '{}', expected lhs, rhs, both or nothing", transposed));
  }
  OpSketch sketch("matmul", Opcode::kDot, defaults.layout);
  ir::Dims lhs{m, k}, rhs{k, n}, result{m, n};
  if (lhs_is) std::swap(lhs[0], lhs[1]);
  if (rhs_is) std::swap(rhs[0], rhs[1]);
  ir::DotDims dims{.lhs_contracting = {lhs_is ? 0 : 1}, .rhs_contracting = {rhs_is ? 1 : 0}};
  if (batch > 1) {
    for (ir::Dims* of : {&lhs, &rhs, &result}) of->insert(of->begin(), batch);
    dims = {.lhs_contracting = {lhs_is ? 1 : 2},
            .rhs_contracting = {rhs_is ? 2 : 1},
            .lhs_batch = {0},
            .rhs_batch = {0}};
  }
  const OpId a = sketch.parameter(row.dtype(), lhs), b = sketch.parameter(row.dtype(), rhs);
  const std::string precision(row.text("precision"));
  if (!precision.empty() && precision != "highest") {
    row.fail("precision", fmt::format("got '{}', expected highest or nothing", precision));
  }
  const OpId product = sketch.dot(a, b, dims, result, row.out_dtype(), precision);
  if (!row.text("block").empty()) {
    const ir::Dims block = row.sizes("block");
    if (block.size() != 2) row.fail("block", "expected rows and columns, as 128x64");
    sketch.set_block(block);
  }
  return sketch.build({product});
}

ir::Kernel softmax(const OpRow& row, const OpDefaults& defaults) {
  require_floating(row);
  OpSketch sketch("softmax", defaults.layout);
  const OpId in = sketch.parameter(row.dtype(), {row.integer("rows"), row.integer("columns")});
  return sketch.build({sketch.to(sketch.softmax(widen(sketch, in)), row.dtype())});
}

ir::Kernel layernorm(const OpRow& row, const OpDefaults& defaults) {
  require_floating(row);
  const std::int64_t rows = row.integer("rows"), columns = row.integer("columns");
  OpSketch sketch("layernorm", defaults.layout);
  const OpId in = sketch.parameter(row.dtype(), {rows, columns});
  const OpId scale = widen(sketch, sketch.parameter(row.dtype(), {columns}));
  const OpId shift = widen(sketch, sketch.parameter(row.dtype(), {columns}));
  const OpId x = widen(sketch, in);
  const auto mean = [&](OpId of) {
    const OpId sum = sketch.sum(of, 1);
    return sketch.times(sum, sketch.constant_like(sum, fmt::format("{}", 1.0 / double(columns))));
  };
  const OpId centre = sketch.minus(x, sketch.broadcast_like(mean(x), x, {0}));
  const OpId variance = mean(sketch.times(centre, centre));
  const OpId guarded = sketch.plus(variance, sketch.constant_like(variance, "1e-05"));
  const OpId inverse = sketch.broadcast_like(sketch.inverse_root(guarded), x, {0});
  const OpId unit = sketch.times(centre, inverse);
  const OpId scaled = sketch.times(unit, sketch.broadcast_like(scale, x, {1}));
  const OpId out = sketch.plus(scaled, sketch.broadcast_like(shift, x, {1}));
  return sketch.build({sketch.to(out, row.dtype())});
}

// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))): Hendrycks and Gimpel, arXiv:1606.08415.
ir::Kernel gelu(const OpRow& row, const OpDefaults& defaults) {
  require_floating(row);
  OpSketch sketch("gelu", defaults.layout);
  const OpId x = widen(sketch, sketch.parameter(row.dtype(), row.elements()));
  const auto times = [&](OpId a, OpId b) { return sketch.times(a, b); };
  const auto plus = [&](OpId a, OpId b) { return sketch.plus(a, b); };
  const auto number = [&](const char* value) { return sketch.constant_like(x, value); };
  const OpId cubic = times(times(times(x, x), x), number("0.044715"));
  const OpId inner = times(plus(x, cubic), number("0.797884583"));
  const OpId gate = plus(sketch.elementwise(Opcode::kTanh, {inner}), number("1"));
  const OpId out = times(times(x, number("0.5")), gate);
  return sketch.build({sketch.to(out, row.dtype())});
}

ir::Kernel attention(const OpRow& row, const OpDefaults&) {
  require_floating(row);
  ir::Attention of{.batch = row.integer("batch", 1),
                   .heads = row.integer("heads"),
                   .queries = row.integer("q_len"),
                   .width = row.integer("head_dim"),
                   .causal = row.flag("causal"),
                   .backward = row.flag("backward"),
                   .dtype = row.dtype()};
  of.kv_heads = row.integer("kv_heads", of.heads);
  of.keys = row.integer("kv_len", of.queries);
  of.value_width = row.integer("value_dim", of.width);
  if (row.text("window") != "0") of.window = row.integer("window", of.keys);
  if (of.window >= of.keys) of.window = 0;
  of.kv_dtype = row.dtype("kv_dtype");
  if (const std::string wrong = ir::misfit(of); !wrong.empty()) {
    row.fail(wrong.substr(0, wrong.find(':')), wrong.substr(wrong.find(':') + 2));
  }
  return ir::attention_kernel(of);
}

// Copies the keys and values of the queries' own positions into the cache that attention reads.
ir::Kernel cache_write(const OpRow& row, const OpDefaults& defaults) {
  const std::int64_t width = row.integer("head_dim");
  const ir::Dims dims{row.integer("batch", 1), row.integer("q_len"),
                      row.integer("kv_heads", row.integer("heads")),
                      width + row.integer("value_dim", width)};
  const DType cached = row.dtype("kv_dtype");
  const Opcode opcode = cached == row.dtype() ? Opcode::kCopy : Opcode::kConvert;
  OpSketch sketch("cache_write", opcode, defaults.layout);
  const OpId made = sketch.parameter(row.dtype(), dims);
  return sketch.build({opcode == Opcode::kCopy ? sketch.copy(made) : sketch.to(made, cached)});
}

ir::Kernel reduce(const OpRow& row, const OpDefaults& defaults) {
  const bool half = row.dtype() == DType::kBF16 || row.dtype() == DType::kF16;
  OpSketch sketch("reduce", half ? Opcode::kFusion : Opcode::kReduce, defaults.layout);
  const OpId in = sketch.parameter(row.dtype(), {row.integer("rows"), row.integer("columns")});
  return sketch.build({sketch.to(sketch.sum(widen(sketch, in), 1), row.dtype())});
}

ir::Kernel transpose(const OpRow& row, const OpDefaults& defaults) {
  OpSketch sketch("transpose", Opcode::kTranspose, defaults.layout);
  ir::Dims dims{row.integer("rows"), row.integer("columns")};
  if (const std::int64_t batch = row.integer("batch", 1); batch != 1) {
    dims.insert(dims.begin(), batch);
  }
  return sketch.build({sketch.transpose(sketch.row_major_parameter(row.dtype(), dims))});
}

ir::Kernel copy(const OpRow& row, const OpDefaults& defaults) {
  OpSketch sketch("copy", Opcode::kCopy, defaults.layout);
  return sketch.build({sketch.copy(sketch.parameter(row.dtype(), row.elements()))});
}

// The array of `elements` is the larger side; a gather's operand and a reduce-scatter's result are
// one device's share of it.
template <Opcode kOpcode>
ir::Kernel collective(const OpRow& row, const OpDefaults& defaults) {
  OpSketch sketch(std::string(ir::name(kOpcode)), kOpcode, defaults.layout);
  const std::int64_t devices = row.integer("devices", defaults.all_reduce_devices);
  const ir::Dims all = row.elements();
  ir::Dims share = all;
  share[0] = base::ceil_div(share[0], devices);
  const OpId operand = sketch.parameter(row.dtype(), kOpcode == Opcode::kAllGather ? share : all);
  return sketch.build({sketch.collective(
      kOpcode, operand, kOpcode == Opcode::kReduceScatter ? share : all, devices)});
}

DType elementwise_result(const OpRow& row, Opcode opcode) {
  if (opcode == Opcode::kCompare || opcode == Opcode::kIsFinite) return DType::kPred;
  if (ir::arithmetic(opcode) != ir::Arithmetic::kConversion) return row.dtype();
  if (!row.text("out_dtype").empty()) return row.out_dtype();
  return row.dtype() == DType::kF32 ? DType::kBF16 : DType::kF32;
}

ir::Kernel elementwise(const OpRow& row, const OpDefaults& defaults, Opcode opcode) {
  OpSketch sketch(std::string(ir::name(opcode)), opcode, defaults.layout);
  const ir::Dims dims = row.elements();
  std::vector<OpId> operands;
  for (int i = 0; i < ir::info(opcode).arity; ++i) {
    const bool selector = opcode == Opcode::kSelect && i == 0;
    operands.push_back(sketch.parameter(selector ? DType::kPred : row.dtype(), dims));
  }
  return sketch.build({sketch.elementwise(opcode, operands, elementwise_result(row, opcode))});
}

bool tabulated(Opcode opcode) {
  if (!ir::is_elementwise(opcode) || ir::info(opcode).arity < 1) return false;
  return opcode != Opcode::kComplex && opcode != Opcode::kReal && opcode != Opcode::kImag &&
         opcode != Opcode::kBitcastConvert && opcode != Opcode::kReducePrecision &&
         opcode != Opcode::kStochasticConvert;
}

using Maker = ir::Kernel (*)(const OpRow&, const OpDefaults&);
struct NamedMaker {
  std::string_view name;
  Maker make;
};
constexpr std::array kMakers{
    NamedMaker{"matmul", matmul},
    NamedMaker{"conv2d", [](const OpRow& r, const OpDefaults& d) { return conv2d(r, d.layout); }},
    NamedMaker{"conv2d_grad_input",
               [](const OpRow& r, const OpDefaults& d) { return conv2d_grad_input(r, d.layout); }},
    NamedMaker{"conv2d_grad_weight",
               [](const OpRow& r, const OpDefaults& d) { return conv2d_grad_weight(r, d.layout); }},
    NamedMaker{"attention", attention},
    NamedMaker{"softmax", softmax},
    NamedMaker{"layernorm", layernorm},
    NamedMaker{"gelu", gelu},
    NamedMaker{"reduce", reduce},
    NamedMaker{"transpose", transpose},
    NamedMaker{"copy", copy},
    NamedMaker{"all_reduce", collective<Opcode::kAllReduce>},
    NamedMaker{"all-reduce", collective<Opcode::kAllReduce>},
    NamedMaker{"all_gather", collective<Opcode::kAllGather>},
    NamedMaker{"reduce_scatter", collective<Opcode::kReduceScatter>},
    NamedMaker{"all_to_all", collective<Opcode::kAllToAll>},
    NamedMaker{"collective_permute", collective<Opcode::kCollectivePermute>},
};

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  for (const NamedMaker& maker : kMakers) names.push_back(maker.name);
  names.emplace_back("experts");
  return names;
}

ir::Kernel make(const OpRow& row, const OpDefaults& defaults) {
  const std::string_view op = row.text("op");
  for (const NamedMaker& maker : kMakers) {
    if (maker.name == op) return maker.make(row, defaults);
  }
  const auto opcode = ir::parse_opcode(op);
  if (opcode && tabulated(*opcode)) return elementwise(row, defaults, *opcode);
  row.fail("op", fmt::format("got '{}', expected {} or an elementwise HLO opcode (add, tanh ...)",
                             op, fmt::join(operator_names(), ", ")));
}

// The same kernel with the largest operand of its product on chip, if it fits.
ir::Kernel keep_largest_operand(ir::Kernel kernel, const OpDefaults& defaults) {
  if (ir::op_class(kernel.opcode()) != ir::OpClass::kMatrix) return kernel;
  const auto bytes = [&](OpId id) { return ir::padded_bytes(kernel.op(id).shape); };
  const OpId largest = *std::ranges::max_element(kernel.parameters(), {}, bytes);
  if (static_cast<double>(bytes(largest)) > defaults.kept_bytes) return kernel;
  ir::KernelBuilder builder(kernel.name(), kernel.opcode());
  for (std::size_t i = 0; i < kernel.ops().size(); ++i) {
    ir::Op op = kernel.ops()[i];
    if (OpId(i) == largest) op.shape.layout.edit().memory_space = defaults.layout.scratchpad.space;
    const bool parameter = op.opcode == Opcode::kParameter;
    const std::string& name = kernel.name_of(OpId(i));
    static_cast<void>(parameter ? builder.parameter(op.shape, name) : builder.add(op, name));
  }
  builder.set_work(kernel.work());
  return builder.build({kernel.outputs().begin(), kernel.outputs().end()});
}

ir::Launches launches_of(const OpRow& row, const OpDefaults& defaults) {
  const std::string_view execution = row.text("execution"), op = row.text("op");
  if (execution.empty()) {
    return op == "softmax" || op == "layernorm" ? defaults.launches : ir::Launches::kFused;
  }
  if (execution == "fused") return ir::Launches::kFused;
  if (execution == "reductions") return ir::Launches::kPerReduction;
  if (execution == "ops") return ir::Launches::kPerOp;
  row.fail("execution", fmt::format("got '{}', expected fused, reductions or ops", execution));
}

// What `make` makes; its errors name the row.
template <class Make>
auto naming_row(const CsvTable& table, const CsvRow& row, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with(table.file)) throw;
    throw Error(fmt::format("{}:{}: {}", table.file, row.line, message));
  }
}

}  // namespace

OpDefaults op_defaults(const hwdesc::Device& device, bool repeated) {
  OpDefaults defaults{
      .layout = analytical::layout_rules(device),
      .all_reduce_devices = device.interconnect ? device.interconnect->devices_per_host : 1};
  defaults.thread_blocks = device.execution == hwdesc::Execution::kSimt;
  if (device.execution != hwdesc::Execution::kScratchpad) return defaults;
  defaults.launches = ir::Launches::kPerReduction;
  if (repeated) defaults.kept_bytes = device.scratchpad().capacity.value - kScopedBytes;
  return defaults;
}

ir::Kernel operator_kernel(const CsvTable& table, const CsvRow& row, const OpDefaults& defaults) {
  const OpRow reader(table, row);
  return naming_row(table, row, [&] { return make(reader, defaults); });
}

std::vector<ir::Kernel> operator_launches(const CsvTable& table, const CsvRow& row,
                                          const OpDefaults& defaults) {
  const OpRow reader(table, row);
  if (reader.text("op") == "experts") {
    return naming_row(table, row, [&] { return expert_launches(reader, defaults); });
  }
  const ir::Kernel fused = keep_largest_operand(operator_kernel(table, row, defaults), defaults);
  if (reader.text("op") == "attention" && reader.flag("writes_kv")) {
    return {cache_write(reader, defaults), fused};
  }
  const ir::Launches launches = launches_of(reader, defaults);
  try {
    return ir::split_kernel(fused, launches);
  } catch (const Error& error) {
    reader.fail("execution", error.what());
  }
}

std::string_view OpRow::text(std::string_view column) const {
  return table_.cell(row_, column);
}

std::int64_t OpRow::integer(std::string_view column, std::optional<std::int64_t> fallback) const {
  return integer_cell(table_, row_, column, /*minimum=*/1, fallback);
}

bool OpRow::flag(std::string_view column) const {
  const std::string_view cell = text(column);
  if (cell == "1" || cell == "true") return true;
  if (cell.empty() || cell == "0" || cell == "false") return false;
  fail(column, fmt::format("got '{}', expected 1 or 0", cell));
}

ir::DType OpRow::dtype() const {
  const std::string_view spelled = text("dtype");
  if (spelled.empty())
    fail("dtype", "got '', expected an HLO element type such as f32, bf16, f16, s8");
  return dtype("dtype");
}

ir::DType OpRow::dtype(std::string_view column) const {
  const std::string_view spelled = text(column);
  if (spelled.empty()) return dtype();
  const auto dtype = ir::parse_dtype(spelled);
  if (!dtype || !ir::is_array_element(*dtype)) {
    fail(column,
         fmt::format("got '{}', expected an HLO element type such as f32, bf16, f16, s8", spelled));
  }
  return *dtype;
}

ir::DType OpRow::out_dtype() const {
  return dtype("out_dtype");
}

// Parses `16x16x32`.
ir::Dims OpRow::sizes(std::string_view column) const {
  ir::Dims dims;
  std::string_view rest = text(column);
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('x'));
    const std::int64_t size = base::parse_number<std::int64_t>(part).value_or(0);
    if (size < 1) break;
    dims.push_back(size);
    if (part.size() == rest.size()) return dims;
    rest.remove_prefix(part.size() + 1);
  }
  fail(column, fmt::format("got '{}', expected sizes such as 16x128", text(column)));
}

ir::Dims OpRow::elements() const {
  if (!text("shape").empty()) return sizes("shape");
  if (!text("elements").empty()) return {integer("elements")};
  if (text("rows").empty() && text("columns").empty()) {
    fail("elements", "nothing given; expected elements, shape, or rows and columns");
  }
  return {integer("rows"), integer("columns")};
}

void OpRow::fail(std::string_view column, std::string_view message) const {
  throw Error(fmt::format("{}: {}", table_.where(row_, column), message));
}

}  // namespace tilecast::measured
