#include "analytical/distinct_traffic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analytical/iteration_space.h"
#include "ir/array_elements.h"
#include "ir/kernels/in_place_update.h"

namespace tilecast::analytical {
namespace {

using ir::array_elements;
using ir::Op;
using ir::Opcode;
using ir::OpId;

double ratio(double part, double whole) {
  return whole > 0 ? std::min(1.0, part / whole) : 0;
}

bool only_renames(Opcode opcode) {
  return opcode == Opcode::kBitcast || opcode == Opcode::kReshape ||
         opcode == Opcode::kGetTupleElement || opcode == Opcode::kTuple;
}

OpId behind_renames(const ir::Kernel& kernel, OpId id) {
  while (only_renames(kernel.op(id).opcode) && kernel.op(id).operands.size() == 1) {
    id = kernel.op(id).operands[0];
  }
  return id;
}

// Ops whose value leaves the kernel and is not read inside it: an in-place update of such a value
// reads neither the elements it replaces nor those it keeps.
std::vector<bool> values_only_written(const ir::Kernel& kernel) {
  std::vector<bool> is_output(kernel.ops().size());
  for (const OpId id : kernel.outputs()) is_output[id.index()] = true;
  std::vector<bool> only(kernel.ops().size());
  for (std::size_t i = kernel.ops().size(); i-- > 0;) {
    const auto users = kernel.users(OpId(i));
    const bool passed_on = std::all_of(users.begin(), users.end(), [&](OpId user) {
      return only_renames(kernel.op(user).opcode) && only[user.index()];
    });
    only[i] = passed_on && (is_output[i] || !users.empty());
  }
  return only;
}

// Lower bound on the share of one input dimension that the windows of all outputs touch.
double touched_share(std::int64_t input, std::int64_t output, const ir::WindowDim& window) {
  if (input <= 0) return 0;
  double touched = static_cast<double>(ir::valid_positions(input, output, window));
  if (window.base_dilation == 1) {
    const std::int64_t grid = std::gcd(window.stride, window.window_dilation);
    touched = std::min(touched, std::ceil(static_cast<double>(input) / static_cast<double>(grid)));
  }
  return ratio(touched, static_cast<double>(input));
}

// Share of the first operand that the windows of a convolution or reduce-window touch.
double windowed_share(const ir::Kernel& kernel, const Op& op) {
  const auto* conv = op.get<ir::ConvAttrs>();
  const auto* pool = op.get<ir::WindowAttrs>();
  if ((conv == nullptr && pool == nullptr) || op.operands.empty()) return 1;
  const ir::Shape& input = kernel.op(op.operands[0]).shape;
  const ir::Window& window = conv != nullptr ? conv->window : pool->window;
  const std::size_t rank = conv == nullptr
                               ? window.size()
                               : std::min({window.size(), conv->dims.input_spatial.size(),
                                           conv->dims.output_spatial.size()});
  double share = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto in = conv == nullptr ? i : static_cast<std::size_t>(conv->dims.input_spatial[i]);
    const auto out = conv == nullptr ? i : static_cast<std::size_t>(conv->dims.output_spatial[i]);
    if (in >= input.dims.size() || out >= op.shape.dims.size()) return 1;
    share *= touched_share(input.dims[in], op.shape.dims[out], window[i]);
  }
  return share;
}

// How an op needs an operand: as a piece of its own, or as data that other uses may share.
struct Need {
  double share = 0;
  bool piece = false;
};

// Share of the first operand that a picking op reads when `share` of its results is needed.
double picked_share(const ir::Kernel& kernel, const Op& op, double share) {
  return ratio(share * array_elements(op.shape), array_elements(kernel.op(op.operands[0]).shape));
}

// Share needed of an operand of an update. A target is needed for the elements it keeps, if those
// are read, and for those a scatter combines with.
Need update_need(const ir::Kernel& kernel, const Op& op, std::size_t operand, double share,
                 bool only_written) {
  const bool scatters = op.opcode == Opcode::kScatter;
  const std::size_t targets = scatters ? op.operands.size() / 2 : 1;
  if (operand >= targets || targets + operand >= op.operands.size()) return {share, false};
  const OpId update = op.operands[scatters ? targets + 1 + operand : 1];
  const double updated = ratio(array_elements(kernel.op(update).shape),
                               array_elements(kernel.op(op.operands[operand]).shape));
  if (only_written) return {scatters ? share * updated : 0, false};
  return {share * (scatters ? 1 : 1 - updated), false};
}

Need need_of(const ir::Kernel& kernel, const Op& op, std::size_t operand, double share,
             bool only_written) {
  switch (op.opcode) {
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
    case Opcode::kGather:
      if (operand != 0) return {share, false};
      return {picked_share(kernel, op, share), true};
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kScatter:
      return update_need(kernel, op, operand, share, only_written);
    case Opcode::kConvolution:
    case Opcode::kReduceWindow:
      return {share * (operand == 0 ? windowed_share(kernel, op) : 1), false};
    case Opcode::kPad:  // negative padding drops elements
      if (operand != 0) return {share, false};
      return {picked_share(kernel, op, share), false};
    default:
      return {share, false};
  }
}

// Share of an output that must be written: an in-place update writes only the update.
double written_share(const ir::Kernel& kernel, OpId id) {
  const OpId source = behind_renames(kernel, id);
  if (kernel.op(source).opcode == Opcode::kParameter) return 0;
  const auto updates = ir::in_place_updates(kernel, id);
  if (updates.empty()) return 1;
  double elements = 0;
  for (const ir::InPlaceUpdate& each : updates) {
    elements += array_elements(kernel.op(each.update).shape);
  }
  return ratio(elements, array_elements(kernel.op(id).shape));
}

template <class Counted>
Traffic traffic_of(const ir::Kernel& kernel, const Counted& counted) {
  const std::vector<double> needed = needed_shares(kernel);
  const auto bytes = [&](OpId id) {
    const ir::Shape& shape = kernel.op(id).shape;
    return counted(shape) ? static_cast<double>(ir::unpadded_bytes(shape)) : 0.0;
  };
  Traffic traffic;
  for (const OpId id : kernel.parameters()) {
    traffic.read += Bytes{bytes(id) * needed[id.index()]};
  }
  std::vector<bool> written(kernel.ops().size());
  for (const OpId id : passed_through(kernel)) written[id.index()] = true;
  for (const OpId id : kernel.outputs()) {
    if (written[id.index()]) continue;
    written[id.index()] = true;
    traffic.write += Bytes{bytes(id) * written_share(kernel, id)};
  }
  return traffic;
}

}  // namespace

