#include "hwdesc/device_schema.h"

#include <array>
#include <limits>

#include "hwdesc/schema_fields.h"

namespace tilecast::hwdesc {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kTiB = 1024 * kGiB;

using Word = std::string_view;
constexpr std::array<Word, 3> kExecutions = {"scratchpad", "simt", "cache"};
constexpr std::array<Word, 5> kTopologies = {"none", "ring", "torus2d", "torus3d", "switch"};
constexpr std::array<Word, 7> kUnits = {"matrix", "vector", "transcendental", "cross_lane",
                                        "scalar", "load",   "store"};

void walk_level(SchemaVisitor& v, MemoryLevel& level) {
  using enum UnitKind;
  quantity(v, {"capacity", kCapacity, 1, 1000 * kTiB, kRequired, "of one instance"},
           level.capacity);
  quantity(v,
           {"results", kCapacity, 0, 1000 * kTiB, kOptional,
            "at most of it for results between kernels; 0: none"},
           level.results);
  quantity(v, {"bandwidth", kBandwidth, 1e3, 1e15, kRequired, "peak read rate of all instances"},
           level.bandwidth);
  quantity(v, {"write_bandwidth", kBandwidth, 1e3, 1e15, kOptional, "peak write rate; as read"},
           level.write_bandwidth);
  v.number({"efficiency", kRatio, 1e-3, 1, kOptional, "share of the peak large streams sustain"},
           level.efficiency);
  v.optional_number({"write_efficiency", kRatio, 1e-3, 1, kOptional, "the same of writes"},
                    level.write_efficiency);
  quantity(v, {"latency", kTime, 0, 1, kRequired, "first byte of a load"}, level.latency);
  v.flag({"full_duplex", kCount, 0, 1, kOptional, "reads and writes do not share the path"},
         level.full_duplex);
  quantity(v, {"granule", kCapacity, 1, 1 << 24, kOptional, "smallest aligned unit that moves"},
           level.granule);
  integer(v, {"ways", kCount, 0, 1024, kOptional, "of a cache: lines of one set; 0 any line"},
          level.ways);
  integer(v, {"memory_space", kCount, -1, 1000, kOptional, "HLO S(n) that stays here; -1 none"},
          level.memory_space);
  walk_provenance(v, level.provenance);
}

void walk_engine(SchemaVisitor& v, TransferEngine& engine) {
  using enum UnitKind;
  quantity(v, {"setup", kTime, 0, 1, kRequired, "per transfer: issue and descriptor"},
           engine.setup);
  quantity(v, {"iteration_overhead", kTime, 0, 1, kOptional, "per pipeline iteration: sync, loop"},
           engine.iteration_overhead);
  integer(v, {"stages", kCount, 1, 64, kOptional, "buffers per stream"}, engine.stages);
  quantity(v, {"in_flight", kCapacity, 0, kTiB, kOptional, "bytes outstanding; 0 not limiting"},
           engine.in_flight);
  quantity(v,
           {"full_efficiency_run", kCapacity, 0, kTiB, kOptional,
            "bytes by which each contiguous run is as if longer; 0: does not matter"},
           engine.full_efficiency_run);
  quantity(v,
           {"prefetch", kCapacity, 0, kTiB, kOptional,
            "prefetchers run on to the end of such a page; 0: none"},
           engine.prefetch);
  integer(v,
          {"descriptor_strides", kCount, 0, 8, kOptional,
           "strides that one descriptor of a transfer holds; 0 any number"},
          engine.descriptor_strides);
  quantity(v, {"descriptor", kTime, 0, 1, kOptional, "the engine takes up a descriptor that often"},
           engine.descriptor);
  quantity(v,
           {"full_efficiency_transfer", kCapacity, 0, kTiB, kOptional,
            "bytes by which each transfer to or from a scratchpad is as if longer"},
           engine.full_efficiency_transfer);
  walk_provenance(v, engine.provenance);
}

void walk_matrix(SchemaVisitor& v, MatrixUnit& matrix) {
  using enum UnitKind;
  integer(v, {"count", kCount, 0, 1 << 16, kRequired, "arrays per worker"}, matrix.count);
  v.integer({"rows", kCount, 1, 1 << 20, kRequired, "contraction extent of one array"},
            matrix.rows);
  v.integer({"columns", kCount, 1, 1 << 20, kRequired, "output columns of one array"},
            matrix.columns);
  v.number({"rows_per_cycle", kCount, 1e-3, 1e6, kOptional, "operand rows pushed per cycle"},
           matrix.rows_per_cycle);
  v.numbers({"passes", kCount, 1e-3, 1e4, kRequired, "per dtype: passes of the base rate", kDtypes},
            matrix.passes);
  quantity(v, {"fill", kCycles, 0, 1e7, kOptional, "latency through the array"}, matrix.fill);
  quantity(v, {"weight_load", kCycles, 0, 1e7, kOptional, "to load one rows x columns tile"},
           matrix.weight_load);
  v.flag({"weight_load_hidden", kCount, 0, 1, kOptional, "double-buffered behind compute"},
         matrix.weight_load_hidden);
  v.number({"efficiency", kRatio, 1e-3, 1, kOptional, "sustained share of the peak"},
           matrix.efficiency);
  quantity(v, {"clock", kFrequency, 1e3, 1e12, kOptional, "when not the core's"}, matrix.clock);
  quantity(v, {"limited_clock", kFrequency, 1e3, 1e12, kOptional, "of long work, by power"},
           matrix.limited_clock);
  quantity(v, {"full_clock_time", kTime, 0, 10, kOptional, "of work before the limited clock"},
           matrix.full_clock_time);
  walk_provenance(v, matrix.provenance);
}

void walk_vector(SchemaVisitor& v, VectorUnit& vector) {
  using enum UnitKind;
  v.integer({"lanes", kCount, 1, 1 << 20, kRequired, "32-bit lanes"}, vector.lanes);
  v.integer({"sublanes", kCount, 1, 1 << 20, kOptional, "rows of lanes"}, vector.sublanes);
  v.number({"alus", kCount, 1e-3, 1e4, kOptional, "operations per lane and cycle"}, vector.alus);
  v.number({"load_ports", kCount, 1e-3, 1e4, kOptional, "registers loaded per cycle"},
           vector.load_ports);
  v.number({"store_ports", kCount, 1e-3, 1e4, kOptional, "registers stored per cycle"},
           vector.store_ports);
  v.number({"packing", kCount, 1e-3, 64, kOptional, "speed-up for 16-bit elements"},
           vector.packing);
  v.numbers({"op_cycles", kCount, 1e-6, 1e6, kOptional, "per opcode: ALU operations per element"},
            vector.op_cycles);
  quantity(v, {"latency", kCycles, 0, 1e7, kOptional, "from an operation to its result"},
           vector.latency);
  v.number({"efficiency", kRatio, 1e-3, 1, kOptional, "sustained share of the peak"},
           vector.efficiency);
  walk_provenance(v, vector.provenance);
}

void walk_transcendental(SchemaVisitor& v, TranscendentalUnit& unit) {
  using enum UnitKind;
  v.number({"per_cycle", kCount, 1e-6, 1e9, kRequired, "elements per cycle of a worker"},
           unit.per_cycle);
  v.numbers({"op_cost", kCount, 1e-6, 1e6, kOptional, "per opcode: elements one counts for"},
            unit.op_cost);
  quantity(v, {"latency", kCycles, 0, 1e7, kOptional, "to the result of an op_cost of 1"},
           unit.latency);
  walk_provenance(v, unit.provenance);
}

void walk_cross_lane(SchemaVisitor& v, CrossLaneUnit& unit) {
  using enum UnitKind;
  v.number({"elements_per_cycle", kCount, 1e-6, 1e9, kRequired, "transposes and permutations"},
           unit.elements_per_cycle);
  v.number({"reduce_elements_per_cycle", kCount, 1e-6, 1e9, kRequired, "reductions across lanes"},
           unit.reduce_elements_per_cycle);
  v.number({"irregular_elements_per_cycle", kCount, 1e-6, 1e9, kRequired,
            "element moves of gather, scatter and sort"},
           unit.irregular_elements_per_cycle);
  quantity(v, {"latency", kCycles, 0, 1e7, kOptional, "of one register's move or reduction"},
           unit.latency);
  walk_provenance(v, unit.provenance);
}

void walk_multiplexing(SchemaVisitor& v, Multiplexing& m) {
  using enum UnitKind;
  integer(v, {"workers", kCount, 1, 1 << 20, kRequired, "SMs or cores that run one kernel"},
          m.workers);
  integer(v, {"max_resident", kCount, 1, 1 << 16, kOptional, "blocks per worker"}, m.max_resident);
  integer(v, {"warps_per_block", kCount, 1, 1 << 10, kOptional, "warps of a block"},
          m.warps_per_block);
  integer(v, {"warp_lanes", kCount, 1, 1 << 10, kOptional, "threads that issue as one"},
          m.warp_lanes);
  v.flag({"guards_branch", kCount, 0, 1, kOptional, "conditions of lanes are branches"},
         m.guards_branch);
  integer(
      v,
      {"cluster_blocks", kCount, 1, 1 << 6, kOptional, "blocks whose shared loads are multicast"},
      m.cluster_blocks);
  quantity(v, {"registers_per_worker", kCapacity, 0, kTiB, kOptional, "register file"},
           m.registers_per_worker);
  walk_provenance(v, m.provenance);
}

void walk_native_tile(SchemaVisitor& v, NativeTile& tile) {
  using enum UnitKind;
  v.flag({"tiled", kCount, 0, 1, kRequired, "arrays are stored in tiles"}, tile.tiled);
  v.integer({"sublanes", kCount, 1, 1 << 16, kOptional, "tile rows"}, tile.sublanes);
  v.integer({"lanes", kCount, 1, 1 << 16, kOptional, "tile columns"}, tile.lanes);
  integer(v, {"word_bits", kCount, 1, 1024, kOptional, "narrower elements pack along sublanes"},
          tile.word_bits);
  walk_provenance(v, tile.provenance);
}

void walk_interconnect(SchemaVisitor& v, std::optional<Interconnect>& described) {
  using enum UnitKind;
  Interconnect& net = described ? *described : described.emplace();
  integer(v, {"links", kCount, 0, 1 << 16, kRequired, "per chip"}, net.links);
  quantity(v, {"link_bandwidth", kBandwidth, 1e3, 1e15, kRequired, "one link, one way"},
           net.link_bandwidth);
  v.number({"efficiency", kRatio, 1e-3, 1, kOptional, "share of it that collectives sustain"},
           net.efficiency);
  quantity(v, {"latency", kTime, 0, 1, kRequired, "per hop"}, net.latency);
  std::size_t topology = 0;
  for (std::size_t i = 0; i < kTopologies.size(); ++i) {
    if (kTopologies[i] == net.topology) topology = i;
  }
  v.choice({"topology", kCount, 0, 0, kRequired, "how chips are joined", kTopologies}, topology);
  net.topology = kTopologies[topology];
  integer(v,
          {"wraps_from", kCount, 3, 1 << 16, kOptional,
           "chips along a torus from which on it wraps around; fewer are a line"},
          net.wraps_from);
  integer(v, {"devices_per_host", kCount, 1, 1 << 20, kOptional, "cores of one host"},
          net.devices_per_host);
  walk_provenance(v, net.provenance);
  if (v.enter({"slice", kOptional, "the chips of a program; absent: as square as its groups allow"},
              net.slice.has_value())) {
    walk_slice(v, net.slice);
    v.leave();
  }
}

void walk_host_link(SchemaVisitor& v, std::optional<HostLink>& described) {
  using enum UnitKind;
  HostLink& link = described ? *described : described.emplace();
  quantity(v, {"bandwidth", kBandwidth, 1e3, 1e15, kRequired, "one way, of the chip"},
           link.bandwidth);
  quantity(v, {"latency", kTime, 0, 1, kRequired, "of one transfer"}, link.latency);
  walk_provenance(v, link.provenance);
}

void walk_dispatch(SchemaVisitor& v, Dispatch& dispatch) {
  using enum UnitKind;
  quantity(v, {"kernel_launch", kTime, 0, 1, kRequired, "on-device time between kernels"},
           dispatch.kernel_launch);
  quantity(v, {"host", kTime, 0, 10, kOptional, "per program, on the host; reported apart"},
           dispatch.host);
  walk_provenance(v, dispatch.provenance);
}

void walk_memory(SchemaVisitor& v, Device& device) {
  if (!v.enter({"memory", kRequired, "levels by name, outermost first"}, true)) return;
  std::vector<std::string> held;
  for (const MemoryLevel& level : device.memory) held.push_back(level.name);
  const std::vector<std::string> names = v.names(held);
  device.memory.resize(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    device.memory[i].name = names[i];
    if (!v.enter({names[i], kRequired, "one memory level"}, true)) continue;
    walk_level(v, device.memory[i]);
    v.leave();
  }
  v.leave();
}

void walk_transfer(SchemaVisitor& v, Device& device) {
  if (!v.enter({"transfer", kRequired, "engines between neighbouring levels"}, true)) return;
  device.engines.resize(device.memory.empty() ? 0 : device.memory.size() - 1);
  for (std::size_t i = 0; i < device.engines.size(); ++i) {
    const std::string key = device.memory[i].name + "_to_" + device.memory[i + 1].name;
    if (!v.enter({key, kRequired, "one engine"}, true)) continue;
    walk_engine(v, device.engines[i]);
    v.leave();
  }
  v.leave();
}

void walk_published(SchemaVisitor& v, Device& device) {
  const Block block{"published", kOptional, "data-sheet peaks of a chip, by quantity"};
  if (!v.enter(block, !device.published.empty())) return;
  std::vector<std::string> held;
  for (const PublishedPeak& peak : device.published) held.push_back(peak.quantity);
  const std::vector<std::string> names = v.names(held);
  device.published.resize(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    PublishedPeak& peak = device.published[i];
    peak.quantity = names[i];
    if (!v.enter({names[i], kRequired, "bf16, s8, vector_fma, hbm.bandwidth, hbm.capacity"}, true))
      continue;
    v.number({"value", published_kind(names[i]), 1, 1e24, kRequired, "of one chip"}, peak.value_si);
    v.text({"source", UnitKind::kCount, 1, 2000, kRequired, "who publishes it"}, peak.source);
    v.leave();
  }
  v.leave();
}

void walk_calibration(SchemaVisitor& v, Device& device) {
  using enum UnitKind;
  Calibration& c = device.calibration;
  if (!v.enter({"calibration", kOptional, "fitted to measurements"}, !c.source.empty())) return;
  const auto factor = [&v](std::string_view key, std::string_view doc, double& value) {
    v.number({key, kCount, 1e-3, 1e3, kOptional, doc}, value);
  };
  factor("memory_bandwidth", "multiplies main memory's bandwidth", c.memory_bandwidth);
  factor("memory_write", "multiplies the rate of writes on top of that", c.memory_write);
  factor("cache_bandwidth", "multiplies the bandwidth of caches", c.cache_bandwidth);
  factor("memory_latency", "multiplies main memory's latency", c.memory_latency);
  factor("transfer_setup", "multiplies the set-up of transfers", c.transfer_setup);
  factor("iteration_overhead", "multiplies the overhead of iterations", c.iteration_overhead);
  factor("matrix", "multiplies the rate of matrix units", c.matrix);
  factor("vector", "multiplies the rate of vector units", c.vector);
  factor("transcendental", "multiplies the rate of that unit", c.transcendental);
  factor("cross_lane", "multiplies the rates of that unit", c.cross_lane);
  factor("network", "multiplies the bandwidth of links", c.network);
  quantity(v, {"kernel_overhead", kTime, 0, 1, kOptional, "on the device, added to every kernel"},
           c.kernel_overhead);
  quantities(v, {"dispatch", kTime, 0, 10, kOptional, "by op class: host time per launch"},
             c.dispatch);
  v.text({"source", kCount, 1, 2000, kRequired, "what they were fitted on"}, c.source);
  v.leave();
}

void walk_identity(SchemaVisitor& v, Device& device) {
  using enum UnitKind;
  v.text({"name", kCount, 0, 100, kOptional, "default: the file's name"}, device.name);
  v.text({"description", kCount, 0, 2000, kOptional, "one line"}, device.description);
  v.text({"generation", kCount, 0, 100, kOptional, "family and step"}, device.generation);
  v.text({"profile_names", kCount, 0, 1000, kOptional, "its names in profiles, commas between"},
         device.profile_names);
  auto execution = static_cast<std::size_t>(device.execution);
  v.choice({"execution", kCount, 0, 0, kRequired, "how kernels run", kExecutions}, execution);
  device.execution = static_cast<Execution>(execution);
  quantity(v, {"clock", kFrequency, 1e3, 1e12, kRequired, "of the core"}, device.clock);
  integer(v, {"cores_per_chip", kCount, 1, 1 << 20, kOptional, "cores of one chip"},
          device.cores_per_chip);
  walk_provenance(v, device.provenance);
}

template <class Part>
void walk_block(SchemaVisitor& v, const Block& block, Part& part,
                void (*walk_part)(SchemaVisitor&, Part&), bool present = true) {
  if (!v.enter(block, present)) return;
  walk_part(v, part);
  v.leave();
}

}  // namespace

