#include "host/cuda_registers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/math.h"
#include "host/c_function.h"
#include "host/c_loops.h"
#include "host/c_scalar.h"
#include "schedule/walk.h"

namespace tilecast::host {

namespace loops = schedule;

namespace {

bool is_start(const std::vector<loops::Index>& at) {
  return std::all_of(at.begin(), at.end(),
                     [](const loops::Index& i) { return i.is_constant() && i.constant() == 0; });
}

// A loop over a small count that must be unrolled, since registers have no addresses. With one
// iteration, no loop is written and the counter is 0.
class Unrolled {
 public:
  Unrolled(Writer& out, std::string counter, std::int64_t count) : count_(count) {
    if (count == 1) return;
    out.line("#pragma unroll");
    out.open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", counter, count));
    index = loops::Index::of(std::move(counter));
  }
  [[nodiscard]] std::string text() const { return index_text(index); }
  [[nodiscard]] int opened() const { return count_ == 1 ? 0 : 1; }

  loops::Index index;

 private:
  std::int64_t count_;
};

void set_position(Writer& out, const std::string& name, const loops::Index& index) {
  if (!name.empty()) out.line(fmt::format("const int {} = {};", name, index_text(index)));
}

}  // namespace

std::string cuda_name(const std::string& buffer) {
  const std::string name = c_name(buffer);
  if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) return "b_" + name;
  constexpr std::string_view kFree = "abcdvwxyz";  // letters not used as counters
  const bool word =
      std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
  const bool letter = name.size() == 1 && kFree.find(name[0]) != std::string_view::npos;
  return word && !letter ? name + "_" : name;
}

std::string cuda_type(ir::DType dtype) {
  if (dtype == ir::DType::kBF16) return "__nv_bfloat16";
  if (dtype == ir::DType::kF16) return "__half";
  return std::string(storage_type(dtype));
}

Registers::Registers(const loops::LoopProgram& program, const loops::Body& body,
                     const loops::ThreadBlock& block)
    : program_(program), block_(block) {
  loops::for_each_statement(body, [&](const loops::Statement& statement) {
    if (const auto* product = statement.get<loops::Multiply>()) take(*product, block);
  });
  loops::for_each_access(body, [&](const loops::Access& access, loops::Use) {
    const loops::Buffer& buffer = program.buffer(access.buffer);
    if (buffer.scope != loops::Scope::kRegister || holds(buffer.name)) return;
    Held held;
    while (held.lanes < loops::kWarp && 2 * held.lanes * loops::elements(buffer) <= block.size()) {
      held.lanes *= 2;
    }
    held_.emplace(buffer.name, held);
  });
}

Registers::Shape Registers::shape_of(const std::string& buffer) const {
  const ir::Dims& dims = program_.buffer(buffer).dims;
  return {dims[dims.size() - 2], dims.back()};
}

bool Registers::fits_unit(const loops::Multiply& m) const {
  const loops::Buffer &a = program_.buffer(m.a.buffer), &b = program_.buffer(m.b.buffer);
  const bool held = a.scope == loops::Scope::kRegister && b.scope == loops::Scope::kRegister;
  const bool sums = program_.buffer(m.c.buffer).dtype == ir::DType::kF32;
  return held && sums && is_half(a.dtype) && a.dtype == b.dtype &&
         loops::warps_over(m.rows, m.columns, m.depth, block_).has_value();
}

void Registers::take(const loops::Multiply& m, const loops::ThreadBlock& block) {
  const Spread spread = fits_unit(m) ? Spread::kFragments : Spread::kThreads;
  const bool again = product_.has_value();
  if (again && (spread != *product_ || m.rows != result_.rows || m.columns != result_.columns)) {
    throw Refused{"products of two shapes in one block"};
  }
  product_ = spread;
  result_ = {m.rows, m.columns};
  grid_ = spread == Spread::kFragments ? *loops::warps_over(m.rows, m.columns, m.depth, block)
                                       : loops::threads_over(m.rows, m.columns, block);
  share_ = {m.rows / grid_.rows, m.columns / grid_.columns};
  if (program_.buffer(m.c.buffer).scope != loops::Scope::kRegister) {
    throw Refused{fmt::format("the sums of a product, {}, are not in registers", m.c.buffer)};
  }
  hold(m.c, {spread, Part::kSums, 1});
  hold(m.a, {spread, Part::kLeft, 1});
  hold(m.b, {spread, Part::kRight, 1});
  const Shape c = shape_of(m.c.buffer);
  if (c.rows != m.rows || c.columns != m.columns) {
    throw Refused{fmt::format("a product sums into a part of {}", m.c.buffer)};
  }
}

