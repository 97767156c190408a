// A machine as the cost models see it: one core of a TPU, one whole GPU, one core or socket of a
// CPU. Read from YAML by hwdesc/device_yaml.h; plain values, no behaviour beyond derived peaks.
// Numbers are per *core* (the unit that runs one kernel) unless a name says chip.
// `memory` is the chain from the outermost level (HBM, DRAM) to the innermost (VMEM, shared memory,
// L1); `engines[i]` moves data between memory[i] and memory[i + 1]. Immutable in use; thread-safe.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/device_parts.h"
#include "hwdesc/units.h"

namespace tilecast::hwdesc {

// The link from a chip to its host's memory (PCIe, NVLink-C2C), which holds HLO arrays in S(5).
struct HostLink {
  BytesPerSecond bandwidth;       // one way, per chip
  Seconds latency;                // per transfer
  std::optional<Bytes> capacity;  // of the host's memory, per chip
  Provenance provenance;
};

// Dynamic energy per operation or byte, and power per chip as in data sheets. At the described
// clock.
struct Energy {
  std::map<std::string, Joules> matrix;         // per dtype: one operation; a multiply-add is 2
  Joules vector;                                // one operation on a 32-bit lane
  Joules transcendental;                        // one element
  std::map<std::string, JoulesPerByte> memory;  // per level: one byte read or written there
  JoulesPerByte network;                        // one byte that leaves a chip
  Watts idle_power;                             // drawn while a program runs, whatever it does
  std::optional<Watts> clock_power;  // more while a kernel runs: clocks and voltage of the core
  std::optional<Watts> power_limit;  // the clock is lowered if average power would exceed it ...
  Seconds power_window;              // ... in launches of at least this duration; a launch that
  bool sustained = false;            // repeats for long (power_state: sustained) is one
  double clock_exponent = 1;  // power of units and on-chip memory ~ clock^this: 1 at constant
                              // voltage, 3 if the voltage follows the clock
  Provenance provenance;
};

struct Dispatch {
  Seconds kernel_launch;        // on-device time between kernels
  Seconds host, host_argument;  // host-side dispatch, and for each argument; reported separately
  Seconds host_launch;          // of the host per launch; a program is no faster than its launches
  Provenance provenance;
};

// Fitted to measurements: multipliers of constants (1 = as described) and additional times.
struct Calibration {
  double memory_bandwidth = 1;  // main memory, reads and writes
  double memory_write = 1;      // main memory's writes, in addition
  double cache_bandwidth = 1;   // levels between main memory and the innermost
  double memory_latency = 1;    // of main memory
  double transfer_setup = 1, iteration_overhead = 1;                  // every engine
  double matrix = 1, vector = 1, transcendental = 1, cross_lane = 1;  // rates of the units
  double network = 1;                                                 // link bandwidth
  Seconds kernel_overhead;                  // on the device, added to every kernel
  std::map<std::string, Seconds> dispatch;  // op class -> host time per launch; never on-chip time
  std::string source;                       // the data they were fitted to; empty: not calibrated
};

struct PublishedPeak {   // a data-sheet number; device_check recomputes it
  std::string quantity;  // "bf16", "hbm.bandwidth" (chip)
  double value_si = 0;
  std::string source;
};

struct Device {
  std::string name, description, generation;
  std::string profile_names;  // names in profiles, comma-separated: hwdesc/device_check.h
  std::string xla_target;     // what XLA compiles for: hwdesc/xla_target.h
  Execution execution = Execution::kScratchpad;
  Fusion fusion = Fusion::kByExecution;  // kXlaGpu for kSimt, else kXlaTpu
  AttentionBy attention = AttentionBy::kAlone;
  Hertz clock;
  int cores_per_chip = 1;
  Provenance provenance;                // of the clock and the number of cores
  std::vector<MemoryLevel> memory;      // outermost first, at least 2
  std::vector<TransferEngine> engines;  // memory.size() - 1
  MatrixUnit matrix;
  VectorUnit vector;
  TranscendentalUnit transcendental;
  CrossLaneUnit cross_lane;
  // Units that issue in the same cycle; units of different groups do not overlap in one kernel.
  std::vector<std::vector<std::string>> co_issue;
  Multiplexing multiplexing;
  Library library;
  NativeTile native_tile;
  std::optional<Interconnect> interconnect;
  std::optional<HostLink> host_link;
  Dispatch dispatch;
  std::optional<Energy> energy;
  std::vector<PublishedPeak> published;
  Calibration calibration;  // identity in presets; apply_calibration() applies it
  std::string file;         // the file it was read from
  // Names of the descriptions it extends without changing the machine (only name, description and
  // calibration differ), nearest first: measurements of them apply to this one too.
  std::vector<std::string> lineage;
  // Numbers inherited from an ancestor although `clock` or `multiplexing.workers`, on which they
  // depend, was changed, each as "memory.shared.bandwidth: ...". For hwdesc/device_check.h.
  std::vector<std::string> outdated;
  // Hash of all values that times of kernels depend on: equal for descriptions of one machine.
  // Excludes names, texts, links outside a slice, published peaks and calibration.
  std::size_t machine = 0;

  [[nodiscard]] const MemoryLevel& main_memory() const { return memory.front(); }
  [[nodiscard]] const MemoryLevel& scratchpad() const { return memory.back(); }
  // Distance of `name` from this description: 0 for its own name, i for the i-th of `lineage`, else
  // nullopt.
  [[nodiscard]] std::optional<std::size_t> lineage_distance(std::string_view name) const;
  // The least distance among `names`.
  [[nodiscard]] std::optional<std::size_t> lineage_distance(
      std::span<const std::string> names) const;
  // Peak of one core for `dtype` operands: workers x count x rows x columns x rows_per_cycle x 2 x
  // clock / passes; 0 if the matrix unit does not take the type. `passes` entries "f8", "s8" and
  // "s4" cover their variants (f8e4m3fn, u8, u4 ...) without an entry of their own.
  [[nodiscard]] FlopsPerSecond matrix_peak(std::string_view dtype) const;
  [[nodiscard]] FlopsPerSecond vector_peak() const;  // 32-bit operations per second
  // Sustained share of that peak, and set-up of a product, by the library's kernels for the type.
  [[nodiscard]] double product_efficiency(std::string_view dtype) const;
  [[nodiscard]] Seconds product_setup(std::string_view dtype) const;
  // Energy of one operation of a product with `dtype` operands on the unit that runs it: the vector
  // unit if the matrix unit does not take the type. Requires `energy`.
  [[nodiscard]] Joules product_energy(std::string_view dtype) const;
  // One core's share of the chip's power.
  [[nodiscard]] Watts idle_power() const;
  [[nodiscard]] Watts clock_power() const;  // at the described clock
  [[nodiscard]] std::optional<Watts> power_limit() const;
  // Whether the power limit applies to a launch of this duration.
  [[nodiscard]] bool limits_power_of(Seconds launch) const;
};

// As descriptions write it: "scratchpad", "simt", "cache".
[[nodiscard]] std::string_view name(Execution execution);

// Whether the block changes anything that a model of on-device time reads.
[[nodiscard]] bool is_calibrated(const Device& device);

// The device with its multipliers folded into efficiencies, latencies and overheads and reset to 1,
// and the kernel overhead added to dispatch.kernel_launch. Peaks, and with them the speed of light,
// stay as described. Dispatch times per op class stay, as they are host times.
[[nodiscard]] Device apply_calibration(Device device);

}  // namespace tilecast::hwdesc
