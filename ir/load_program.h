// Loads a file as the program a device runs: reads it, fuses it as the device's compiler does if
// the dump was taken before optimisation, assigns the device's layouts and cuts it into kernels.
// Assumptions are recorded as notes.
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
  bool fuse = true;       // fuse modules that are not yet optimised
  std::string fusion;     // file with fusion decisions (FusionSpace::read); empty: use the rules
  double trip_count = 5;  // for loops of unknown trip count (XLA's assumption)
  int jobs = 1;           // threads; does not affect the result
};

struct LoadedModule {
  std::string file;
  Module module;
  std::vector<Note> notes;
  bool optimised = false;  // as read: already fused, scheduled or laid out by a compiler
  bool unfused = false;    // fused when it is placed, by the rules of the device's compiler
};

// A program on one device, with the notes from loading it.
struct DeviceProgram {
  Program program;
  std::vector<Note> notes;
};

// Throws Error if fusion decisions are given for a module that is already fused.
[[nodiscard]] LoadedModule load_module(const std::string& path, const LoadOptions& options);
// The same for the bytes of a file; `text.file()` names it in messages.
[[nodiscard]] LoadedModule load_module(base::SourceText text, const LoadOptions& options);
// Fuses what is still unfused, by these rules or the decisions in the options' file, and adds a
// note and the copies of loops' values (ir/memory/carry_copies.h). Throws Error for a wrong file.
void fuse_by(const FusionOptions& rules, const LoadOptions& options, LoadedModule& loaded);
// Copies the module in order to change its layouts; move it in for the last device.
[[nodiscard]] DeviceProgram program_for(LoadedModule loaded, const LayoutRules& layout,
                                        const LoadOptions& options);
// Keeps the layouts of the dump; fuses as XLA:TPU does.
[[nodiscard]] DeviceProgram program_as_dumped(LoadedModule loaded, const LoadOptions& options);

}  // namespace tilecast::ir
