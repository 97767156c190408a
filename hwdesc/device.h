// A machine, as the cost models see it: one core of a TPU, one whole GPU, one core or socket of a
// CPU. Read from YAML by hwdesc/device_yaml.h; plain values, no behaviour beyond derived peaks.
// Numbers are per *core* (the thing that runs one kernel) unless a name says chip.
// `memory` is the chain from the outermost level (HBM, DRAM) to the innermost (VMEM, shared memory,
// L1), `engines[i]` moves data between memory[i] and memory[i + 1]. Immutable in use; thread-safe.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/device_energy.h"
#include "hwdesc/device_parts.h"
#include "hwdesc/host_link.h"
#include "hwdesc/units.h"

namespace tilecast::hwdesc {

struct PublishedPeak {   // what the data sheet says, recomputed by device_check
  std::string quantity;  // "bf16", "hbm.bandwidth" (chip)
  double value_si = 0;
  std::string source;
};

struct Device {
  std::string name, description, generation;
  std::string profile_names;  // what profilers call it, commas between: hwdesc/device_guess.h
  Execution execution = Execution::kScratchpad;
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
  NativeTile native_tile;
  std::optional<Interconnect> interconnect;
  std::optional<HostLink> host_link;
  Dispatch dispatch;
  std::optional<Energy> energy;
  std::vector<PublishedPeak> published;
  Calibration calibration;  // identity in presets; hwdesc/calibration.h applies it
  std::string file;         // where it was read from
  // Names of the descriptions it extends without changing the machine (only name, description and
  // calibration differ), nearest first: what was measured on one of them is about this one too.
  std::vector<std::string> lineage;
  // Numbers taken over from an ancestor although `clock` or `multiplexing.workers`, which they
  // follow, was changed: "memory.shared.bandwidth: ..." each. For hwdesc/device_check.h.
  std::vector<std::string> outdated;
  // Equal for descriptions of one machine: of all values but names, texts, peaks published and
  // calibration, as they were read (hwdesc/device_yaml.h).
  std::size_t machine = 0;

  [[nodiscard]] const MemoryLevel& main_memory() const { return memory.front(); }
  [[nodiscard]] const MemoryLevel& scratchpad() const { return memory.back(); }
  // How far `name` is from this description: 0 itself, i the i-th of `lineage`; nullopt: neither.
  [[nodiscard]] std::optional<std::size_t> lineage_distance(std::string_view name) const;
  // The nearest of `names`.
  [[nodiscard]] std::optional<std::size_t> lineage_distance(
      std::span<const std::string> names) const;
  // Peak of one core for `dtype` operands: workers x count x rows x columns x rows_per_cycle x 2 x
  // clock / passes; 0 when the matrix unit cannot. `passes` entries "f8", "s8" and "s4" stand for
  // all their variants (f8e4m3fn, u8, u4 ...) that have no entry of their own.
  [[nodiscard]] FlopsPerSecond matrix_peak(std::string_view dtype) const;
  [[nodiscard]] FlopsPerSecond vector_peak() const;  // 32-bit operations per second
  // Of one operation of a product with `dtype` operands, on the unit that does it: the vector unit
  // where the matrix unit cannot. Needs `energy`.
  [[nodiscard]] Joules product_energy(std::string_view dtype) const;
  // One core's share of the chip's.
  [[nodiscard]] Watts idle_power() const;
  [[nodiscard]] std::optional<Watts> power_limit() const;
  // Is a launch of this long held to it?
  [[nodiscard]] bool limits_power_of(Seconds launch) const;
};

}  // namespace tilecast::hwdesc
