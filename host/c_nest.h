// One perfect loop nest of generated C: loops, the values computed in it, and what it stores.
//
//   Nest nest(symbols);
//   SymbolId i = nest.add_loop(size, 64), j = nest.add_loop(Affine(32), 32);
//   Text x = nest.value("float", "b1[" + nest.at(address) + "]", ...);
//   nest.store("b2[...] = " + x);
//   nest.write(writer);
//
// A value is placed in the outermost loop where what it needs is known. Two adjacent loops through
// which every address runs on are merged into one. The innermost loop carries no dependence from
// one iteration to the next and says so to the compiler. Where one array runs along the innermost
// loop and another along some other loop (a transposition), these two run in blocks of 8 x 8, so
// that cache lines are used while they are near.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/c_affine.h"

namespace tilecast::host {

// Lines of C, indented.
class Writer {
 public:
  void line(const std::string& text);
  void open(const std::string& text);  // "for (...) {"
  void close();
  void text(const std::string& lines) { text_ += lines; }  // as they are
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
  int depth_ = 0;
};

struct NestLoop {
  SymbolId symbol;
  Affine size;
  std::int64_t largest;   // of the size
  bool mergeable = true;  // with its neighbours
};

class Nest {
 public:
  explicit Nest(Symbols& symbols) : symbols_(symbols) {}

  // Outermost first.
  SymbolId add_loop(const Affine& size, std::int64_t largest, bool mergeable = true);
  [[nodiscard]] const std::vector<NestLoop>& loops() const { return loops_; }

  // A place in the text that will hold `expression`, after merging.
  [[nodiscard]] std::string at(const Affine& expression);
  // A new value; its name. It may use places and names that this nest gave.
  std::string value(const std::string& type, const std::string& text);
  // A whole number as a symbol, known in this nest only.
  SymbolId index(Range range, const std::string& text);
  // A statement of the innermost loop.
  void store(const std::string& text);
  [[nodiscard]] std::size_t size() const { return lines_.size(); }

  // Regions that the expression passes through: its smallest value and its number of values.
  struct Hull {
    Affine start, size;
  };
  [[nodiscard]] Hull hull(const Affine& expression) const;

  void write(Writer& out);
  // In parts, for nests with a special innermost loop: merge(), then by depth.
  void merge();
  [[nodiscard]] std::string resolved(const std::string& text) const;
  [[nodiscard]] std::string loop_head(std::size_t loop) const;
  void write_values(Writer& out, std::size_t depth) const;  // values first known at this depth
  void write_stores(Writer& out) const;

 private:
  struct Line {
    std::string name, type, text;
    std::uint32_t needs = 0;  // bit i: loop i
    bool is_store = false;
  };
  [[nodiscard]] std::uint32_t needs_of(const std::string& text) const;
  [[nodiscard]] std::uint32_t needs_of(const Affine& expression) const;
  [[nodiscard]] std::size_t depth_of(std::uint32_t needs) const;
  [[nodiscard]] bool can_merge(std::size_t outer) const;
  void merge_loops(std::size_t outer);
  void drop_loop(std::size_t loop);
  [[nodiscard]] bool runs_along(SymbolId symbol, SymbolId across) const;
  bool put_crossing_loop_inside();
  void write_blocks(Writer& out);

  Symbols& symbols_;
  std::vector<NestLoop> loops_;
  std::vector<Affine> places_;
  std::vector<Line> lines_;
  struct Index {
    SymbolId symbol;
    Range range;
    std::uint32_t needs;
  };
  std::vector<Index> indices_;
  int values_ = 0;
};

}  // namespace tilecast::host
