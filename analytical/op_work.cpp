#include "analytical/op_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "analytical/footprint.h"
#include "analytical/product_type.h"
#include "analytical/xla_cpu.h"
#include "base/math.h"
#include "ir/counts/work_counts.h"

namespace tilecast::analytical {
namespace {

using ir::Kernel;
using ir::Op;
using ir::OpClass;
using ir::Opcode;
using ir::OpId;
using ir::Shape;

double cost_of(const std::map<std::string, double>& table, const std::string& name,
               double otherwise) {
  const auto found = table.find(name);
  return found == table.end() ? otherwise : found->second;
}

double cost_of(const std::map<std::string, double>& table, Opcode opcode, double otherwise = 1) {
  return cost_of(table, std::string(ir::name(opcode)), otherwise);
}

// Whether a kernel computes anything: pure data movement needs no type conversion.
bool computes(const Kernel& kernel) {
  return std::ranges::any_of(kernel.ops(), [](const Op& op) {
    const OpClass kind = ir::op_class(op.opcode);
    return kind != OpClass::kFree && kind != OpClass::kDataMovement && kind != OpClass::kIndexed;
  });
}

bool minor_is_reduced(const Op& op, const Shape& input) {
  const ir::Dims order = physical_order(input);
  return !order.empty() &&
         std::find(op.dimensions.begin(), op.dimensions.end(), order.back()) != op.dimensions.end();
}

// Dimension that lies in the lanes: the most minor one of more than one element; -1: none.
std::int64_t lane_dim(const Shape& shape) {
  const ir::Dims order = physical_order(shape);
  const auto found = std::find_if(order.rbegin(), order.rend(),
                                  [&](std::int64_t dim) { return shape.dims[dim] > 1; });
  return found == order.rend() ? -1 : *found;
}

// Whether elements change lanes when `from` becomes `to`: the dimension in the lanes is another
// one, or a reshape changes its size.
bool lanes_move(const Shape& from, const Shape& to, const Op& op) {
  const std::int64_t was = lane_dim(from), is = lane_dim(to);
  if (was < 0 || is < 0) return false;
  switch (op.opcode) {
    case Opcode::kTranspose: {
      const auto stays = [&](std::int64_t after, std::int64_t before) {
        return after < std::ssize(op.dimensions) && op.dimensions[after] == before;
      };
      return !stays(is, was) && !stays(physical_order(to).back(), physical_order(from).back());
    }
    case Opcode::kReshape:
      return from.dims[was] != to.dims[is];
    default:
      return was != is;
  }
}

// Share of a relayout's elements that move: short rows fill their lanes on one side at least.
double moved_share(const Shape& from, const Shape& to, const hwdesc::Device& device) {
  if (!device.native_tile.tiled) return 1;
  const auto rows_of = [&](const Shape& shape) {
    const auto row = std::max<std::int64_t>(shape.dims[physical_order(shape).back()], 1);
    return static_cast<double>(base::ceil_div(row, device.vector.lanes)) /
           static_cast<double>(base::round_up(row, device.vector.sublanes));
  };
  return std::min(rows_of(from) / rows_of(to), 1.0);
}

bool is_spread_scalar(const Kernel& kernel, OpId id) {
  const Op& op = kernel.op(id);
  return op.opcode == Opcode::kBroadcast && kernel.op(op.operands[0]).shape.is_scalar();
}

// Whether all elements are the same: computed once, before the loop.
bool is_invariant(const Kernel& kernel, const Op& op) {
  return !op.operands.empty() &&
         std::ranges::all_of(op.operands, [&](OpId id) { return is_spread_scalar(kernel, id); });
}

// Whether `id` is, or follows element by element from, what a reduction within the kernel leaves in
// every lane.
bool is_in_every_lane(const Kernel& kernel, OpId id) {
  for (;;) {
    const Op& op = kernel.op(id);
    const OpClass kind = ir::op_class(op.opcode);
    if (kind == OpClass::kReduction) return true;
    if (op.operands.empty() || (kind != OpClass::kElementwise && kind != OpClass::kTranscendental &&
                                op.opcode != Opcode::kBitcast)) {
      return false;
    }
    const auto array = std::ranges::find_if(op.operands, [&](OpId operand) {
      return !is_spread_scalar(kernel, operand) && !kernel.op(operand).shape.is_scalar();
    });
    if (array == op.operands.end()) return false;
    id = *array;
  }
}

// Share of an array's elements in one register of each row: rows longer than the lanes are combined
// register by register before, and copied after.
double share_across_lanes(const Shape& input, const hwdesc::Device& device) {
  if (!device.native_tile.tiled) return 1;
  const auto row = static_cast<double>(input.dims[physical_order(input).back()]);
  return 1 / std::max(std::ceil(row / static_cast<double>(device.vector.lanes)), 1.0);
}

// Share of a broadcast's elements that move between lanes: one register of each row, where the
// operand's elements, one to a lane, get rows of their own.
double spread_over_lanes(const Kernel& kernel, const Op& op, const hwdesc::Device& device) {
  const Shape& from = kernel.op(op.operands[0]).shape;
  if (op.opcode != Opcode::kBroadcast || !device.native_tile.tiled || from.rank() == 0) return 0;
  const auto minor = static_cast<std::size_t>(physical_order(from).back());
  const bool stays = op.dimensions[minor] == physical_order(op.shape).back();
  if (from.dims[minor] == 1 || stays || is_in_every_lane(kernel, op.operands[0])) return 0;
  return share_across_lanes(op.shape, device);
}

double log2_of(std::int64_t n) {
  return std::ceil(std::log2(std::max<double>(2.0, double(n))));
}

// Steps per element of a row with which the lanes of a warp combine what each of them has reduced:
// all lanes take part in each of log2(lanes) steps. Where it is known that XLA:GPU wrote it so.
double combining_steps(const Kernel& kernel, const Op& op, const hwdesc::Device& device) {
  if (device.execution != hwdesc::Execution::kSimt || !kernel.gpu_code()) return 0;
  const Shape& input = kernel.op(op.operands[0]).shape;
  double row = 1;
  for (const std::int64_t dim : op.dimensions) row *= static_cast<double>(input.dims[dim]);
  if (row <= 1) return 0;
  const double lanes = std::min<double>(device.multiplexing.warp_lanes,
                                        std::exp2(log2_of(static_cast<std::int64_t>(row))));
  return lanes * std::log2(lanes) / row;
}

// What keeps the vector unit busy for so many cycles per element.
double vector_operations(double cycles, const hwdesc::Device& device) {
  const hwdesc::VectorUnit& vector = device.vector;
  return cycles * vector.alus * vector.efficiency * static_cast<double>(vector.lanes);
}

void add_reduction(const Kernel& kernel, const Op& op, const hwdesc::Device& device, int group,
                   int input_group, std::vector<ElementWork>& work) {
  const double steps = std::max(op.applied_flops, 1.0);
  if (op.opcode == Opcode::kReduceWindow && is_xla_cpu(device)) {
    constexpr double kScanBlock = 16;  // XLA's ReduceWindowRewriter scans in blocks of so many
    const ir::Dims& row = ir::first_array(kernel.op(op.operands[0]).shape).dims;
    const auto& windows = op.as<ir::WindowAttrs>().window;
    double size = 1;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const auto all = static_cast<double>(windows[i].size);
      size *= window_steps(windows[i], row[i]) < all ? std::min(all, kScanBlock) : all;
    }
    work[group].vector += vector_operations(steps * size * window_element_cycles(op), device);
  } else if (op.get<ir::WindowAttrs>() != nullptr) {
    work[group].vector +=
        steps * window_operations(op, ir::first_array(kernel.op(op.operands[0]).shape));
  } else {
    const Shape& input = kernel.op(op.operands[0]).shape;
    const bool together = op.shape.is_tuple() && is_xla_cpu(device);
    work[input_group].vector += together ? vector_operations(kTogetherCycles, device) : steps;
    if (minor_is_reduced(op, input)) {
      work[input_group].vector += steps * combining_steps(kernel, op, device);
      work[input_group].cross_lane_reduce += share_across_lanes(input, device);
    }
  }
  work[input_group].transcendental += op.applied_transcendentals;
}

// Whether two shifts of the same words to both sides make a rotation, as in Threefry.
bool is_rotation(const Kernel& kernel, const Op& op) {
  if (op.opcode != Opcode::kOr) return false;
  const Op* left = &kernel.op(op.operands[0]);
  const Op* right = &kernel.op(op.operands[1]);
  if (left->opcode != Opcode::kShiftLeft) std::swap(left, right);
  return left->opcode == Opcode::kShiftLeft && right->opcode == Opcode::kShiftRightLogical &&
         left->operands[0] == right->operands[0];
}

// The lanes of GPUs rotate in one operation (a funnel shift), which counts for the `or`.
bool is_part_of_rotation(const Kernel& kernel, const Op& op, OpId id,
                         const hwdesc::Device& device) {
  if (device.execution != hwdesc::Execution::kSimt ||
      (op.opcode != Opcode::kShiftLeft && op.opcode != Opcode::kShiftRightLogical)) {
    return false;
  }
  const auto users = kernel.users(id);
  return !users.empty() && std::ranges::all_of(users, [&](OpId user) {
    return is_rotation(kernel, kernel.op(user));
  });
}

// A conversion packs what it narrows: one operation writes all elements that share a word. TPUs
// divide by one number with products, by its reciprocal.
double elementwise_operations(const Kernel& kernel, const Op& op, const hwdesc::Device& device) {
  if (op.opcode == Opcode::kMap) return std::max(op.applied_flops, 1.0);
  if (op.opcode == Opcode::kDivide && device.native_tile.tiled && ir::is_floating(op.shape.dtype) &&
      is_spread_scalar(kernel, op.operands[1])) {
    return 1;
  }
  const double packed = op.opcode == Opcode::kConvert ? words_per_element(op.shape, device) : 1;
  return packed * cost_of(device.vector.op_cycles, op.opcode);
}

void add_movement(const Kernel& kernel, const Op& op, int group, const hwdesc::Device& device,
                  std::vector<ElementWork>& work) {
  if (op.operands.empty()) {
    work[group].vector += 1;  // iota
    return;
  }
  const Shape& from = kernel.op(op.operands[0]).shape;
  if (ir::has(op.opcode, ir::Trait::kRelayout) && from.is_array() && op.shape.is_array() &&
      lanes_move(from, op.shape, op)) {
    work[group].cross_lane +=
        words_per_element(op.shape, device) * moved_share(from, op.shape, device);
  }
  work[group].cross_lane += spread_over_lanes(kernel, op, device);
  // XLA:CPU reverses whole vectors.
  if (op.opcode == Opcode::kReverse) {
    (is_xla_cpu(device) ? work[group].vector : work[group].cross_lane) += 1;
  }
  if (op.opcode == Opcode::kPad || op.opcode == Opcode::kConcatenate) work[group].vector += 1;
}

// Work of the elements that a gather picks or a scatter stores: whole rows of lanes move like a
// relayout, smaller pieces element by element.
void add_indexed(const Kernel& kernel, OpId id, const Footprints& footprints,
                 const hwdesc::Device& device, std::vector<ElementWork>& work) {
  const Op& op = kernel.op(id);
  const auto* gather = op.get<ir::GatherAttrs>();
  const auto* scatter = op.get<ir::ScatterAttrs>();
  const OpId moved = scatter != nullptr ? op.operands.back() : id;
  const Shape& shape = ir::first_array(kernel.op(moved).shape);
  ir::Dims dims;  // of a slice
  if (gather != nullptr) dims = gather->offset_dims;
  if (scatter != nullptr) dims = scatter->update_window_dims;
  const ir::Dims order = physical_order(shape);
  const bool rows = device.native_tile.tiled && !order.empty() &&
                    shape.dims[order.back()] >= device.native_tile.lanes &&
                    std::find(dims.begin(), dims.end(), order.back()) != dims.end();
  ElementWork& of_moved = work[footprints.group_of(moved)];
  (rows ? of_moved.cross_lane : of_moved.irregular) += rows ? words_per_element(shape, device) : 1;
}

void add_multiplications(double flops, const ProductType& type, const hwdesc::Device& device,
                         ElementWork& work) {
  const double per_cycle = product_peak(type, device).value /
                           (std::max(device.multiplexing.workers, 1) * device.clock.value);
  if (type.on_unit()) {
    work.matrix += flops / per_cycle;
  } else {
    work.vector += flops * type.products / multiply_add_operations(device);
  }
}

// A product other than the anchor: the unit's time without fill, or the lanes'. Only positions of a
// window that meet input count.
void add_product(const Kernel& kernel, const Op& op, const hwdesc::Device& device,
                 ElementWork& work) {
  const double results =
      static_cast<double>(std::max<std::int64_t>(ir::element_count(op.shape), 1));
  const double flops = ir::matrix_flops(op.opcode, op.attrs, kernel.op(op.operands[0]).shape,
                                        kernel.op(op.operands[1]).shape, op.shape);
  add_multiplications(flops / results, product_type(kernel, op, device), device, work);
}

// FLOPs per element of a discrete Fourier transform as products with matrices of a block of the
// array, in stages: XLA:TPU has no butterflies. A stage is three real products (Gauss), also where
// one side of the transform is real (its dumps).
double transform_flops(const ir::FftAttrs& fft, double block) {
  constexpr double kFlops = 2 * 3;
  double flops = 0;
  for (const std::int64_t length : fft.length) {
    const double stages =
        std::ceil(std::log2(std::max<double>(2.0, double(length))) / std::log2(block));
    flops += kFlops * stages * block;
  }
  return flops;
}

// Solvers are mostly products in full precision (XLA's and LAPACK's are blocked). An FFT is
// multiply-adds on the lanes, on TPUs products.
void add_linear_algebra(const Kernel& kernel, const Op& op, const hwdesc::Device& device,
                        ElementWork& work) {
  const Shape& a = kernel.op(op.operands[0]).shape;
  const Shape& b = kernel.op(op.operands.back()).shape;
  const double results =
      static_cast<double>(std::max<std::int64_t>(ir::element_count(op.shape), 1));
  const double flops = ir::linear_algebra_flops(op.opcode, op.attrs, a, b) / results;
  const auto* fft = op.get<ir::FftAttrs>();
  if (fft == nullptr) {
    add_multiplications(flops, full_product_type(a.dtype, device), device, work);
    return;
  }
  const bool doubles = a.dtype == ir::DType::kC128 || a.dtype == ir::DType::kF64;
  const ProductType real = full_product_type(doubles ? ir::DType::kF64 : ir::DType::kF32, device);
  const bool as_products = device.execution == hwdesc::Execution::kScratchpad && real.on_unit();
  const double block = static_cast<double>(std::max<std::int64_t>(device.matrix.rows, 2));
  const double all =
      static_cast<double>(std::max(ir::element_count(op.shape), ir::element_count(a)));
  add_multiplications(as_products ? transform_flops(*fft, block) * all / results : flops,
                      as_products ? real : ProductType{}, device, work);
}

// XLA expands these into elementwise code and reductions; counted as passes over the large operand.
constexpr double kNormalizationOpsPerElement = 6;
constexpr double kRandomOpsPerElement = 60;  // Threefry-2x32: 20 rounds x 6 ops per 2 words

}  // namespace

