// A program: the kernels a module launches, how often, and their dependences.
//
// Built from a verified module whose shapes carry device layouts. Loops, calls and conditionals are
// flattened: a kernel in a while body appears once with the loop's trip count as its multiplicity.
// Immutable; reading is thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/hlo.h"
#include "ir/kernel.h"
#include "ir/memory/memory_use.h"

namespace tilecast::ir {

using KernelId = StrongId<struct KernelTag>;

struct ScheduledKernel {
  Kernel kernel;
  double multiplicity = 1;          // product of trip counts and branch weights
  std::vector<KernelId> waits_for;  // earlier kernels whose results it uses
  // Asynchronous pairs: a `*-start` kernel runs concurrently with others until `done_before`, the
  // first kernel that needs its result (invalid id = end of program). Unset for ordinary kernels.
  bool asynchronous = false;
  KernelId done_before;
  std::string computation;  // containing computation, for reports
  std::int32_t loop_depth = 0;
};

// An assumption behind the numbers that the user should know ("trip count of while.7 unknown: 5").
struct Note {
  std::string what;
  std::size_t count = 1;
};

struct ProgramOptions {
  double default_trip_count = 5;  // XLA's memory-space assignment assumes 5 per unknown loop
  int jobs = 1;                   // threads; does not affect the result
};

class Program {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::span<const ScheduledKernel> kernels() const { return kernels_; }
  [[nodiscard]] const ScheduledKernel& at(KernelId id) const { return kernels_[id.index()]; }
  [[nodiscard]] std::span<const Note> notes() const { return notes_; }
  [[nodiscard]] std::int64_t devices() const { return devices_; }    // replicas x partitions
  [[nodiscard]] const MemoryUse& memory() const { return memory_; }  // of one device

 private:
  friend Program make_program(const Module&, const ProgramOptions&);
  friend class ProgramBuilder;
  std::string name_;
  std::vector<ScheduledKernel> kernels_;
  std::vector<Note> notes_;
  std::int64_t devices_ = 1;
  MemoryUse memory_;
};

[[nodiscard]] Program make_program(const Module& module, const ProgramOptions& options = {});

// True for ops that take no time: parameter, constant, tuple, bitcast, *-done ...
[[nodiscard]] bool is_zero_cost(Opcode opcode);

}  // namespace tilecast::ir
