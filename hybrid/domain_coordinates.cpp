#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "hybrid/domain.h"
#include "learned/table_features_groups.h"

namespace tilecast::hybrid {
namespace {

using ir::OpClass;
using learned::KernelScan;

// Elements that ops of one kind go through, over those of all: of products their multiply-adds, of
// reductions their input, else the result.
struct Kinds {
  double elementwise = 0, transcendental = 0, matrix = 0, reduction = 0, movement = 0, indexed = 0,
         other = 0;

  [[nodiscard]] double total() const {
    return elementwise + transcendental + matrix + reduction + movement + indexed + other;
  }
};

struct Facts {
  KernelScan scan;
  Kinds kinds;
  double speed_of_light = 0, flops = 0, bytes = 1, total = 1, minor_reduced = 0;
  double reduced = 0, kept = 0;  // elements of the largest reduction: its input, its result
};

double finite_or_zero(double value) {
  return std::isfinite(value) ? std::max(value, 0.0) : 0;
}

// Logarithm of a count that may be 0.
double log_count(double value) {
  return std::log1p(finite_or_zero(value));
}

double minor_of(const ir::Op* op) {
  return op == nullptr ? 0 : learned::minor_size(op->shape);
}

// The size of the second dimension in memory.
double second_minor_of(const ir::Op* op) {
  if (op == nullptr || op->shape.rank() < 2) return 1;
  const ir::Shape& shape = op->shape;
  const auto rank = static_cast<std::size_t>(shape.rank());
  const bool laid_out = shape.layout && shape.layout->minor_to_major.size() == rank;
  const auto dim = laid_out ? static_cast<std::size_t>(shape.layout->minor_to_major[1]) : rank - 2;
  return static_cast<double>(shape.dims[dim]);
}

double element_bytes(const ir::Op* op) {
  return op == nullptr ? 0 : ir::storage_bytes(op->shape.dtype);
}

struct Column {
  std::string_view name;
  float floor = 0;  // the least deviation it is divided by
  double (*of)(const Facts&) = nullptr;
};

// Of logarithms: a factor of sqrt(2). Of shares and flags: a tenth, a quarter.
constexpr float kLog = 0.35F, kShare = 0.1F, kFlag = 0.25F, kRank = 0.5F;

constexpr std::array<Column, kCoordinates> kColumns = {{
    {"log_speed_of_light", kLog,
     [](const Facts& f) { return std::log(std::max(f.speed_of_light, 1e-9)); }},
    {"log_flops", kLog, [](const Facts& f) { return log_count(f.flops); }},
    {"log_bytes", kLog, [](const Facts& f) { return std::log(f.bytes); }},
    {"log_intensity", kLog, [](const Facts& f) { return log_count(f.flops / f.bytes); }},
    {"log_rate", kLog,
     [](const Facts& f) { return std::log(f.bytes / std::max(f.speed_of_light, 1e-9)); }},
    {"elementwise", kShare, [](const Facts& f) { return f.kinds.elementwise / f.total; }},
    {"transcendental", kShare, [](const Facts& f) { return f.kinds.transcendental / f.total; }},
    {"matrix", kShare, [](const Facts& f) { return f.kinds.matrix / f.total; }},
    {"reduction", kShare, [](const Facts& f) { return f.kinds.reduction / f.total; }},
    {"movement", kShare, [](const Facts& f) { return f.kinds.movement / f.total; }},
    {"indexed", kShare, [](const Facts& f) { return f.kinds.indexed / f.total; }},
    {"other", kShare, [](const Facts& f) { return f.kinds.other / f.total; }},
    {"log_work_per_byte", kLog, [](const Facts& f) { return log_count(f.total / f.bytes); }},
    {"log_transcendentals_per_byte", kLog,
     [](const Facts& f) { return log_count(f.kinds.transcendental / f.bytes); }},
    {"log_output_minor", kLog,
     [](const Facts& f) { return log_count(minor_of(f.scan.largest_output)); }},
    {"log_output_second_minor", kLog,
     [](const Facts& f) { return log_count(second_minor_of(f.scan.largest_output)); }},
    {"log_parameter_minor", kLog,
     [](const Facts& f) { return log_count(minor_of(f.scan.largest_parameter)); }},
    {"output_rank", kRank,
     [](const Facts& f) {
       return f.scan.largest_output == nullptr
                  ? 0.0
                  : static_cast<double>(f.scan.largest_output->shape.rank());
     }},
    {"log_m", kLog, [](const Facts& f) { return f.scan.matrix ? log_count(f.scan.sizes.m) : 0; }},
    {"log_n", kLog, [](const Facts& f) { return f.scan.matrix ? log_count(f.scan.sizes.n) : 0; }},
    {"log_k", kLog, [](const Facts& f) { return f.scan.matrix ? log_count(f.scan.sizes.k) : 0; }},
    {"log_batch", kLog,
     [](const Facts& f) { return f.scan.matrix ? log_count(f.scan.sizes.batch) : 0; }},
    {"log_reduced", kLog,
     [](const Facts& f) { return f.kept > 0 ? log_count(f.reduced / f.kept) : 0; }},
    {"minor_reduced", kFlag, [](const Facts& f) { return f.minor_reduced; }},
    {"log_element_bytes", kLog,
     [](const Facts& f) { return log_count(ir::storage_bytes(f.scan.main_dtype)); }},
    {"log_output_element_bytes", kLog,
     [](const Facts& f) { return log_count(element_bytes(f.scan.largest_output)); }},
    {"log_input_to_output", kLog,
     [](const Facts& f) {
       return log_count(f.scan.parameter_bytes) - log_count(f.scan.output_bytes);
     }},
    {"log_ops", kLog,
     [](const Facts& f) { return log_count(static_cast<double>(f.scan.elements.size())); }},
}};

constexpr auto kNames = [] {
  std::array<std::string_view, kCoordinates> names;
  for (std::size_t i = 0; i < kCoordinates; ++i) names[i] = kColumns[i].name;
  return names;
}();

double operand_elements(const KernelScan& scan, const ir::Op& op) {
  return op.operands.empty() ? 0 : scan.elements[op.operands[0].index()];
}

Kinds kinds_of(const KernelScan& scan) {
  Kinds kinds;
  const std::span<const ir::Op> ops = scan.kernel->ops();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const ir::Op& op = ops[i];
    switch (ir::op_class(op.opcode)) {
      case OpClass::kFree:
      case OpClass::kMatrix:
        break;
      case OpClass::kElementwise:
        kinds.elementwise += scan.elements[i];
        break;
      case OpClass::kTranscendental:
        kinds.transcendental += scan.elements[i];
        break;
      case OpClass::kReduction:
        kinds.reduction += operand_elements(scan, op);
        break;
      case OpClass::kDataMovement: {
        const bool spreads_scalar =
            op.opcode == ir::Opcode::kBroadcast && operand_elements(scan, op) <= 1;
        if (!spreads_scalar) kinds.movement += scan.elements[i];
        break;
      }
      case OpClass::kIndexed:
        kinds.indexed += scan.elements[i];
        break;
      default:
        kinds.other += std::max(scan.elements[i], operand_elements(scan, op));
        break;
    }
  }
  kinds.matrix = scan.multiply_adds;
  return kinds;
}

void set_reduction(Facts& facts) {
  facts.reduced = facts.kept = facts.minor_reduced = 0;
  const ir::Op* op = facts.scan.reduction;
  if (op == nullptr || op->operands.empty()) return;
  const ir::Shape& from = facts.scan.kernel->op(op->operands[0]).shape;
  const bool several = op->shape.is_tuple() && !op->shape.elements.empty();
  facts.reduced = learned::elements_of(from);
  facts.kept = learned::elements_of(several ? op->shape.elements[0] : op->shape);
  const auto& reduced = op->dimensions;
  const bool minor = std::ranges::find(reduced, learned::minor_dimension(from)) != reduced.end();
  facts.minor_reduced = minor ? 1 : 0;
}

}  // namespace