double words_per_element(const Shape& shape, const hwdesc::Device& device) {
  const double word_bytes = device.native_tile.word_bits / 8.0;
  return device.native_tile.tiled ? std::min(ir::storage_bytes(shape.dtype) / word_bytes, 1.0) : 1;
}

double widening_cost(const Shape& shape, const hwdesc::Device& device) {
  const double back = conversion_cost(shape, device);
  if (back == 0 || !ir::name(shape.dtype).starts_with("f8")) return back;
  return cost_of(device.vector.op_cycles, "widen-f8", back);
}

double conversion_cost(const Shape& shape, const hwdesc::Device& device) {
  if (!shape.is_array()) return 0;
  std::string_view dtype = ir::name(shape.dtype);
  if (dtype.starts_with("f8")) dtype = "f8";
  if (dtype == "u4") dtype = "s4";
  return cost_of(device.vector.op_cycles, fmt::format("convert-{}", dtype), 0);
}

bool goes_to_unit(const Kernel& kernel, OpId id, const hwdesc::Device& device) {
  const auto is_output = [&](OpId made) {
    return std::ranges::find(kernel.outputs(), made) != kernel.outputs().end();
  };
  const double wide = std::max(device.matrix_peak("bf16").value, device.matrix_peak("f16").value);
  std::vector<OpId> open = {id};
  while (!open.empty()) {
    const OpId next = open.back();
    open.pop_back();
    if (is_output(next) || kernel.users(next).empty()) return false;
    for (const OpId user : kernel.users(next)) {
      const Op& op = kernel.op(user);
      if (ir::has(op.opcode, ir::Trait::kView)) {
        open.push_back(user);
        continue;
      }
      if (ir::op_class(op.opcode) != OpClass::kMatrix) return false;
      const ProductType type = product_type(kernel, op, device);
      const bool narrow = type.on_unit() &&
                          ir::bits(type.dtype) <= ir::bits(kernel.op(id).shape.dtype) &&
                          device.matrix_peak(ir::name(type.dtype)).value > wide;
      if (!narrow) return false;
    }
  }
  return true;
}

