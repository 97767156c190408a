#include "host/cuda_sync.h"

#include <algorithm>
#include <deque>
#include <string>

#include "schedule/walk.h"

namespace tilecast::host {

namespace loops = schedule;

namespace {

class BlockRun {
  struct Touch {
    const loops::Buffer* buffer;
    const loops::Access* access;
    loops::Use use;
  };
  struct Seen {  // number of barriers before the last access
    int read = -1, written = -1;
    const loops::Statement* landed_at = nullptr;  // the wait after which it is visible
  };
  struct Batch {
    std::vector<BufferStage> places;
    int group = 0;
  };

 public:
  BlockRun(const loops::LoopProgram& program, const loops::Body& block,
           const std::function<std::vector<BufferStage>(const loops::Statement&)>& also)
      : program_(program), block_(block), also_(also) {
    std::map<std::string, int> uses;
    loops::for_each_access(block, [&](const loops::Access& access, loops::Use use) {
      uses[access.buffer] |= use == loops::Use::kRead ? 1 : 2;
    });
    for (const auto& [name, use] : uses) {
      const loops::Scope scope = program.buffer(name).scope;
      if (scope == loops::Scope::kShared || (scope == loops::Scope::kMain && use == 3)) {
        watched_.insert(name);
      }
    }
  }

  // Adds each missing barrier and walks the block again, until none is missing.
  SyncPlan plan() {
    do {
      changed_ = false;
      barrier_ = groups_ = 0;
      seen_.clear();
      batches_.clear();
      run(block_);
    } while (changed_);
    return std::move(plan_);
  }

 private:
  void run(const loops::Body& body) {
    for (const loops::Statement& statement : body) {
      if (plan_.barriers.contains(&statement)) ++barrier_;
      const auto* loop = statement.get<loops::Loop>();
      const auto* guard = statement.get<loops::Guard>();
      if (const auto* sync = statement.get<loops::Sync>()) {
        run(statement, *sync);
      } else if (loop != nullptr && loops::single_nest(statement).assign == nullptr) {
        for (std::int64_t i = 0; i < loop->extent; ++i) {
          variables_[loop->variable] = i;
          run(loop->body);
        }
        variables_.erase(loop->variable);
      } else if (guard != nullptr) {
        if (holds(guard->where)) run(guard->body);
      } else {
        touch(statement);
      }
    }
  }

  [[nodiscard]] bool holds(const std::vector<loops::Bound>& where) const {
    return std::all_of(where.begin(), where.end(), [this](const loops::Bound& bound) {
      const std::int64_t value = bound.index.value(variables_);
      return value >= 0 && value < bound.limit;
    });
  }

  void run(const loops::Statement& statement, const loops::Sync& sync) {
    std::deque<Batch>& batches = batches_[sync.pipeline];
    switch (sync.kind) {
      case loops::Sync::Kind::kProducerAcquire:
        acquire_ = &statement;
        batches.emplace_back();
        return;
      case loops::Sync::Kind::kProducerCommit:
        acquire_ = nullptr;
        if (batches.empty() || batches.back().places.empty()) return;  // registers
        batches.back().group = groups_++;
        plan_.commits.insert(&statement);
        return;
      case loops::Sync::Kind::kConsumerWait:
        if (!batches.empty()) land(statement, batches);
        return;
      case loops::Sync::Kind::kConsumerRelease:
        return;
    }
  }

  void land(const loops::Statement& wait, std::deque<Batch>& batches) {
    const Batch batch = std::move(batches.front());
    batches.pop_front();
    if (batch.places.empty()) return;
    const int prior = groups_ - batch.group - 1;
    const auto [entry, added] = plan_.waits.emplace(&wait, CopyWait{prior, false});
    entry->second.prior = std::min(entry->second.prior, prior);
    for (const BufferStage& place : batch.places) {
      seen_[place].written = barrier_;
      seen_[place].landed_at = &wait;
    }
    if (entry->second.barrier) ++barrier_;
  }

  const std::vector<Touch>& touches_of(const loops::Statement& statement) {
    const auto [entry, added] = touches_.try_emplace(&statement);
    if (!added) return entry->second;
    const std::function<void(const loops::Access&, loops::Use)> add =
        [&](const loops::Access& access, loops::Use use) {
          if (!watched_.contains(access.buffer)) return;
          entry->second.push_back({&program_.buffer(access.buffer), &access, use});
        };
    // Points to the statement itself, not to a copy of it.
    const auto* nest = loops::single_nest(statement).assign;
    if (nest != nullptr) {
      visit(nest->value, add);
      add(nest->to, loops::Use::kWrite);
      if (nest->combine) add(nest->to, loops::Use::kRead);
    } else if (const auto* copy = statement.get<loops::Copy>()) {
      add(copy->from, loops::Use::kRead);
      add(copy->to, loops::Use::kWrite);
    } else if (const auto* product = statement.get<loops::Multiply>()) {
      for (const loops::Access* access : {&product->a, &product->b, &product->c}) {
        add(*access, loops::Use::kRead);
      }
      add(product->c, loops::Use::kWrite);
    }
    return entry->second;
  }
  static void visit(const loops::Value& value,
                    const std::function<void(const loops::Access&, loops::Use)>& add) {
    if (value.kind == loops::Value::Kind::kRead) add(value.read, loops::Use::kRead);
    for (const loops::Value& operand : value.operands) visit(operand, add);
  }

