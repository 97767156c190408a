#include "host/c_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/math.h"
#include "host/c_function.h"
#include "host/c_nest.h"
#include "host/c_scalar.h"
#include "schedule/detect.h"
#include "schedule/walk.h"

namespace tilecast::host {

namespace {

using schedule::Access;
using schedule::Assign;
using schedule::Body;
using schedule::Buffer;
using schedule::Copy;
using schedule::Guard;
using schedule::Index;
using schedule::Loop;
using schedule::LoopKind;
using schedule::LoopProgram;
using schedule::Multiply;
using schedule::Role;
using schedule::Sync;
using schedule::Value;

constexpr std::int64_t kScratchLine = 64;       // bytes of a cache line, and of alignment
constexpr std::int64_t kMostWritten = 256;      // statements of a loop unrolled in the text
constexpr std::int64_t kMostLocal = 128 << 10;  // bytes of a buffer on the stack
constexpr std::int64_t kVectorBytes = 64;
constexpr std::int64_t kMostSums = 30;  // vectors of sums: 32 registers minus 2 for operands

class LoopWriter {
 public:
  explicit LoopWriter(const LoopProgram& program) : program_(program) {}

  CKernel write(const std::string& function) {
    CKernel made{.function = function};
    out_.open(
        fmt::format("void {}(const void* const* in, void* const* out, void* scratch_)", function));
    write_buffers(made.scratch_bytes);
    write_body(program_.body);
    out_.close();
    made.source = out_.take();
    return made;
  }

 private:
  void write_buffers(std::int64_t& scratch) {
    std::map<std::string, std::string> names;
    std::size_t inputs = 0, outputs = 0;
    out_.line("char* const scratch = (char*)scratch_; (void)scratch;");
    for (const Buffer& buffer : program_.buffers) {
      if (!is_generated(buffer.dtype)) {
        throw Refused{fmt::format("type {} is not generated", ir::name(buffer.dtype))};
      }
      const std::string name = "b_" + c_name(buffer.name);
      if (!names.emplace(name, buffer.name).second) throw Refused{"two buffers of one C name"};
      const std::string type(storage_type(buffer.dtype));
      if (buffer.role == Role::kInput) {
        out_.line(fmt::format("const {0}* restrict const {1} = (const {0}*)in[{2}];", type, name,
                              inputs++));
      } else if (buffer.role == Role::kOutput) {
        out_.line(fmt::format("{0}* restrict const {1} = ({0}*)out[{2}];", type, name, outputs++));
      } else if (buffer.scope == schedule::Scope::kRegister &&
                 elements(buffer) * bytes_of(type) <= kMostLocal) {
        // A separate array, so that the compiler sees that nothing else points to it.
        out_.line(fmt::format("{} {}[{}] __attribute__((aligned({})));", type, name,
                              elements(buffer), kScratchLine));
      } else {
        out_.line(
            fmt::format("{0}* restrict const {1} = ({0}*)(scratch + {2});", type, name, scratch));
        scratch += base::round_up(elements(buffer) * bytes_of(type), kScratchLine);
      }
    }
  }

  // --- places Address of an element in its buffer, offset by loops of a copy.
  [[nodiscard]] Index address(const Access& access, const std::vector<Index>& offset = {}) const {
    if (access.slot)
      throw Refused{"stages that are waited for: C takes the loops before pipelining"};
    return address_of(program_.buffer(access.buffer), access, offset);
  }
  [[nodiscard]] std::string place(const Access& access,
                                  const std::vector<Index>& offset = {}) const {
    return fmt::format("b_{}[{}]", c_name(access.buffer), index_text(address(access, offset)));
  }

  [[nodiscard]] std::string value(const Value& of) const {
    return value_text(of, [this](const Access& read) {
      return loaded(program_.buffer(read.buffer).dtype, place(read));
    });
  }