std::vector<double> needed_shares(const ir::Kernel& kernel) {
  const std::vector<bool> only_written = values_only_written(kernel);
  std::vector<double> shared(kernel.ops().size());
  std::vector<double> pieces(kernel.ops().size());
  for (const OpId id : kernel.outputs()) shared[id.index()] = 1;
  for (const OpId id : passed_through(kernel)) shared[id.index()] = 0;
  for (std::size_t i = kernel.ops().size(); i-- > 0;) {
    const Op& op = kernel.op(OpId(i));
    shared[i] = std::min(1.0, shared[i] + pieces[i]);
    for (std::size_t operand = 0; operand < op.operands.size(); ++operand) {
      const std::size_t source = op.operands[operand].index();
      const Need need = need_of(kernel, op, operand, shared[i], only_written[i]);
      if (need.piece) {
        pieces[source] += need.share;
      } else {
        shared[source] = std::max(shared[source], need.share);
      }
    }
  }
  return shared;
}

bool is_resident(const ir::Shape& shape, const hwdesc::Device& device) {
  constexpr int kScalars = 6;  // like the flags, in a small memory beside the levels
  const int space = shape.memory_space();
  if (space == kHostMemory && device.execution != hwdesc::Execution::kCache) return true;
  const auto level = std::ranges::find(device.memory, space, &hwdesc::MemoryLevel::memory_space);
  if (level != device.memory.end()) return level != device.memory.begin();
  return device.execution == hwdesc::Execution::kScratchpad &&
         (space == kSyncFlags || space == kScalars);
}

Traffic distinct_traffic(const ir::Kernel& kernel, const hwdesc::Device& device) {
  if (kernel.on_host()) return {};
  return traffic_of(kernel, [&](const ir::Shape& shape) { return !is_resident(shape, device); });
}

Traffic host_traffic(const ir::Kernel& kernel, const hwdesc::Device& device) {
  if (device.execution == hwdesc::Execution::kCache) return {};
  return traffic_of(kernel, [&](const ir::Shape& shape) {
    return kernel.on_host() || shape.memory_space() == kHostMemory;
  });
}

}  // namespace tilecast::analytical
