// Runs whole programs on this machine: writes them as C, compiles, checks results and times them.
//
//   ProgramBench hardware(device, this_machine(), {.core = 1});
//   std::vector<ProgramRun> runs = hardware.run({{"mixer", module}, {"mixer", other_fusions}}, 2);
//
// Programs with the same name must compute the same results. Among consecutive programs of one
// name, the first that runs is the reference; any other whose results disagree, from the same
// inputs, counts as failed. An element agrees if it differs by at most the type's tolerance() times
// the sum of the reference's root mean square and the element's magnitude, since fusing only
// changes the order of sums. Each kernel is compiled once and cached. Programs are timed in turn,
// so that all see the same machine state. Inputs are those of host/timing_arrays.h. Not thread-safe
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
  std::string name;  // name of the computation
  const ir::Module& module;
  GiveTile tile = CProgramOptions{}.tile;
};

struct ProgramRun {
  std::optional<Timing> timing;  // nullopt: failed
  std::string failure;           // "unsupported: ...", "wrong result 2: ...", "crash: ..."
};

// Relative tolerance for results of this element type.
[[nodiscard]] double tolerance(ir::DType dtype);
// Why a result disagrees with the reference; empty if it agrees.
[[nodiscard]] std::string disagreement(const ir::Shape& shape, std::span<const std::byte> got,
                                       std::span<const std::byte> expected);

class ProgramBench {
 public:
  // Tiles are chosen for `device`, which must outlive the bench.
  ProgramBench(const hwdesc::Device& device, Bench bench, const TimingOptions& timing);

  // One run per program, in order. Assigns layouts itself. `jobs`: compilers at once.
  [[nodiscard]] std::vector<ProgramRun> run(std::span<const BenchProgram> programs, int jobs);

 private:
  struct Built {
    std::size_t index = 0;  // index of the program
    CProgram program;
    CompiledLibrary library;
  };
  [[nodiscard]] std::vector<Built> build(std::span<const BenchProgram> programs,
                                         std::span<const ir::Module> laid_out, int jobs,
                                         std::vector<ProgramRun>& runs);
  // Compiles libraries of the kernels that are not cached yet.
  void compile_parts(std::span<const std::pair<std::size_t, CProgram>> programs, int jobs);
  // Runs the program once; returns why it cannot be used, or an empty text.
  [[nodiscard]] std::string check(const std::string& name, const ir::Module& module,
                                  const Built& built);

  const hwdesc::Device& device_;
  Bench bench_;
  TimingOptions timing_;
  std::map<std::string, Compilation> parts_;  // by function
  std::string referenced_;                    // name of the computation in reference_
  std::vector<std::vector<std::byte>> reference_;
};

}  // namespace tilecast::host