void Registers::hold(const loops::Access& access, Held held) {
  const loops::Buffer& buffer = program_.buffer(access.buffer);
  if (buffer.scope != loops::Scope::kRegister) return;
  const Shape shape = shape_of(buffer.name);
  const std::int64_t rows = held.part == Part::kRight ? shape.rows : result_.rows;
  const std::int64_t columns = held.part == Part::kLeft ? shape.columns : result_.columns;
  const bool whole = shape.rows == rows && shape.columns == columns &&
                     loops::elements(buffer) == rows * columns && is_start(access.at);
  const auto [entry, added] = held_.emplace(buffer.name, held);
  const bool same = entry->second.part == held.part;
  if (!whole || !same) {
    throw Refused{fmt::format("a product of a part of {}, which registers hold", buffer.name)};
  }
}

const loops::Access* Registers::read_in(const loops::Value& value) const {
  if (value.kind == loops::Value::Kind::kRead && holds(value.read.buffer)) return &value.read;
  for (const loops::Value& operand : value.operands) {
    if (const loops::Access* found = read_in(operand)) return found;
  }
  return nullptr;
}

std::int64_t Registers::staging_bytes() const {
  constexpr std::int64_t kBytes = 4;
  return product_ == Spread::kFragments
             ? block_.warps * loops::kFragment * loops::kFragment * kBytes
             : 0;
}

ir::Dims Registers::counts_of(const std::string& name) const {
  const loops::Buffer& buffer = program_.buffer(name);
  const Held& held = held_.at(name);
  if (held.spread == Spread::kSingly) {
    return {base::ceil_div(loops::elements(buffer) * held.lanes, block_.size())};
  }
  const Shape shape = shape_of(name);
  const std::int64_t side = held.spread == Spread::kFragments ? loops::kFragment : 1;
  const std::int64_t rows = held.part == Part::kRight ? shape.rows : share_.rows;
  const std::int64_t columns = held.part == Part::kLeft ? shape.columns : share_.columns;
  return {rows / side, columns / side};
}

void Registers::declare(Writer& out) const {
  if (product_ == Spread::kThreads) {
    out.line(
        fmt::format("const int thread_row = threadIdx.x / {0}, thread_column = threadIdx.x % {0};",
                    grid_.columns));
  } else if (product_ == Spread::kFragments) {
    out.line("const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;");
    out.line(fmt::format("const int warp_row = warp / {0} * {1}, warp_column = warp % {0} * {2};",
                         grid_.columns, share_.rows, share_.columns));
  }
  for (const loops::Buffer& buffer : program_.buffers) {
    if (!holds(buffer.name)) continue;
    const Held& held = held_.at(buffer.name);
    std::string type = cuda_type(buffer.dtype);
    if (held.spread == Spread::kFragments) {
      constexpr std::string_view kParts[] = {"accumulator, 16, 16, 16, float",
                                             "matrix_a, 16, 16, 16, {}, wmma::row_major",
                                             "matrix_b, 16, 16, 16, {}, wmma::row_major"};
      type = fmt::format("wmma::fragment<wmma::{}>",
                         fmt::format(fmt::runtime(kParts[static_cast<int>(held.part)]), type));
    }
    ir::Dims counts = counts_of(buffer.name);
    if (buffer.stages > 1) counts.insert(counts.begin(), buffer.stages);
    out.line(fmt::format("{} {}[{}];", type, cuda_name(buffer.name), fmt::join(counts, "][")));
  }
}

std::string Registers::place(const loops::Access& access, const loops::Index& first,
                             const loops::Index& second) const {
  std::string made = cuda_name(access.buffer);
  if (program_.buffer(access.buffer).stages > 1) {
    made += fmt::format("[{}]", access.slot ? index_text(*access.slot) : "0");
  }
  return made + fmt::format("[{}][{}]", index_text(first), index_text(second));
}

