#include <algorithm>

#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

struct MachineFacts {
  double clock = kMissing, vector_peak = kMissing, matrix_peak = kMissing, peak = kMissing;
  double transcendental_rate = kMissing, bandwidth = kMissing, write_share = kMissing;
  double latency = kMissing, innermost_capacity = kMissing, cache_capacity = kMissing;
  double workers = kMissing, vector_width = kMissing, native_tile = kMissing, launch = kMissing;
  double ridge = kMissing, vector_ridge = kMissing, matrix_to_vector = kMissing;
  double transcendental_to_vector = kMissing, on_chip_bandwidth = kMissing, in_flight = kMissing;
  double cache_cycles = kMissing, latency_cycles = kMissing;
  double compute_time = kMissing, memory_time = kMissing, roofline = kMissing;
  double compute_to_memory = kMissing, transcendental_to_memory = kMissing;
  double latency_to_memory = kMissing, footprint_innermost = kMissing, footprint_cache = kMissing;
  double lane_use = kMissing, elements_per_lane = kMissing;
};

using Rows = std::span<const ColumnRow<MachineFacts>>;

constexpr auto kMachineRows = std::to_array<ColumnRow<MachineFacts>>({
    column<&MachineFacts::clock>("machine.clock", "Hz", "Clock of the core."),
    column<&MachineFacts::vector_peak>("machine.vector_peak", "1/s",
                                       "32-bit operations the vector unit can do."),
    column<&MachineFacts::matrix_peak>(
        "machine.matrix_peak", "1/s",
        "Operations the matrix unit can do on the kernel's main type, 0 without one."),
    column<&MachineFacts::peak>("machine.peak", "1/s", "The larger of the two peaks."),
    column<&MachineFacts::transcendental_rate>("machine.transcendental_rate", "1/s",
                                               "Transcendental functions per second."),
    column<&MachineFacts::bandwidth>("machine.bandwidth", "B/s",
                                     "Read bandwidth of main memory that large streams sustain."),
    column<&MachineFacts::write_share>("machine.write_share", "1",
                                       "Write over read bandwidth of main memory."),
    column<&MachineFacts::latency>("machine.latency", "s", "Latency of main memory."),
    column<&MachineFacts::innermost_capacity>("machine.innermost_capacity", "B",
                                              "Capacity of the memory next to the core."),
    column<&MachineFacts::cache_capacity>("machine.cache_capacity", "B",
                                          "Capacity of the largest memory below main memory."),
    column<&MachineFacts::workers>("machine.workers", "1",
                                   "Multiprocessors or cores that share one kernel."),
    column<&MachineFacts::vector_width>("machine.vector_width", "1",
                                        "Lanes of one vector unit, sublanes included."),
    column<&MachineFacts::native_tile>("machine.native_tile", "1",
                                       "Elements of a native tile of the layout; 1 = none."),
    column<&MachineFacts::launch>("machine.launch", "s", "Time on the device between kernels."),
    column<&MachineFacts::ridge>("machine.ridge", "1/B",
                                 "Peak over bandwidth: intensity at which compute takes over."),
    column<&MachineFacts::vector_ridge>("machine.vector_ridge", "1/B",
                                        "Vector peak over bandwidth."),
    column<&MachineFacts::matrix_to_vector>("machine.matrix_to_vector", "1",
                                            "Matrix peak over vector peak."),
    column<&MachineFacts::transcendental_to_vector>("machine.transcendental_to_vector", "1",
                                                    "Transcendental rate over vector peak."),
    column<&MachineFacts::on_chip_bandwidth>(
        "machine.on_chip_bandwidth", "1", "Bandwidth of the innermost over that of main memory."),
    column<&MachineFacts::in_flight>(
        "machine.in_flight", "1",
        "Bytes in flight that hide main memory's latency, over the innermost capacity."),
    column<&MachineFacts::cache_cycles>("machine.cache_cycles", "1",
                                        "Cycles main memory takes to fill the largest cache."),
    column<&MachineFacts::latency_cycles>("machine.latency_cycles", "1",
                                          "Latency of main memory in cycles."),
});

constexpr auto kKernelRows = std::to_array<ColumnRow<MachineFacts>>({
    column<&MachineFacts::compute_time>(
        "machine.compute_time", "s",
        "Multiply-adds at the peak of their type, other operations at the vector peak."),
    column<&MachineFacts::memory_time>("machine.memory_time", "s",
                                       "Bytes read and written, at main memory's bandwidth."),
    column<&MachineFacts::roofline>("machine.roofline", "s", "The larger of the two times."),
    column<&MachineFacts::compute_to_memory>("machine.compute_to_memory", "1",
                                             "machine.compute_time over machine.memory_time."),
    column<&MachineFacts::transcendental_to_memory>(
        "machine.transcendental_to_memory", "1",
        "Transcendentals at their rate, over machine.memory_time."),
    column<&MachineFacts::latency_to_memory>("machine.latency_to_memory", "1",
                                             "Latency of main memory over machine.memory_time."),
    column<&MachineFacts::footprint_innermost>(
        "machine.footprint_innermost", "1",
        "Bytes of parameters and outputs over the innermost capacity."),
    column<&MachineFacts::footprint_cache>(
        "machine.footprint_cache", "1",
        "Bytes of parameters and outputs over the capacity of the largest cache."),
    column<&MachineFacts::lane_use>(
        "machine.lane_use", "1",
        "Share of the lanes the minor-most dimension of the largest output fills."),
    column<&MachineFacts::elements_per_lane>(
        "machine.elements_per_lane", "1",
        "Elements of the largest output over the lanes of all workers."),
});

