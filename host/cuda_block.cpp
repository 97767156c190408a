#include "host/cuda_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/math.h"
#include "host/c_function.h"
#include "host/c_scalar.h"
#include "schedule/text.h"
#include "schedule/walk.h"

namespace tilecast::host {

namespace loops = schedule;

namespace {

constexpr std::int64_t kAligned = 128;  // bytes, alignment of buffers in shared memory

}  // namespace

void write_positions(Writer& out, const std::string& counter,
                     const std::vector<const loops::Loop*>& of) {
  ir::Dims extents;
  for (const loops::Loop* loop : of) extents.push_back(loop->extent);
  const std::vector<loops::Index> own = split_counter(loops::Index::of(counter), extents);
  for (std::size_t l = 0; l < own.size(); ++l) {
    out.line(fmt::format("const int {} = {};", c_name(of[l]->variable), own[l].text()));
  }
}

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

// Nests of one assignment, distributed over the threads of a block.

namespace loops = schedule;

SharedNest shared_nest(const std::vector<const loops::Loop*>& loops_of, const loops::Assign& a) {
  SharedNest made;
  for (const loops::Loop* loop : loops_of) {
    const bool kept = std::any_of(a.to.at.begin(), a.to.at.end(), [&](const loops::Index& index) {
      return index.uses(loop->variable);
    });
    (kept ? made.shared : made.own).push_back(loop);
    if (kept) made.count *= loop->extent;
  }
  const loops::Box written{a.to.at, ir::Dims(a.to.at.size(), 1)};
  if (loops::overlaps_itself(written, loops::extents_of(made.shared))) {
    throw Refused{fmt::format("two threads write one element of {}", a.to.buffer)};
  }
  return made;
}

// --- nests

void BlockWriter::write_nest(const std::vector<const loops::Loop*>& of, const loops::Assign& a) {
  const loops::Access* driver = registers_.holds(a.to.buffer) ? &a.to : registers_.read_in(a.value);
  if (driver != nullptr) return write_held_nest(of, a, *driver);
  const SharedNest nest = shared_nest(of, a);
  open_threads(nest.count);
  write_positions(*out_, "t", nest.shared);
  if (a.combine && !nest.own.empty()) {
    write_sum(nest.own, a, 1);
  } else {
    const int opened = open_loops(nest.own);
    write_assign(a);
    for (int i = 0; i < opened; ++i) out_->close();
  }
  out_->close();
}

// Writes a nest whose loops are the indices of `driver`: each thread runs the iterations of the
// elements it holds.
void BlockWriter::write_held_nest(const std::vector<const loops::Loop*>& of, const loops::Assign& a,
                                  const loops::Access& driver) {
  const loops::Buffer& buffer = program_.buffer(driver.buffer);
  const Held& held = registers_.held(driver.buffer);
  loops::for_each_access({loops::Statement{a}}, [&](const loops::Access& access, loops::Use) {
    if (access.buffer == driver.buffer && loops::to_text(access) != loops::to_text(driver)) {
      throw Refused{fmt::format("{} is used at two places at once", buffer.name)};
    }
  });
  std::vector<const loops::Loop*> own = of;
  std::vector<std::string> positions;
  for (std::size_t d = 0; d < driver.at.size(); ++d) {
    const auto loop = std::find_if(own.begin(), own.end(), [&](const loops::Loop* l) {
      return driver.at[d] == loops::Index::of(l->variable) && l->extent == buffer.dims[d];
    });
    const bool single = driver.at[d].is_constant() && buffer.dims[d] == 1;
    if (loop == own.end() && !single) {
      throw Refused{fmt::format("{} is used element by element, but not in order", buffer.name)};
    }
    positions.push_back(single ? fmt::format("zero{}", d) : c_name((*loop)->variable));
    if (!single) own.erase(loop);
  }
  const bool constant =
      a.value.kind == loops::Value::Kind::kNumber && !a.combine && a.where.empty();
  if (held.spread == Spread::kFragments && driver.buffer == a.to.buffer) {
    if (!constant) throw Refused{"an element of a matrix unit's sums is computed"};
    return registers_.fill_fragments(*out_, buffer.name, value(a.value));
  }
  const bool stores = driver.buffer != a.to.buffer;
  if (stores && !own.empty()) throw Refused{"a sum of what registers hold"};
  if (constant) positions.assign(positions.size(), "");
  const Registers::Element element = registers_.open(*out_, driver, positions, stores);
  at_hand_ = {{driver.buffer, element.place}};
  if (a.combine && !own.empty()) {
    write_sum(own, a, held.lanes);
  } else {
    const int opened = open_loops(own);
    write_assign(a);
    for (int i = 0; i < opened; ++i) out_->close();
  }
  at_hand_.clear();
  for (int i = 0; i < element.opened; ++i) out_->close();
}

void BlockWriter::write_assign(const loops::Assign& a) {
  const ir::DType dtype = program_.buffer(a.to.buffer).dtype;
  const std::string to = place(a.to);
  std::string made = value(a.value);
  if (a.combine) {
    made = combination_text(*a.combine, dtype, loaded(dtype, to), "(" + made + ")");
  }
  const std::string runs = condition(a.where);
  const std::string line = fmt::format("{} = {};", to, stored(dtype, made));
  out_->line(runs.empty() ? line : fmt::format("if ({}) {}", runs, line));
}

// Each thread sums its share separately; then the lanes' sums are combined.
void BlockWriter::write_sum(const std::vector<const loops::Loop*>& own, const loops::Assign& a,
                            std::int64_t lanes) {
  const ir::DType dtype = program_.buffer(a.to.buffer).dtype;
  const auto neutral = neutral_text(*a.combine, dtype);
  if (!neutral) throw Refused{fmt::format("a sum by {} is not generated", ir::name(*a.combine))};
  const std::string type(value_type(dtype));
  std::vector<loops::Bound> outside, inside;  // bounds without and with the thread's own loops
  for (const loops::Bound& bound : a.where) {
    const bool moves = std::any_of(own.begin(), own.end(), [&](const loops::Loop* loop) {
      return bound.index.uses(loop->variable);
    });
    (moves ? inside : outside).push_back(bound);
  }
  const std::string runs = condition(outside);
  if (!runs.empty()) out_->open(fmt::format("if ({})", runs));
  out_->line(fmt::format("{} partial = {};", type == "_Bool" ? "bool" : type, *neutral));
  const int opened = open_loops({own.begin(), own.end() - 1});
  const std::string last = c_name(own.back()->variable);
  const std::string first = lanes > 1 ? fmt::format("threadIdx.x % {}", lanes) : "0";
  out_->open(fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3})", last, first,
                         own.back()->extent, lanes));
  const std::string adds = condition(inside);
  out_->line(
      fmt::format("{}partial = {};", adds.empty() ? "" : "if (" + adds + ") ",
                  combination_text(*a.combine, dtype, "partial", "(" + value(a.value) + ")")));
  for (int i = 0; i <= opened; ++i) out_->close();
  const auto combine = [&](const std::string& x, const std::string& y) {
    return combination_text(*a.combine, dtype, x, y);
  };
  if (lanes > 1) {
    const std::string mask =
        lanes == loops::kWarp
            ? "0xffffffffu"
            : fmt::format("0x{:x}u << threadIdx.x % 32 / {} * {}",
                          (std::uint64_t{1} << static_cast<std::uint64_t>(lanes)) - 1, lanes,
                          lanes);
    out_->line("#pragma unroll");
    out_->open(fmt::format("for (int apart = {}; apart > 0; apart /= 2)", lanes / 2));
    out_->line(fmt::format("const {} other = __shfl_xor_sync({}, partial, apart);",
                           type == "_Bool" ? "bool" : type, mask));
    out_->line(fmt::format("partial = {};", combine("partial", "other")));
    out_->close();
  }
  const std::string to = place(a.to);
  out_->line(fmt::format("{} = {};", to, stored(dtype, combine(loaded(dtype, to), "partial"))));
  if (!runs.empty()) out_->close();
}

