#include "ir/infer/shape_inference.h"

#include "ir/infer/infer_rules.h"

namespace tilecast::ir {
namespace {

using infer::fail;
using infer::Site;

void check_operand_count(const Instruction& instruction) {
  const int arity = info(instruction.opcode).arity;
  if (arity >= 0 && instruction.operands.size() != static_cast<std::size_t>(arity)) {
    fail("Expected {} operands for {} instruction: {} has {}", arity, name(instruction.opcode),
         instruction.name, instruction.operands.size());
  }
}

bool is_unbounded_array(const Shape& shape) {
  return shape.is_array() && infer::contains(shape.dims, kUnboundedSize);
}

bool any_unbounded(const Site& site) {
  for (std::size_t i = 0; i < site.count(); ++i) {
    if (is_unbounded_array(site.operand(i))) return true;
  }
  return is_unbounded_array(site.instruction.shape);
}

Shape tuple(const Site& site) {
  std::vector<Shape> elements;
  elements.reserve(site.count());
  for (std::size_t i = 0; i < site.count(); ++i) elements.push_back(site.operand(i));
  return Shape::tuple(std::move(elements));
}

Shape tuple_element(const Site& site) {
  const Shape& operand = site.operand(0);
  const std::int64_t index = site.attrs<IndexAttrs>().index;
  if (!operand.is_tuple()) {
    fail("Cannot infer shape: attempting to index into non-tuple: {}.", infer::human(operand));
  }
  if (index < 0 || static_cast<std::size_t>(index) >= operand.elements.size()) {
    fail("Cannot infer shape: attempt to index out of tuple bounds: {} >= {} in shape {}.", index,
         operand.elements.size(), infer::human(operand));
  }
  return operand.elements[static_cast<std::size_t>(index)];
}

Shape copy_start(const Site& site) {
  return Shape::tuple({site.operand(0), site.operand(0), Shape::array(DType::kU32, {})});
}

Shape first_element(const Site& site) {
  const Shape& operand = site.operand(0);
  if (!operand.is_tuple() || operand.elements.size() < 2) {
    fail("{} expects the tuple of its start; got {}", name(site.instruction.opcode),
         infer::human(operand));
  }
  return operand.elements[0];
}

std::optional<Shape> infer_control(const Site& site) {
  switch (site.instruction.opcode) {
    case Opcode::kTuple:
      return tuple(site);
    case Opcode::kGetTupleElement:
      return tuple_element(site);
    case Opcode::kCopy:
    case Opcode::kDomain:
    case Opcode::kOptBarrier:
    case Opcode::kAddDependency:
    case Opcode::kWhile:
      return site.operand(0);
    case Opcode::kCall:
    case Opcode::kFusion:
      return infer::root_shape(site.callee(0));
    case Opcode::kConditional:
      return infer::conditional(site);
    case Opcode::kCopyStart:
      return copy_start(site);
    case Opcode::kCopyDone:
      return first_element(site);
    case Opcode::kAfterAll:
    case Opcode::kOutfeed:
      return Shape::token();
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
      return Shape::array(DType::kU32, {});
    case Opcode::kRngGetAndUpdateState:
      return Shape::array(DType::kU64, {2});
    default:
      return std::nullopt;
  }
}

std::optional<Shape> infer_moved(const Site& site) {
  switch (site.instruction.opcode) {
    case Opcode::kConcatenate:
      return infer::concatenate(site);
    case Opcode::kPad:
      return infer::pad(site);
    case Opcode::kSlice:
      return infer::slice(site);
    case Opcode::kDynamicSlice:
      return infer::dynamic_slice(site);
    case Opcode::kDynamicUpdateSlice:
      return infer::dynamic_update_slice(site);
    case Opcode::kTranspose:
      return infer::transpose(site);
    case Opcode::kReverse:
      return infer::reverse(site);
    case Opcode::kGetDimensionSize:
      return infer::get_dimension_size(site);
    case Opcode::kSetDimensionSize:
      return infer::set_dimension_size(site);
    case Opcode::kGather:
      return infer::gather(site);
    case Opcode::kScatter:
      return infer::scatter(site);
    case Opcode::kBroadcast:
    case Opcode::kReshape:
      if (site.instruction.shape.dtype == DType::kInvalid) return std::nullopt;
      site.instruction.opcode == Opcode::kBroadcast ? infer::check_broadcast(site)
                                                    : infer::check_reshape(site);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<Shape> infer_computed(const Site& site) {
  switch (site.instruction.opcode) {
    case Opcode::kDot:
      return infer::dot(site);
    case Opcode::kScaledDot:
      return infer::scaled_dot(site);
    case Opcode::kRaggedDot:
      return infer::ragged_dot(site);
    case Opcode::kConvolution:
      return infer::convolution(site);
    case Opcode::kReduce:
      return infer::reduce(site);
    case Opcode::kReduceWindow:
      return infer::reduce_window(site);
    case Opcode::kSelectAndScatter:
      return infer::select_and_scatter(site);
    case Opcode::kSort:
      return infer::sort(site);
    case Opcode::kTopK:
      return infer::top_k(site);
    case Opcode::kScan:
      return infer::scan(site);
    case Opcode::kFft:
      return infer::fft(site);
    case Opcode::kCholesky:
      return infer::cholesky(site);
    case Opcode::kTriangularSolve:
      return infer::triangular_solve(site);
    case Opcode::kBatchNormTraining:
      return infer::batch_norm_training(site);
    case Opcode::kBatchNormInference:
      return infer::batch_norm_inference(site);
    case Opcode::kBatchNormGrad:
      return infer::batch_norm_grad(site);
    default:
      return std::nullopt;
  }
}

// Elementwise operations and those whose result type the text gives.
std::optional<Shape> infer_elementwise(const Site& site) {
  switch (site.instruction.opcode) {
    case Opcode::kConvert: {
      const Shape& operand = site.operand(0);
      if (!operand.is_array()) {
        fail("Convert does not allow non-arrays, so cannot convert from {}.",
             infer::human(operand));
      }
      return infer::array_like(operand, site.result_type(operand.dtype));
    }
    case Opcode::kBitcastConvert:
      return infer::bitcast_convert(site);
    case Opcode::kStochasticConvert:
      return infer::stochastic_convert(site);
    case Opcode::kReducePrecision:
      return infer::reduce_precision(site);
    case Opcode::kClamp:
      return infer::clamp(site);
    case Opcode::kSelect:
      return infer::select(site);
    case Opcode::kMap:
      return infer::map(site);
    default:
      break;
  }
  const OpInfo& row = info(site.instruction.opcode);
  const bool elementwise =
      row.work == OpClass::kElementwise || row.work == OpClass::kTranscendental;
  if (!elementwise) return std::nullopt;
  if (row.arity == 1) return infer::unary(site);
  if (row.arity == 2) return infer::binary(site);
  return std::nullopt;
}

}  // namespace

namespace infer {

Shape conditional(const Site& site) {
  const Shape& selector = site.operand(0);
  if (!selector.is_scalar()) {
    fail("The first operand of conditional must be a scalar. Got {}", human(selector));
  }
  if (selector.dtype != DType::kPred && selector.dtype != DType::kS32) {
    fail("The first operand of indexed conditional must be a scalar of S32. Got type {}.",
         type_name(selector.dtype));
  }
  return root_shape(site.callee(0));
}

}  // namespace infer

std::optional<Shape> infer_shape(const Module& module, const Computation& computation,
                                 const Instruction& instruction) {
  const Site site{module, computation, instruction};
  check_operand_count(instruction);
  if (any_unbounded(site)) return infer_control(site);
  switch (op_class(instruction.opcode)) {
    case OpClass::kElementwise:
    case OpClass::kTranscendental:
      return infer_elementwise(site);
    case OpClass::kMatrix:
    case OpClass::kReduction:
    case OpClass::kSort:
    case OpClass::kNormalization:
    case OpClass::kLinearAlgebra:
      return infer_computed(site);
    case OpClass::kIndexed:
      return infer_moved(site);
    case OpClass::kDataMovement:
      if (auto shape = infer_moved(site)) return shape;
      return infer_control(site);
    case OpClass::kCollective:
      return infer::collective(site);
    case OpClass::kAsyncDone:
      if (instruction.opcode == Opcode::kCopyDone) return infer_control(site);
      return infer::collective(site);
    default:
      return infer_control(site);
  }
}

std::int64_t window_output_size(std::int64_t size, const WindowDim& window) {
  if (window.stride <= 0) fail("Window has a non-positive stride: {}.", window.stride);
  const auto dilated = [](std::int64_t extent, std::int64_t dilation) {
    if (extent <= 0) return std::int64_t{0};
    return infer::checked_add(infer::checked_multiply(extent - 1, dilation), 1);
  };
  const std::int64_t edges = infer::checked_add(window.pad_low, window.pad_high);
  const std::int64_t padded = infer::checked_add(dilated(size, window.base_dilation), edges);
  const std::int64_t covered = dilated(window.size, window.window_dilation);
  if (padded <= 0 || covered > padded) return 0;
  return (padded - covered) / window.stride + 1;
}

}  // namespace tilecast::ir