// A thread's row in the whole product.
loops::Index Registers::row(const loops::Index& m) const {
  return loops::Index::of("thread_row") + m * grid_.rows;
}
loops::Index Registers::column(const loops::Index& n) const {
  constexpr std::int64_t kNeighbours = 4;
  std::int64_t group = kNeighbours;
  while (share_.columns % group != 0) group /= 2;
  const loops::Index first = loops::Index::of("thread_column") * group;
  if (group == share_.columns) return first + n;
  if (group == 1) return first + n * grid_.columns;
  return first + n / group * (group * grid_.columns) + n % group;
}

Registers::Element Registers::open(Writer& out, const loops::Access& access,
                                   const std::vector<std::string>& positions, bool once) const {
  switch (held_.at(access.buffer).spread) {
    case Spread::kThreads:
      return open_threads(out, access, positions);
    case Spread::kFragments:
      return open_fragments(out, access, positions);
    case Spread::kSingly:
      break;
  }
  return open_singly(out, access, positions, once);
}

Registers::Element Registers::open_threads(Writer& out, const loops::Access& access,
                                           const std::vector<std::string>& positions) const {
  const Part part = held_.at(access.buffer).part;
  const ir::Dims counts = counts_of(access.buffer);
  const std::int64_t busy = grid_.rows * grid_.columns;
  if (busy < block_.size()) out.open(fmt::format("if (threadIdx.x < {})", busy));
  const Unrolled first(out, part == Part::kRight ? "p" : "m", counts[0]);
  const Unrolled second(out, part == Part::kLeft ? "p" : "n", counts[1]);
  int opened = (busy < block_.size() ? 1 : 0) + first.opened() + second.opened();
  if (opened == 0) {
    out.open("");  // a scope for this statement's constants
    opened = 1;
  }
  for (std::size_t d = 0; d + 2 < positions.size(); ++d) set_position(out, positions[d], 0);
  set_position(out, positions[positions.size() - 2],
               part == Part::kRight ? first.index : row(first.index));
  set_position(out, positions.back(), part == Part::kLeft ? second.index : column(second.index));
  return {place(access, first.index, second.index), opened};
}

Registers::Element Registers::open_fragments(Writer& out, const loops::Access& access,
                                             const std::vector<std::string>& positions) const {
  if (held_.at(access.buffer).part != Part::kSums) {
    throw Refused{"an element of a matrix unit's operand"};
  }
  const ir::Dims counts = counts_of(access.buffer);
  const Unrolled m(out, "m", counts[0]), n(out, "n", counts[1]);
  out.line("__syncwarp();");
  out.line(
      fmt::format("wmma::store_matrix_sync(staging + 256 * warp, {}, 16, wmma::mem_row_major);",
                  place(access, m.index, n.index)));
  out.line("__syncwarp();");
  const Unrolled e(out, "e", loops::kFragment * loops::kFragment / loops::kWarp);
  const loops::Index lane = loops::Index::of("lane");
  for (std::size_t d = 0; d + 2 < positions.size(); ++d) set_position(out, positions[d], 0);
  set_position(out, positions[positions.size() - 2],
               loops::Index::of("warp_row") + m.index * loops::kFragment + e.index * 2 +
                   lane / loops::kFragment);
  set_position(
      out, positions.back(),
      loops::Index::of("warp_column") + n.index * loops::kFragment + lane % loops::kFragment);
  return {"staging[256 * warp + 32 * e + lane]", m.opened() + n.opened() + e.opened()};
}

