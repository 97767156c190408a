#include "tests/schedule/run_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "schedule/text.h"
#include "tests/interpreter/evaluate_ops.h"

namespace tilecast::schedule {
namespace {

using interpreter::Elements;

enum class State : std::uint8_t { kEmpty, kValid, kInFlight, kReleased };

struct Storage {
  const Buffer* buffer = nullptr;
  std::int64_t elements = 1;  // per stage
  Elements values;
  std::vector<State> states;
};

struct Landing {  // one element of an asynchronous copy
  Storage *to = nullptr, *from = nullptr;
  std::int64_t target = 0, source = -1;  // -1: a zero
  double value = 0;                      // of the source when the copy was issued
};
struct Batch {
  std::vector<Landing> landings;
  std::set<std::pair<const Storage*, std::int64_t>> slots;
  bool waited = false;
};

class Machine {
 public:
  Machine(const LoopProgram& program, const std::vector<Elements>& inputs) : program_(program) {
    std::size_t next = 0;
    for (const Buffer& buffer : program.buffers) {
      Storage& storage = memory_[buffer.name];
      storage.buffer = &buffer;
      for (const std::int64_t dim : buffer.dims) storage.elements *= dim;
      const auto count = static_cast<std::size_t>(storage.elements * buffer.stages);
      storage.values.assign(count, 0);
      storage.states.assign(count, State::kEmpty);
      if (buffer.role != Role::kInput) continue;
      storage.values = inputs.at(next++);
      storage.states.assign(count, State::kValid);
      if (storage.values.size() != count) throw Error("an input of the wrong size");
    }
  }

  std::vector<Elements> run() {
    run(program_.body);
    for (const auto& [name, batches] : pipelines_) {
      if (!batches.empty())
        throw Error(fmt::format("{} batches of {} are left", batches.size(), name));
    }
    std::vector<Elements> outputs;
    for (const Buffer& buffer : program_.buffers) {
      if (buffer.role != Role::kOutput) continue;
      const Storage& storage = memory_.at(buffer.name);
      if (std::count(storage.states.begin(), storage.states.end(), State::kValid) !=
          static_cast<std::ptrdiff_t>(storage.states.size())) {
        throw Error(fmt::format("parts of {} were never written", buffer.name));
      }
      outputs.push_back(storage.values);
    }
    return outputs;
  }

 private:
  void run(const Body& body) {
    for (const Statement& statement : body) {
      std::visit([this](const auto& s) { run(s); }, statement.is);
    }
  }

  void run(const Loop& loop) {
    for (std::int64_t i = 0; i < loop.extent; ++i) {
      const bool backwards = loop.kind == LoopKind::kParallel;
      variables_[loop.variable] = backwards ? loop.extent - 1 - i : i;
      run(loop.body);
    }
    variables_.erase(loop.variable);
  }

  [[nodiscard]] bool holds(const std::vector<Bound>& where) const {
    return std::all_of(where.begin(), where.end(), [this](const Bound& bound) {
      const std::int64_t value = bound.index.value(variables_);
      return value >= 0 && value < bound.limit;
    });
  }
  void run(const Guard& guard) {
    if (holds(guard.where)) run(guard.body);
  }

