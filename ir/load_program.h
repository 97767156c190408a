// From a file to the program a device runs: read, fuse when the dump is from before optimisation,
// lay arrays out as the device does, cut into kernels. What was assumed on the way becomes a note.
//
//   LoadedModule module = load_module("model.hlo", options);       // once per file
//   Program program = program_for(module, layout, options);    // once per device
#pragma once

#include <string>
#include <vector>

#include "base/source_text.h"
#include "ir/layout_assignment.h"
#include "ir/program.h"
#include "ir/read_module.h"

namespace tilecast::ir {

struct LoadOptions {
  ReadOptions read;
  bool fuse = true;       // fuse modules that are not optimised yet
  std::string fusion;     // by the decisions in this file (FusionSpace::read); empty: by the rules
  double trip_count = 5;  // of loops whose count cannot be found (XLA's own assumption)
  int jobs = 1;           // threads; the result does not depend on it
};

struct LoadedModule {
  std::string file;
  Module module;
  std::vector<Note> notes;
  bool optimised = false;  // as read: a compiler fused it, scheduled it or laid its arrays out
};

// One program on one device, with the notes of loading beside it.
struct DeviceProgram {
  Program program;
  std::vector<Note> notes;
};

// Throws Error where decisions are given for a module that is fused already.
[[nodiscard]] LoadedModule load_module(const std::string& path, const LoadOptions& options);
// The bytes of such a file; `text.file()` names them in messages.
[[nodiscard]] LoadedModule load_module(base::SourceText text, const LoadOptions& options);
// Takes its own copy of the module, to lay it out: move the last one in.
[[nodiscard]] DeviceProgram program_for(LoadedModule loaded, const LayoutRules& layout,
                                        const LoadOptions& options);
// With the layouts of the dump as they are.
[[nodiscard]] DeviceProgram program_as_dumped(const LoadedModule& loaded,
                                              const LoadOptions& options);

}  // namespace tilecast::ir
