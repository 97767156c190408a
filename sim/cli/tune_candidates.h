// The candidates of `tilecast tune tiles`: tiles of a program's kernel, or tiles with times in a
// set.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measured/samples.h"
#include "sim/cli/options.h"

namespace tilecast::sim::cli {

// Owns everything that the queries refer to, except the kernels of a set.
struct Candidates {
  std::string kernel;
  std::optional<ir::DeviceProgram> built;
  std::deque<analytical::TileConfig> tiles;
  std::vector<analytical::KernelQuery> queries;
  std::vector<std::string> names;               // tiles or parameters as text
  std::vector<std::optional<double>> measured;  // seconds, if the set has them
};

// Name and workload; kernels with equal names are called NAME#1, NAME#2 ...
using SetKernel = std::pair<std::string, const measured::Workload*>;

// One entry per kernel, by name.
[[nodiscard]] std::vector<SetKernel> kernels_of(const measured::SampleSet& set);
// The kernel called `name`, or the only one if `name` is empty. Throws Error. `folder`: the set's
// folder as given by the user.
[[nodiscard]] SetKernel kernel_of(const measured::SampleSet& set, const std::string& folder,
                                  const std::string& name);
// Includes the times that the check against physics doubts; prints the number of faulty rows to
// stderr. Throws Error.
[[nodiscard]] measured::SampleSet read_tuning_set(const std::string& folder,
                                                  const hwdesc::Device& device, int jobs);
[[nodiscard]] std::unique_ptr<Candidates> measured_candidates(const measured::SampleSet& set,
                                                              const SetKernel& kernel);

// The rows of a CSV of tiles (`tilecast tiles`) that belong to this program; prints the number of
// other rows to stderr. Throws Error.
[[nodiscard]] measured::CsvTable read_tile_rows(const std::string& table,
                                                const std::string& program);
// "dot.4 keeps its default (out=8x2)": for a kernel for which none of the offered tiles is chosen.
[[nodiscard]] std::string kept_default(const ir::Kernel& kernel, const hwdesc::Device& device);

struct ProgramTiles {
  std::string program, kernel;  // file; kernel name, or empty: the only kernel
  LoadArguments load;
  std::string listing;   // as --list
  std::size_t most = 0;  // tiles to list at most
  std::string table;     // CSV of tiles used instead of the listing; empty: none
};
// The tiles that can run on the device. Throws Error if none can.
[[nodiscard]] std::unique_ptr<Candidates> tiles_of_program(const ProgramTiles& asked,
                                                           const hwdesc::Device& device);

}  // namespace tilecast::sim::cli
