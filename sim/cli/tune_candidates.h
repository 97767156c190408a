// What `tilecast tune tiles` may measure: tiles of a program's kernel, or those a set has times of.
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

// Owns what the queries refer to, but for kernels of a set.
struct Candidates {
  std::string kernel;
  std::optional<ir::DeviceProgram> built;
  std::deque<analytical::TileConfig> tiles;
  std::vector<analytical::KernelQuery> queries;
  std::vector<std::string> names;               // of tiles or parameters, as text
  std::vector<std::optional<double>> measured;  // seconds, where a set holds them
};

// Its name and its work; of kernels with equal names NAME#1, NAME#2 ...
using SetKernel = std::pair<std::string, const measured::Workload*>;

// Of one kernel each, by name.
[[nodiscard]] std::vector<SetKernel> kernels_of(const measured::SampleSet& set);
// What `name` names, or the only one when it is empty. Throws Error. `folder`: of the set, as
// given.
[[nodiscard]] SetKernel kernel_of(const measured::SampleSet& set, const std::string& folder,
                                  const std::string& name);
// With the times that physics doubts; says on stderr how many rows are in error. Throws Error.
[[nodiscard]] measured::SampleSet read_tuning_set(const std::string& folder,
                                                  const hwdesc::Device& device, int jobs);
[[nodiscard]] std::unique_ptr<Candidates> measured_candidates(const measured::SampleSet& set,
                                                              const SetKernel& kernel);

// The rows of a CSV of tiles that are of this program (`tilecast tiles`); says on stderr how many
// are not. Throws Error.
[[nodiscard]] measured::CsvTable read_tile_rows(const std::string& table,
                                                const std::string& program);
// "dot.4 keeps its default (out=8x2)": where no tile that is offered is chosen.
[[nodiscard]] std::string kept_default(const ir::Kernel& kernel, const hwdesc::Device& device);

struct ProgramTiles {
  std::string program, kernel;  // file; name, or empty: the only one
  LoadArguments load;
  std::string listing;   // as --list
  std::size_t most = 0;  // tiles listed
  std::string table;     // of tiles, in place of those listed; empty: none
};
// Those that can run on the device. Throws Error where none can.
[[nodiscard]] std::unique_ptr<Candidates> tiles_of_program(const ProgramTiles& asked,
                                                           const hwdesc::Device& device);

}  // namespace tilecast::sim::cli
