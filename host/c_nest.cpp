#include "host/c_nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/error.h"

namespace tilecast::host {
namespace {

// Block size of transpositions. 1024 x 1024 floats take 0.5 ms in blocks of 8, but 2.7 ms in blocks
// of 16, whose lines map to few cache sets (AMD Zen 5, 12-way L1, 2026-11-22).
constexpr std::int64_t kBlock = 8;

// Placeholders of addresses and values, which are not valid C: "@3@" and "$3$".
template <class Visit>
void for_each_mark(const std::string& text, char mark, Visit&& visit) {
  for (std::size_t i = text.find(mark); i != std::string::npos; i = text.find(mark, i)) {
    const std::size_t end = text.find(mark, i + 1);
    visit(static_cast<std::size_t>(std::stoul(text.substr(i + 1, end - i - 1))));
    i = end + 1;
  }
}

}  // namespace

void Writer::line(const std::string& text) {
  text_.append(static_cast<std::size_t>(depth_), ' ');
  text_ += text;
  text_ += '\n';
}

void Writer::open(const std::string& text) {
  line(text.empty() ? "{" : text + " {");
  ++depth_;
}

void Writer::close() {
  --depth_;
  line("}");
}

Index Nest::add_loop(const Index& size, std::int64_t largest, bool mergeable) {
  TC_CHECK(loops_.size() < 32, "at most 32 loops in a nest");
  Index made = symbols_.local(largest);
  loops_.push_back({made.text(), size, largest, mergeable, 1U << loops_.size()});
  return made;
}

std::uint32_t Nest::needs_of(const Index& index) const {
  std::uint32_t needs = 0;
  for (const NestLoop& loop : loops_) {
    if (index.uses(loop.variable)) needs |= loop.bit;
  }
  for (const OwnIndex& own : indices_) {
    if (index.uses(own.variable)) needs |= own.needs;
  }
  return needs;
}

std::uint32_t Nest::needs_of(const std::string& text) const {
  std::uint32_t needs = 0;
  for_each_mark(text, '@', [&](std::size_t place) { needs |= needs_of(places_[place]); });
  for_each_mark(text, '$', [&](std::size_t line) { needs |= lines_[line].needs; });
  return needs;
}

std::string Nest::at(const Index& index) {
  places_.push_back(index);
  return fmt::format("@{}@", places_.size() - 1);
}

std::string Nest::value(const std::string& type, const std::string& text) {
  lines_.push_back(
      {.name = fmt::format("v{}", values_++), .type = type, .text = text, .needs = needs_of(text)});
  return fmt::format("${}$", lines_.size() - 1);
}

Index Nest::index(IndexRange range, const std::string& text) {
  Index made = symbols_.value(range, 0);
  const std::uint32_t needs = needs_of(text);
  indices_.push_back({made.text(), range, needs});
  lines_.push_back({.name = made.text(), .type = "int64_t", .text = text, .needs = needs});
  return made;
}

void Nest::store(const std::string& text) {
  lines_.push_back({.text = text, .is_store = true});
}

Nest::Hull Nest::hull(const Index& index) const {
  Hull hull{index, 1};
  const auto replace = [&](const std::string& variable, const Index& width, std::int64_t low) {
    const std::int64_t factor = index.coefficient(variable);
    if (factor == 0) return;
    const Index span = width * factor;
    hull.start = hull.start.with(variable, 0) + factor * low;
    if (factor < 0) hull.start = hull.start + span;
    hull.size = factor < 0 ? hull.size - span : hull.size + span;
  };
  for (const NestLoop& loop : loops_) replace(loop.variable, loop.size - 1, 0);
  for (const OwnIndex& own : indices_) {
    replace(own.variable, own.range.high - own.range.low, own.range.low);
  }
  return hull;
}

bool Nest::can_merge(std::size_t outer) const {
  const NestLoop& a = loops_[outer];
  const NestLoop& b = loops_[outer + 1];
  if (!a.mergeable || !b.mergeable || !b.size.is_constant()) return false;
  return std::all_of(places_.begin(), places_.end(), [&](const Index& place) {
    return place.coefficient(a.variable) == b.size.constant() * place.coefficient(b.variable);
  });
}

void Nest::remove(std::size_t loop, std::uint32_t instead) {
  const NestLoop& gone = loops_[loop];
  for (Index& place : places_) place = place.with(gone.variable, 0);
  const auto replace = [&](std::uint32_t& needs) {
    if ((needs & gone.bit) != 0) needs = (needs & ~gone.bit) | instead;
  };
  for (Line& line : lines_) replace(line.needs);
  for (OwnIndex& own : indices_) replace(own.needs);
  loops_.erase(loops_.begin() + static_cast<std::ptrdiff_t>(loop));
}

void Nest::merge() {
  for (std::size_t i = loops_.size(); i-- > 0;) {
    const bool once = loops_[i].size == Index(1) && loops_[i].mergeable;
    if (once && loops_.size() > 1) remove(i, 0);
  }
  for (std::size_t i = loops_.size(); i-- > 1;) {
    if (!can_merge(i - 1)) continue;
    NestLoop& inner = loops_[i];
    inner.largest *= loops_[i - 1].largest;
    inner.size = loops_[i - 1].size * inner.size.constant();
    remove(i - 1, inner.bit);
  }
}

// Whether some array is contiguous along `variable` and strided along `across`.
bool Nest::runs_along(const std::string& variable, const std::string& across) const {
  return std::any_of(places_.begin(), places_.end(), [&](const Index& place) {
    return std::abs(place.coefficient(variable)) == 1 &&
           std::abs(place.coefficient(across)) >= kBlock;
  });
}

// Moves the loop that crosses the innermost one next to it.
bool Nest::put_crossing_loop_inside() {
  const std::size_t last = loops_.size() - 1;
  if (loops_.size() < 2 || loops_[last].largest < kBlock) return false;
  for (std::size_t i = last; i-- > 0;) {
    const bool crosses = loops_[i].largest >= kBlock &&
                         runs_along(loops_[i].variable, loops_[last].variable) &&
                         runs_along(loops_[last].variable, loops_[i].variable);
    if (!crosses) continue;
    const auto at = loops_.begin() + static_cast<std::ptrdiff_t>(i);
    std::rotate(at, at + 1, loops_.end() - 1);
    return true;
  }
  return false;
}

std::string Nest::resolved(const std::string& text) const {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char mark = text[i];
    if (mark != '@' && mark != '$') {
      out += mark;
      continue;
    }
    const std::size_t end = text.find(mark, i + 1);
    const auto number = static_cast<std::size_t>(std::stoul(text.substr(i + 1, end - i - 1)));
    out += mark == '@' ? places_[number].text() : lines_[number].name;
    i = end;
  }
  return out;
}

