// The parts of a Device (hwdesc/device.h). Names and units of keys: hwdesc/device_schema.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "hwdesc/slice.h"
#include "hwdesc/units.h"

namespace tilecast::hwdesc {

struct Provenance {
  std::string source;      // where the numbers of a block come from; never empty in a preset
  bool estimated = false;  // not published; `source` says how it was estimated
};

enum class Execution { kScratchpad, kSimt, kCache };
// Whose rules fuse programs that are not optimised yet.
enum class Fusion { kByExecution, kXlaTpu, kXlaGpu, kXlaCpu, kNone };
// Attention written as products and a softmax, in programs that are not optimised yet: taken as a
// library's fused kernel where XLA:GPU compiles and the program is nothing else, everywhere, or
// nowhere.
enum class AttentionBy { kAlone, kLibrary, kOwn };

struct MemoryLevel {
  std::string name;                               // "hbm", "vmem", "l2", "shared"
  Bytes capacity;                                 // per instance
  Bytes results{0}, windows{0};                   // most for results; for chosen tiles, 0: all
  BytesPerSecond bandwidth;                       // peak read rate, all instances together
  std::optional<BytesPerSecond> write_bandwidth;  // absent: as read
  double efficiency = 1.0;                 // share of the peak that large streams sustain, (0, 1]
  std::optional<double> write_efficiency;  // the same for writes; absent: as `efficiency`
  Seconds latency;                         // first byte of a load
  bool full_duplex = false;                // reads and writes do not share the path
  Bytes granule{1}, reserved{0};           // smallest aligned unit that moves; kept by a runtime
  int ways = 0;                            // of a cache: lines per set; 0: fully associative
  int memory_space = -1;                   // arrays of this HLO space S(n) stay here; -1: none
  Provenance provenance;

  [[nodiscard]] BytesPerSecond peak_write() const { return write_bandwidth.value_or(bandwidth); }
  [[nodiscard]] BytesPerSecond sustained_read() const { return bandwidth * efficiency; }
  [[nodiscard]] BytesPerSecond sustained_write() const {
    return peak_write() * write_efficiency.value_or(efficiency);
  }
};

struct TransferEngine {
  Seconds setup;                      // per transfer (one operand's window): issue and descriptor
  Seconds iteration_overhead;         // per pipeline iteration: synchronisation, loop control
  int stages = 2;                     // buffers per stream that the machine or compiler supports
  Bytes in_flight;                    // bytes outstanding at most; 0 = not limiting
  Bytes full_efficiency_run{0};       // a contiguous run reaches run / (run + this) of the rate
  Bytes full_efficiency_transfer{0};  // the same for a whole transfer
  Bytes prefetch{0};                  // page size at whose end prefetchers stop; 0: no prefetchers
  int descriptor_strides = 0;         // strides per descriptor; 0 = any number
  Seconds descriptor;                 // time between descriptors that the engine starts
  Provenance provenance;
};

struct MatrixUnit {
  int count = 0;                         // per worker; 0 = no matrix unit
  std::int64_t rows = 0, columns = 0;    // contraction x output columns of one array
  double rows_per_cycle = 1;             // operand rows pushed per cycle
  std::map<std::string, double> passes;  // per dtype: bf16 1, f32 2 ...; absent = unsupported
  Cycles fill, weight_load;              // latency of the array; of a rows x columns weight tile
  bool weight_load_hidden = true;        // double-buffered behind compute
  double efficiency = 1.0;               // sustained share of peak in long runs
  std::optional<Hertz> clock;            // if it differs from the core clock
  std::optional<Hertz> limited_clock;    // under a power limit, after `full_clock_time` of products
  Seconds full_clock_time;
  Provenance provenance;
};

struct VectorUnit {
  std::int64_t lanes = 0, sublanes = 1;
  double alus = 1;                          // operations per lane and cycle, all dtypes of 32 bits
  double load_ports = 1, store_ports = 1;   // vector registers loaded / stored per cycle
  double packing = 1;                       // speed-up for 16-bit elements
  std::map<std::string, double> op_cycles;  // opcode name -> ALU operations per element (default 1)
  Cycles latency;                           // from an operation to one that uses its result
  double efficiency = 1.0;
  Provenance provenance;
};

struct TranscendentalUnit {
  double per_cycle = 0;                   // elements per cycle and worker
  std::map<std::string, double> op_cost;  // opcode name -> units of `per_cycle` (default 1)
  Cycles latency;                         // until the result of an op_cost of 1
  Provenance provenance;
};

struct CrossLaneUnit {
  double elements_per_cycle = 0;            // transposes, rotations, permutations: 32-bit elements
  double reduce_elements_per_cycle = 0;     // reductions across lanes
  double irregular_elements_per_cycle = 0;  // gather/scatter/sort element moves
  Cycles latency;                           // of one register's move or reduction
  Provenance provenance;
};

struct Multiplexing {
  int workers = 1, max_resident = 1;         // SMs, cores that run blocks of one kernel; of each
  int warps_per_block = 1, warp_lanes = 32;  // lanes: threads that issue as one
  bool guards_branch = false;                // lane conditions are branches, not predicates
  int cluster_blocks = 1;                    // blocks that share loads by multicast; 1 = none
  Bytes registers_per_worker{0};
  Seconds warp_start;  // from the start of one warp to that of the next, all workers together
  Provenance provenance;
};

// How the library that comes with a GPU multiplies matrices.
struct Library {
  double side_step = 0;       // rows and columns of blocks: multiples of it; 0: powers of two
  double splits = 32;         // blocks that share a contraction, at most
  double accumulators = 0.5;  // share of the registers that a worker keeps its blocks' results in
  double operand_rows = 0;    // that one instruction multiplies with operands in the worker's
                              // memory; 0: warps load their operands first
  std::map<std::string, double> efficiency;  // per dtype: in place of MatrixUnit::efficiency
  std::map<std::string, Seconds> setup;      // per dtype: in place of TransferEngine::setup
  std::optional<double> lane_efficiency;     // of products on vector lanes: sustained share
  std::optional<Seconds> lane_setup;         // and set-up
  Provenance provenance;
};

struct NativeTile {  // device layout rules, see ir::LayoutRules
  std::int64_t sublanes = 1, lanes = 1;
  int word_bits = 32;
  bool tiled = false;
  Provenance provenance;
};

struct Interconnect {
  int links = 0;
  BytesPerSecond link_bandwidth;  // peak, one way, one link, per chip
  double efficiency = 1.0;        // share of it that one link sustains, (0, 1]
  double axes_efficiency = 1.0;   // and of the sum, several dimensions of a torus at once
  Seconds start, latency;         // per phase (a dimension of a torus): synchronising; per hop
  std::string topology;           // "ring", "torus2d", "torus3d", "switch", "mesh"
  int wraps_from = 3;             // torus dimensions of at least this many chips are rings
  int devices_per_host = 1;       // cores per host
  int named_per_chip = 1;         // what the names of slices count: 2 where v5p-128 has 64 chips
  std::optional<BytesPerSecond> network_bandwidth;  // of slices that describe no own
  Seconds network_latency;
  std::optional<Slice> slice;  // absent: a torus as square as each group allows
  std::optional<CollectiveLibrary> library;
  Provenance provenance;
};

}  // namespace tilecast::hwdesc