void walk(SchemaVisitor& v, Device& device) {
  walk_identity(v, device);
  walk_memory(v, device);
  walk_transfer(v, device);
  walk_block(v, {"matrix", kOptional, "matrix unit; absent: none"}, device.matrix, walk_matrix,
             device.matrix.rows > 0);
  walk_block(v, {"vector", kRequired, "vector unit"}, device.vector, walk_vector);
  walk_block(v, {"transcendental", kRequired, "exp, log, tanh ..."}, device.transcendental,
             walk_transcendental);
  walk_block(v, {"cross_lane", kRequired, "moves between lanes"}, device.cross_lane,
             walk_cross_lane);
  v.word_groups({"co_issue", UnitKind::kCount, 0, 0, kOptional,
                 "units that issue in the same cycle; groups do not overlap", kUnits},
                device.co_issue);
  walk_block(v, {"multiplexing", kOptional, "workers that share one kernel"}, device.multiplexing,
             walk_multiplexing, !device.multiplexing.provenance.source.empty());
  walk_block(v, {"native_tile", kOptional, "layout of arrays; absent: plain row-major"},
             device.native_tile, walk_native_tile, !device.native_tile.provenance.source.empty());
  walk_block(v, {"interconnect", kOptional, "links between chips"}, device.interconnect,
             walk_interconnect, device.interconnect.has_value());
  walk_block(v, {"host_link", kOptional, "to the memory of the host (PCIe, NVLink-C2C)"},
             device.host_link, walk_host_link, device.host_link.has_value());
  walk_block(v, {"dispatch", kRequired, "cost of starting work"}, device.dispatch, walk_dispatch);
  walk_block(v, {"energy", kOptional, "energy of work, power; absent: not described"},
             device.energy, walk_energy, device.energy.has_value());
  walk_published(v, device);
  walk_calibration(v, device);
}

UnitKind published_kind(std::string_view quantity) {
  if (quantity.ends_with(".bandwidth")) return UnitKind::kBandwidth;
  if (quantity.ends_with(".capacity")) return UnitKind::kCapacity;
  return UnitKind::kFlopRate;
}

}  // namespace tilecast::hwdesc