  // --- statements
  void write_body(const Body& body) {
    for (const schedule::Statement& statement : body) {
      std::visit([this](const auto& s) { write(s); }, statement.is);
    }
  }
  void write(const Loop& loop) {
    if (loop.kind == LoopKind::kVectorized && write_vectors(loop)) return;
    const bool unrolled = loop.kind == LoopKind::kUnrolled;
    const bool fits = sums(loop.body, {&loop}) <= kMostSums;
    if (loop.extent == 1 || (unrolled && fits && written(loop) <= kMostWritten)) {
      for (std::int64_t i = 0; i < loop.extent; ++i) {
        write_body(schedule::with(loop.body, {{loop.variable, Index(i)}}));
      }
      return;
    }
    if (loop.kind == LoopKind::kVectorized) out_.line("#pragma GCC ivdep");
    // Keeps sums that do not fit in memory: GCC would keep some in registers and spill them around
    // every use, which takes twice as long.
    if (unrolled && !fits) out_.line("#pragma GCC unroll 1");
    const std::string name = c_name(loop.variable);
    out_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", name, loop.extent));
    around_.push_back(&loop);
    write_body(loop.body);
    around_.pop_back();
    out_.close();
  }

  // Number of statements in the text of a loop.
  [[nodiscard]] std::int64_t written(const Loop& loop) const {
    std::int64_t inner = 0;
    for (const schedule::Statement& statement : loop.body) {
      const auto* deeper = statement.get<Loop>();
      inner += deeper != nullptr ? written(*deeper) : 1;
    }
    if (loop.kind == LoopKind::kUnrolled) return inner * loop.extent;
    const std::int64_t lanes = loop.kind == LoopKind::kVectorized ? lanes_of(loop) : 0;
    return lanes > 0 ? loop.extent / lanes : inner;
  }

  // Vectors of register buffers that the text inside `loops` would write if unrolled.
  [[nodiscard]] std::int64_t sums(const Body& body, const std::vector<const Loop*>& loops) const {
    std::int64_t made = 0;
    for (const schedule::Statement& statement : body) {
      if (const auto* deeper = statement.get<Loop>()) {
        std::vector<const Loop*> inside = loops;
        inside.push_back(deeper);
        made += sums(deeper->body, inside);
      }
      const auto* assign = statement.get<Assign>();
      if (assign == nullptr ||
          program_.buffer(assign->to.buffer).scope != schedule::Scope::kRegister) {
        continue;
      }
      std::int64_t vectors = 1;
      for (const Loop* loop : loops) {
        const std::int64_t lanes = loop->kind == LoopKind::kVectorized ? lanes_of(*loop) : 0;
        if (address(assign->to).uses(loop->variable)) {
          vectors *= loop->extent / std::max<std::int64_t>(lanes, 1);
        }
      }
      made += vectors;
    }
    return made;
  }

