#include "measured/paradnn.h"

#include <fmt/format.h>

#include "analytical/roofline.h"
#include "base/error.h"
#include "measured/op_sketch.h"

namespace tilecast::measured {
namespace {

using ir::DType;
using ir::Opcode;
using ir::OpId;

// The weight [inputs, units] of a dense layer, and the number of such layers.
struct Dense {
  std::int64_t inputs = 1, units = 1;
  double count = 1;
  bool first = false, last = false;
};

// Parameters common to all kernels of a program.
struct Step {
  std::int64_t rows = 1;  // batch rows on one device
  std::int64_t devices = 1;
  DType dtype = DType::kBF16;
  const ir::LayoutRules& layout;
};

std::vector<Dense> dense_layers(const FcTraining& net) {
  std::vector<Dense> layers{{.inputs = net.input, .units = net.nodes, .first = true}};
  if (net.layers > 1) {
    layers.push_back({net.nodes, net.nodes, static_cast<double>(net.layers - 1)});
  }
  layers.push_back({.inputs = net.nodes, .units = net.output, .last = true});
  return layers;
}

OpId zeros_like(OpSketch& sketch, OpId x) {
  return sketch.constant_like(x, "0");
}

ir::Kernel forward(const Dense& layer, const Step& step) {
  OpSketch sketch(layer.last ? "logits" : "forward", step.layout);
  const OpId x = sketch.parameter(step.dtype, {step.rows, layer.inputs});
  const OpId weight =
      sketch.to(sketch.parameter(DType::kF32, {layer.inputs, layer.units}), step.dtype);
  const OpId bias = sketch.parameter(DType::kF32, {layer.units});
  const OpId product = sketch.dot(x, weight, {.lhs_contracting = {1}, .rhs_contracting = {0}},
                                  {step.rows, layer.units}, DType::kF32);
  OpId y = sketch.plus(product, sketch.broadcast_like(bias, product, {1}));
  if (!layer.last) y = sketch.elementwise(Opcode::kMaximum, {y, zeros_like(sketch, y)});
  return sketch.build({sketch.to(y, step.dtype)});
}

// Gradient to the logits: (softmax - one-hot labels) / rows of the whole batch.
ir::Kernel loss(const Dense& layer, const Step& step) {
  OpSketch sketch("softmax_cross_entropy", step.layout);
  const OpId logits =
      sketch.to(sketch.parameter(step.dtype, {step.rows, layer.units}), DType::kF32);
  const OpId labels = sketch.parameter(DType::kF32, {step.rows, layer.units});
  const OpId gradient = sketch.minus(sketch.softmax(logits), labels);
  return sketch.build({sketch.to(gradient, step.dtype)});
}

ir::Kernel gradient_to_input(const Dense& layer, const Step& step) {
  OpSketch sketch("input_gradient", step.layout);
  const OpId dy = sketch.parameter(step.dtype, {step.rows, layer.units});
  const OpId weight =
      sketch.to(sketch.parameter(DType::kF32, {layer.inputs, layer.units}), step.dtype);
  const OpId x = sketch.parameter(step.dtype, {step.rows, layer.inputs});
  const OpId product = sketch.dot(dy, weight, {.lhs_contracting = {1}, .rhs_contracting = {1}},
                                  {step.rows, layer.inputs}, DType::kF32);
  const OpId passed =
      sketch.elementwise(Opcode::kCompare, {x, zeros_like(sketch, x)}, DType::kPred);
  const OpId dx = sketch.elementwise(Opcode::kSelect,
                                     {passed, product, zeros_like(sketch, product)}, DType::kF32);
  return sketch.build({sketch.to(dx, step.dtype)});
}

ir::Kernel gradient_to_weight(const Dense& layer, const Step& step) {
  OpSketch sketch("weight_gradient", step.layout);
  const OpId x = sketch.parameter(step.dtype, {step.rows, layer.inputs});
  const OpId dy = sketch.parameter(step.dtype, {step.rows, layer.units});
  return sketch.build({sketch.dot(x, dy, {.lhs_contracting = {0}, .rhs_contracting = {0}},
                                  {layer.inputs, layer.units}, DType::kF32)});
}

ir::Kernel gradient_to_bias(const Dense& layer, const Step& step) {
  OpSketch sketch("bias_gradient", step.layout);
  const OpId dy = sketch.parameter(step.dtype, {step.rows, layer.units});
  return sketch.build({sketch.sum(sketch.to(dy, DType::kF32), 0)});
}

ir::Kernel sum_over_devices(const ir::Dims& shape, const Step& step) {
  OpSketch sketch("gradient_all_reduce", Opcode::kAllReduce, step.layout);
  return sketch.build({sketch.all_reduce(sketch.parameter(DType::kF32, shape), step.devices)});
}

// square' = square + (g^2 - square) (1 - decay);  momentum' = m momentum + rate g / sqrt(square' +
// epsilon);  w' = w - momentum'
ir::Kernel rmsprop_update(const ir::Dims& shape, const Step& step) {
  OpSketch sketch("rmsprop_update", step.layout);
  const OpId w = sketch.parameter(DType::kF32, shape), g = sketch.parameter(DType::kF32, shape);
  const OpId square = sketch.parameter(DType::kF32, shape);
  const OpId momentum = sketch.parameter(DType::kF32, shape);
  const auto times = [&](OpId a, OpId b) { return sketch.times(a, b); };
  const auto plus = [&](OpId a, OpId b) { return sketch.plus(a, b); };
  const auto less = [&](OpId a, OpId b) { return sketch.minus(a, b); };
  const auto number = [&](const char* value) { return sketch.constant_like(w, value); };
  const OpId new_square = plus(square, times(less(times(g, g), square), number("0.1")));
  const OpId scale = sketch.inverse_root(plus(new_square, number("1")));
  const OpId new_momentum =
      plus(times(momentum, number("0.9")), times(times(g, number("0.1")), scale));
  return sketch.build({less(w, new_momentum), new_square, new_momentum});
}

void add_backward(const Dense& layer, const Step& step, std::vector<WorkloadPart>& parts) {
  if (!layer.first) parts.push_back({gradient_to_input(layer, step), layer.count});
  parts.push_back({gradient_to_weight(layer, step), layer.count});
  parts.push_back({gradient_to_bias(layer, step), layer.count});
}

void add_update(const Dense& layer, const Step& step, std::vector<WorkloadPart>& parts) {
  for (const ir::Dims& shape : {ir::Dims{layer.inputs, layer.units}, ir::Dims{layer.units}}) {
    if (step.devices > 1) parts.push_back({sum_over_devices(shape, step), layer.count});
    parts.push_back({rmsprop_update(shape, step), layer.count});
  }
}

constexpr std::int64_t kMaxParameter = std::int64_t{1} << 40;

void check(std::string_view what, std::int64_t value) {
  if (value >= 1 && value <= kMaxParameter) return;
  throw Error(fmt::format("fc_training: {}: got {}, expected 1 to {}", what, value, kMaxParameter));
}

void check(const FcTraining& net) {
  check("layers", net.layers);
  check("nodes", net.nodes);
  check("input", net.input);
  check("output", net.output);
  check("batch", net.batch);
  check("devices", net.devices);
  if (net.batch % net.devices != 0) {
    throw Error(fmt::format("fc_training: batch: got {}, expected a multiple of the {} devices",
                            net.batch, net.devices));
  }
  if (!ir::is_floating(net.dtype)) {
    throw Error(fmt::format("fc_training: dtype: got {}, expected a floating-point type",
                            ir::name(net.dtype)));
  }
}

}  // namespace

FcTraining fc_training_row(const OpRow& row, const OpDefaults& defaults) {
  return {.layers = row.integer("layers"),
          .nodes = row.integer("nodes"),
          .input = row.integer("input"),
          .output = row.integer("output"),
          .batch = row.integer("batch"),
          .devices = row.integer("devices", defaults.all_reduce_devices),
          .dtype = row.dtype()};
}

Seconds feed_time(const FcTraining& net, const HostFeed& feed) {
  constexpr double kLabelBytes = 4;
  const double example = static_cast<double>(net.input) * ir::storage_bytes(net.dtype) +
                         static_cast<double>(net.output) * kLabelBytes;
  return feed.per_step + Bytes{static_cast<double>(net.batch) * example} / feed.rate;
}

std::string_view fc_training_class(const FcTraining& net, std::span<const WorkloadPart> program,
                                   const hwdesc::Device& device, const HostFeed& feed) {
  Seconds light;
  for (const WorkloadPart& part : program) {
    light += analytical::speed_of_light(part.kernel, device) * part.launches;
  }
  return light > feed_time(net, feed) ? "fc_training" : "fc_training_infeed";
}

std::vector<WorkloadPart> fc_training_program(const FcTraining& net, const OpDefaults& defaults) {
  check(net);
  const Step step{net.batch / net.devices, net.devices, net.dtype, defaults.layout};
  const std::vector<Dense> layers = dense_layers(net);
  std::vector<WorkloadPart> parts;
  for (const Dense& layer : layers) parts.push_back({forward(layer, step), layer.count});
  parts.push_back({loss(layers.back(), step), 1});
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    add_backward(*layer, step, parts);
  }
  for (const Dense& layer : layers) add_update(layer, step, parts);
  return parts;
}

}  // namespace tilecast::measured
