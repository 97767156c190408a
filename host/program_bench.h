// This machine as hardware for whole programs: made into C, compiled, checked, timed.
//
//   ProgramBench hardware(device, this_machine(), {.core = 1});
//   std::vector<ProgramRun> runs = hardware.run(modules);      // of one program, fused differently
//
// The first module that ever runs is the reference: what others compute from the same inputs must
// agree with it, else they failed, however fast. Results agree where each element is within
// kTolerance of the type of the reference's root mean square and of its own size: fusing changes
// the order of sums, nothing else. Programs are compiled together, then timed in turn, so that all
// see the same machine. Inputs are those of host/timing_arrays.h. Not thread-safe (forks).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/c_program.h"
#include "host/measure.h"

namespace tilecast::host {

struct ProgramRun {
  std::optional<Timing> timing;  // nothing: it failed
  std::string failure;           // "unsupported: ...", "wrong result 2: ...", "crash: ..."
};

// Largest difference of two results of these element types, as a share of their size.
[[nodiscard]] double tolerance(ir::DType dtype);
// Why the bytes of a result do not agree with those of the reference; empty: they do.
[[nodiscard]] std::string disagreement(const ir::Shape& shape, std::span<const std::byte> got,
                                       std::span<const std::byte> expected);

class ProgramBench {
 public:
  // The device chooses tiles; it outlives the bench.
  ProgramBench(const hwdesc::Device& device, Bench bench, const TimingOptions& timing);

  // One run per module, in their order; modules are laid out here. `jobs`: compilers at once.
  [[nodiscard]] std::vector<ProgramRun> run(std::span<const ir::Module> modules, int jobs);

 private:
  struct Built {
    std::size_t index = 0;  // of the module
    CProgram program;
    CompiledLibrary library;
  };
  [[nodiscard]] std::vector<Built> build(std::span<const ir::Module> modules, int jobs,
                                         std::vector<ProgramRun>& runs) const;
  // Runs it once; the reason why it may not be used, or nothing.
  [[nodiscard]] std::string check(const ir::Module& module, const Built& built);

  const hwdesc::Device& device_;
  Bench bench_;
  TimingOptions timing_;
  std::vector<std::vector<std::byte>> reference_;  // results of the first program; empty: none yet
};

}  // namespace tilecast::host
