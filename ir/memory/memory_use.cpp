#include "ir/memory/memory_use.h"

#include <algorithm>

#include "ir/memory/live_values.h"

namespace tilecast::ir {
namespace {

// The position with most live bytes; the first among equals.
Position peak_of(const LiveValues& live) {
  std::vector<double> change(live.schedule.size() + 1, 0.0);
  for (const LiveValue& value : live.values) {
    change[value.first] += value.bytes;
    change[value.last + 1] -= value.bytes;
  }
  Position peak = 0;
  double held = 0, most = 0;
  for (std::size_t i = 0; i < live.schedule.size(); ++i) {
    held += change[i];
    if (held <= most) continue;
    most = held;
    peak = static_cast<Position>(i);
  }
  return peak;
}

const Shape& leaf_shape(const Shape& shape, std::size_t leaf) {
  const Shape* found = &shape;
  std::size_t position = 0;
  for_each_leaf(shape, [&](const Shape& at) {
    if (position++ == leaf) found = &at;
  });
  return *found;
}

class UseReport {
 public:
  UseReport(const Module& module, const LiveValues& live) : module_(module), live_(live) {}

  [[nodiscard]] MemoryUse report() const {
    MemoryUse use;
    use.aliased = live_.aliased;
    use.unsized = live_.unsized;
    const Position peak = peak_of(live_);
    use.at = instruction_name(peak);
    for (const LiveValue& value : live_.values) {
      if (value.bytes <= 0) continue;
      if (value.kind != BufferKind::kTemporary) use.whole.of(value.kind) += value.bytes;
      if (value.first > peak || value.last < peak) continue;
      use.peak.of(value.kind) += value.bytes;
      use.live.push_back(buffer(value));
    }
    use.whole.temporaries = use.peak.temporaries;
    std::ranges::stable_sort(use.live, std::ranges::greater{}, &LiveBuffer::bytes);
    return use;
  }

 private:
  [[nodiscard]] std::string instruction_name(Position position) const {
    const ScheduledAt& at = live_.schedule[position];
    return at.instruction.valid() ? module_.at(at.computation).at(at.instruction).name : "";
  }

  [[nodiscard]] LiveBuffer buffer(const LiveValue& value) const {
    const Computation& computation = module_.at(value.computation);
    const Instruction& op = computation.at(value.instruction);
    return {.name = op.name,
            .computation = computation.name,
            .leaf = value.leaf,
            .shape = leaf_shape(op.shape, value.leaf),
            .kind = value.kind,
            .bytes = value.bytes,
            .made_at = instruction_name(value.first),
            .last_read_at = instruction_name(value.last)};
  }

  const Module& module_;
  const LiveValues& live_;
};

}  // namespace

std::string_view name(BufferKind kind) {
  switch (kind) {
    case BufferKind::kArgument:
      return "argument";
    case BufferKind::kOutput:
      return "output";
    case BufferKind::kTemporary:
      return "temporary";
    case BufferKind::kConstant:
      return "constant";
  }
  return "";
}

double& MemorySplit::of(BufferKind kind) {
  switch (kind) {
    case BufferKind::kArgument:
      return arguments;
    case BufferKind::kOutput:
      return outputs;
    case BufferKind::kTemporary:
      return temporaries;
    case BufferKind::kConstant:
      break;
  }
  return constants;
}

MemoryUse memory_use(const Module& module, int space) {
  const LiveValues live = LivenessWalk(module, space).run();
  return UseReport(module, live).report();
}

}  // namespace tilecast::ir
