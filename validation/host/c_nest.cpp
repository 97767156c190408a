#include "validation/host/c_nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>

#include "diag/error.h"

namespace tilecast::host {
namespace {

// Places and values are written as marks that cannot be C: "@3@" and "$3$".
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

SymbolId Nest::add_loop(const Affine& size, std::int64_t largest, bool mergeable) {
  TC_CHECK(loops_.size() < 32, "at most 32 loops in a nest");
  const SymbolId symbol = symbols_.local(largest);
  loops_.push_back({symbol, size, largest, mergeable});
  return symbol;
}

std::uint32_t Nest::needs_of(const Affine& expression) const {
  std::uint32_t needs = 0;
  for (const auto& term : expression.terms) {
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      if (loops_[i].symbol == term.first) needs |= 1U << i;
    }
    for (const Index& index : indices_) {
      if (index.symbol == term.first) needs |= index.needs;
    }
  }
  return needs;
}

std::uint32_t Nest::needs_of(const std::string& text) const {
  std::uint32_t needs = 0;
  for_each_mark(text, '@', [&](std::size_t place) { needs |= needs_of(places_[place]); });
  for_each_mark(text, '$', [&](std::size_t line) { needs |= lines_[line].needs; });
  return needs;
}

std::string Nest::at(const Affine& expression) {
  places_.push_back(expression);
  return fmt::format("@{}@", places_.size() - 1);
}

std::string Nest::value(const std::string& type, const std::string& text) {
  lines_.push_back(
      {.name = fmt::format("v{}", values_++), .type = type, .text = text, .needs = needs_of(text)});
  return fmt::format("${}$", lines_.size() - 1);
}

SymbolId Nest::index(Range range, const std::string& text) {
  const SymbolId symbol = symbols_.value(range, 0);
  const std::uint32_t needs = needs_of(text);
  indices_.push_back({symbol, range, needs});
  lines_.push_back(
      {.name = symbols_.name(symbol), .type = "int64_t", .text = text, .needs = needs});
  return symbol;
}

void Nest::store(const std::string& text) {
  lines_.push_back({.text = text, .is_store = true});
}

Nest::Hull Nest::hull(const Affine& expression) const {
  Hull hull{expression, Affine(1)};
  const auto replace = [&hull](SymbolId symbol, std::int64_t factor, const Affine& width,
                               std::int64_t low) {
    const Affine span = width * factor;
    hull.start = hull.start.without(symbol) + factor * low;
    if (factor < 0) hull.start = hull.start + span;
    hull.size = factor < 0 ? hull.size - span : hull.size + span;
  };
  for (const auto& [symbol, factor] : expression.terms) {
    for (const NestLoop& loop : loops_) {
      if (loop.symbol == symbol) replace(symbol, factor, loop.size - 1, 0);
    }
    for (const Index& index : indices_) {
      if (index.symbol != symbol) continue;
      replace(symbol, factor, Affine(index.range.high - index.range.low), index.range.low);
    }
  }
  return hull;
}

bool Nest::can_merge(std::size_t outer) const {
  const NestLoop& a = loops_[outer];
  const NestLoop& b = loops_[outer + 1];
  if (!a.mergeable || !b.mergeable || !b.size.is_constant()) return false;
  return std::all_of(places_.begin(), places_.end(), [&](const Affine& place) {
    return place.coefficient(a.symbol) == b.size.constant * place.coefficient(b.symbol);
  });
}

void Nest::merge_loops(std::size_t outer) {
  NestLoop& inner = loops_[outer + 1];
  inner.largest *= loops_[outer].largest;
  inner.size = loops_[outer].size * inner.size.constant;
  for (Affine& place : places_) place = place.without(loops_[outer].symbol);
  const auto merged = [outer](std::uint32_t needs) {
    const std::uint32_t below = needs & ((1U << outer) - 1);
    const std::uint32_t above = needs >> (outer + 1);
    return below | (above << outer) | ((needs >> outer & 1U) << outer);
  };
  for (Line& line : lines_) line.needs = merged(line.needs);
  for (Index& index : indices_) index.needs = merged(index.needs);
  loops_.erase(loops_.begin() + static_cast<std::ptrdiff_t>(outer));
}

void Nest::merge() {
  // Loops of one iteration are no loops.
  for (std::size_t i = loops_.size(); i-- > 0;) {
    const bool once = loops_[i].size.is(1) && loops_[i].mergeable;
    if (!once || loops_.size() == 1) continue;
    for (Affine& place : places_) place = place.without(loops_[i].symbol);
    const auto dropped = [i](std::uint32_t needs) {
      return (needs & ((1U << i) - 1)) | (needs >> (i + 1) << i);
    };
    for (Line& line : lines_) line.needs = dropped(line.needs);
    for (Index& index : indices_) index.needs = dropped(index.needs);
    loops_.erase(loops_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (std::size_t i = loops_.size(); i-- > 1;) {
    if (can_merge(i - 1)) merge_loops(i - 1);
  }
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
    out += mark == '@' ? symbols_.text(places_[number]) : lines_[number].name;
    i = end;
  }
  return out;
}

std::string Nest::loop_head(std::size_t loop) const {
  const std::string& name = symbols_.name(loops_[loop].symbol);
  return fmt::format("for (int64_t {} = 0; {} < {}; ++{})", name, name,
                     symbols_.text(loops_[loop].size), name);
}

std::size_t Nest::depth_of(std::uint32_t needs) const {
  return static_cast<std::size_t>(std::bit_width(needs));
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

void Nest::write(Writer& out) {
  merge();
  const std::size_t depth = loops_.size();
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
