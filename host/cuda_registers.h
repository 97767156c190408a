// Maps register buffers of a loop program to the registers of a GPU's threads.
//
// A block has at most one product. On matrix units (16-bit factors, f32 sums, whole 16 x 16 x 16
// fragments per warp) its buffers are wmma fragments. On lanes, each thread holds rows and columns
// a fixed distance apart, with adjacent columns in groups of up to four. Buffers outside the
// product are distributed element by element; if there are fewer elements than threads, up to 32
// lanes hold the same element and sum it together. Internal to cuda_block.cpp.
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

// A buffer's name in the text; never a C++ keyword.
[[nodiscard]] std::string cuda_name(const std::string& buffer);
[[nodiscard]] std::string cuda_type(ir::DType dtype);  // "__nv_bfloat16", else as in c_scalar.h

enum class Spread : std::uint8_t { kSingly, kThreads, kFragments };
enum class Part : std::uint8_t { kSums, kLeft, kRight };  // operands of a product: c, a, b

struct Held {
  Spread spread = Spread::kSingly;
  Part part = Part::kSums;
  std::int64_t lanes = 1;  // lanes that hold the same element; kSingly only
};

class Registers {
 public:
  // Assigns the buffers that the block uses. Throws Refused if they cannot be held in registers.
  Registers(const schedule::LoopProgram& program, const schedule::Body& block,
            const schedule::ThreadBlock& threads);

  [[nodiscard]] bool holds(const std::string& buffer) const { return held_.contains(buffer); }
  [[nodiscard]] const Held& held(const std::string& buffer) const { return held_.at(buffer); }
  // The first access in `value` to a register buffer; nullptr if none.
  [[nodiscard]] const schedule::Access* read_in(const schedule::Value& value) const;
  // Bytes of the shared-memory area through which fragments are stored.
  [[nodiscard]] std::int64_t staging_bytes() const;
  void declare(Writer& out) const;

  // Opens loops over the elements that a thread holds. Their positions become constants with the
  // names `positions`, one per dimension; none for an empty name. If several lanes hold the same
  // element, `once` lets only one of them enter.
  struct Element {
    std::string place;
    int opened = 0;  // scopes for the caller to close
  };
  [[nodiscard]] Element open(Writer& out, const schedule::Access& access,
                             const std::vector<std::string>& positions, bool once) const;

  void fill_fragments(Writer& out, const std::string& buffer, const std::string& value) const;
  // `address`: the box's first element; `row`: row stride in elements.
  void load_fragments(Writer& out, const schedule::Access& access, const std::string& address,
                      std::int64_t row) const;
  // `shared` returns the place of an element of a box that is not in registers.
  using Place = std::function<std::string(const schedule::Access&, const schedule::Index& row,
                                          const schedule::Index& column)>;
  void multiply(Writer& out, const schedule::Multiply& product, const Place& shared) const;

 private:
  struct Shape {
    std::int64_t rows = 1, columns = 1;  // sizes of the last two dimensions
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
  // The product: its distribution, its rows and columns, and the grid of threads or warps over it.
  std::optional<Spread> product_;
  Shape result_, share_;
  schedule::Sharing grid_;
};

}  // namespace tilecast::host
