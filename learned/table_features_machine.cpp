#include <algorithm>
#include <cmath>

#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

// The machine's rates for the kernel's type; NaN without memory.
struct Machine {
  double clock, vector_peak, matrix_peak, peak, workers, lanes, transcendental_rate;
  double bandwidth = kMissing, write_share = kMissing, latency = kMissing;
  double innermost_capacity = kMissing, innermost_bandwidth = kMissing, cache_capacity;

  Machine(const hwdesc::Device& device, double matrix)
      : clock(device.clock.value),
        vector_peak(device.vector_peak().value),
        matrix_peak(matrix),
        peak(std::max(vector_peak, matrix_peak)),
        workers(device.multiplexing.workers),
        lanes(static_cast<double>(device.vector.lanes * device.vector.sublanes)),
        transcendental_rate(device.transcendental.per_cycle * clock * workers),
        cache_capacity(learned::cache_capacity(device)) {
    if (device.memory.empty()) return;
    const hwdesc::MemoryLevel& main = device.main_memory();
    bandwidth = main.bandwidth.value * main.efficiency;
    write_share = ratio(main.sustained_write().value, main.sustained_read().value);
    latency = main.latency.value;
    innermost_capacity = device.scratchpad().capacity.value;
    innermost_bandwidth = device.scratchpad().bandwidth.value;
  }
};

void constant_columns(const hwdesc::Device& device, const Machine& machine, Columns& to) {
  const hwdesc::NativeTile& tile = device.native_tile;
  to.value({"clock", "Clock of the core.", "Hz"}, machine.clock);
  to.value({"vector_peak", "32-bit operations the vector unit can do.", "1/s"},
           machine.vector_peak);
  to.value({"matrix_peak",
            "Operations the matrix unit can do on the kernel's main type, 0 without one.", "1/s"},
           machine.matrix_peak);
  to.value({"peak", "The larger of the two peaks.", "1/s"}, machine.peak);
  to.value({"transcendental_rate", "Transcendental functions per second.", "1/s"},
           machine.transcendental_rate);
  to.value({"bandwidth", "Read bandwidth of main memory that large streams sustain.", "B/s"},
           machine.bandwidth);
  to.value({"write_share", "Write over read bandwidth of main memory."}, machine.write_share);
  to.value({"latency", "Latency of main memory.", "s"}, machine.latency);
  to.value({"innermost_capacity", "Capacity of the memory next to the core.", "B"},
           machine.innermost_capacity);
  to.value({"cache_capacity", "Capacity of the largest memory below main memory.", "B"},
           machine.cache_capacity);
  to.value({"workers", "Multiprocessors or cores that share one kernel."}, machine.workers);
  to.value({"vector_width", "Lanes of one vector unit, sublanes included."}, machine.lanes);
  to.value({"native_tile", "Elements of a native tile of the layout; 1 = none."},
           tile.tiled ? static_cast<double>(tile.sublanes * tile.lanes) : 1);
  to.value({"launch", "Time on the device between kernels.", "s"},
           device.dispatch.kernel_launch.value);
}

void ratio_columns(const Machine& machine, Columns& to) {
  to.value({"ridge", "Peak over bandwidth: intensity at which compute takes over.", "1/B"},
           ratio(machine.peak, machine.bandwidth));
  to.value({"vector_ridge", "Vector peak over bandwidth.", "1/B"},
           ratio(machine.vector_peak, machine.bandwidth));
  to.value({"matrix_to_vector", "Matrix peak over vector peak."},
           ratio(machine.matrix_peak, machine.vector_peak));
  to.value({"transcendental_to_vector", "Transcendental rate over vector peak."},
           ratio(machine.transcendental_rate, machine.vector_peak));
  to.value({"on_chip_bandwidth", "Bandwidth of the innermost over that of main memory."},
           ratio(machine.innermost_bandwidth, machine.bandwidth));
  to.value({"in_flight",
            "Bytes in flight that hide main memory's latency, over the innermost capacity."},
           ratio(machine.bandwidth * machine.latency, machine.innermost_capacity));
  to.value({"cache_cycles", "Cycles main memory takes to fill the largest cache."},
           ratio(machine.cache_capacity * machine.clock, machine.bandwidth));
  to.value({"latency_cycles", "Latency of main memory in cycles."},
           machine.latency * machine.clock);
}

// Columns that relate the kernel to the machine.
void use_columns(const KernelScan& scan, const Machine& machine, Columns& to) {
  const double matrix_flops = std::min(2 * scan.multiply_adds, scan.flops);
  const double matrix_peak = machine.matrix_peak > 0 ? machine.matrix_peak : machine.vector_peak;
  const double other_time = ratio(scan.flops - matrix_flops, machine.vector_peak);
  const double compute_time =
      other_time + (matrix_flops > 0 ? ratio(matrix_flops, matrix_peak) : 0);
  const double memory_time = ratio(scan.bytes_read + scan.bytes_written, machine.bandwidth);
  const double footprint = scan.parameter_bytes + scan.output_bytes;
  double lane_use = kMissing, elements_per_lane = kMissing;
  if (scan.largest_output != nullptr && machine.lanes > 0) {
    const double minor = minor_size(scan.largest_output->shape);
    lane_use = ratio(minor, std::ceil(minor / machine.lanes) * machine.lanes);
    elements_per_lane =
        ratio(elements_of(scan.largest_output->shape), machine.lanes * machine.workers);
  }
  to.value({"compute_time",
            "Multiply-adds at the peak of their type, other operations at the vector peak.", "s"},
           compute_time);
  to.value({"memory_time", "Bytes read and written, at main memory's bandwidth.", "s"},
           memory_time);
  to.value({"roofline", "The larger of the two times.", "s"}, std::fmax(compute_time, memory_time));
  to.value({"compute_to_memory", "machine.compute_time over machine.memory_time."},
           ratio(compute_time, memory_time));
  to.value({"transcendental_to_memory", "Transcendentals at their rate, over machine.memory_time."},
           ratio(ratio(scan.transcendentals, machine.transcendental_rate), memory_time));
  to.value({"latency_to_memory", "Latency of main memory over machine.memory_time."},
           ratio(machine.latency, memory_time));
  to.value({"footprint_innermost", "Bytes of parameters and outputs over the innermost capacity."},
           ratio(footprint, machine.innermost_capacity));
  to.value({"footprint_cache",
            "Bytes of parameters and outputs over the capacity of the largest cache."},
           ratio(footprint, machine.cache_capacity));
  to.value({"lane_use", "Share of the lanes the minor-most dimension of the largest output fills."},
           lane_use);
  to.value({"elements_per_lane", "Elements of the largest output over the lanes of all workers."},
           elements_per_lane);
}

}  // namespace

double cache_capacity(const hwdesc::Device& device) {
  double most = kMissing;
  for (std::size_t i = 1; i < device.memory.size(); ++i) {
    most = std::fmax(most, device.memory[i].capacity.value);
  }
  return most;
}

double MachineScan::matrix_peak(ir::DType dtype) {
  double& peak = peaks_[static_cast<std::size_t>(dtype)];
  if (peak < 0) peak = device_.matrix_peak(ir::name(dtype)).value;
  return peak;
}

void machine_columns(const KernelScan& scan, MachineScan& machine, Columns& to) {
  const Machine constants(machine.device(), machine.matrix_peak(scan.main_dtype));
  constant_columns(machine.device(), constants, to);
  ratio_columns(constants, to);
  use_columns(scan, constants, to);
}

}  // namespace tilecast::learned