// Copies, distributed over the threads of a block.

namespace loops = schedule;

namespace {

constexpr std::int64_t kCopied = 16;  // bytes: the largest piece of an asynchronous copy

}  // namespace

void BlockWriter::write(const loops::Copy& copy) {
  if (registers_.holds(copy.to.buffer) || registers_.holds(copy.from.buffer)) {
    return write_held_copy(copy);
  }
  write_pieces(copy, piece_of(copy));
}

void BlockWriter::write_held_copy(const loops::Copy& copy) {
  const bool loads = registers_.holds(copy.to.buffer);
  const loops::Access &own = loads ? copy.to : copy.from, &other = loads ? copy.from : copy.to;
  const loops::Buffer& buffer = program_.buffer(own.buffer);
  if (registers_.holds(other.buffer)) throw Refused{"a copy from registers to registers"};
  const bool whole = copy.extents == buffer.dims &&
                     std::all_of(own.at.begin(), own.at.end(), [](const loops::Index& index) {
                       return index.is_constant() && index.constant() == 0;
                     });
  if (!whole) throw Refused{fmt::format("a part of {}, which registers hold", own.buffer)};
  const Held& held = registers_.held(own.buffer);
  if (held.spread == Spread::kFragments && loads) {
    const ir::Dims by = loops::strides(program_.buffer(other.buffer));
    if (held.part == Part::kSums || copy.padded || by.back() != 1) {
      throw Refused{"fragments are loaded from rows in shared memory only"};
    }
    return registers_.load_fragments(*out_, own, place(other), by[by.size() - 2]);
  }
  std::vector<std::string> positions;
  std::vector<loops::Index> offset;
  for (std::size_t d = 0; d < copy.extents.size(); ++d) {
    positions.push_back(fmt::format("at{}", d));
    extents_[positions.back()] = copy.extents[d];
    offset.push_back(loops::Index::of(positions.back()));
  }
  const Registers::Element element = registers_.open(*out_, own, positions, !loads);
  const std::string there = place(other, offset);
  std::string inside;
  if (copy.padded) {
    inside = condition(inside_bounds(program_.buffer(other.buffer), other, offset));
  }
  if (loads) {
    out_->line(fmt::format("{} = {};", element.place,
                           inside.empty() ? there
                                          : fmt::format("{} ? {} : {}(0.0f)", inside, there,
                                                        cuda_type(buffer.dtype))));
  } else {
    const ir::DType from = buffer.dtype, to = program_.buffer(other.buffer).dtype;
    if (from != to) throw Refused{"a copy between two types"};
    out_->line(fmt::format("{}{} = {};", inside.empty() ? "" : "if (" + inside + ") ", there,
                           element.place));
  }
  for (int i = 0; i < element.opened; ++i) out_->close();
}