  // --- vectors: one assignment of sums and products of invariant or contiguous arrays
  [[nodiscard]] Index step_of(const Access& access, const std::string& variable) const {
    const Index at = address(access);
    return at.with(variable, 1) - at.with(variable, 0);
  }
  [[nodiscard]] bool is_vector(const Value& of, const std::string& variable) const {
    const bool same = of.dtype == ir::DType::kF32 || of.dtype == ir::DType::kF64;
    if (!same) return false;
    if (of.kind == Value::Kind::kNumber) return true;
    if (of.kind == Value::Kind::kRead) {
      const Index step = step_of(of.read, variable);
      return step == Index(0) || step == Index(1);
    }
    return infix_operator(of.opcode) != 0 && of.operands.size() == 2 &&
           std::all_of(of.operands.begin(), of.operands.end(), [&](const Value& operand) {
             return operand.dtype == of.dtype && is_vector(operand, variable);
           });
  }
  // Lanes of the widest vectors that divide the loop; 0 if it cannot be vectorised this way.
  [[nodiscard]] std::int64_t lanes_of(const Loop& loop) const {
    const Assign* assign = loop.body.size() == 1 ? loop.body[0].get<Assign>() : nullptr;
    if (assign == nullptr || !assign->where.empty() ||
        (assign->combine && infix_operator(*assign->combine) == 0) ||
        !(step_of(assign->to, loop.variable) == Index(1)) ||
        assign->value.dtype != program_.buffer(assign->to.buffer).dtype ||
        !is_vector(assign->value, loop.variable)) {
      return 0;
    }
    std::int64_t lanes = kVectorBytes / bytes_of(storage_type(assign->value.dtype));
    while (loop.extent % lanes != 0) lanes /= 2;
    return lanes > 1 ? lanes : 0;
  }
  // `now` is `of` with the variable at the first lane.
  [[nodiscard]] std::string vector_value(const Value& of, const Value& now,
                                         const std::string& variable,
                                         const std::string& type) const {
    if (of.kind == Value::Kind::kRead && step_of(of.read, variable) == Index(1)) {
      return fmt::format("*(const {}*)&{}", type, place(now.read));
    }
    if (of.kind != Value::Kind::kApply) return value(now);
    return fmt::format(
        "({}) {} ({})", vector_value(of.operands[0], now.operands[0], variable, type),
        infix_operator(of.opcode), vector_value(of.operands[1], now.operands[1], variable, type));
  }
  bool write_vectors(const Loop& loop) {
    const std::int64_t lanes = lanes_of(loop);
    if (lanes == 0) return false;
    const Value& of = loop.body[0].get<Assign>()->value;
    const std::string type = fmt::format("tc_{}{}", storage_type(of.dtype), lanes);
    for (std::int64_t i = 0; i < loop.extent; i += lanes) {
      const Body moved = schedule::with(loop.body, {{loop.variable, Index(i)}});
      const Assign& assign = *moved[0].get<Assign>();
      const std::string to = fmt::format("*({}*)&{}", type, place(assign.to));
      const std::string made = vector_value(of, assign.value, loop.variable, type);
      // Without a sum, adding minus zero turns a scalar into a vector without changing its value.
      out_.line(assign.combine
                    ? fmt::format("{0} = {0} {1} ({2});", to, infix_operator(*assign.combine), made)
                    : fmt::format("{} = ({}) - ({}){{0}};", to, made, type));
    }
    return true;
  }
  void write(const Guard& guard) {
    out_.open(fmt::format("if ({})", condition_text(guard.where)));
    write_body(guard.body);
    out_.close();
  }
  void write(const Sync&) {
    throw Refused{"batches to wait for: C takes the loops before pipelining"};
  }

  void write(const Assign& assign) {
    const ir::DType dtype = program_.buffer(assign.to.buffer).dtype;
    const std::string to = place(assign.to);
    std::string made = value(assign.value);
    if (assign.combine) {
      made = combination_text(*assign.combine, dtype, loaded(dtype, to), "(" + made + ")");
    }
    if (!assign.where.empty()) out_.open(fmt::format("if ({})", condition_text(assign.where)));
    out_.line(fmt::format("{} = {};", to, stored(dtype, made)));
    if (!assign.where.empty()) out_.close();
  }

  void write(const Multiply& m) {
    const ir::DType dtype = program_.buffer(m.c.buffer).dtype;
    for (const Access* access : {&m.a, &m.b, &m.c}) {
      const bool plain = program_.buffer(access->buffer).dtype == dtype &&
                         program_.buffer(access->buffer).strides.empty();
      if (!plain || is_half(dtype)) throw Refused{"a matrix product of two types"};
    }
    const auto row = [this](const Access& access) {
      return strides(program_.buffer(access.buffer))[access.at.size() - 2];
    };
    out_.line(fmt::format("tc_mm_{}({}, {}, {}, &{}, {}, &{}, {}, &{}, {});", product_suffix(dtype),
                          m.rows, m.columns, m.depth, place(m.a), row(m.a), place(m.b), row(m.b),
                          place(m.c), row(m.c)));
  }