  // --- elements
  struct Place {
    Storage* storage = nullptr;
    std::int64_t element = -1;  // -1: out of bounds
  };
  Place locate(const Access& access, const ir::Dims& offset) {
    Storage& storage = memory_.at(access.buffer);
    const std::int64_t slot = access.slot ? access.slot->value(variables_) : 0;
    if (!access.slot && storage.buffer->stages > 1 && pipelined_) {
      throw Error(fmt::format("{} has stages, {} names none", access.buffer, to_text(access)));
    }
    if (slot < 0 || slot >= storage.buffer->stages) {
      throw Error(fmt::format("{}: slot {} of {}", to_text(access), slot, storage.buffer->stages));
    }
    std::int64_t element = 0;
    for (std::size_t d = 0; d < access.at.size(); ++d) {
      const std::int64_t i = access.at[d].value(variables_) + (offset.empty() ? 0 : offset[d]);
      if (i < 0 || i >= storage.buffer->dims[d]) return {&storage, -1};
      element = element * storage.buffer->dims[d] + i;
    }
    return {&storage, slot * storage.elements + element};
  }
  Place inside(const Access& access, const ir::Dims& offset = {}) {
    const Place place = locate(access, offset);
    if (place.element < 0) throw Error(fmt::format("{} leaves its buffer", to_text(access)));
    return place;
  }
  static double read(const Place& place) {
    const State state = place.storage->states[static_cast<std::size_t>(place.element)];
    if (state != State::kValid) {
      throw Error(fmt::format("{} is read {}", place.storage->buffer->name,
                              state == State::kInFlight   ? "before it has landed"
                              : state == State::kReleased ? "after it was released"
                                                          : "before it is written"));
    }
    return place.storage->values[static_cast<std::size_t>(place.element)];
  }
  static void write(const Place& place, double value) {
    place.storage->values[static_cast<std::size_t>(place.element)] = value;
    place.storage->states[static_cast<std::size_t>(place.element)] = State::kValid;
  }

  // --- values
  double value(const Value& of) {
    if (of.kind == Value::Kind::kNumber) return of.number;
    if (of.kind == Value::Kind::kRead) return read(inside(of.read));
    if (of.operands.size() == 2 && of.dtype == ir::DType::kF32 && of.direction.empty()) {
      const double first = value(of.operands[0]);
      return interpreter::as_type(
          interpreter::combine(of.opcode, of.dtype, first, value(of.operands[1])), of.dtype);
    }
    ir::Op op;
    op.opcode = of.opcode;
    op.shape = ir::Shape::array(of.dtype, {});
    if (!of.direction.empty()) op.attrs = ir::CompareAttrs{of.direction, ""};
    std::vector<Elements> elements;
    std::vector<ir::Shape> shapes;
    for (const Value& operand : of.operands) {
      elements.push_back({value(operand)});
      shapes.push_back(ir::Shape::array(operand.dtype, {}));
    }
    std::vector<interpreter::Value> values;
    for (std::size_t i = 0; i < elements.size(); ++i) values.push_back({&shapes[i], &elements[i]});
    return interpreter::elementwise(op, values).at(0);
  }

  void run(const Assign& assign) {
    if (!holds(assign.where)) return;
    double made = value(assign.value);
    const Place place = inside(assign.to);
    const ir::DType dtype = place.storage->buffer->dtype;
    if (assign.combine) {
      made = interpreter::as_type(interpreter::combine(*assign.combine, dtype, read(place), made),
                                  dtype);
    }
    write(place, made);
  }

  void run(const Multiply& m) {
    for (std::int64_t i = 0; i < m.rows; ++i) {
      for (std::int64_t j = 0; j < m.columns; ++j) {
        for (std::int64_t p = 0; p < m.depth; ++p) {
          const Place c = inside(m.c, last_two(m.c, i, j));
          const double product =
              read(inside(m.a, last_two(m.a, i, p))) * read(inside(m.b, last_two(m.b, p, j)));
          write(c, interpreter::as_type(read(c) + product, c.storage->buffer->dtype));
        }
      }
    }
  }
  static ir::Dims last_two(const Access& access, std::int64_t row, std::int64_t column) {
    ir::Dims offset(access.at.size(), 0);
    offset[offset.size() - 2] = row;
    offset[offset.size() - 1] = column;
    return offset;
  }

