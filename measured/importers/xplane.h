// What a profile of JAX, PyTorch/XLA or XLA (*.xplane.pb) says: the device, the modules that ran,
// and the time of every instruction on the device planes.
//
//   XplaneProfile profile = read_xplane({"plugins/profile/2026_01_01"}, {});
//
// Read piecewise: memory grows with distinct instructions, not with events. Fields: XSpace and its
// parts (tsl/profiler/protobuf/xplane.proto); what lines and stats mean: xprof's own converters.
// Throws Error. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hwdesc/units.h"

namespace tilecast::measured {

// Times of one instruction of one program (or of a module, a step), from all occurrences on all
// cores; self time where others nest in it. The kernels that one instruction launches on a GPU are
// one occurrence. The median is exact up to 512 occurrences, then within 0.1 %.
struct XplaneTimes {
  std::int64_t occurrences = 0;
  Seconds total, median, min;
  Seconds spread;               // standard deviation
  std::string category;         // the profile's own: "convolution fusion", "copy-start" ...
  std::optional<double> flops;  // one occurrence, as the profile counts
  std::optional<double> bytes_accessed;
  std::optional<double> model_flops;
  bool asynchronous = false;  // from start to the end of done, while other instructions may run
};

struct XplaneModule {
  std::string name;              // jit_f
  std::uint64_t program_id = 0;  // XLA's; 0 where the profile has none
  std::string hlo_proto;         // bytes for ir/proto/hlo_proto.h; empty where the profile has none
  XplaneTimes runs;              // of the whole module, first instruction to last
  std::map<std::string, XplaneTimes> instructions;  // by name, without `%`
  std::map<std::string, XplaneTimes> transfers;     // asynchronous pairs by their start's name
};

// As the device planes state it; zero or empty where they do not.
struct XplaneDevice {
  std::string type;       // "TPU v6 Lite"; empty for most GPUs
  std::string vendor;     // "Google", "Nvidia", "AMD"
  int cores = 0;          // planes that ran something
  double peak_flops = 0;  // per second and plane
  double peak_bytes = 0;  // HBM, per second and plane
  double clock_hz = 0;
  std::map<std::string, std::string> facts;  // every stat of the plane, for reports
};

// Device time that no instruction of a module explains.
struct XplaneLeftOver {
  std::string category;  // "memcpy", "memset", "no instruction named", "unknown module" ...
  std::string name;      // the event's, or the instruction's
  std::int64_t events = 0;
  Seconds total;
};

struct XplaneProfile {
  XplaneDevice device;
  std::vector<XplaneModule> modules;  // those that ran, most device time first
  XplaneTimes steps;
  std::vector<XplaneLeftOver> left_over;  // most time first
  Seconds device_time;                    // all op events, self time, over all cores
  Seconds host_transfers;  // copies to and from the host that no program asked for: not part of it
  std::vector<std::string> notes;
};

struct XplaneOptions {
  std::function<void(double)> progress = [](double) {};
};

// Whether the file is a profile, by its first bytes (plain or gzip); false where it cannot be read.
[[nodiscard]] bool is_xplane(const std::string& path);

// `paths`: files (*.xplane.pb, also gzipped) or log folders, of which the newest run is read.
[[nodiscard]] XplaneProfile read_xplane(const std::vector<std::string>& paths,
                                        const XplaneOptions& options);

}  // namespace tilecast::measured