  // --- copies
  void write(const Copy& copy) {
    if (copy.async) write_prefetch(copy);
    if (copy.padded) write_box(copy, {&copy.to});
    write_box(copy, copy.padded ? std::vector{&copy.to, &copy.from} : std::vector<const Access*>{});
  }
  // Writes the elements of the box that are inside the buffers of `within`: copies, or zeros for
  // elements outside the source of a padded copy. Conditions are in the loop bounds, because GCC 12
  // miscompiles vectors of `inside ? x[i] : 0` with AVX.
  void write_box(const Copy& copy, const std::vector<const Access*>& within) {
    std::vector<Index> offset;
    int open = 0;
    for (std::size_t d = 0; d < copy.extents.size(); ++d) {
      std::string low = "0", high = std::to_string(copy.extents[d]);
      for (const Access* access : within) {
        const Buffer& buffer = program_.buffer(access->buffer);
        if (!is_clipped(buffer, *access, d)) continue;
        const std::int64_t size = buffer.dims[d];
        low = fmt::format("tc_larger({}, {})", low, index_text(Index(0) - access->at[d]));
        high = fmt::format("tc_smaller({}, {})", high, index_text(Index(size) - access->at[d]));
      }
      if (low == "0" && copy.extents[d] == 1) {
        offset.emplace_back(0);
        continue;
      }
      out_.open(fmt::format("for (int64_t c{0} = {1}; c{0} < {2}; ++c{0})", d, low, high));
      offset.push_back(Index::of(fmt::format("c{}", d)));
      ++open;
    }
    const bool zeros = copy.padded && within.size() == 1;
    out_.line(
        fmt::format("{} = {};", place(copy.to, offset), zeros ? "0" : place(copy.from, offset)));
    while (open-- > 0) out_.close();
  }
  // The condition for an element to be in the buffer; "" if it always is.
  [[nodiscard]] std::string clip(const Access& access, const std::vector<Index>& offset,
                                 bool padded) const {
    if (!padded) return {};
    return condition_text(inside_bounds(program_.buffer(access.buffer), access, offset));
  }

  // Prefetches the lines of the box that the copy needs stages - 1 iterations later.
  void write_prefetch(const Copy& copy) {
    const Buffer& target = program_.buffer(copy.to.buffer);
    const Buffer& source = program_.buffer(copy.from.buffer);
    const auto found = schedule::detect_pipeline(program_, target.name, target.stages);
    if (!found.found || source.scope != schedule::Scope::kMain) return;
    const std::string& loop = found.found->loop;
    const auto own = std::find_if(around_.begin(), around_.end(),
                                  [&](const Loop* l) { return l->variable == loop; });
    if (own == around_.end()) return;
    const std::int64_t ahead = target.stages - 1;
    out_.open(fmt::format("if ({} < {})", c_name(loop), (*own)->extent - ahead));
    Access later = copy.from;
    for (Index& index : later.at) index = index.with(loop, Index::of(loop) + ahead);
    const std::int64_t bytes = bytes_of(storage_type(source.dtype));
    std::vector<Index> offset;
    const std::size_t rank = copy.extents.size();
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t step = d + 1 == rank ? std::max<std::int64_t>(kScratchLine / bytes, 1) : 1;
      out_.open(
          fmt::format("for (int64_t c{0} = 0; c{0} < {1}; c{0} += {2})", d, copy.extents[d], step));
      offset.push_back(Index::of(fmt::format("c{}", d)));
    }
    // Prefetching outside the array is harmless, but computing its address is undefined in C.
    const std::string fits = clip(later, offset, copy.padded);
    out_.line(fmt::format("{}__builtin_prefetch(&{}, 0, 3);",
                          fits.empty() ? "" : "if (" + fits + ") ", place(later, offset)));
    for (std::size_t d = 0; d < rank; ++d) out_.close();
    out_.close();
  }

  const LoopProgram& program_;
  std::vector<const Loop*> around_;
  Writer out_;
};

}  // namespace

std::variant<CKernel, Unsupported> c_of_loops(const LoopProgram& program,
                                              const std::string& function) {
  try {
    return LoopWriter(program).write(function);
  } catch (const Refused& refused) {
    return Unsupported{refused.reason};
  }
}