double window_steps(const ir::WindowDim& window, std::int64_t row) {
  const auto size = static_cast<double>(window.size);
  if (row < 2 || window.size < row || window.base_dilation != 1 || window.window_dilation != 1) {
    return size;
  }
  const bool sees_all = window.pad_low >= row - 1 && window.size - window.pad_low >= row;
  return std::min(size, sees_all ? 1 : log2_of(row));
}

double window_operations(const Op& op, const Shape& input) {
  double size = 1;
  if (const auto* attrs = op.get<ir::WindowAttrs>()) {
    for (std::size_t i = 0; i < attrs->window.size(); ++i) {
      size *= window_steps(attrs->window[i], input.dims[i]);
    }
  }
  return size;
}

SortWork sort_work(const Op& op, const Shape& keys, const hwdesc::Device& device) {
  const auto dim = op.dimensions.empty() ? keys.rank() - 1 : op.dimensions[0];
  if (dim < 0 || dim >= keys.rank()) return {};
  const double stages = log2_of(keys.dims[dim]);
  const double steps = stages * (stages + 1) / 2;
  if (device.execution != hwdesc::Execution::kSimt) {
    const auto register_elements = device.vector.lanes * device.vector.sublanes;
    const double near = std::min(stages, log2_of(register_elements));
    return {.vector = steps, .cross_lane = near * (near + 1) / 2 + (stages - near) * near};
  }
  constexpr double kMoves = 1 + 0.5, kWordBytes = 4;
  const auto in_lanes =  // as elements are counted
      static_cast<double>(base::round_up(keys.dims[dim], device.vector.lanes));
  const double padded = std::exp2(stages) / std::max(in_lanes, 1.0);
  const double others =
      op.opcode == Opcode::kTopK ? 1 : static_cast<double>(op.operands.size()) - 1;
  const double words = std::max(ir::storage_bytes(keys.dtype) / kWordBytes, 1.0) + others;
  const double compared = std::max(op.applied_flops / 2, 1.0);  // two elements
  return {.vector = steps * padded * compared, .cross_lane = steps * padded * words * kMoves};
}

