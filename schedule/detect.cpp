#include "schedule/detect.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/walk.h"

namespace tilecast::schedule {
namespace {

// The copy that fills a buffer and the loops around it.
struct Producer {
  const Copy* copy = nullptr;
  std::vector<const Loop*> around;
  int writers = 0;
};

void find_producer(const Body& body, std::string_view buffer, std::vector<const Loop*>& around,
                   Producer& found) {
  for (const Statement& statement : body) {
    if (const Body* inner = statement.body()) {
      const auto* loop = statement.get<Loop>();
      if (loop != nullptr) around.push_back(loop);
      find_producer(*inner, buffer, around, found);
      if (loop != nullptr) around.pop_back();
    } else if (touches(statement, buffer, Use::kWrite)) {
      ++found.writers;
      found.copy = statement.get<Copy>();
      found.around = around;
    }
  }
}

bool indexes(const Copy& copy, const std::string& variable) {
  return std::any_of(copy.to.at.begin(), copy.to.at.end(),
                     [&](const Index& index) { return index.uses(variable); });
}

// The innermost loop that refills the whole buffer in every iteration.
const Loop* load_use_loop(const Producer& producer) {
  for (std::size_t i = producer.around.size(); i-- > 0;) {
    if (!indexes(*producer.copy, producer.around[i]->variable)) return producer.around[i];
  }
  return nullptr;
}

// Refusal unless all reads of the buffer are in the loop, after the statement that fills it.
std::string misplaced_use(const LoopProgram& program, std::string_view buffer, const Loop& loop) {
  int reads = 0, reads_in_loop = 0;
  const auto count = [&](const Body& body, int& reads_found) {
    for_each_access(body, [&](const Access& access, Use use) {
      reads_found += use == Use::kRead && access.buffer == buffer ? 1 : 0;
    });
  };
  count(program.body, reads);
  count(loop.body, reads_in_loop);
  if (reads == 0) return fmt::format("nothing reads {}", buffer);
  if (reads != reads_in_loop) {
    return fmt::format("{} is read outside of loop {} that fills it", buffer, loop.variable);
  }
  bool filled = false;
  for (const Statement& statement : loop.body) {
    const bool fills = touches(statement, buffer, Use::kWrite);
    if (touches(statement, buffer, Use::kRead) && (fills || !filled)) {
      return fmt::format("{} is read before it is filled in loop {}", buffer, loop.variable);
    }
    filled = filled || fills;
  }
  return {};
}

std::string rule_1(const Producer& producer, const Buffer& buffer, const AsyncCopies& machine) {
  if (producer.writers != 1) {
    return fmt::format("rule 1: {} is filled in {} places, not by one copy", buffer.name,
                       producer.writers);
  }
  if (producer.copy == nullptr) {
    return fmt::format("rule 1: {} is computed, not copied; inline after pipelining", buffer.name);
  }
  const bool asynchronous =
      buffer.scope == Scope::kShared ? machine.to_shared : machine.to_register;
  if (!asynchronous) {
    return fmt::format("rule 1: this machine has no asynchronous copies to {} memory",
                       name(buffer.scope));
  }
  return {};
}

std::string rule_3(const LoopProgram& program, const Buffer& buffer, const Loop& loop, int stages) {
  for (const Buffer& other : program.buffers) {
    if (other.name == buffer.name || other.scope != buffer.scope || other.stages < 2) continue;
    Producer producer;
    std::vector<const Loop*> around;
    find_producer(program.body, other.name, around, producer);
    const Loop* of_other = producer.copy != nullptr ? load_use_loop(producer) : nullptr;
    if (of_other == nullptr) continue;
    if (of_other->variable != loop.variable) {
      return fmt::format(
          "rule 3: {} and {} are both {} memory but wait in different loops, {} and {}",
          buffer.name, other.name, name(buffer.scope), loop.variable, of_other->variable);
    }
    if (other.stages != stages) {
      return fmt::format("rule 3: {} and {} wait together but have {} and {} stages", buffer.name,
                         other.name, stages, other.stages);
    }
  }
  return {};
}

}  // namespace

Detection detect_pipeline(const LoopProgram& program, std::string_view name, int stages,
                          const AsyncCopies& machine) {
  const Buffer& buffer = program.buffer(name);
  if (buffer.scope == Scope::kMain) {
    return {{}, fmt::format("{} is in main memory: pipeline the buffer of a cache_read", name)};
  }
  Producer producer;
  std::vector<const Loop*> around;
  find_producer(program.body, name, around, producer);
  if (std::string refusal = rule_1(producer, buffer, machine); !refusal.empty()) {
    return {{}, std::move(refusal)};
  }
  const Loop* loop = load_use_loop(producer);
  if (loop == nullptr) {
    return {{}, fmt::format("rule 2: {} is filled once, outside any loop", name)};
  }
  if (loop->kind != LoopKind::kSequential) {
    return {{},
            fmt::format("rule 2: loop {} that fills {} anew is no sequential loop ({})",
                        loop->variable, name, schedule::name(loop->kind))};
  }
  if (loop->extent < 2) {
    return {{}, fmt::format("rule 2: loop {} runs once, nothing to overlap", loop->variable)};
  }
  if (std::string use = misplaced_use(program, name, *loop); !use.empty()) {
    return {{}, "rule 2: " + use};
  }
  if (machine.waits_for_scope) {
    if (std::string refusal = rule_3(program, buffer, *loop, stages); !refusal.empty()) {
      return {{}, std::move(refusal)};
    }
  }
  return {LoadUseLoop{std::string(name), producer.copy->from.buffer, loop->variable, buffer.scope},
          {}};
}

}  // namespace tilecast::schedule
