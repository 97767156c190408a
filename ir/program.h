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
  // A loop's `*-start` that is done in the next trip runs beside the loop from this kernel on.
  KernelId beside;
  std::string computation;  // containing computation, for reports
  std::int32_t loop_depth = 0;
  // One of the Program's launch graphs, whose kernels follow each other without a gap; -1: the host
  // launches it by itself.
  std::int32_t graph = -1;
};

// An assumption behind the numbers that the user should know ("trip count of while.7 unknown: 5").
struct Note {
  std::string what;
  std::size_t count = 1;
  bool matters = false;  // the time is to be read with care: shown before the others
};

struct ProgramOptions {
  double default_trip_count = 5;  // XLA's memory-space assignment assumes 5 per unknown loop
  // For XLA:GPU, whose runtime counts the turns of loops whose trip count is known, so that
  // their condition is no kernel, and records at least kLeastGraph kernels in a row as one graph
  // (CUDA graphs); what libraries launch by other means than XLA's commands ends a graph.
  bool xla_gpu = false;
  bool gpu_code = false;  // its fusions say how XLA:GPU writes them (ir::GpuCode)
  int jobs = 1;           // threads; does not affect the result
};

inline constexpr std::size_t kLeastGraph = 5;  // XLA's xla_gpu_graph_min_graph_size

class Program {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::span<const ScheduledKernel> kernels() const { return kernels_; }
  [[nodiscard]] const ScheduledKernel& at(KernelId id) const { return kernels_[id.index()]; }
  [[nodiscard]] std::span<const Note> notes() const { return notes_; }
  [[nodiscard]] std::int64_t devices() const { return devices_; }    // replicas x partitions
  [[nodiscard]] bool is_scheduled() const { return is_scheduled_; }  // by a compiler
  [[nodiscard]] const MemoryUse& memory() const { return memory_; }  // of one device
  [[nodiscard]] std::size_t arguments() const { return arguments_; }
  // Tokens of a run of a language model: elements of its integer arguments [batch, sequence], if
  // all such arguments have one shape. 0: there are none, or it runs on several devices.
  [[nodiscard]] double tokens() const { return tokens_; }
  // Launches by the host per run: of graphs, and of kernels outside graphs. 0 if that is not known:
  // XLA:GPU has not compiled the program.
  [[nodiscard]] double host_launches() const;

 private:
  friend Program make_program(const Module&, const ProgramOptions&);
  friend class ProgramBuilder;
  std::string name_;
  std::vector<ScheduledKernel> kernels_;
  std::vector<Note> notes_;
  std::int64_t devices_ = 1;
  bool is_scheduled_ = false;
  MemoryUse memory_;
  std::vector<double> graphs_;  // launches of each launch graph
  std::size_t arguments_ = 0;
  double tokens_ = 0;
  bool is_recorded_ = false;  // graphs_ says how kernels are launched
};

[[nodiscard]] Program make_program(const Module& module, const ProgramOptions& options = {});

// True for ops that take no time: parameter, constant, tuple, bitcast, *-done ...
[[nodiscard]] bool is_zero_cost(Opcode opcode);

}  // namespace tilecast::ir