// What the kernel's type needs of the machine.
void set_machine(const KernelScan& scan, MachineScan& machine, MachineFacts& facts) {
  const hwdesc::Device& device = machine.device();
  const hwdesc::MemoryLevel& main = device.main_memory();
  const hwdesc::MemoryLevel& inner = device.scratchpad();
  facts.clock = device.clock.value;
  facts.vector_peak = device.vector_peak().value;
  facts.matrix_peak = machine.matrix_peak(scan.main_dtype);
  facts.peak = std::max(facts.vector_peak, facts.matrix_peak);
  facts.workers = device.multiplexing.workers;
  facts.transcendental_rate = device.transcendental.per_cycle * facts.clock * facts.workers;
  facts.bandwidth = main.bandwidth.value * main.efficiency;
  facts.write_share =
      ratio(main.write_bandwidth.value_or(main.bandwidth).value, main.bandwidth.value);
  facts.latency = main.latency.value;
  facts.innermost_capacity = inner.capacity.value;
  facts.cache_capacity = cache_capacity(device);
  facts.vector_width = static_cast<double>(device.vector.lanes * device.vector.sublanes);
  facts.native_tile =
      device.native_tile.tiled
          ? static_cast<double>(device.native_tile.sublanes * device.native_tile.lanes)
          : 1;
  facts.launch = device.dispatch.kernel_launch.value;
  facts.ridge = ratio(facts.peak, facts.bandwidth);
  facts.vector_ridge = ratio(facts.vector_peak, facts.bandwidth);
  facts.matrix_to_vector = ratio(facts.matrix_peak, facts.vector_peak);
  facts.transcendental_to_vector = ratio(facts.transcendental_rate, facts.vector_peak);
  facts.on_chip_bandwidth = ratio(inner.bandwidth.value, facts.bandwidth);
  facts.in_flight = ratio(facts.bandwidth * facts.latency, facts.innermost_capacity);
  facts.cache_cycles = ratio(facts.cache_capacity * facts.clock, facts.bandwidth);
  facts.latency_cycles = facts.latency * facts.clock;
}

void set_kernel(const KernelScan& scan, MachineFacts& facts) {
  const double matrix_flops = std::min(2 * scan.multiply_adds, scan.flops);
  const double matrix_peak = facts.matrix_peak > 0 ? facts.matrix_peak : facts.vector_peak;
  const double other_time = ratio(scan.flops - matrix_flops, facts.vector_peak);
  const bool multiplies = matrix_flops > 0;
  facts.compute_time = other_time + (multiplies ? ratio(matrix_flops, matrix_peak) : 0);
  facts.memory_time = ratio(scan.bytes_read + scan.bytes_written, facts.bandwidth);
  facts.roofline = std::fmax(facts.compute_time, facts.memory_time);
  facts.compute_to_memory = ratio(facts.compute_time, facts.memory_time);
  facts.transcendental_to_memory =
      ratio(ratio(scan.transcendentals, facts.transcendental_rate), facts.memory_time);
  facts.latency_to_memory = ratio(facts.latency, facts.memory_time);
  const double footprint = scan.parameter_bytes + scan.output_bytes;
  facts.footprint_innermost = ratio(footprint, facts.innermost_capacity);
  facts.footprint_cache = ratio(footprint, facts.cache_capacity);
  if (scan.largest_output == nullptr || facts.vector_width <= 0) return;
  const double minor = minor_size(scan.largest_output->shape);
  facts.lane_use = ratio(minor, std::ceil(minor / facts.vector_width) * facts.vector_width);
  facts.elements_per_lane =
      ratio(elements_of(scan.largest_output->shape), facts.vector_width * facts.workers);
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

void machine_columns(std::vector<FeatureColumn>& columns) {
  append_columns(Rows(kMachineRows), FeatureGroup::kMachine, columns);
  append_columns(Rows(kKernelRows), FeatureGroup::kMachine, columns);
}

std::size_t write_machine(const KernelScan& scan, MachineScan& machine, std::span<float> out) {
  MachineFacts facts;
  if (!machine.device().memory.empty()) {
    set_machine(scan, machine, facts);
    set_kernel(scan, facts);
  }
  const std::size_t first = write_columns(Rows(kMachineRows), facts, out);
  return first + write_columns(Rows(kKernelRows), facts, out.subspan(first));
}

}  // namespace tilecast::learned