Registers::Element Registers::open_singly(Writer& out, const loops::Access& access,
                                          const std::vector<std::string>& positions,
                                          bool once) const {
  const loops::Buffer& buffer = program_.buffer(access.buffer);
  const std::int64_t lanes = held_.at(buffer.name).lanes, elements = loops::elements(buffer);
  const std::int64_t a_pass = block_.size() / lanes, passes = counts_of(buffer.name)[0];
  const Unrolled e(out, "e", passes);
  std::string made = cuda_name(buffer.name);
  if (buffer.stages > 1) made += fmt::format("[{}]", access.slot ? index_text(*access.slot) : "0");
  made += fmt::format("[{}]", e.text());
  const bool all = std::all_of(positions.begin(), positions.end(),
                               [](const std::string& name) { return name.empty(); });
  if (all && !once) return {made, e.opened()};
  if (passes == 1) out.open("");  // a scope for this statement's constants
  int opened = 1;
  out.line(fmt::format("const int element = {};",
                       (loops::Index::of("threadIdx.x") / lanes + e.index * a_pass).text()));
  std::vector<std::string> conditions;
  if (elements < a_pass * passes) conditions.push_back(fmt::format("element < {}", elements));
  if (once && lanes > 1) conditions.push_back(fmt::format("threadIdx.x % {} == 0", lanes));
  if (!conditions.empty()) {
    out.open(fmt::format("if ({})", fmt::join(conditions, " && ")));
    ++opened;
  }
  const std::vector<loops::Index> split = split_counter(loops::Index::of("element"), buffer.dims);
  for (std::size_t d = 0; d < positions.size(); ++d) set_position(out, positions[d], split[d]);
  return {made, opened};
}

void Registers::fill_fragments(Writer& out, const std::string& buffer,
                               const std::string& value) const {
  const ir::Dims counts = counts_of(buffer);
  const Unrolled m(out, "m", counts[0]), n(out, "n", counts[1]);
  out.line(fmt::format("wmma::fill_fragment({}, {});", place({buffer, {}, {}}, m.index, n.index),
                       value));
  for (int i = m.opened() + n.opened(); i > 0; --i) out.close();
}

void Registers::load_fragments(Writer& out, const loops::Access& access, const std::string& address,
                               std::int64_t row) const {
  const bool left = held_.at(access.buffer).part == Part::kLeft;
  const ir::Dims counts = counts_of(access.buffer);
  const Unrolled first(out, left ? "m" : "p", counts[0]), second(out, left ? "p" : "n", counts[1]);
  const loops::Index down = first.index * (loops::kFragment * row),
                     along = second.index * loops::kFragment;
  const loops::Index own =
      left ? loops::Index::of("warp_row") * row : loops::Index::of("warp_column");
  out.line(fmt::format("wmma::load_matrix_sync({}, &{} + {}, {});",
                       place(access, first.index, second.index), address,
                       index_text(own + down + along), row));
  for (int i = first.opened() + second.opened(); i > 0; --i) out.close();
}

void Registers::multiply(Writer& out, const loops::Multiply& m, const Place& shared) const {
  const bool unit = product_ == Spread::kFragments;
  const std::int64_t side = unit ? loops::kFragment : 1;
  const std::int64_t busy = unit ? block_.size() : grid_.rows * grid_.columns;
  const loops::Buffer &a = program_.buffer(m.a.buffer), &b = program_.buffer(m.b.buffer);
  int opened = busy < block_.size() ? 1 : 0;
  if (opened > 0) out.open(fmt::format("if (threadIdx.x < {})", busy));
  loops::Index deep = loops::Index::of("p");
  if (holds(a.name) || holds(b.name)) {
    const Unrolled p(out, "p", m.depth / side);
    deep = p.index;
    opened += p.opened();
  } else {
    out.open(fmt::format("for (int p = 0; p < {}; ++p)", m.depth));
    ++opened;
  }
  const Unrolled i(out, "m", share_.rows / side), j(out, "n", share_.columns / side);
  const std::string left =
      holds(a.name) ? place(m.a, i.index, deep) : shared(m.a, row(i.index), deep);
  const std::string right =
      holds(b.name) ? place(m.b, deep, j.index) : shared(m.b, deep, column(j.index));
  const std::string sum = place(m.c, i.index, j.index);
  if (unit) {
    out.line(fmt::format("wmma::mma_sync({0}, {1}, {2}, {0});", sum, left, right));
  } else {
    const ir::DType dtype = program_.buffer(m.c.buffer).dtype;
    out.line(fmt::format("{} += {} * {};", sum, converted(a.dtype, dtype, loaded(a.dtype, left)),
                         converted(b.dtype, dtype, loaded(b.dtype, right))));
  }
  for (opened += i.opened() + j.opened(); opened > 0; --opened) out.close();
}

}  // namespace tilecast::host
