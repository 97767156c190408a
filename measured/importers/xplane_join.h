// Joins the times of a profile with its modules: assigns each instruction to a kernel, and states
// how much device time could be assigned.
//
//   const XplaneProfile profile = read_xplane({"host.xplane.pb"}, {});
//   const XplaneJoin join = join_modules(profile, {});
//
// Throws Error. Thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"
#include "measured/importers/xplane.h"

namespace tilecast::measured {

struct JoinedModule {
  const XplaneModule* profiled = nullptr;  // in the given profile, which must outlive this object
  ir::Module module;
  ir::Program program;                         // with the layouts of the profiled module
  std::map<std::string, XplaneTimes> kernels;  // by name; asynchronous kernels from start to done
  // All that take device time, by name: those that name themselves, and what graphs launched.
  std::map<std::string, XplaneTimes> instructions;
  std::map<std::string, XplaneTimes> transfers;  // "memset", "memcpy" in graphs, of no instruction
};

struct XplaneJoin {
  std::vector<JoinedModule> modules;  // those with a readable module, most device time first
  Seconds kernels;                    // device time of kernels, including ends of asynchronous ones
  Seconds controls;                   // of instructions that are not kernels: loops, calls
  Seconds transfers;                  // of memsets and copies in graphs that are no instructions
  std::vector<XplaneLeftOver> left_over;  // the rest of the device time; most time first
  std::vector<std::string> notes;
};

// Modules come from the profile or from `files` (any format that load_module reads). A file is used
// for the module of the same name; a single file is also used for the only module without a proto.
[[nodiscard]] XplaneJoin join_modules(const XplaneProfile& profile,
                                      const std::vector<std::string>& files);

}  // namespace tilecast::measured
