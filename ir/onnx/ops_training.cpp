// Gradient ops of ONNX Runtime's training graphs (domain com.microsoft). The first input is the
// gradient of the forward op's result.
#include "ir/onnx/node_site.h"

namespace tilecast::ir::onnx_reader {
namespace {

// Inputs gradient, log of the probabilities, labels. Classes are dimension 1, or the last one if
// only that fits the labels.
Terms cross_entropy_grad(const NodeSite& s) {
  if (s.has(3) || s.find("ignore_index") != nullptr)
    throw Error("weights and ignore_index have no mapping onto HLO");
  const Term likely = of_rank(s[1], 2), labels = convert(s[2], DType::kS64);
  Dims others = likely.dims();
  others.erase(others.begin() + 1);
  const std::int64_t classes = others == labels.dims() ? 1 : likely.rank() - 1;
  Dims dimensions = range(0, likely.rank());
  dimensions.erase(dimensions.begin() + classes);
  const Term spread = broadcast_in(labels, likely.dims(), dimensions);
  const Term places = iota(s.emitter, DType::kS64, likely.dims(), classes);
  const Term hot = convert(compare("EQ", places, spread), likely.dtype());
  Term gradient = s[0];
  if (s.text("reduction", "mean") == "mean")
    gradient = gradient / static_cast<double>(product(labels.dims()));
  if (gradient.rank() > 0) gradient = broadcast_in(gradient, likely.dims(), dimensions);
  return {(unary(Opcode::kExp, likely) - hot) * gradient};
}

template <bool logarithmic>
Terms softmax_grad(const NodeSite& s) {
  const Dims axis = {s.axis("axis", -1, s[0].rank())};
  const Term y = s[1];
  if (logarithmic)
    return {s[0] - unary(Opcode::kExp, y) * reduce(Opcode::kAdd, s[0], axis, /*keep=*/true)};
  return {(s[0] - reduce(Opcode::kAdd, s[0] * y, axis, /*keep=*/true)) * y};
}

constexpr OpRow kTraining[] = {
    {"com.microsoft:SoftmaxCrossEntropyLossGrad", cross_entropy_grad},
    {"com.microsoft:ReluGrad",
     [](const NodeSite& s) -> Terms {
       return {select(compare("GT", s[1], like(s[1], 0)), s[0], like(s[0], 0))};
     }},
    {"com.microsoft:SigmoidGrad",
     [](const NodeSite& s) -> Terms { return {s[0] * s[1] * (1.0 - s[1])}; }},
    {"com.microsoft:TanhGrad",
     [](const NodeSite& s) -> Terms { return {s[0] * (1.0 - s[1] * s[1])}; }},
    {"com.microsoft:SoftmaxGrad_13", softmax_grad<false>},
    {"com.microsoft:LogSoftmaxGrad_13", softmax_grad<true>},
};

}  // namespace

std::span<const OpRow> training_rows() {
  return kTraining;
}

}  // namespace tilecast::ir::onnx_reader
