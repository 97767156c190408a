// Reads a profile of JAX, PyTorch/XLA or XLA (*.xplane.pb): the device, the modules that ran, and
// the time of every instruction on the device planes; without any, of XLA:CPU on the host's.
//
//   XplaneProfile profile = read_xplane({"plugins/profile/2026_01_01"}, {});
//
// The file is streamed: memory grows with the number of distinct instructions, not of events.
// Source of the fields: XSpace (tsl/profiler/protobuf/xplane.proto); of the meaning of lines and
// stats: xprof's converters. Throws Error. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/units.h"

namespace tilecast::measured {

// How a GPU kernel was launched, as the profile states it (stat "kernel_details").
struct XplaneLaunch {
  int registers = 0;        // per thread
  double shared_bytes = 0;  // per block, static and dynamic
  std::string grid, block;  // "8192x1x1": blocks; threads of one block
  double occupancy = 0;     // of the warps that an SM can hold, 0 to 1, at most
};

// Times of an instruction of one program, a module or a step, over all occurrences on all cores.
// For instructions that contain others it is the self time. All GPU kernels of one execution of an
// instruction count as one occurrence. The median is exact for up to 512 occurrences, then within
// 0.1 %.
struct XplaneTimes {
  std::int64_t occurrences = 0;
  Seconds total, median, min;
  Seconds spread;               // standard deviation
  std::string category;         // from the profile: "convolution fusion", "copy-start" ...
  std::optional<double> flops;  // per occurrence, as stated in the profile
  std::optional<double> bytes_accessed;
  std::optional<double> model_flops;
  bool asynchronous = false;  // measured from start to done, while other instructions may run
  std::optional<XplaneLaunch> launch = {};  // of its longest kernel
};

// A graph of kernels that one instruction launches at once (CUDA graphs). Its kernels name that
// instruction only ("command_buffer_1"); xplane_join.h finds those that they belong to.
struct XplaneGraph {
  struct Node {
    std::string name;  // of the kernel: "loop_add_fusion_2"
    XplaneTimes times;
  };
  std::string instruction;
  std::vector<Node> nodes;  // in the order in which they started
};

struct XplaneModule {
  std::string name;              // jit_f
  std::uint64_t program_id = 0;  // XLA's id; 0 if unknown
  std::string hlo_proto;         // bytes for ir/proto/hlo_proto.h; empty if absent
  XplaneTimes runs;              // whole module, from first to last instruction
  std::map<std::string, XplaneTimes> instructions;  // by name without `%`
  std::map<std::string, XplaneTimes> transfers;     // asynchronous pairs, by name of the start
  std::vector<XplaneGraph> graphs;                  // not part of `instructions`
};

// As stated by the device planes; zero or empty if unknown.
struct XplaneDevice {
  std::string type;       // "TPU v6 Lite"; empty for most GPUs
  std::string vendor;     // "Google", "Nvidia", "AMD"
  int cores = 0;          // planes with events
  double peak_flops = 0;  // per second and plane
  double peak_bytes = 0;  // HBM, per second and plane
  double clock_hz = 0;
  std::map<std::string, std::string> facts;  // all stats of the plane, for reports
};

// Device time that is not attributed to an instruction of a module.
struct XplaneLeftOver {
  std::string category;  // "memcpy", "memset", "no instruction named", "unknown module" ...
  std::string name;      // of the event or the instruction
  std::int64_t events = 0;
  Seconds total;
};

struct XplaneProfile {
  XplaneDevice device;
  std::vector<XplaneModule> modules;  // that ran, most device time first
  XplaneTimes steps;
  std::vector<XplaneLeftOver> left_over;  // most time first
  Seconds device_time;                    // all op events, self time, over all cores
  Seconds host_transfers;  // copies to and from the host outside programs; not in device_time
  std::vector<std::string> notes;
};

struct XplaneOptions {
  std::function<void(double)> progress = [](double) {};
};

// "memcpy" or "memset" for the names that CUDA and ROCm give to copies and fills; else empty.
[[nodiscard]] std::string_view transfer_category(std::string_view name);

// Whether the file is a profile, by its first bytes (plain or gzip); false if it cannot be read.
[[nodiscard]] bool is_xplane(const std::string& path);

// `paths`: files (*.xplane.pb, may be gzipped) or log folders, whose newest run is read.
[[nodiscard]] XplaneProfile read_xplane(const std::vector<std::string>& paths,
                                        const XplaneOptions& options);

}  // namespace tilecast::measured
