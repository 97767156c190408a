// This machine as hardware for whole programs: made into C, compiled, checked, timed.
//
//   ProgramBench hardware(device, this_machine(), {.core = 1});
//   std::vector<ProgramRun> runs = hardware.run({{"mixer", module}, {"mixer", other_fusions}}, 2);
//
// What is called the same computes the same: of each name in a row the first module that runs is
// the reference; what the others compute from the same inputs must agree with it, else they failed,
// however fast. Results agree where each element is within
// kTolerance of the type of the reference's root mean square and of its own size: fusing changes
// the order of sums, nothing else. Each kernel is compiled once and kept. Programs are timed in
// turn, so that all see the same machine. Inputs are those of host/timing_arrays.h. Not thread-safe
// (forks).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/c_program.h"
#include "host/measure.h"

namespace tilecast::host {

struct BenchProgram {
  std::string name;  // of what is computed
  const ir::Module& module;
  GiveTile tile = CProgramOptions{}.tile;
};

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

  // One run per program, in their order; modules are laid out here. `jobs`: compilers at once.
  [[nodiscard]] std::vector<ProgramRun> run(std::span<const BenchProgram> programs, int jobs);

 private:
  struct Built {
    std::size_t index = 0;  // of the program
    CProgram program;
    CompiledLibrary library;
  };
  [[nodiscard]] std::vector<Built> build(std::span<const BenchProgram> programs,
                                         std::span<const ir::Module> laid_out, int jobs,
                                         std::vector<ProgramRun>& runs);
  // Makes libraries of the kernels that are not there yet.
  void compile_parts(std::span<const std::pair<std::size_t, CProgram>> programs, int jobs);
  // Runs it once; the reason why it may not be used, or nothing.
  [[nodiscard]] std::string check(const std::string& name, const ir::Module& module,
                                  const Built& built);

  const hwdesc::Device& device_;
  Bench bench_;
  TimingOptions timing_;
  std::map<std::string, Compilation> parts_;  // by function
  std::string referenced_;                    // the name whose results are:
  std::vector<std::vector<std::byte>> reference_;
};

}  // namespace tilecast::host
