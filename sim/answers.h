// The verbs of the command line as functions. The command, the C interface, Python and the server
// call them, so all of them give bit-identical numbers.
//
//   hwdesc::Device device = hwdesc::load_device("tpu_v3", device_overrides(sets));
//   PlacedProgram placed = place(ir::load_module("model.hlo", load), device, load);
//   ChosenModel model = choose_model("default", {&device, 1});
//   Simulation run = simulate(placed, model);
//
// Operators: tables of operators and tiles: sim/tables.h. All throw Error; thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "sim/explain.h"
#include "sim/model_choice.h"
#include "sim/simulator.h"

namespace tilecast::sim {

// The place at the start of an Error's message: `file:line: ...` or `file:line:column: ...`.
struct ErrorPlace {
  std::string file;          // "": the message has no place
  int line = 0, column = 0;  // 1-based; 0: unknown
};
[[nodiscard]] ErrorPlace error_place(std::string_view message);

// Parses texts `key=value`; throws UsageError for anything else.
[[nodiscard]] hwdesc::Overrides device_overrides(std::span<const std::string> set);

// A program cut into kernels for one device.
struct PlacedProgram {
  std::string file;
  hwdesc::Device device;
  ir::DeviceProgram built;
};
[[nodiscard]] PlacedProgram place(ir::LoadedModule loaded, const hwdesc::Device& device,
                                  const ir::LoadOptions& load);

// Fills in Simulation::file, model and notes; an Error names the file.
[[nodiscard]] Simulation simulate(const PlacedProgram& placed, const ChosenModel& model,
                                  const SimulateOptions& options = {});

// The kernel called `name` ("%" optional), or the only one when `name` is empty.
[[nodiscard]] const ir::Kernel& find_kernel(const ir::Program& program, const std::string& name,
                                            const std::string& file);

// `tile`: as text (analytical::parse_tile()); "": the compiler's tile, or the best one.
[[nodiscard]] Explanation explain(const PlacedProgram& placed, const std::string& kernel,
                                  const ChosenModel& model, const std::string& tile,
                                  std::size_t top);

// Seconds per tile, in the order of `tiles`; NaN if the tile cannot run or the model has no
// estimate. A tile without any sizes stands for the compiler's tile, or the best one. Throws Error
// for a size below 1.
[[nodiscard]] std::vector<double> tile_times_s(const ir::Kernel& kernel,
                                               const hwdesc::Device& device,
                                               const ChosenModel& model,
                                               std::span<const analytical::TileConfig> tiles);

}  // namespace tilecast::sim
