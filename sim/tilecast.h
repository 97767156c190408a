// Tilecast for C++ programs, in one header: installed as <tilecast/tilecast.h>, linked as
// tilecast::sim (CMake) or with what `pkg-config --cflags --libs tilecast` prints.
//
//   const tilecast::Device device = tilecast::load_device("tpu_v5e", {"hbm.bandwidth=2TB/s"});
//   const tilecast::Program program = tilecast::load_program("model.hlo", device);
//   const tilecast::Model model = tilecast::load_model("default", device);
//   const tilecast::Simulation run = tilecast::simulate(program, model);
//   run.time.value;            // seconds; sim/simulator.h has the rest
//   tilecast::describe(run);   // what `tilecast simulate` prints
//
// Answers are the command's to the last bit. Everything throws tilecast::Error, whose text says
// where the fault is. What is returned may be read by any number of threads. More than this header
// has is in the headers it includes.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "sim/answers.h"
#include "sim/views/simulation.h"

namespace tilecast {

using hwdesc::Device;
using sim::Simulation;
using Program = sim::PlacedProgram;  // cut into kernels for one device, which it holds
using Model = sim::ChosenModel;
using Tile = analytical::TileConfig;

// A preset, a slice ("v6e-256") or a YAML file, with changes as --set takes them.
[[nodiscard]] inline Device load_device(const std::string& name,
                                        const std::vector<std::string>& set = {}) {
  return hwdesc::load_device(name, sim::device_overrides(set));
}
// A device from the text of a YAML file.
[[nodiscard]] inline Device describe_device(const std::string& yaml) {
  return hwdesc::parse_device(yaml, "device.yaml");
}

// HLO, StableHLO or ONNX, in every form that the command reads.
[[nodiscard]] inline Program load_program(const std::string& file, const Device& device) {
  return sim::place(ir::load_module(file, {}), device, {});
}

// "default", "analytical", "hybrid" or the folder of a model, as --model takes them.
[[nodiscard]] inline Model load_model(const std::string& name, const Device& device) {
  return sim::choose_model(name, {&device, 1});
}

[[nodiscard]] inline Simulation simulate(const Program& program, const Model& model) {
  return sim::simulate(program, model);
}
[[nodiscard]] inline std::string describe(const Simulation& run) {
  return sim::views::table(run);
}

// Tiles of a kernel that can run, in a fixed order; "" names the only kernel.
[[nodiscard]] inline std::vector<Tile> list_tiles(const Program& program,
                                                  const std::string& kernel) {
  const ir::Kernel& found = sim::find_kernel(program.built.program, kernel, program.file);
  return analytical::KernelAnalysis(found, program.device).tiles();
}
// Seconds of a launch by tile; NaN: it cannot run. Ask about many at once: the kernel is analysed
// once per call.
[[nodiscard]] inline std::vector<double> tile_times(const Program& program,
                                                    const std::string& kernel, const Model& model,
                                                    const std::vector<Tile>& tiles) {
  const ir::Kernel& found = sim::find_kernel(program.built.program, kernel, program.file);
  return sim::tile_times_s(found, program.device, model, tiles);
}

}  // namespace tilecast