void add_op_work(const Kernel& kernel, OpId id, const hwdesc::Device& device,
                 const Footprints& footprints, std::vector<ElementWork>& by_group) {
  const Op& op = kernel.op(id);
  const int group = footprints.group_of(id);
  const int input_group = op.operands.empty() ? group : footprints.group_of(op.operands[0]);
  ElementWork& work = by_group[group];
  switch (ir::op_class(op.opcode)) {
    case OpClass::kElementwise:
      if (device.native_tile.tiled && is_invariant(kernel, op)) break;
      if (is_part_of_rotation(kernel, op, id, device)) break;
      work.vector += elementwise_operations(kernel, op, device);
      if (op.opcode == Opcode::kConvert && conversion_cost(op.shape, device) > 0 &&
          goes_to_unit(kernel, id, device)) {
        work.conversion += conversion_cost(op.shape, device);
      }
      if (op.opcode == Opcode::kConvert && is_xla_cpu(device)) {
        const ir::DType from = kernel.op(op.operands[0]).shape.dtype;
        work.vector += vector_operations(rounding_cycles(from, op.shape.dtype), device);
      }
      break;
    case OpClass::kTranscendental:
      work.transcendental += cost_of(device.transcendental.op_cost, op.opcode);
      work.vector += cost_of(device.vector.op_cycles, op.opcode, 0);
      break;
    case OpClass::kReduction:
      add_reduction(kernel, op, device, group, input_group, by_group);
      break;
    case OpClass::kDataMovement:
      add_movement(kernel, op, group, device, by_group);
      break;
    case OpClass::kMatrix:
      add_product(kernel, op, device, work);
      break;
    case OpClass::kIndexed:
      add_indexed(kernel, id, footprints, device, by_group);
      break;
    case OpClass::kSort: {
      const SortWork sorted = sort_work(op, kernel.op(op.operands[0]).shape, device);
      by_group[input_group].vector += sorted.vector;
      by_group[input_group].cross_lane += sorted.cross_lane;
      break;
    }
    case OpClass::kRandom: {
      const auto found = device.vector.op_cycles.find(std::string(ir::name(op.opcode)));
      work.vector += found == device.vector.op_cycles.end() ? kRandomOpsPerElement : found->second;
      break;
    }
    case OpClass::kNormalization:
      by_group[input_group].vector += kNormalizationOpsPerElement;
      break;
    case OpClass::kLinearAlgebra:
      add_linear_algebra(kernel, op, device, work);
      break;
    default:
      break;
  }
  if (!op.shape.is_array()) return;
  const std::vector<OpId> passed = passed_through(kernel);
  const auto moves = [&](OpId made) { return std::ranges::find(passed, made) == passed.end(); };
  if (op.opcode == Opcode::kParameter && std::ranges::any_of(kernel.users(id), moves)) {
    work.load_bytes += ir::storage_bytes(op.shape.dtype);
    const double cost = computes(kernel) ? widening_cost(op.shape, device) : 0;
    if (cost > 0 && !goes_to_unit(kernel, id, device)) work.conversion += cost;
  }
  for (const OpId output : kernel.outputs()) {
    if (output != id || !moves(id)) continue;
    work.store_bytes += ir::storage_bytes(op.shape.dtype);
    if (computes(kernel)) work.conversion += conversion_cost(op.shape, device);
  }
}

}  // namespace tilecast::analytical
