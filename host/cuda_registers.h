// Register buffers of a loop program as registers of a GPU's threads: who holds which element.
//
// A block shares one product. On matrix units (16-bit factors, f32 sums, whole 16 x 16 x 16
// fragments a warp) buffers are wmma fragments; on lanes each thread holds rows and columns a fixed
// distance apart, neighbouring columns in groups of up to four. What no product uses is spread
// element by element, the same element on up to 32 lanes where there are fewer elements than
// threads: they sum it together. Inside of cuda_block.cpp.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/c_nest.h"
#include "schedule/loop_program.h"
#include "schedule/thread_layout.h"

namespace tilecast::host {

// A buffer's name in the text; never a word of C++.
[[nodiscard]] std::string cuda_name(const std::string& buffer);
[[nodiscard]] std::string cuda_type(ir::DType dtype);  // "__nv_bfloat16", else as c_types.h

enum class Spread : std::uint8_t { kSingly, kThreads, kFragments };
enum class Part : std::uint8_t { kSums, kLeft, kRight };  // of a product: c, a, b

struct Held {
  Spread spread = Spread::kSingly;
  Part part = Part::kSums;
  std::int64_t lanes = 1;  // that hold the same element; of kSingly
};

class Registers {
 public:
  // Of the buffers that the block uses. Throws Refused where they cannot be held.
  Registers(const schedule::LoopProgram& program, const schedule::Body& block,
            const schedule::ThreadBlock& threads);

  [[nodiscard]] bool holds(const std::string& buffer) const { return held_.contains(buffer); }
  [[nodiscard]] const Held& held(const std::string& buffer) const { return held_.at(buffer); }
  // The first access to a buffer that they hold; null without one.
  [[nodiscard]] const schedule::Access* read_in(const schedule::Value& value) const;
  // Bytes of shared memory through which fragments are stored.
  [[nodiscard]] std::int64_t staging_bytes() const;
  void declare(Writer& out) const;

  // Opens loops over the elements that a thread holds, with their positions as constants of these
  // names, one per dimension, none where it is empty. Of lanes that hold the same, `once` opens
  // them for one.
  struct Element {
    std::string place;
    int opened = 0;  // to be closed
  };
  [[nodiscard]] Element open(Writer& out, const schedule::Access& access,
                             const std::vector<std::string>& positions, bool once) const;

  void fill_fragments(Writer& out, const std::string& buffer, const std::string& value) const;
  // `address` of the box's first element; rows lie `row` elements apart.
  void load_fragments(Writer& out, const schedule::Access& access, const std::string& address,
                      std::int64_t row) const;
  // `shared`: the place of an element of a box outside of the registers.
  using Place = std::function<std::string(const schedule::Access&, const schedule::Index& row,
                                          const schedule::Index& column)>;
  void multiply(Writer& out, const schedule::Multiply& product, const Place& shared) const;

 private:
  struct Shape {
    std::int64_t rows = 1, columns = 1;  // of the last two dimensions
  };
  [[nodiscard]] Shape shape_of(const std::string& buffer) const;
  void take(const schedule::Multiply& product, const schedule::ThreadBlock& block);
  void hold(const schedule::Access& access, Held held);
  [[nodiscard]] bool fits_unit(const schedule::Multiply& product) const;
  [[nodiscard]] schedule::Index row(const schedule::Index& m) const;
  [[nodiscard]] schedule::Index column(const schedule::Index& n) const;
  [[nodiscard]] ir::Dims counts_of(const std::string& buffer) const;
  [[nodiscard]] std::string place(const schedule::Access& access, const schedule::Index& first,
                                  const schedule::Index& second) const;
  using Positions = std::vector<std::string>;
  [[nodiscard]] Element open_threads(Writer& out, const schedule::Access& access,
                                     const Positions& positions) const;
  [[nodiscard]] Element open_fragments(Writer& out, const schedule::Access& access,
                                       const Positions& positions) const;
  [[nodiscard]] Element open_singly(Writer& out, const schedule::Access& access,
                                    const Positions& positions, bool once) const;

  const schedule::LoopProgram& program_;
  std::map<std::string, Held> held_;
  schedule::ThreadBlock block_;
  // Of the product: how it is spread, its rows and columns, the grid of threads or warps over it.
  std::optional<Spread> product_;
  Shape result_, share_;
  schedule::Sharing grid_;
};

}  // namespace tilecast::host
