// Writes the loops of one thread block as the body of a CUDA kernel. Internal to cuda_loops.cpp.
//
// Every thread runs the loops around copies and products; the elements of a copy or nest are
// distributed over the threads: registers as in cuda_registers.h, others cyclically, copies in
// pieces of up to 16 bytes. cuda_sync.h plans barriers and waits.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/c_loops.h"
#include "host/cuda_registers.h"
#include "host/cuda_sync.h"

namespace tilecast::host {

// Loops of a nest with one assignment, split by how threads run them.
struct SharedNest {
  std::vector<const schedule::Loop*> shared, own;  // distributed over threads; run by each thread
  std::int64_t count = 1;                          // iterations of the shared loops
};
// Throws Refused if two iterations of the shared loops would write the same element.
[[nodiscard]] SharedNest shared_nest(const std::vector<const schedule::Loop*>& loops,
                                     const schedule::Assign& assign);

// Sets the loops' variables from a counter over all their iterations.
void write_positions(Writer& out, const std::string& counter,
                     const std::vector<const schedule::Loop*>& loops);

class BlockWriter {
 public:
  BlockWriter(const schedule::LoopProgram& program, const schedule::Body& block,
              const schedule::ThreadBlock& threads);
  // Bytes of shared memory: all stages of the buffers, aligned to 128. Fragments are stored through
  // a staging area that overlaps the buffers; the size is at least that of the area.
  [[nodiscard]] std::int64_t shared_bytes() const { return shared_bytes_; }
  // `whole_grid`: the block is one nest without copies, distributed over the threads of all blocks.
  void write(Writer& out, bool whole_grid);

 private:
  void declare();
  void write(const schedule::Body& body);
  void write(const schedule::Statement& statement);
  void write(const schedule::Loop& loop);
  void write(const schedule::Copy& copy);
  void write(const schedule::Statement& statement, const schedule::Sync& sync);
  void write_nest(const std::vector<const schedule::Loop*>& loops, const schedule::Assign& assign);
  void write_held_nest(const std::vector<const schedule::Loop*>& loops,
                       const schedule::Assign& assign, const schedule::Access& driver);
  void write_held_copy(const schedule::Copy& copy);
  void write_sum(const std::vector<const schedule::Loop*>& own, const schedule::Assign& assign,
                 std::int64_t lanes);
  void write_assign(const schedule::Assign& assign);
  void write_pieces(const schedule::Copy& copy, std::int64_t piece);
  int open_loops(const std::vector<const schedule::Loop*>& loops);
  void open_threads(std::int64_t count);
  [[nodiscard]] int unrolled(const schedule::Loop& loop) const;
  [[nodiscard]] std::int64_t piece_of(const schedule::Copy& copy) const;
  // The buffer stages that a statement overwrites by reading fragments through the staging area.
  [[nodiscard]] std::vector<BufferStage> staged_over(const schedule::Statement& statement) const;
  [[nodiscard]] std::string condition(const std::vector<schedule::Bound>& where) const {
    return condition_text(where, extents_);
  }
  [[nodiscard]] std::string place(const schedule::Access& access,
                                  const std::vector<schedule::Index>& offset = {}) const;
  [[nodiscard]] std::string value(const schedule::Value& of) const;

  const schedule::LoopProgram& program_;
  const schedule::Body& block_;
  schedule::ThreadBlock threads_;
  Registers registers_;
  SyncPlan plan_;
  std::int64_t shared_bytes_ = 0;
  std::map<std::string, std::int64_t> offsets_;  // byte offsets of shared buffers
  schedule::Extents extents_;                    // extents of all loops and of a copy's box
  bool whole_grid_ = false;
  // Register buffers whose current element is in scope, with its place in the text.
  std::map<std::string, std::string> at_hand_;
  Writer* out_ = nullptr;
};

}  // namespace tilecast::host
