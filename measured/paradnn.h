// One training step of a fully connected network as built by ParaDnn (Wang, Wei, Brooks,
// arXiv:1907.10701): input -> `layers` hidden layers of `nodes` units with ReLU -> `output`
// classes, softmax cross-entropy, data parallel: every device holds all weights and a share of the
// batch.
//
//   FcTraining net{.layers = 16, .nodes = 1024, .input = 2000, .output = 1000, .batch = 4096};
//   std::vector<WorkloadPart> step = fc_training_program(net, defaults);   // for one device
//
// Kernels of one device, per layer with a [k,n] weight and b = batch / devices rows:
//   forward         dot, bias, ReLU fused                        2 b k n FLOPs
//   loss            softmax cross-entropy and its gradient, one fusion, once
//   backward        gradient to the input fused with the ReLU's  2 b k n, not for the first layer
//                   gradient to the weight                       2 b k n
//                   gradient to the bias: sum over the rows
//   all-reduce      both gradients, over all devices; none for one device
//   update          RMSProp with momentum, one fusion: 4 arrays read, 3 written
// Weights, their gradients and the optimizer's state are f32; `dtype` is that of activations. The
// optimizer is ParaDnn's default; it cannot be identified from times, because its traffic and the
// all-reduce both grow with the parameters. Layers of equal shape are one part whose `launches` is
// their number.
//
// The host feeds features and one-hot labels in parallel with the computation, so a step takes the
// longer of the two. See fc_training_class() for steps whose measured time may be the host's.
//
// Thread-safe values.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hwdesc/device.h"
#include "hwdesc/units.h"
#include "ir/dtype.h"
#include "measured/op_kernels.h"
#include "measured/samples.h"

namespace tilecast::measured {

struct FcTraining {
  std::int64_t layers = 1;             // hidden layers
  std::int64_t nodes = 1;              // units per hidden layer
  std::int64_t input = 1, output = 1;  // features, classes
  std::int64_t batch = 1;              // over all devices
  std::int64_t devices = 1;            // must divide batch
  ir::DType dtype = ir::DType::kBF16;
};

// Columns layers, nodes, input, output, batch, devices (defaults.all_reduce_devices), dtype.
// Throws Error naming file, row and column.
[[nodiscard]] FcTraining fc_training_row(const OpRow& row, const OpDefaults& defaults);

// Throws Error for parameters below 1, arrays above KernelSketch::kMaxElements, a batch that
// `devices` does not divide, and a dtype that is no float.
[[nodiscard]] std::vector<WorkloadPart> fc_training_program(const FcTraining& parameters,
                                                            const OpDefaults& defaults);

// The time in which the host feeds one step: features in `dtype` and f32 one-hot labels of the
// whole batch.
[[nodiscard]] Seconds feed_time(const FcTraining& parameters, const HostFeed& feed);

// The op class of a measured step: "fc_training" if its time is the devices', "fc_training_infeed"
// if it may be the host's. It is the devices' if the kernels take longer than the feed even at the
// speed of light (analytical/roofline.h). This depends only on the two constants of HostFeed, not
// on measured times or a model's estimates.
[[nodiscard]] std::string_view fc_training_class(const FcTraining& parameters,
                                                 std::span<const WorkloadPart> program,
                                                 const hwdesc::Device& device,
                                                 const HostFeed& feed);

}  // namespace tilecast::measured
