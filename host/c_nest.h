// Builder for one perfect loop nest of generated C: its loops, values and stores.
//
//   Nest nest(symbols);
//   const Index i = nest.add_loop(size, 64), j = nest.add_loop(32, 32);
//   Text x = nest.value("float", "b1[" + nest.at(address) + "]", ...);
//   nest.store("b2[...] = " + x);
//   nest.write(writer);
//
// A value is computed in the outermost loop where its operands are known. Two adjacent loops are
// merged if every address is contiguous across them. The innermost loop carries no dependence
// between iterations, and a pragma tells the compiler so. If one array is contiguous along the
// innermost loop and another along a different loop (a transposition), these two loops are blocked
// 8 x 8, so that cache lines are reused while they are still cached.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/c_symbols.h"

namespace tilecast::host {

// Lines of C, indented.
class Writer {
 public:
  void line(const std::string& text);
  void open(const std::string& text);  // "for (...) {"
  void close();
  void text(const std::string& lines) { text_ += lines; }  // appended unchanged
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
  int depth_ = 0;
};

struct NestLoop {
  std::string variable;
  Index size;
  std::int64_t largest;   // upper bound of the size
  bool mergeable = true;  // with adjacent loops
  std::uint32_t bit = 0;  // in the masks of what depends on the loop
};

class Nest {
 public:
  explicit Nest(Symbols& symbols) : symbols_(symbols) {}

  // Outermost first. Returns the loop's variable.
  Index add_loop(const Index& size, std::int64_t largest, bool mergeable = true);
  [[nodiscard]] const std::vector<NestLoop>& loops() const { return loops_; }

  // A placeholder for the index, resolved after merging.
  [[nodiscard]] std::string at(const Index& index);
  // Adds a value and returns its name. `text` may use placeholders and names of this nest.
  std::string value(const std::string& type, const std::string& text);
  // Adds an integer value as a variable that is valid in this nest only.
  Index index(IndexRange range, const std::string& text);
  // Adds a statement to the innermost loop.
  void store(const std::string& text);
  [[nodiscard]] std::size_t size() const { return lines_.size(); }

  // The interval an index covers in this nest: its smallest value and the number of values.
  struct Hull {
    Index start, size;
  };
  [[nodiscard]] Hull hull(const Index& index) const;

  void write(Writer& out);
  // Parts of write(), for nests with a special innermost loop: call merge(), then go by depth.
  void merge();
  [[nodiscard]] std::string resolved(const std::string& text) const;
  [[nodiscard]] std::string loop_head(std::size_t loop) const;
  void write_values(Writer& out, std::size_t depth) const;  // values first known at this depth
  void write_stores(Writer& out) const;

 private:
  struct Line {
    std::string name, type, text;
    std::uint32_t needs = 0;  // bits of the loops it depends on
    bool is_store = false;
  };
  [[nodiscard]] std::uint32_t needs_of(const std::string& text) const;
  [[nodiscard]] std::uint32_t needs_of(const Index& index) const;
  [[nodiscard]] std::size_t depth_of(std::uint32_t needs) const;
  [[nodiscard]] bool can_merge(std::size_t outer) const;
  // Removes a loop; what depends on it depends on the loops in `instead`.
  void remove(std::size_t loop, std::uint32_t instead);
  [[nodiscard]] bool runs_along(const std::string& variable, const std::string& across) const;
  bool put_crossing_loop_inside();
  void write_blocks(Writer& out);

  Symbols& symbols_;
  std::vector<NestLoop> loops_;
  Position places_;
  std::vector<Line> lines_;
  struct OwnIndex {
    std::string variable;
    IndexRange range;
    std::uint32_t needs;
  };
  std::vector<OwnIndex> indices_;
  int values_ = 0;
};

}  // namespace tilecast::host
