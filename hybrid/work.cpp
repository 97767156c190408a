#include "hybrid/work.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
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
  float floor = 0;         // the least deviation it is divided by
  std::uint8_t about = 0;  // bit per Resource
  double (*of)(const Facts&) = nullptr;
};

// Of logarithms: a factor of sqrt(2). Of shares and flags: a tenth, a quarter.
constexpr float kLog = 0.35F, kShare = 0.1F, kFlag = 0.25F, kRank = 0.5F;

constexpr std::uint8_t bit_of(Resource resource) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(resource));
}
constexpr std::uint8_t kM = bit_of(Resource::kMatrix), kR = bit_of(Resource::kRead),
                       kW = bit_of(Resource::kWrite), kV = bit_of(Resource::kVector),
                       kC = bit_of(Resource::kCrossLane), kL = bit_of(Resource::kLatency);

constexpr std::array<Column, kCoordinates> kColumns = {{
    {"log_speed_of_light", kLog, kL,
     [](const Facts& f) { return std::log(std::max(f.speed_of_light, 1e-9)); }},
    {"log_flops", kLog, kM, [](const Facts& f) { return log_count(f.flops); }},
    {"log_bytes", kLog, kR | kW, [](const Facts& f) { return std::log(f.bytes); }},
    {"log_intensity", kLog, kM, [](const Facts& f) { return log_count(f.flops / f.bytes); }},
    // Of the unit that computes in this type, where work binds.
    {"log_flops_rate", kLog, kM,
     [](const Facts& f) { return log_count(f.flops / std::max(f.speed_of_light, 1e-9)); }},
    {"log_rate", kLog, kR,
     [](const Facts& f) { return std::log(f.bytes / std::max(f.speed_of_light, 1e-9)); }},
    {"elementwise", kShare, kV, [](const Facts& f) { return f.kinds.elementwise / f.total; }},
    {"transcendental", kShare, kV, [](const Facts& f) { return f.kinds.transcendental / f.total; }},
    {"matrix", kShare, kM, [](const Facts& f) { return f.kinds.matrix / f.total; }},
    {"reduction", kShare, kV | kC, [](const Facts& f) { return f.kinds.reduction / f.total; }},
    {"movement", kShare, kR | kW | kC, [](const Facts& f) { return f.kinds.movement / f.total; }},
    {"indexed", kShare, kR | kL, [](const Facts& f) { return f.kinds.indexed / f.total; }},
    {"other", kShare, kV | kL, [](const Facts& f) { return f.kinds.other / f.total; }},
    {"log_work_per_byte", kLog, kV, [](const Facts& f) { return log_count(f.total / f.bytes); }},
    {"log_transcendentals_per_byte", kLog, kV,
     [](const Facts& f) { return log_count(f.kinds.transcendental / f.bytes); }},
    {"log_output_minor", kLog, kW | kV | kC,
     [](const Facts& f) { return log_count(minor_of(f.scan.largest_output)); }},
    {"log_output_second_minor", kLog, kW | kV,
     [](const Facts& f) { return log_count(second_minor_of(f.scan.largest_output)); }},
    {"log_parameter_minor", kLog, kR | kC,
     [](const Facts& f) { return log_count(minor_of(f.scan.largest_parameter)); }},
    {"output_rank", kRank, kW,
     [](const Facts& f) {
       return f.scan.largest_output == nullptr
                  ? 0.0
                  : static_cast<double>(f.scan.largest_output->shape.rank());
     }},
    {"log_m", kLog, kM | kR | kL,
     [](const Facts& f) { return f.scan.matrix ? log_count(f.scan.sizes.m) : 0; }},
    {"log_n", kLog, kM | kR | kL,
     [](const Facts& f) { return f.scan.matrix ? log_count(f.scan.sizes.n) : 0; }},
    {"log_k", kLog, kM | kR | kL,
     [](const Facts& f) { return f.scan.matrix ? log_count(f.scan.sizes.k) : 0; }},
    {"log_batch", kLog, kM | kR | kL,
     [](const Facts& f) { return f.scan.matrix ? log_count(f.scan.sizes.batch) : 0; }},
    {"log_reduced", kLog, kR | kV | kC,
     [](const Facts& f) { return f.kept > 0 ? log_count(f.reduced / f.kept) : 0; }},
    {"minor_reduced", kFlag, kV | kC, [](const Facts& f) { return f.minor_reduced; }},
    {"log_element_bytes", kLog, kM | kR,
     [](const Facts& f) { return log_count(ir::storage_bytes(f.scan.main_dtype)); }},
    {"log_output_element_bytes", kLog, kM | kW,
     [](const Facts& f) { return log_count(element_bytes(f.scan.largest_output)); }},
    {"log_input_to_output", kLog, kR | kW,
     [](const Facts& f) {
       return log_count(f.scan.parameter_bytes) - log_count(f.scan.output_bytes);
     }},
    {"log_ops", kLog, kV | kL,
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

// What a kernel computes with, what says most first. Matrix units have a rate, and libraries a
// kernel, for each width of numbers.
enum class What : std::uint8_t {
  kProduct,          // of 8 bits at most, 16, 32, 64
  kConvolution = 4,  // the same
  kIndexed = 8,
  kFunctionReduction,  // of transcendental functions: a softmax
  kReduction,
  kElementwise,
  kMovement,
  kOther
};
constexpr std::array<std::string_view, 14> kWhatNames = {"8-bit product",
                                                         "16-bit product",
                                                         "32-bit product",
                                                         "64-bit product",
                                                         "8-bit convolution",
                                                         "16-bit convolution",
                                                         "32-bit convolution",
                                                         "64-bit convolution",
                                                         "indexed",
                                                         "function reduction",
                                                         "reduction",
                                                         "elementwise",
                                                         "movement",
                                                         "other"};
constexpr double kNotable = 0.1;  // of all work

What what_of(const Facts& facts) {
  const Kinds& kinds = facts.kinds;
  const auto notable = [&](double work) { return work >= kNotable * facts.total; };
  if (facts.scan.matrix != nullptr) {
    const bool window = facts.scan.matrix->opcode == ir::Opcode::kConvolution;
    const double bytes = ir::storage_bytes(facts.scan.main_dtype);
    const int width = bytes > 4 ? 3 : bytes > 2 ? 2 : bytes > 1 ? 1 : 0;
    return static_cast<What>(static_cast<int>(window ? What::kConvolution : What::kProduct) +
                             width);
  }
  if (notable(kinds.indexed)) return What::kIndexed;
  if (notable(kinds.reduction)) {
    return notable(kinds.transcendental) ? What::kFunctionReduction : What::kReduction;
  }
  if (notable(kinds.elementwise + kinds.transcendental)) return What::kElementwise;
  return notable(kinds.movement) ? What::kMovement : What::kOther;
}

using analytical::Bound;
// By Bound.
constexpr std::array<Resource, analytical::kBoundCount> kResourceOf = {
    Resource::kRead,   Resource::kWrite,     Resource::kMatrix,  Resource::kVector,
    Resource::kVector, Resource::kCrossLane, Resource::kRead,    Resource::kLatency,
    Resource::kVector, Resource::kLatency,   Resource::kLatency, Resource::kLatency};
static_assert(kResourceOf[static_cast<std::size_t>(Bound::kMatrix)] == Resource::kMatrix);
static_assert(kResourceOf[static_cast<std::size_t>(Bound::kOverhead)] == Resource::kLatency);

constexpr double kLeastTime = 1e-12;  // seconds
constexpr float kNoShare = 1e-3F;

PerResource shares_of(const analytical::Estimate& estimate) {
  PerResource shares{};
  float sum = 0;
  const double time = std::max(finite_or_zero(estimate.time.value), kLeastTime);
  for (std::size_t b = 0; b < analytical::kBoundCount; ++b) {
    const auto busy = static_cast<float>(finite_or_zero(estimate.bounds[b].value) / time);
    const float weight = busy * busy * busy * busy;
    shares[static_cast<std::size_t>(kResourceOf[b])] += weight;
    sum += weight;
  }
  if (!(sum > 0)) {
    shares = {};
    shares[static_cast<std::size_t>(Resource::kLatency)] = 1;
    return shares;
  }
  for (float& share : shares) share /= sum;
  return shares;
}

PerResource busy_of(const analytical::Estimate& estimate) {
  PerResource busy{};
  for (std::size_t b = 0; b < analytical::kBoundCount; ++b) {
    busy[static_cast<std::size_t>(kResourceOf[b])] +=
        static_cast<float>(finite_or_zero(estimate.bounds[b].value));
  }
  return busy;
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

void set_facts(const ir::Kernel& kernel, const analytical::Estimate& estimate, Facts& facts) {
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
}

}  // namespace

std::span<const std::string> all_kinds() {
  static const auto kKinds = [] {
    std::vector<std::string> names;
    for (const std::string_view what : kWhatNames) {
      for (const std::string_view resource : kResourceNames) {
        names.push_back(std::string(what) + ", " + std::string(resource));
      }
    }
    return names;
  }();
  return kKinds;
}

Resource binding_of(std::string_view kind) {
  const auto found = std::ranges::find(all_kinds(), kind);
  TC_CHECK(found != all_kinds().end(), "a kind that there is not");
  return static_cast<Resource>((found - all_kinds().begin()) % static_cast<long>(kResources));
}

std::span<const std::string_view> coordinate_names() {
  return kNames;
}

float coordinate_floor(std::size_t coordinate) {
  TC_CHECK(coordinate < kCoordinates, "a coordinate that there is not");
  return kColumns[coordinate].floor;
}

std::span<const std::uint8_t> coordinates_about(Resource resource) {
  static const auto kAbout = [] {
    std::array<std::vector<std::uint8_t>, kResources> about;
    for (std::size_t r = 0; r < kResources; ++r) {
      for (std::size_t c = 0; c < kCoordinates; ++c) {
        const bool says = (kColumns[c].about & bit_of(static_cast<Resource>(r))) != 0;
        if (says) about[r].push_back(static_cast<std::uint8_t>(c));
      }
    }
    return about;
  }();
  return kAbout[static_cast<std::size_t>(resource)];
}

Work work_of(const ir::Kernel& kernel, const analytical::Estimate& estimate) {
  thread_local Facts facts;  // keeps its vectors
  set_facts(kernel, estimate, facts);
  Work work;
  for (std::size_t i = 0; i < kCoordinates; ++i) {
    const double value = kColumns[i].of(facts);
    work.at[i] = std::isfinite(value) ? static_cast<float>(value) : 0;
  }
  work.what = static_cast<std::uint8_t>(what_of(facts));
  rebind(work, estimate);
  return work;
}

void rebind(Work& work, const analytical::Estimate& estimate) {
  work.shares = shares_of(estimate);
  const auto binding = std::ranges::max_element(work.shares) - work.shares.begin();
  work.kind = all_kinds()[work.what * kResources + static_cast<std::size_t>(binding)];
}

double machine_distance(const analytical::Estimate& asked, const analytical::Estimate& other) {
  const PerResource a = busy_of(asked), b = busy_of(other), shares = shares_of(asked);
  double distance = 0;
  for (std::size_t r = 0; r < kResources; ++r) {
    if (shares[r] < kNoShare) continue;
    const double ratio = std::log(std::max<double>(b[r], kLeastTime) / a[r]);
    distance += static_cast<double>(shares[r]) * std::abs(ratio);
  }
  return distance;
}

}  // namespace tilecast::hybrid