std::string Nest::loop_head(std::size_t loop) const {
  return fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", loops_[loop].variable,
                     loops_[loop].size.text());
}

std::size_t Nest::depth_of(std::uint32_t needs) const {
  std::size_t depth = loops_.size();
  while (depth > 0 && (needs & loops_[depth - 1].bit) == 0) --depth;
  return depth;
}

void Nest::write_values(Writer& out, std::size_t depth) const {
  for (const Line& line : lines_) {
    if (line.is_store || depth_of(line.needs) != depth) continue;
    out.line(fmt::format("const {} {} = {};", line.type, line.name, resolved(line.text)));
  }
}

void Nest::write_stores(Writer& out) const {
  for (const Line& line : lines_) {
    if (line.is_store) out.line(resolved(line.text) + ";");
  }
}

// Writes the two innermost loops in blocks.
void Nest::write_blocks(Writer& out) {
  const std::size_t depth = loops_.size();
  const std::array<const char*, 2> names{"at_row", "at_column"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (i == 0) write_values(out, depth - 2);
    out.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; {0} += {2})", names[i],
                         loops_[depth - 2 + i].size.text(), kBlock));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const NestLoop& loop = loops_[depth - 2 + i];
    const bool whole = loop.size.is_constant() && loop.size.constant() % kBlock == 0;
    const std::string end =
        whole ? fmt::format("{} + {}", names[i], kBlock)
              : fmt::format("tc_smaller({}, {} + {})", loop.size.text(), names[i], kBlock);
    if (i == 1) write_values(out, depth - 1);
    if (i == 1) out.line("#pragma GCC ivdep");
    out.open(
        fmt::format("for (int64_t {0} = {1}; {0} < {2}; ++{0})", loop.variable, names[i], end));
  }
  write_values(out, depth);
  write_stores(out);
  for (std::size_t i = 0; i < 4; ++i) out.close();
}

void Nest::write(Writer& out) {
  merge();
  const std::size_t depth = loops_.size();
  if (depth >= 2 && put_crossing_loop_inside()) {
    for (std::size_t i = 0; i + 2 < depth; ++i) {
      write_values(out, i);
      out.open(loop_head(i));
    }
    write_blocks(out);
    for (std::size_t i = 0; i + 2 < depth; ++i) out.close();
    return;
  }
  if (depth == 0) out.open("");
  for (std::size_t i = 0; i < depth; ++i) {
    write_values(out, i);
    if (i + 1 == depth) out.line("#pragma GCC ivdep");
    out.open(loop_head(i));
  }
  write_values(out, depth);
  write_stores(out);
  for (std::size_t i = 0; i < std::max<std::size_t>(depth, 1); ++i) out.close();
}

}  // namespace tilecast::host