namespace loops = schedule;

std::string c_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '.' || c == '@'; }, '_');
  return name;
}

std::string index_text(const loops::Index& index) {
  return c_name(index.text());
}

std::string condition_text(const std::vector<loops::Bound>& where, const loops::Extents& extents) {
  std::string made;
  const auto add = [&made](const std::string& condition) {
    made += made.empty() ? condition : " && " + condition;
  };
  for (const loops::Bound& bound : where) {
    const std::int64_t constant = bound.index.constant();
    const std::string index = index_text(bound.index - loops::Index(constant));
    bool above = false, below = false;
    if (!extents.empty()) {
      const loops::IndexRange range = bound.index.range(extents);
      above = range.low >= 0;
      below = range.high < bound.limit;
    }
    if (!above) add(fmt::format("{} >= {}", index, -constant));
    if (!below) add(fmt::format("{} < {}", index, bound.limit - constant));
  }
  return made;
}

std::vector<Index> split_counter(Index counter, const ir::Dims& extents) {
  std::vector<Index> made(extents.size());
  for (std::size_t d = extents.size(); d-- > 0;) {
    made[d] = d == 0 ? counter : counter % extents[d];
    counter = counter / extents[d];
  }
  return made;
}

std::int64_t stage_elements(const loops::Buffer& buffer) {
  const ir::Dims by = loops::strides(buffer);
  std::int64_t most = 1;
  for (std::size_t d = 0; d < by.size(); ++d) most = std::max(most, by[d] * buffer.dims[d]);
  return most;
}

std::int64_t bytes_of_element(ir::DType dtype) {
  return bytes_of(storage_type(dtype));
}

loops::Index address_of(const loops::Buffer& buffer, const loops::Access& access,
                        const std::vector<loops::Index>& offset) {
  const ir::Dims by = loops::strides(buffer);
  loops::Index address;
  for (std::size_t d = 0; d < access.at.size(); ++d) {
    address = address + (access.at[d] + (offset.empty() ? loops::Index(0) : offset[d])) * by[d];
  }
  return address;
}

bool is_clipped(const loops::Buffer& buffer, const loops::Access& access, std::size_t dim) {
  const bool start = access.at[dim].is_constant() && access.at[dim].constant() == 0;
  return !start || buffer.scope == loops::Scope::kMain;
}

std::vector<loops::Bound> inside_bounds(const loops::Buffer& buffer, const loops::Access& access,
                                        const std::vector<loops::Index>& offset) {
  std::vector<loops::Bound> where;
  for (std::size_t d = 0; d < access.at.size(); ++d) {
    if (is_clipped(buffer, access, d)) {
      where.push_back({access.at[d] + offset[d], buffer.dims[d]});
    }
  }
  return where;
}

std::string value_text(const loops::Value& of, const ElementText& element) {
  if (of.kind == loops::Value::Kind::kNumber) return number_text(of.dtype, of.number);
  if (of.kind == loops::Value::Kind::kRead) return element(of.read);
  std::vector<std::string> operands;
  std::vector<ir::DType> types;
  for (const loops::Value& operand : of.operands) {
    operands.push_back("(" + value_text(operand, element) + ")");
    types.push_back(operand.dtype);
  }
  ir::Op op;
  op.opcode = of.opcode;
  op.shape = ir::Shape::array(of.dtype, {});
  if (!of.direction.empty()) op.attrs = ir::CompareAttrs{of.direction, ""};
  const auto made = elementwise_text(op, types, operands);
  if (!made) throw Refused{fmt::format("{} is not generated", ir::name(of.opcode))};
  return *made;
}

std::string combination_text(ir::Opcode combine, ir::DType dtype, const std::string& a,
                             const std::string& b) {
  const auto made = combined_text(combine, dtype, a, b);
  if (!made) throw Refused{fmt::format("a sum by {} is not generated", ir::name(combine))};
  return rounded(dtype, *made);
}

}  // namespace tilecast::host