std::span<const std::string_view> coordinate_names() {
  return kNames;
}

float coordinate_floor(std::size_t coordinate) {
  TC_CHECK(coordinate < kCoordinates, "a coordinate that there is not");
  return kColumns[coordinate].floor;
}

Coordinates coordinates_of(const ir::Kernel& kernel, const analytical::Estimate& estimate) {
  thread_local Facts facts;  // keeps its vectors
  KernelScan& scan = facts.scan;
  scan.of(kernel);
  facts.kinds = kinds_of(scan);
  facts.total = std::max(facts.kinds.total(), 1.0);
  facts.speed_of_light = finite_or_zero(estimate.speed_of_light.value);
  facts.flops = finite_or_zero(scan.flops);
  const double accessed = finite_or_zero(scan.bytes_read) + finite_or_zero(scan.bytes_written);
  const double arrays = scan.parameter_bytes + scan.output_bytes;
  facts.bytes = std::max(accessed > 0 ? accessed : arrays, 1.0);
  set_reduction(facts);
  Coordinates at;
  for (std::size_t i = 0; i < kCoordinates; ++i) {
    const double value = kColumns[i].of(facts);
    at[i] = std::isfinite(value) ? static_cast<float>(value) : 0;
  }
  return at;
}

}  // namespace tilecast::hybrid
