// Quantised ops: an integer represents (integer - zero_point) * scale.
//
// Products keep their narrow operands and correct the integer sums afterwards, like compilers: sum
// (x - zx)(w - zw) = sum x w - zx sum w - zw sum x + zx zw k. Source: onnx.ai/onnx/operators.
#include <fmt/format.h>

#include <cmath>

#include "ir/onnx/products.h"

namespace tilecast::ir::onnx_reader {
namespace {

constexpr DType kSums = DType::kS32;

// Broadcasts a vector of scales or zero points along `axis`; a scalar is returned unchanged.
Term per_axis(Term parameter, Term x, std::int64_t axis) {
  const bool single = product(parameter.dims()) == 1;
  return single ? reshape(parameter, {}) : along(parameter, x, axis);
}

Term dequantised(Term q, Term scale, std::optional<Term> zero, std::int64_t axis) {
  Term x = convert(q, kSums);
  if (zero) x = x - convert(per_axis(*zero, q, axis), kSums);
  return convert(x, scale.dtype()) * per_axis(scale, q, axis);
}

Term quantised(Term x, Term scale, Term zero, std::int64_t axis) {
  const double low = lowest(zero.dtype()), high = lowest(zero.dtype(), /*highest=*/true);
  const Term steps = unary(Opcode::kRoundNearestEven, x / per_axis(scale, x, axis));
  const Term shifted = steps + convert(per_axis(zero, x, axis), x.dtype());
  return convert(minimum(maximum(shifted, low), high), zero.dtype());
}

std::int64_t quantised_axis(const NodeSite& s, Term x) {
  return product(s[1].dims()) == 1 ? 0 : s.axis("axis", 1, x.rank());
}

Terms quantize(const NodeSite& s) {
  const Term x = s[0];
  const Term zero = s.has(2) ? s[2]
                             : scalar(s.emitter,
                                      s.find("output_dtype") != nullptr
                                          ? element_type(s.integer("output_dtype", 2))
                                          : DType::kU8,
                                      0);
  if (!is_integer(zero.dtype())) {  // 8-bit floating-point types have no zero point
    return {convert(x / per_axis(s[1], x, quantised_axis(s, x)), zero.dtype())};
  }
  return {quantised(x, s[1], zero, quantised_axis(s, x))};
}

Terms dequantize(const NodeSite& s) {
  const Term q = s[0];
  if (!is_integer(q.dtype()))
    return {convert(q, s[1].dtype()) * per_axis(s[1], q, quantised_axis(s, q))};
  return {
      dequantised(q, s[1], s.has(2) ? std::optional(s[2]) : std::nullopt, quantised_axis(s, q))};
}

// u8 with scale (max - min) / 255 over the whole array.
struct Dynamic {
  Term q, scale, zero;
};
Dynamic quantised_by_range(Term x) {
  const Dims all = range(0, x.rank());
  const Term high = maximum(reduce(Opcode::kMaximum, x, all, false), 0);
  const Term low = minimum(reduce(Opcode::kMinimum, x, all, false), 0);
  const Term scale = (high - low) / 255.0;
  const Term exact = minimum(maximum(unary(Opcode::kRoundNearestEven, -low / scale), 0), 255);
  const Term zero = convert(exact, DType::kU8);
  return {quantised(x, scale, zero, 0), scale, zero};
}

bool is_zero(Term x) {
  if (x.numbers() == nullptr) return false;
  for (const double value : *x.numbers()) {
    if (value != 0) return false;
  }
  return true;
}

// Integer matrix product of (a - za)(b - zb); za a scalar or per row, zb a scalar or per column.
Term integer_matmul(Term a, Term b, Term za, Term zb) {
  Term y = matmul(a, b, kSums);
  const auto wide = [](Term x) { return convert(x, kSums); };
  const auto sums = [&](Term x, std::int64_t axis) {
    return reduce(Opcode::kAdd, wide(x), {normal_axis(axis, x.rank())}, /*keep=*/true);
  };
  const Term left =
      wide(za.rank() == 1 && za.dim(0) > 1 ? reshape(za, {za.dim(0), 1})
                                           : reshape(za, Dims(za.rank() > 1 ? za.dims() : Dims())));
  const Term right = wide(zb.rank() == 1 && zb.dim(0) == 1 ? reshape(zb, {}) : zb);
  const double depth = static_cast<double>(a.dims().back());
  if (!is_zero(za)) y = y - left * sums(b, b.rank() == 1 ? -1 : -2);
  if (!is_zero(zb)) y = y - right * sums(a, -1);
  if (!is_zero(za) && !is_zero(zb)) y = y + left * right * depth;
  return y;
}

// Integer convolution of (x - zx)(w - zw); zx a scalar, zw a scalar or per output channel.
Term integer_conv(const NodeSite& s, Term x, Term w, Term zx, Term zw) {
  const std::int64_t groups = s.integer("group", 1);
  Window window = window_of(s, spatial_dims(x), spatial_dims(w));
  const auto wide = [](Term t) { return convert(t, kSums); };
  if (!is_zero(zx)) {  // padding holds the zero point
    std::vector<PadDim> edges(2);
    for (WindowDim& dim : window) {
      edges.push_back({dim.pad_low, dim.pad_high, 0});
      dim.pad_low = dim.pad_high = 0;
    }
    x = pad(x, edges, reshape(zx, {}));
  }
  Term y = convolution(x, w, window, groups, kSums);
  const Term shift = wide(reshape(zx, {}));
  if (!is_zero(zx)) {
    const Term sums = reduce(Opcode::kAdd, wide(w), range(1, w.rank()), /*keep=*/false);
    y = y - along(sums * shift, y, 1);
  }
  if (!is_zero(zw)) {  // window sums of x: a kernel of ones per group, shared by its outputs
    Dims ones = w.dims(), split = y.dims();
    ones[0] = groups;
    const Term sums = convolution(x, full(s.emitter, w.dtype(), ones, 1), window, groups, kSums);
    split[1] = y.dim(1) / std::max<std::int64_t>(groups, 1);
    split.insert(split.begin() + 1, groups);
    Dims kept = {0, 1};
    for (int i = 2; i < y.rank(); ++i) kept.push_back(i + 1);
    const Term spread = reshape(broadcast_in(sums, split, kept), y.dims());
    const double depth = static_cast<double>(product(w.dims(), 1));
    y = y - per_axis(wide(zw), y, 1) * (spread - shift * depth);
  }
  return y;
}

Terms conv_integer(const NodeSite& s) {
  return {integer_conv(s, s[0], s[1], s.or_zero(2, s[0]), s.or_zero(3, s[1]))};
}

Terms matmul_integer(const NodeSite& s) {
  return {integer_matmul(s[0], s[1], s.or_zero(2, s[0]), s.or_zero(3, s[1]))};
}

// Inputs x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias.
Terms qlinear_conv(const NodeSite& s) {
  Term sums = integer_conv(s, s[0], s[3], s[2], s[5]);
  if (s.has(8)) sums = sums + along(s[8], sums, 1);
  const Term real = convert(sums, s[1].dtype()) * (reshape(s[1], {}) * per_axis(s[4], sums, 1));
  return {quantised(real, s[6], s[7], 1)};
}

Terms qlinear_matmul(const NodeSite& s) {
  const Term sums = integer_matmul(s[0], s[3], s[2], s[5]);
  const Term scale = reshape(s[1], product(s[1].dims()) == 1 ? Dims() : Dims{s[1].dim(0), 1}) *
                     (product(s[4].dims()) == 1 ? reshape(s[4], {}) : s[4]);
  return {quantised(convert(sums, s[1].dtype()) * scale, s[6], s[7], 0)};
}

Terms dynamic_quantize(const NodeSite& s) {
  const Dynamic made = quantised_by_range(s[0]);
  return {made.q, made.scale, made.zero};
}

// com.microsoft: A, B, a_scale, b_scale, a_zero, b_zero, bias -> floating point.
Terms matmul_integer_to_float(const NodeSite& s) {
  const Term sums = integer_matmul(s[0], s[1], s.or_zero(4, s[0]), s.or_zero(5, s[1]));
  const Term y = convert(sums, s[2].dtype()) * s[2] * s[3];
  return {s.has(6) ? y + s[6] : y};
}

// com.microsoft: A, B, b_scale, b_zero, bias; A is quantised on the fly.
Terms dynamic_matmul(const NodeSite& s) {
  const Dynamic a = quantised_by_range(s[0]);
  const Term y =
      convert(integer_matmul(a.q, s[1], a.zero, s.or_zero(3, s[1])), s[0].dtype()) * a.scale * s[2];
  return {s.has(4) ? y + s[4] : y};
}

// Unpacks numbers of `bits` bits from bytes, low bits first, along the last dimension.
Term unpacked(Term bytes, std::int64_t bits) {
  const DType type = bits == 2 ? DType::kU2 : bits == 4 ? DType::kU4 : DType::kU8;
  if (bits == 8) return bytes;
  if (bits != 2 && bits != 4) throw Error(fmt::format("{} bits have no mapping onto HLO", bits));
  Dims dims = bytes.dims();
  Dims whole = dims;
  whole.back() *= 8 / bits;
  dims.push_back(8 / bits);
  const Term parts = bytes.emitter->emit(
      {.opcode = Opcode::kBitcastConvert, .operands = {bytes}, .shape = Shape::array(type, dims)});
  return reshape(parts, whole);
}

// com.microsoft: A [.., K], B [N, blocks, bytes of a block], scales [N, blocks], zero points
// (packed like B, or of A's type), block order, bias.
Terms matmul_few_bits(const NodeSite& s) {
  const std::int64_t bits = s.integer("bits", 4), block = s.integer("block_size", 32);
  const std::int64_t rows = s.integer("N", 0), depth = s.integer("K", 0);
  if (block < 1 || depth < 1 || rows < 1) throw Error("K, N and block_size must be positive");
  const std::int64_t blocks = (depth + block - 1) / block;
  const DType type = s[0].dtype();
  const Dims dims = {rows, blocks, block};
  const auto by_block = [&](Term x) {
    return broadcast_in(reshape(x, {rows, blocks}), dims, {0, 1});
  };
  const Term numbers = convert(reshape(unpacked(s[1], bits), dims), type);
  Term zero = like(numbers, std::ldexp(1, static_cast<int>(bits) - 1));
  if (s.has(3)) {
    Term given = s[3];
    if (given.dtype() == DType::kU8) {  // each row of zero points starts at a byte
      given = unpacked(given, bits);
      const std::int64_t each = product(given.dims()) / rows;
      given = slice(reshape(given, {rows, each}), 1, {0, blocks, 1});
    }
    zero = by_block(convert(given, type));
  }
  const Term weights = (numbers - zero) * by_block(convert(s[2], type));
  const Term padded = reshape(weights, {rows, blocks * block});
  const Term b = blocks * block == depth ? padded : slice(padded, 1, {0, depth, 1});
  const Term y = matmul(s[0], transpose(b, {1, 0}));
  return {s.has(5) ? y + s[5] : y};
}

// com.microsoft: table [rows, bytes of a row], indices, scales [rows, blocks], zero points (packed
// like the table). Rows are gathered in packed form, then unpacked.
Terms gather_few_bits(const NodeSite& s) {
  const std::int64_t bits = s.integer("bits", 4), block = s.integer("block_size", 128);
  const Term table = of_rank(s[0], 2, 2);
  if (s.integer("gather_axis", 0) != 0 || s.axis("quantize_axis", 1, 2) != 1 || block < 1)
    throw Error("a table that is no list of quantised rows has no mapping onto HLO");
  const bool packed = table.dtype() == DType::kU8;
  const auto rows = [&](Term of) {
    const Term taken = take(of, s[1], 0);
    return of.dtype() == DType::kU8 && packed ? unpacked(taken, bits) : taken;
  };
  const Term scales = take(s[2], s[1], 0);
  Dims dims = scales.dims();
  const Dims outer = range(0, scales.rank());
  dims.push_back(block);
  const Term numbers = convert(rows(table), scales.dtype());
  const Term blocks = reshape(numbers, dims);
  Term zero = like(blocks, packed ? std::ldexp(1, static_cast<int>(bits) - 1) : 0);
  if (s.has(3)) {
    Term points = convert(rows(s[3]), scales.dtype());
    if (points.dims() != scales.dims()) {  // rows of zero points are padded to whole bytes
      points = slice(points, points.rank() - 1, {0, scales.dims().back(), 1});
    }
    zero = broadcast_in(points, dims, outer);
  }
  return {reshape((blocks - zero) * broadcast_in(scales, dims, outer), numbers.dims())};
}

// com.microsoft: A, a_scale, a_zero, B, b_scale, b_zero, C (s32), y_scale, y_zero.
Terms qgemm(const NodeSite& s) {
  const Term a = s.flag("transA") ? transpose(s[0], {1, 0}) : s[0],
             b = s.flag("transB") ? transpose(s[3], {1, 0}) : s[3];
  Term sums = integer_matmul(a, b, s[2], s[5]);
  if (s.has(6)) sums = sums + s[6];
  const Term real = convert(sums, s[1].dtype()) * s[1] * s[4] * s.number("alpha", 1);
  return {s.has(7) ? quantised(real, s[7], s[8], 0) : real};
}

// com.microsoft: elementwise on A, a_scale, a_zero, B, b_scale, b_zero, y_scale, y_zero.
template <Opcode opcode>
Terms qlinear_binary(const NodeSite& s) {
  const Term y = binary(opcode, dequantised(s[0], s[1], s[2], 0), dequantised(s[3], s[4], s[5], 0));
  return {quantised(y, s[6], s[7], 0)};
}

// com.microsoft: X, x_scale, x_zero, y_scale, y_zero.
template <Term (*apply)(const NodeSite&, Term)>
Terms qlinear_unary(const NodeSite& s) {
  return {quantised(apply(s, dequantised(s[0], s[1], s[2], 0)), s[3], s[4], 0)};
}
Term sigmoid_of(const NodeSite&, Term x) {
  return unary(Opcode::kLogistic, x);
}
Term leaky_of(const NodeSite& s, Term x) {
  return select(compare("GT", x, like(x, 0)), x, x * s.number("alpha", 0.01));
}
Term global_mean(const NodeSite& s, Term x) {
  const bool channels_last = s.flag("channels_last");
  return mean(x, channels_last ? range(1, x.rank() - 1) : range(2, x.rank()));
}

// com.microsoft: y_scale, y_zero, then (x, scale, zero) for each part.
Terms qlinear_concat(const NodeSite& s) {
  Terms parts;
  for (std::size_t i = 2; i + 2 < s.count(); i += 3)
    parts.push_back(dequantised(s[i], s[i + 1], s[i + 2], 0));
  const Term all = concatenate(parts, s.axis("axis", 1, parts.at(0).rank()));
  return {quantised(all, s[0], s[1], 0)};
}

constexpr OpRow kQuantised[] = {
    {"QuantizeLinear", quantize},
    {"DequantizeLinear", dequantize},
    {"com.microsoft:QuantizeLinear", quantize},
    {"com.microsoft:DequantizeLinear", dequantize},
    {"DynamicQuantizeLinear", dynamic_quantize},
    {"ConvInteger", conv_integer},
    {"MatMulInteger", matmul_integer},
    {"QLinearConv", qlinear_conv},
    {"QLinearMatMul", qlinear_matmul},
    {"com.microsoft:MatMulIntegerToFloat", matmul_integer_to_float},
    {"com.microsoft:DynamicQuantizeMatMul", dynamic_matmul},
    {"com.microsoft:MatMulNBits", matmul_few_bits},
    {"com.microsoft:GatherBlockQuantized", gather_few_bits},
    {"com.microsoft:QGemm", qgemm},
    {"com.microsoft:QLinearAdd", qlinear_binary<Opcode::kAdd>},
    {"com.microsoft:QLinearMul", qlinear_binary<Opcode::kMultiply>},
    {"com.microsoft:QLinearSigmoid", qlinear_unary<sigmoid_of>},
    {"com.microsoft:QLinearLeakyRelu", qlinear_unary<leaky_of>},
    {"com.microsoft:QLinearGlobalAveragePool", qlinear_unary<global_mean>},
    {"com.microsoft:QLinearConcat", qlinear_concat},
};

}  // namespace

std::span<const OpRow> quantised_rows() {
  return kQuantised;
}

}  // namespace tilecast::ir::onnx_reader
