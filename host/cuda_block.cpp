#include "host/cuda_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/math.h"
#include "host/c_function.h"
#include "host/c_types.h"
#include "schedule/box.h"
#include "schedule/walk.h"

namespace tilecast::host {

namespace loops = schedule;

namespace {

constexpr std::int64_t kAligned = 128;  // bytes, alignment of buffers in shared memory

}  // namespace

BlockWriter::BlockWriter(const loops::LoopProgram& program, const loops::Body& block,
                         const loops::ThreadBlock& threads)
    : program_(program), block_(block), threads_(threads), registers_(program, block, threads) {
  std::set<std::string> used;
  loops::for_each_access(block, [&](const loops::Access& access, loops::Use) {
    if (program.buffer(access.buffer).scope == loops::Scope::kShared) used.insert(access.buffer);
  });
  for (const loops::Buffer& buffer : program.buffers) {
    if (!used.contains(buffer.name)) continue;
    offsets_[buffer.name] = shared_bytes_;
    shared_bytes_ += base::round_up(
        buffer.stages * stage_elements(buffer) * bytes_of_element(buffer.dtype), kAligned);
  }
  shared_bytes_ = std::max(shared_bytes_, registers_.staging_bytes());
  loops::for_each_statement(program.body, [this](const loops::Statement& statement) {
    const auto* loop = statement.get<loops::Loop>();
    if (loop == nullptr) return;
    std::int64_t& extent = extents_[loop->variable];  // maximum over loops with the same name
    extent = std::max(extent, loop->extent);
  });
  plan_ = plan_sync(program, block, [this](const loops::Statement& s) { return staged_over(s); });
}

std::vector<BufferStage> BlockWriter::staged_over(const loops::Statement& statement) const {
  const auto is_sum = [this](const loops::Access& access) {
    return registers_.holds(access.buffer) &&
           registers_.held(access.buffer).spread == Spread::kFragments;
  };
  const auto* copy = statement.get<loops::Copy>();
  const auto* assign = loops::single_nest(statement).assign;
  const loops::Access* read = copy != nullptr     ? &copy->from
                              : assign != nullptr ? registers_.read_in(assign->value)
                                                  : nullptr;
  std::vector<BufferStage> made;
  if (read == nullptr || !is_sum(*read)) return made;
  for (const auto& [name, offset] : offsets_) {
    const loops::Buffer& buffer = program_.buffer(name);
    const std::int64_t bytes = stage_elements(buffer) * bytes_of_element(buffer.dtype);
    for (int stage = 0; stage < buffer.stages; ++stage) {
      if (offset + stage * bytes < registers_.staging_bytes()) made.emplace_back(name, stage);
    }
  }
  return made;
}

void BlockWriter::write(Writer& out, bool whole_grid) {
  out_ = &out;
  whole_grid_ = whole_grid;
  declare();
  write(block_);
}

void BlockWriter::declare() {
  if (shared_bytes_ > 0)
    out_->line("extern __shared__ __align__(128) unsigned char shared_memory[];");
  for (const auto& [name, offset] : offsets_) {
    const std::string type = cuda_type(program_.buffer(name).dtype);
    out_->line(fmt::format("{0}* const {1} = reinterpret_cast<{0}*>(shared_memory{2});", type,
                           cuda_name(name), offset > 0 ? fmt::format(" + {}", offset) : ""));
  }
  if (registers_.staging_bytes() > 0) {
    out_->line("float* const staging = reinterpret_cast<float*>(shared_memory);");
  }
  registers_.declare(*out_);
}

// --- places and values

std::string BlockWriter::place(const loops::Access& access,
                               const std::vector<loops::Index>& offset) const {
  const auto held = at_hand_.find(access.buffer);
  if (held != at_hand_.end()) return held->second;
  const loops::Buffer& buffer = program_.buffer(access.buffer);
  if (buffer.scope == loops::Scope::kRegister) {
    throw Refused{fmt::format("{} is used where another register buffer is", access.buffer)};
  }
  loops::Index address = address_of(buffer, access, offset);
  if (access.slot) address = address + *access.slot * stage_elements(buffer);
  return fmt::format("{}[{}]", cuda_name(access.buffer), index_text(address));
}

std::string BlockWriter::value(const loops::Value& of) const {
  return value_text(of, [this](const loops::Access& read) {
    return loaded(program_.buffer(read.buffer).dtype, place(read));
  });
}

// --- statements

void BlockWriter::write(const loops::Body& body) {
  for (const loops::Statement& statement : body) write(statement);
}

void BlockWriter::write(const loops::Statement& statement) {
  if (plan_.barriers.contains(&statement)) out_->line("__syncthreads();");
  const loops::SingleNest nest = loops::single_nest(statement);
  if (nest.assign != nullptr) {
    write_nest(nest.loops, *nest.assign);
  } else if (const auto* loop = statement.get<loops::Loop>()) {
    write(*loop);
  } else if (const auto* guard = statement.get<loops::Guard>()) {
    Writer inner;
    std::swap(*out_, inner);
    write(guard->body);
    std::swap(*out_, inner);
    if (inner.take().empty()) return;  // only waits that need no text
    const std::string runs = condition(guard->where);
    if (!runs.empty()) out_->open(fmt::format("if ({})", runs));
    write(guard->body);
    if (!runs.empty()) out_->close();
  } else if (const auto* copy = statement.get<loops::Copy>()) {
    write(*copy);
  } else if (const auto* product = statement.get<loops::Multiply>()) {
    registers_.multiply(
        *out_, *product,
        [this](const loops::Access& access, const loops::Index& row, const loops::Index& column) {
          std::vector<loops::Index> offset(access.at.size());
          offset[offset.size() - 2] = row;
          offset.back() = column;
          return place(access, offset);
        });
  } else if (const auto* sync = statement.get<loops::Sync>()) {
    write(statement, *sync);
  }
}

void BlockWriter::write(const loops::Statement& statement, const loops::Sync& sync) {
  if (sync.kind == loops::Sync::Kind::kProducerCommit && plan_.commits.contains(&statement)) {
    out_->line("__pipeline_commit();");
  }
  const auto wait = plan_.waits.find(&statement);
  if (wait == plan_.waits.end()) return;
  out_->line(fmt::format("__pipeline_wait_prior({});", wait->second.prior));
  if (wait->second.barrier) out_->line("__syncthreads();");
}

// Registers have no addresses, so a loop that selects stages of register buffers must be unrolled.
int BlockWriter::unrolled(const loops::Loop& loop) const {
  constexpr std::int64_t kMost = 8;
  std::int64_t period = 1;
  loops::for_each_access(loop.body, [&](const loops::Access& access, loops::Use) {
    if (!access.slot || !registers_.holds(access.buffer)) return;
    if (!access.slot->uses(loop.variable)) return;
    period = std::lcm(period, program_.buffer(access.buffer).stages);
  });
  if (period == 1 && loop.kind != loops::LoopKind::kUnrolled) return 1;
  if (loop.extent <= kMost) return static_cast<int>(loop.extent);
  std::int64_t factor = kMost;
  while (factor > 1 && (loop.extent % factor != 0 || factor % period != 0)) --factor;
  return static_cast<int>(std::max(factor, period));
}

void BlockWriter::write(const loops::Loop& loop) {
  const bool waits = std::all_of(loop.body.begin(), loop.body.end(), [](const auto& statement) {
    return statement.template get<loops::Sync>() != nullptr;
  });
  if (waits) return write(loop.body);  // the last one waits for all
  if (loop.extent > 1) {
    if (const int factor = unrolled(loop); factor > 1) {
      out_->line(fmt::format("#pragma unroll {}", factor));
    }
  }
  const std::string name = c_name(loop.variable);
  out_->open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", name, loop.extent));
  write(loop.body);
  out_->close();
}

int BlockWriter::open_loops(const std::vector<const loops::Loop*>& of) {
  for (const loops::Loop* loop : of) {
    out_->open(
        fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", c_name(loop->variable), loop->extent));
  }
  return static_cast<int>(of.size());
}

// Opens the loop over this thread's iterations, counted by t.
void BlockWriter::open_threads(std::int64_t count) {
  if (whole_grid_) {
    out_->line(fmt::format("const int t = blockIdx.x * {} + threadIdx.x;", threads_.size()));
    out_->open(fmt::format("if (t < {})", count));
  } else if (count <= threads_.size()) {
    out_->open(fmt::format("if (const int t = threadIdx.x; t < {})", count));
  } else {
    out_->open(fmt::format("for (int t = threadIdx.x; t < {}; t += {})", count, threads_.size()));
  }
}

}  // namespace tilecast::host
