// From a file to the program one device runs: read, fuse when the dump is from before optimisation,
// lay arrays out for the device, cut into kernels. What was assumed on the way becomes a note.
//
//   LoadedModule module = load_module("model.hlo", options);       // once per file
//   ir::Program program = program_for(module, device, options);    // once per device
#pragma once

#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "ir/layout_assignment.h"
#include "ir/program.h"

namespace tilecast::analytical {

struct LoadOptions {
  bool strict = false;    // unknown attributes are errors
  bool fuse = true;       // fuse modules that are not optimised yet
  double trip_count = 5;  // of loops whose count cannot be found (XLA's own assumption)
};

struct LoadedModule {
  std::string file;
  ir::Module module;
  std::vector<ir::Note> notes;
};

// One program on one device, with the notes of loading beside it.
struct DeviceProgram {
  ir::Program program;
  std::vector<ir::Note> notes;
};

[[nodiscard]] LoadedModule load_module(const std::string& path, const LoadOptions& options);
// Takes its own copy of the module, to lay it out: move the last one in.
[[nodiscard]] DeviceProgram program_for(LoadedModule loaded, const hwdesc::Device& device,
                                        const LoadOptions& options);
// With the layouts of the dump as they are.
[[nodiscard]] DeviceProgram program_as_dumped(const LoadedModule& loaded,
                                              const LoadOptions& options);

[[nodiscard]] ir::LayoutRules layout_rules(const hwdesc::Device& device);

}  // namespace tilecast::analytical