  // --- copies
  void run(const Copy& copy) {
    const bool later = copy.async && copy.to.slot.has_value();
    if (later && open_.empty()) throw Error("an asynchronous copy outside of a batch");
    if (later) hold_slot(copy);
    std::int64_t count = 1;
    for (const std::int64_t extent : copy.extents) count *= extent;
    for (std::int64_t n = 0; n < count; ++n) {
      ir::Dims offset(copy.extents.size(), 0);
      std::int64_t rest = n;
      for (std::size_t d = offset.size(); d-- > 0; rest /= copy.extents[d]) {
        offset[d] = rest % copy.extents[d];
      }
      const Place to = copy.padded ? locate(copy.to, offset) : inside(copy.to, offset);
      if (to.element < 0) continue;
      const Place from = copy.padded ? locate(copy.from, offset) : inside(copy.from, offset);
      const double element = from.element < 0 ? 0 : read(from);
      if (!later) {
        write(to, element);
        continue;
      }
      to.storage->states[static_cast<std::size_t>(to.element)] = State::kInFlight;
      pipelines_[open_].back().landings.push_back(
          {to.storage, from.storage, to.element, from.element, element});
    }
  }

  void hold_slot(const Copy& copy) {
    const Place first = locate(copy.to, {});
    const std::int64_t slot = copy.to.slot->value(variables_);
    for (const auto& [name, batches] : pipelines_) {
      for (const Batch& batch : batches) {
        const bool own = name == open_ && &batch == &batches.back();
        if (!own && batch.slots.count({first.storage, slot}) != 0) {
          throw Error(fmt::format("{} is filled before it is released", to_text(copy.to)));
        }
      }
    }
    pipelines_[open_].back().slots.insert({first.storage, slot});
  }

  void run(const Sync& sync) {
    std::deque<Batch>& batches = pipelines_[sync.pipeline];
    switch (sync.kind) {
      case Sync::Kind::kProducerAcquire:
        if (!open_.empty()) throw Error("a batch in a batch");
        open_ = sync.pipeline;
        batches.emplace_back();
        return;
      case Sync::Kind::kProducerCommit:
        if (open_ != sync.pipeline) throw Error(fmt::format("{} commits no batch", sync.pipeline));
        open_.clear();
        return;
      case Sync::Kind::kConsumerWait:
        land(sync.pipeline, batches);
        return;
      case Sync::Kind::kConsumerRelease:
        if (batches.empty() || !batches.front().waited) {
          throw Error(fmt::format("{} releases what it did not wait for", sync.pipeline));
        }
        for (const Landing& l : batches.front().landings) {
          l.to->states[static_cast<std::size_t>(l.target)] = State::kReleased;
        }
        batches.pop_front();
        return;
    }
  }

  void land(const std::string& name, std::deque<Batch>& batches) {
    const auto batch =
        std::find_if(batches.begin(), batches.end(), [](const Batch& b) { return !b.waited; });
    if (batch == batches.end() || (open_ == name && &*batch == &batches.back())) {
      throw Error(fmt::format("{} waits for a batch that nobody commits", name));
    }
    batch->waited = true;
    for (const Landing& l : batch->landings) {
      const bool changed = l.source >= 0 && read({l.from, l.source}) != l.value;
      if (changed) throw Error(fmt::format("{} changes while it is copied", l.from->buffer->name));
      write({l.to, l.target}, l.value);
    }
  }

 public:
  void expect_slots() { pipelined_ = true; }

 private:
  const LoopProgram& program_;
  std::unordered_map<std::string, Storage> memory_;
  std::map<std::string, std::deque<Batch>> pipelines_;
  std::string open_;  // the pipeline with an open batch
  Environment variables_;
  bool pipelined_ = false;
};

}  // namespace

std::vector<Elements> run_loops(const LoopProgram& program, const std::vector<Elements>& inputs) {
  Machine machine(program, inputs);
  bool synchronised = false;
  std::function<void(const Body&)> look = [&](const Body& body) {
    for (const Statement& statement : body) {
      synchronised = synchronised || statement.get<Sync>() != nullptr;
      if (const Body* inner = statement.body()) look(*inner);
    }
  };
  look(program.body);
  if (synchronised) machine.expect_slots();
  return machine.run();
}

}  // namespace tilecast::schedule
