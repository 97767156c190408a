// The loops of one block of threads as the body of a CUDA kernel. Inside of cuda_loops.cpp.
//
// Loops around copies and products run on all threads alike; the elements of a copy or nest are
// shared out: registers as cuda_registers.h says, else one thread after the other, copies in pieces
// of up to 16 bytes. What threads wait for is planned by cuda_sync.h.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/cuda_registers.h"
#include "host/cuda_sync.h"
#include "host/loop_text.h"

namespace tilecast::host {

// The loops and the one assignment of a nest: which its threads share, which each runs.
struct SharedNest {
  std::vector<const schedule::Loop*> shared, own;
  std::int64_t count = 1;  // of the shared iterations
};
// Throws Refused where two iterations of the shared loops would write one element.
[[nodiscard]] SharedNest shared_nest(const std::vector<const schedule::Loop*>& loops,
                                     const schedule::Assign& assign);

class BlockWriter {
 public:
  BlockWriter(const schedule::LoopProgram& program, const schedule::Body& block,
              const schedule::ThreadBlock& threads);
  // Bytes of shared memory: every stage of its buffers, at multiples of 128; at least what
  // fragments are stored through, which lies over them.
  [[nodiscard]] std::int64_t shared_bytes() const { return shared_bytes_; }
  // `whole_grid`: the block is one nest without copies, shared by the threads of all blocks.
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
  // What a statement that takes single elements out of fragments stores them over.
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
  std::map<std::string, std::int64_t> offsets_;  // of shared buffers
  schedule::Extents extents_;                    // of all loops, and of the box of a copy
  bool whole_grid_ = false;
  // The register buffer whose element is at hand, and its place.
  std::map<std::string, std::string> at_hand_;
  Writer* out_ = nullptr;
};

}  // namespace tilecast::host
