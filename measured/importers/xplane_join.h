// The times of a profile beside the modules they are of: which kernel each instruction belongs to,
// and how much device time finds one.
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
  const XplaneModule* profiled = nullptr;  // of the profile given, which must outlive this
  ir::Module module;
  ir::Program program;                         // with the layouts of the profile
  std::map<std::string, XplaneTimes> kernels;  // by name; asynchronous ones start to done
};

struct XplaneJoin {
  std::vector<JoinedModule> modules;      // those with a readable module, most device time first
  Seconds kernels;                        // device time of kernels, ends of asynchronous ones too
  Seconds controls;                       // of instructions that are no kernels: loops, calls
  std::vector<XplaneLeftOver> left_over;  // the rest of the device time; most time first
  std::vector<std::string> notes;
};

// The modules come from the profile, or from `files` (any form that load_module reads), which
// answer for the modules of their names, and a single one for the only module without a proto.
[[nodiscard]] XplaneJoin join_modules(const XplaneProfile& profile,
                                      const std::vector<std::string>& files);

}  // namespace tilecast::measured
