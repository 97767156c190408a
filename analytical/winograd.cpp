#include "analytical/winograd.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analytical/layout_rules.h"
#include "analytical/simt_model.h"
#include "base/math.h"
#include "ir/kernels/kernel_sketch.h"

namespace tilecast::analytical {
namespace {

constexpr double kF32Bytes = 4;

struct Convolution {  // sizes of the result
  std::int64_t images = 1, height = 1, width = 1, inputs = 1, features = 1;
  double input_bytes = 0, output_bytes = 0;
};

// One of several kernels: its computation and traffic.
struct Launched {
  double core_s = 0;
  double read_bytes = 0, write_bytes = 0;
  double rate = 1;  // share of the memory's rate that its access pattern reaches
};

bool is_filtered(const ir::WindowDim& dim) {
  return dim.size == 3 && dim.stride == 1 && dim.base_dilation == 1 && dim.window_dilation == 1;
}

std::optional<Convolution> convolution_of(const ir::Kernel& kernel) {
  constexpr std::size_t kOperandsAndResult = 3;
  if (kernel.ops().size() != kOperandsAndResult) return std::nullopt;
  const ir::Op& op = kernel.ops().back();
  const auto* attrs = op.get<ir::ConvAttrs>();
  if (attrs == nullptr || attrs->window.size() != 2 || attrs->feature_group_count != 1 ||
      attrs->batch_group_count != 1 || !std::ranges::all_of(attrs->window, is_filtered)) {
    return std::nullopt;
  }
  const ir::Shape& input = kernel.op(op.operands[0]).shape;
  if (input.dtype != ir::DType::kF32 || op.shape.dtype != ir::DType::kF32) return std::nullopt;
  const ir::ConvDims& dims = attrs->dims;
  return Convolution{.images = op.shape.dims[dims.output_batch],
                     .height = op.shape.dims[dims.output_spatial[0]],
                     .width = op.shape.dims[dims.output_spatial[1]],
                     .inputs = input.dims[dims.input_feature],
                     .features = op.shape.dims[dims.output_feature],
                     .input_bytes = kF32Bytes * static_cast<double>(ir::element_count(input)),
                     .output_bytes = kF32Bytes * static_cast<double>(ir::element_count(op.shape))};
}

void add_launch(const Launched& launched, const hwdesc::Device& device, BoundMask removed,
                Accounting& sum) {
  using enum Bound;
  const MemoryPath memory = memory_path(device.main_memory()).without(removed, kHbmRead, kHbmWrite);
  PerBound busy{};
  busy[index_of(kHbmRead)] = launched.read_bytes / (launched.rate * memory.read);
  busy[index_of(kHbmWrite)] = launched.write_bytes / (launched.rate * memory.write);
  busy[index_of(kMatrix)] = kept_s(removed, kMatrix, launched.core_s);
  const PipelineLoop loop{
      .path_s = memory.busy_s(busy[index_of(kHbmRead)], busy[index_of(kHbmWrite)]),
      .core_s = busy[index_of(kMatrix)]};
  const double ends_s = kept_s(removed, kFillDrain, 2 * memory.latency_s);
  const double launch_s = kept_s(removed, kOverhead, device.dispatch.kernel_launch.value);
  sum.add_periods(loop, busy, 1, kMemoryPaths);
  sum.add_alone(kFillDrain, ends_s);
  sum.add_alone(kOverhead, launch_s);
  sum.total_s += steady_period_s(loop) + ends_s + launch_s;
  sum.read_bytes += launched.read_bytes;
  sum.write_bytes += launched.write_bytes;
}

// Blocks of 4 x 8 tiles of one image and 32 features.
double fused_blocks(const Convolution& c) {
  constexpr std::int64_t kHeight = 4 * 2, kWidth = 8 * 2, kFeatures = 32;
  return static_cast<double>(c.images * base::ceil_div(c.height, kHeight) *
                             base::ceil_div(c.width, kWidth) *
                             base::ceil_div(c.features, kFeatures));
}

// A block processes eight input features per step and needs two extra steps to start and end (14 to
// 32 features fit the four GPUs); transforming its inputs takes one operation per 16 multiply-adds.
Accounting fused(const Convolution& c, const hwdesc::Device& device, BoundMask removed) {
  constexpr double kMatrices = 16, kProduct = 32 * 32, kEnds = 16, kTransforms = 1.0 / 16;
  constexpr double kWindow = 9;
  const double workers = std::max(device.multiplexing.workers, 1);
  const double rate = device.matrix_peak("f32").value * device.matrix.efficiency / workers;
  const double weights =
      kF32Bytes * static_cast<double>(c.inputs) * static_cast<double>(c.features);
  const double block_s =
      2 * kMatrices * kProduct * (1 + kTransforms) * (static_cast<double>(c.inputs) + kEnds) / rate;
  const double core_s = std::ceil(fused_blocks(c) / workers) * block_s;
  Accounting sum;
  add_launch({.read_bytes = weights * kWindow, .write_bytes = weights * kMatrices}, device, removed,
             sum);
  add_launch({.core_s = slowed_by_power(device, core_s) * core_s,
              .read_bytes = c.input_bytes + weights * kMatrices,
              .write_bytes = c.output_bytes},
             device, removed, sum);
  return sum;
}

// Tiles of 4 x 4 results; images are padded to 16.
std::int64_t tiles_of(const Convolution& c) {
  constexpr std::int64_t kSide = 4, kImages = 16;
  return base::round_up(c.images, kImages) * base::ceil_div(c.height, kSide) *
         base::ceil_div(c.width, kSide);
}

// The batch of 36 products.
ir::Kernel products(const Convolution& c, const hwdesc::Device& device) {
  constexpr std::int64_t kMatrices = 36;
  const std::int64_t rows = tiles_of(c);
  ir::KernelSketch sketch("winograd", ir::Opcode::kDot, layout_rules(device));
  const ir::OpId a = sketch.parameter(ir::DType::kF32, {kMatrices, rows, c.inputs});
  const ir::OpId b = sketch.parameter(ir::DType::kF32, {kMatrices, c.inputs, c.features});
  const ir::DotDims dims{
      .lhs_contracting = {2}, .rhs_contracting = {1}, .lhs_batch = {0}, .rhs_batch = {0}};
  return sketch.build({sketch.dot(a, b, dims, {kMatrices, rows, c.features}, ir::DType::kF32)});
}

// Bytes that go to main memory between two kernels: those that exceed the shared cache.
double spilled_bytes(double bytes, const hwdesc::Device& device) {
  const hwdesc::MemoryLevel* cache = shared_cache(device);
  return std::max(0.0, bytes - (cache == nullptr ? 0 : cache->capacity.value));
}

// Transforms scatter to 36 matrices and gather from them: the longest runs are a warp's elements of
// one matrix, for weights a single element. Shares of the memory's rate, the same for all machines:
// 7,254 convolutions of four GPUs show 0.26 to 0.43 for weights, 0.57 to 0.98 for inputs and
// results.
constexpr double kScatterRate = 0.7, kScatterWeightsRate = 1.0 / 3;

// Arithmetic pauses during transforms, so the power limit does not apply.
hwdesc::Device without_power_limit(hwdesc::Device device) {
  device.matrix.limited_clock.reset();
  return device;
}

TileConfig fastest_tile(const Convolution& c, const hwdesc::Device& device) {
  const ir::Kernel batch = products(c, device);
  const hwdesc::Device unlimited = without_power_limit(device);
  const SimtModel model(batch, unlimited);
  const std::vector<TileConfig> tiles = model.candidates(std::numeric_limits<std::size_t>::max());
  return *std::ranges::min_element(tiles, {},
                                   [&](const TileConfig& tile) { return model.time_s(tile); });
}

// `tile`: the tile of the products.
Accounting in_parts(const Convolution& c, const TileConfig& tile, const hwdesc::Device& device,
                    BoundMask removed) {
  constexpr double kMatrices = 36, kWindow = 9;
  const auto inputs = static_cast<double>(c.inputs), features = static_cast<double>(c.features);
  const double weights = kF32Bytes * inputs * features;
  const double transformed = kMatrices * kF32Bytes * static_cast<double>(tiles_of(c));
  Accounting sum;
  add_launch({.read_bytes = c.input_bytes,
              .write_bytes = spilled_bytes(transformed * inputs, device),
              .rate = kScatterRate},
             device, removed, sum);
  add_launch({.read_bytes = weights * kWindow,
              .write_bytes = weights * kMatrices,
              .rate = kScatterWeightsRate},
             device, removed, sum);
  const ir::Kernel batch = products(c, device);
  const hwdesc::Device unlimited = without_power_limit(device);
  sum += SimtModel(batch, unlimited).account(tile, removed);
  add_launch({.read_bytes = spilled_bytes(transformed * features, device),
              .write_bytes = c.output_bytes,
              .rate = kScatterRate},
             device, removed, sum);
  return sum;
}

}  // namespace

double least_multiplications(const ir::Kernel& kernel) {
  const bool may_skip = std::ranges::any_of(kernel.ops(), [](const ir::Op& op) {
    const auto* attrs = op.get<ir::ConvAttrs>();
    return attrs != nullptr && attrs->window.size() >= 2 &&
           std::ranges::all_of(attrs->window, [](const ir::WindowDim& dim) {
             return dim.size >= 3 && dim.stride == 1 && dim.window_dilation == 1;
           });
  });
  return may_skip ? 36.0 / (9 * 16) : 1;
}

std::optional<Algorithm> winograd(const ir::Kernel& kernel, const hwdesc::Device& device) {
  if (device.execution != hwdesc::Execution::kSimt || device.matrix_peak("f32").value <= 0 ||
      !multiplies_on_lanes(device, "f32")) {
    return std::nullopt;
  }
  const std::optional<Convolution> c = convolution_of(kernel);
  if (!c) return std::nullopt;
  Algorithm one{"Winograd F(2x2, 3x3), fused",
                [c = *c, &device](BoundMask removed) { return fused(c, device, removed); }};
  Algorithm several{"Winograd F(4x4, 3x3), 36 products",
                    [c = *c, tile = fastest_tile(*c, device), &device](BoundMask removed) {
                      return in_parts(c, tile, device, removed);
                    }};
  return one.account(0).total_s <= several.account(0).total_s ? one : several;
}

std::optional<Estimate> winograd_estimate(const ir::Kernel& kernel, const hwdesc::Device& device) {
  const std::optional<Algorithm> fewer = winograd(kernel, device);
  return fewer ? std::optional(explained(*fewer)) : std::nullopt;
}

}  // namespace tilecast::analytical