  void touch(const loops::Statement& statement) {
    const auto* copy = statement.get<loops::Copy>();
    const bool later = copy != nullptr && copy->async && acquire_ != nullptr;
    std::vector<std::pair<BufferStage, loops::Use>> places;
    for (const Touch& t : touches_of(statement)) {
      places.push_back(
          {{t.buffer->name, t.access->slot ? t.access->slot->value(variables_) : 0}, t.use});
    }
    if (also_) {
      for (BufferStage& stage : also_(statement)) {
        places.emplace_back(std::move(stage), loops::Use::kWrite);
      }
    }
    for (const auto& [place, use] : places) {
      if (use == loops::Use::kRead) {
        check_read(place, statement);
      } else {
        check_write(place, later ? *acquire_ : statement);
      }
    }
    for (const auto& [place, use] : places) {
      if (use == loops::Use::kRead) {
        seen_[place].read = barrier_;
      } else if (later) {
        batches_[acquire_->get<loops::Sync>()->pipeline].back().places.push_back(place);
      } else {
        seen_[place] = {-1, barrier_, nullptr};
      }
    }
  }

  void check_read(const BufferStage& place, const loops::Statement& statement) {
    const Seen& seen = seen_[place];
    if (seen.written != barrier_) return;
    if (seen.landed_at == nullptr) return add_barrier(statement);
    CopyWait& wait = plan_.waits.at(seen.landed_at);
    changed_ = changed_ || !wait.barrier;
    wait.barrier = true;
    ++barrier_;
  }
  void check_write(const BufferStage& place, const loops::Statement& statement) {
    const Seen& seen = seen_[place];
    if (seen.read == barrier_ || seen.written == barrier_) add_barrier(statement);
  }
  void add_barrier(const loops::Statement& statement) {
    changed_ = plan_.barriers.insert(&statement).second || changed_;
    ++barrier_;
  }

  const loops::LoopProgram& program_;
  const loops::Body& block_;
  const std::function<std::vector<BufferStage>(const loops::Statement&)>& also_;
  std::set<std::string> watched_;
  SyncPlan plan_;
  bool changed_ = false;
  int barrier_ = 0, groups_ = 0;
  loops::Environment variables_;
  std::map<BufferStage, Seen> seen_;
  std::map<std::string, std::deque<Batch>> batches_;
  std::map<const loops::Statement*, std::vector<Touch>> touches_;
  const loops::Statement* acquire_ = nullptr;
};

void put_waits_first(loops::Body& body, std::set<std::string>& committed) {
  const auto is = [](const loops::Statement& statement, loops::Sync::Kind kind,
                     const std::string& pipeline) {
    const auto* sync = statement.get<loops::Sync>();
    return sync != nullptr && sync->kind == kind && sync->pipeline == pipeline;
  };
  for (auto place = body.begin(); place != body.end(); ++place) {
    if (loops::Body* inner = place->body()) put_waits_first(*inner, committed);
    const auto* sync = place->get<loops::Sync>();
    if (sync == nullptr || sync->kind != loops::Sync::Kind::kProducerAcquire) continue;
    const std::string pipeline = sync->pipeline;
    const auto commit = std::find_if(place, body.end(), [&](const loops::Statement& statement) {
      return is(statement, loops::Sync::Kind::kProducerCommit, pipeline);
    });
    if (commit == body.end()) continue;
    const bool earlier = !committed.insert(pipeline).second;
    const auto wait = std::next(commit);
    if (earlier && wait != body.end() && is(*wait, loops::Sync::Kind::kConsumerWait, pipeline)) {
      std::rotate(place, wait, std::next(wait));
    }
  }
}

}  // namespace

SyncPlan plan_sync(const loops::LoopProgram& program, const loops::Body& block,
                   const std::function<std::vector<BufferStage>(const loops::Statement&)>& also) {
  return BlockRun(program, block, also).plan();
}

loops::Body without_single_loops(loops::Body block) {
  loops::Body made;
  for (loops::Statement& statement : block) {
    auto* loop = statement.get<loops::Loop>();
    if (loop != nullptr && loop->extent == 1) {
      loops::Body inner = loops::with(std::move(loop->body), {{loop->variable, loops::Index(0)}});
      for (loops::Statement& kept : without_single_loops(std::move(inner)))
        made.push_back(std::move(kept));
      continue;
    }
    if (loops::Body* inner = statement.body()) *inner = without_single_loops(std::move(*inner));
    made.push_back(std::move(statement));
  }
  return made;
}

loops::Body waits_first(loops::Body block) {
  std::set<std::string> committed;
  put_waits_first(block, committed);
  return block;
}

}  // namespace tilecast::host
