// The parts of a simulated run (sim/simulator.h): timeline, communication, energy, memory, roofs.
//
// The timeline says when each kernel of a program runs, with copies and collectives overlapping
// others. A list schedule in program order on six lanes, each executing one task at a time. Compute
// kernels are issued in sequence. A kernel on another lane (slices: from host to host) is issued
// once all earlier compute kernels have ended, and does not delay later kernels; only users of its
// result wait.
// Hence
//   critical path, work of any lane  <=  makespan  <=  sum of durations:
// every task starts at 0 or when another one ends, so some task is always running.
//
// A task with a multiplicity (loop body) stands for all its launches together: the overlap of one
// iteration is repeated. What one trip starts and the next ends may run beside the whole loop.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/estimate.h"
#include "hwdesc/device.h"
#include "hwdesc/units.h"
#include "ir/program.h"

namespace tilecast::sim {

enum class Lane : std::uint8_t { kCompute, kDma, kNetwork, kHost, kToHost, kSlices };
inline constexpr std::size_t kLaneCount = 6;
[[nodiscard]] std::string_view name(Lane lane);  // "compute", "dma", ..., "host" (from it)

struct Task {
  Seconds duration;  // of all launches together, >= 0
  Lane lane = Lane::kCompute;
  std::vector<std::size_t> waits_for;      // earlier tasks, by index
  std::optional<std::size_t> done_before;  // a later task that waits for this one
  std::optional<std::size_t> beside;       // an earlier one: may start with it, not only behind it
  bool blocks = false;                     // the core waits for it: a synchronous collective
};

struct Span {
  Seconds start, end;
};

struct Timeline {
  std::vector<Span> spans;  // one per task, same order
  Seconds makespan;         // the end of the last task
};

[[nodiscard]] Timeline schedule(std::span<const Task> tasks);

// How much of a program's collective communication overlaps with other kernels.
//
//   communication = sum of collectives' times x launches
//   hidden        = the part during which a compute kernel runs on the timeline
//
// For one device; the others run the same program at the same time. A collective fused into a
// compute kernel occupies the compute lane and hides nothing.
struct SimulatedKernel;

struct Communication {
  Seconds time, hidden;
};

// Cores of all chips in the slices that the device describes; nullopt without a slice.
[[nodiscard]] std::optional<double> slice_devices(const hwdesc::Device& device);

// `kernels`: simulated kernels with their positions on the timeline; one per kernel of the program.
// nullopt if no kernel communicates across devices.
[[nodiscard]] std::optional<Communication> communication(const ir::Program& program,
                                                         std::span<const SimulatedKernel> kernels);

// Energy and power of a run of a program: dynamic energy plus idle energy.
//
//   energy = sum over launches of dynamic energy (analytical/energy.h) + idle power x timeline
//
// The device is on for the whole timeline, independent of overlap. Energy is for one core of the
// device; a chip takes this times the number of active cores.
struct SimulatedKernel;

struct ProgramEnergy {
  analytical::LaunchEnergy dynamic;  // of all launches
  Joules idle;
  Watts idle_power;
  std::optional<Watts> power_limit;
  Seconds timeline;
  // Kernels whose clock the power limit lowers, and the lowest clock factor among them.
  std::size_t limited_kernels = 0;
  double lowest_clock = 1;

  [[nodiscard]] Joules total() const { return dynamic.total() + idle; }
  [[nodiscard]] Watts average_power() const;  // 0 if the program takes no time
};

// nullopt if the device describes no energy, or if the model did not report its counts for a
// kernel. Skipped kernels take no energy.
[[nodiscard]] std::optional<ProgramEnergy> program_energy(std::span<const SimulatedKernel> kernels,
                                                          Seconds timeline,
                                                          const hwdesc::Device& device);

// Whether a program fits into a device's main memory and its share of the host's: compares peaks of
// ir/memory/memory_use.h with capacities. Excludes program code. Pure; thread-safe.
struct ProgramMemory {
  ir::MemorySplit peak;     // bytes at the worst point
  double outputs = 0;       // bytes of all outputs, live at the peak or not
  double aliased = 0;       // the part that reuses an argument's memory
  std::string at;           // instruction that runs at the peak
  std::size_t unsized = 0;  // arrays of unbounded size, counted as 0 bytes
  Bytes capacity;           // of main memory, less what a runtime keeps
  double host = 0;          // bytes in the host's memory
  std::optional<Bytes> host_capacity;

  [[nodiscard]] bool host_fits() const { return !host_capacity || host <= host_capacity->value; }
  [[nodiscard]] bool fits() const { return peak.total() <= capacity.value && host_fits(); }
  [[nodiscard]] double spare() const { return capacity.value - peak.total(); }  // < 0: too little
};

[[nodiscard]] ProgramMemory program_memory(const ir::Program& program,
                                           const hwdesc::Device& device);

// Peak rates of a machine for roofline plots: by unit and type, and bandwidths.
//
//   MachineRoofs roofs = machine_roofs(device);
//   roofs.peaks.front().rate      // FLOP/s of one core's matrix unit for one type
//   roofs.memory.front().read     // bytes/s of main memory
//
// Data-sheet rates of one core (hwdesc/device.h), without sustained shares. Plain values,
// thread-safe.
struct ComputeRoof {
  std::string unit, dtype;  // "matrix", "bf16"; the vector unit counts 32-bit operations
  FlopsPerSecond rate;      // > 0
};

struct MemoryRoof {
  std::string name;  // "hbm", "vmem"
  BytesPerSecond read, write;
  Bytes capacity;
};

struct MachineRoofs {
  std::vector<ComputeRoof> peaks;  // fastest first
  std::vector<MemoryRoof> memory;  // outermost first
};

[[nodiscard]] MachineRoofs machine_roofs(const hwdesc::Device& device);

}  // namespace tilecast::sim