// Number of elements that one thread can copy at once: contiguous in both arrays, aligned, and all
// inside or all outside the bounds.
std::int64_t BlockWriter::piece_of(const loops::Copy& copy) const {
  const loops::Buffer &from = program_.buffer(copy.from.buffer),
                      &to = program_.buffer(copy.to.buffer);
  if (copy.extents.empty() || loops::strides(from).back() != 1 || loops::strides(to).back() != 1) {
    return 1;
  }
  const std::int64_t bytes = bytes_of_element(to.dtype);
  const auto aligned = [&](const loops::Buffer& buffer, const loops::Access& access,
                           std::int64_t piece) {
    const ir::Dims by = loops::strides(buffer);
    const bool rows = std::all_of(by.begin(), by.end() - 1,
                                  [&](std::int64_t stride) { return stride % piece == 0; });
    return rows && address_of(buffer, access) % piece == loops::Index(0) &&
           (buffer.stages == 1 || stage_elements(buffer) % piece == 0) &&
           (!copy.padded ||
            (buffer.dims.back() % piece == 0 && access.at.back() % piece == loops::Index(0)));
  };
  for (std::int64_t piece = kCopied / bytes; piece > 1; piece /= 2) {
    if (copy.extents.back() % piece == 0 && aligned(from, copy.from, piece) &&
        aligned(to, copy.to, piece)) {
      return piece;
    }
  }
  return 1;
}

void BlockWriter::write_pieces(const loops::Copy& copy, std::int64_t piece) {
  const std::int64_t count = std::accumulate(copy.extents.begin(), copy.extents.end(),
                                             std::int64_t{1}, std::multiplies<>()) /
                             piece;
  const std::int64_t bytes = piece * bytes_of_element(program_.buffer(copy.to.buffer).dtype);
  open_threads(count);
  ir::Dims extents = copy.extents;
  if (!extents.empty()) extents.back() /= piece;
  std::vector<loops::Index> offset = split_counter(loops::Index::of("t"), extents);
  if (!offset.empty()) offset.back() = offset.back() * piece;
  for (std::size_t d = 0; d < offset.size(); ++d) {
    out_->line(fmt::format("const int at{} = {};", d, index_text(offset[d])));
    offset[d] = loops::Index::of(fmt::format("at{}", d));
    extents_[fmt::format("at{}", d)] = copy.extents[d];
  }
  const std::string to = place(copy.to, offset), from = place(copy.from, offset);
  std::string inside, kept;
  if (copy.padded) {
    inside = condition(inside_bounds(program_.buffer(copy.from.buffer), copy.from, offset));
    kept = condition(inside_bounds(program_.buffer(copy.to.buffer), copy.to, offset));
  }
  const std::string only = kept.empty() ? "" : "if (" + kept + ") ";
  const bool shared = program_.buffer(copy.to.buffer).scope == loops::Scope::kShared;
  if (copy.async && shared && bytes >= 4) {
    const std::string base = cuda_name(copy.from.buffer);
    out_->line(inside.empty()
                   ? fmt::format("{}__pipeline_memcpy_async(&{}, &{}, {});", only, to, from, bytes)
                   : fmt::format("const bool inside = {};", inside));
    if (!inside.empty()) {
      out_->line(
          fmt::format("{}__pipeline_memcpy_async(&{}, inside ? &{} : {}, {}, inside ? 0 : {});",
                      only, to, from, base, bytes, bytes));
    }
  } else {
    const std::string type = piece == 1    ? cuda_type(program_.buffer(copy.to.buffer).dtype)
                             : bytes == 16 ? "uint4"
                             : bytes == 8  ? "uint2"
                             : bytes == 4  ? "unsigned"
                                           : "uint16_t";
    const auto whole = [&](const std::string& element, const char* constant) {
      return piece == 1 ? element
                        : fmt::format("*reinterpret_cast<{}{}*>(&{})", constant, type, element);
    };
    const std::string source = whole(from, "const ");
    const std::string zero = type + (piece == 1 ? "(0.0f)" : "{}");
    out_->line(
        fmt::format("{}{} = {};", only, whole(to, ""),
                    inside.empty() ? source : fmt::format("{} ? {} : {}", inside, source, zero)));
  }
  out_->close();
}

}  // namespace tilecast::host
