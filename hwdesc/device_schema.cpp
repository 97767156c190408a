#include "hwdesc/device_schema.h"

#include <array>

namespace tilecast::hwdesc {
namespace {

constexpr std::array<std::string_view, 14> kDtypes = {
    "f4", "f8", "f16", "bf16", "f32", "f64", "s4", "s8", "s16", "s32", "u8", "u16", "u32", "pred"};

// The fields of a block, for a visitor: key, unit, range in SI base units, explanation, value.
class Fields {
 public:
  using Words = std::span<const std::string_view>;
  explicit Fields(SchemaVisitor& visitor) : visitor_(visitor) {}

  template <class T>  // NOLINTNEXTLINE(readability-function-size): the columns of a key
  void required(std::string_view key, UnitKind kind, double low, double high, std::string_view doc,
                T& value, Words words = {}) {
    visit({key, kind, low, high, true, doc, words}, value);
  }
  template <class T>  // NOLINTNEXTLINE(readability-function-size): the columns of a key
  void optional(std::string_view key, UnitKind kind, double low, double high, std::string_view doc,
                T& value, Words words = {}) {
    visit({key, kind, low, high, false, doc, words}, value);
  }
  void flag(std::string_view key, std::string_view doc, bool& value, bool required = false) {
    visitor_.flag({key, UnitKind::kCount, 0, 1, required, doc}, value);
  }
  // `least`, `most`: bytes; a text is required if it may not be empty.
  void text(std::string_view key, double least, double most, std::string_view doc,
            std::string& value) {
    visitor_.text({key, UnitKind::kCount, least, most, least > 0, doc}, value);
  }
  void source(Provenance& provenance) {
    text("source", 1, 2000, "where the numbers come from", provenance.source);
    flag("estimated", "true: nobody publishes these numbers", provenance.estimated);
  }
  // Walks a block of its own.
  template <class Part>
  void block(const Block& block, Part& part, void (*walk_part)(Fields&, Part&),
             bool present = true) {
    if (!visitor_.enter(block, present)) return;
    walk_part(*this, part);
    visitor_.leave();
  }
  [[nodiscard]] SchemaVisitor& visitor() { return visitor_; }

 private:
  void visit(const Field& field, double& value) { visitor_.number(field, value); }
  void visit(const Field& field, std::optional<double>& value) {
    visitor_.optional_number(field, value);
  }
  void visit(const Field& field, std::int64_t& value) { visitor_.integer(field, value); }
  void visit(const Field& field, int& value) {
    std::int64_t wide = value;
    visitor_.integer(field, wide);
    value = static_cast<int>(wide);
  }
  void visit(const Field& field, std::map<std::string, double>& values) {
    visitor_.numbers(field, values);
  }
  template <class Tag>
  void visit(const Field& field, Quantity<Tag>& value) {
    visitor_.number(field, value.value);
  }
  template <class Tag>
  void visit(const Field& field, std::optional<Quantity<Tag>>& value) {
    std::optional<double> plain;
    if (value) plain = value->value;
    visitor_.optional_number(field, plain);
    value.reset();
    if (plain) value = Quantity<Tag>{*plain};
  }
  template <class Tag>
  void visit(const Field& field, std::map<std::string, Quantity<Tag>>& values) {
    std::map<std::string, double> plain;
    for (const auto& [key, value] : values) plain[key] = value.value;
    visitor_.numbers(field, plain);
    values.clear();
    for (const auto& [key, value] : plain) values[key] = Quantity<Tag>{value};
  }

  SchemaVisitor& visitor_;
};

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kTiB = 1024 * kGiB;

using Word = std::string_view;
constexpr std::array<Word, 3> kExecutions = {"scratchpad", "simt", "cache"};
constexpr std::array<Word, 5> kFusions = {"by_execution", "xla_tpu", "xla_gpu", "xla_cpu", "none"};
constexpr std::array<Word, 3> kAttentions = {"alone", "library", "own"};
constexpr std::array<Word, 6> kTopologies = {"none",    "ring",   "torus2d",
                                             "torus3d", "switch", "mesh"};
constexpr std::array<Word, 7> kGroups = {"2", "4", "8", "16", "32", "64", "72"};
constexpr std::array<Word, 2> kPowerStates = {"burst", "sustained"};
constexpr std::array<Word, 7> kUnits = {"matrix", "vector", "transcendental", "cross_lane",
                                        "scalar", "load",   "store"};

void walk_level(Fields& f, MemoryLevel& level) {
  using enum UnitKind;
  f.required("capacity", kCapacity, 1, 1000 * kTiB, "of one instance", level.capacity);
  f.optional("results", kCapacity, 0, 1000 * kTiB,
             "at most of it for results between kernels; 0: none", level.results);
  f.optional("windows", kCapacity, 0, 1000 * kTiB,
             "at most of it for the tiles of a kernel that no compiler chose yet; 0: all",
             level.windows);
  f.required("bandwidth", kBandwidth, 1e3, 1e15, "peak read rate of all instances",
             level.bandwidth);
  f.optional("write_bandwidth", kBandwidth, 1e3, 1e15, "peak write rate; as read",
             level.write_bandwidth);
  f.optional("efficiency", kRatio, 1e-3, 1, "share of the peak large streams sustain",
             level.efficiency);
  f.optional("write_efficiency", kRatio, 1e-3, 1, "the same of writes", level.write_efficiency);
  f.required("latency", kTime, 0, 1, "first byte of a load", level.latency);
  f.flag("full_duplex", "reads and writes do not share the path", level.full_duplex);
  f.optional("granule", kCapacity, 1, 1 << 24, "smallest aligned unit that moves", level.granule);
  f.optional("reserved", kCapacity, 0, kTiB, "of it, kept by a runtime", level.reserved);
  f.optional("ways", kCount, 0, 1024, "of a cache: lines of one set; 0 any line", level.ways);
  f.optional("memory_space", kCount, -1, 1000, "HLO S(n) that stays here; -1 none",
             level.memory_space);
  f.source(level.provenance);
}

void walk_engine(Fields& f, TransferEngine& engine) {
  using enum UnitKind;
  f.required("setup", kTime, 0, 1, "per transfer: issue and descriptor", engine.setup);
  f.optional("iteration_overhead", kTime, 0, 1, "per pipeline iteration: sync, loop",
             engine.iteration_overhead);
  f.optional("stages", kCount, 1, 64, "buffers per stream", engine.stages);
  f.optional("in_flight", kCapacity, 0, kTiB, "bytes outstanding; 0 not limiting",
             engine.in_flight);
  f.optional("full_efficiency_run", kCapacity, 0, kTiB,
             "bytes by which each contiguous run is as if longer; 0: does not matter",
             engine.full_efficiency_run);
  f.optional("prefetch", kCapacity, 0, kTiB,
             "prefetchers run on to the end of such a page; 0: none", engine.prefetch);
  f.optional("descriptor_strides", kCount, 0, 8,
             "strides that one descriptor of a transfer holds; 0 any number",
             engine.descriptor_strides);
  f.optional("descriptor", kTime, 0, 1, "the engine takes up a descriptor that often",
             engine.descriptor);
  f.optional("full_efficiency_transfer", kCapacity, 0, kTiB,
             "bytes by which each transfer to or from a scratchpad is as if longer",
             engine.full_efficiency_transfer);
  f.source(engine.provenance);
}

void walk_matrix(Fields& f, MatrixUnit& matrix) {
  using enum UnitKind;
  f.required("count", kCount, 0, 1 << 16, "arrays per worker", matrix.count);
  f.required("rows", kCount, 1, 1 << 20, "contraction extent of one array", matrix.rows);
  f.required("columns", kCount, 1, 1 << 20, "output columns of one array", matrix.columns);
  f.optional("rows_per_cycle", kCount, 1e-3, 1e6, "operand rows pushed per cycle",
             matrix.rows_per_cycle);
  f.required("passes", kCount, 1e-3, 1e4, "per dtype: passes of the base rate", matrix.passes,
             kDtypes);
  f.optional("fill", kCycles, 0, 1e7, "latency through the array", matrix.fill);
  f.optional("weight_load", kCycles, 0, 1e7, "to load one rows x columns tile", matrix.weight_load);
  f.flag("weight_load_hidden", "double-buffered behind compute", matrix.weight_load_hidden);
  f.optional("efficiency", kRatio, 1e-3, 1, "sustained share of the peak", matrix.efficiency);
  f.optional("clock", kFrequency, 1e3, 1e12, "when not the core's", matrix.clock);
  f.optional("limited_clock", kFrequency, 1e3, 1e12, "of long work, by power",
             matrix.limited_clock);
  f.optional("full_clock_time", kTime, 0, 10, "of work before the limited clock",
             matrix.full_clock_time);
  f.source(matrix.provenance);
}

void walk_vector(Fields& f, VectorUnit& vector) {
  using enum UnitKind;
  f.required("lanes", kCount, 1, 1 << 20, "32-bit lanes", vector.lanes);
  f.optional("sublanes", kCount, 1, 1 << 20, "rows of lanes", vector.sublanes);
  f.optional("alus", kCount, 1e-3, 1e4, "operations per lane and cycle", vector.alus);
  f.optional("load_ports", kCount, 1e-3, 1e4, "registers loaded per cycle", vector.load_ports);
  f.optional("store_ports", kCount, 1e-3, 1e4, "registers stored per cycle", vector.store_ports);
  f.optional("packing", kCount, 1e-3, 64, "speed-up for 16-bit elements", vector.packing);
  f.optional("op_cycles", kCount, 1e-6, 1e6, "per opcode: ALU operations per element",
             vector.op_cycles);
  f.optional("latency", kCycles, 0, 1e7, "from an operation to its result", vector.latency);
  f.optional("efficiency", kRatio, 1e-3, 1, "sustained share of the peak", vector.efficiency);
  f.source(vector.provenance);
}

void walk_transcendental(Fields& f, TranscendentalUnit& unit) {
  using enum UnitKind;
  f.required("per_cycle", kCount, 1e-6, 1e9, "elements per cycle of a worker", unit.per_cycle);
  f.optional("op_cost", kCount, 1e-6, 1e6, "per opcode: elements one counts for", unit.op_cost);
  f.optional("latency", kCycles, 0, 1e7, "to the result of an op_cost of 1", unit.latency);
  f.source(unit.provenance);
}

void walk_cross_lane(Fields& f, CrossLaneUnit& unit) {
  using enum UnitKind;
  f.required("elements_per_cycle", kCount, 1e-6, 1e9, "transposes and permutations",
             unit.elements_per_cycle);
  f.required("reduce_elements_per_cycle", kCount, 1e-6, 1e9, "reductions across lanes",
             unit.reduce_elements_per_cycle);
  f.required("irregular_elements_per_cycle", kCount, 1e-6, 1e9,
             "element moves of gather, scatter and sort", unit.irregular_elements_per_cycle);
  f.optional("latency", kCycles, 0, 1e7, "of one register's move or reduction", unit.latency);
  f.source(unit.provenance);
}

void walk_multiplexing(Fields& f, Multiplexing& m) {
  using enum UnitKind;
  f.required("workers", kCount, 1, 1 << 20, "SMs or cores that run one kernel", m.workers);
  f.optional("max_resident", kCount, 1, 1 << 16, "blocks per worker", m.max_resident);
  f.optional("warps_per_block", kCount, 1, 1 << 10, "warps of a block", m.warps_per_block);
  f.optional("warp_lanes", kCount, 1, 1 << 10, "threads that issue as one", m.warp_lanes);
  f.flag("guards_branch", "conditions of lanes are branches", m.guards_branch);
  f.optional("cluster_blocks", kCount, 1, 1 << 6, "blocks whose shared loads are multicast",
             m.cluster_blocks);
  f.optional("registers_per_worker", kCapacity, 0, kTiB, "register file", m.registers_per_worker);
  f.optional("warp_start", kTime, 0, 1,
             "from the start of a warp to that of the next, all workers together", m.warp_start);
  f.source(m.provenance);
}

void walk_library(Fields& f, Library& library) {
  using enum UnitKind;
  f.optional("side_step", kCount, 0, 256, "sides of blocks are multiples of it; 0: powers of two",
             library.side_step);
  f.optional("splits", kCount, 1, 1024, "blocks that share a contraction, at most", library.splits);
  f.optional("accumulators", kRatio, 1e-3, 1, "share of the registers that holds results",
             library.accumulators);
  f.optional("operand_rows", kCount, 0, 1 << 10,
             "rows of an instruction that reads operands from a worker's memory; 0: none does",
             library.operand_rows);
  f.optional("efficiency", kRatio, 1e-3, 1, "per dtype: in place of the matrix unit's",
             library.efficiency, kDtypes);
  f.optional("setup", kTime, 0, 1, "per dtype: in place of the transfer's", library.setup, kDtypes);
  f.optional("lane_efficiency", kRatio, 1e-3, 1, "of products on vector lanes",
             library.lane_efficiency);
  f.optional("lane_setup", kTime, 0, 1, "of products on vector lanes", library.lane_setup);
  f.source(library.provenance);
}

void walk_native_tile(Fields& f, NativeTile& tile) {
  using enum UnitKind;
  f.flag("tiled", "arrays are stored in tiles", tile.tiled, true);
  f.optional("sublanes", kCount, 1, 1 << 16, "tile rows", tile.sublanes);
  f.optional("lanes", kCount, 1, 1 << 16, "tile columns", tile.lanes);
  f.optional("word_bits", kCount, 1, 1024, "narrower elements pack along sublanes", tile.word_bits);
  f.source(tile.provenance);
}

void walk_slice(Fields& f, std::optional<Slice>& described) {
  using enum UnitKind;
  Slice& slice = described ? *described : described.emplace();
  f.text("shape", 1, 100, "chips along each dimension, such as 4x4x8", slice.shape);
  f.text("wraps", 0, 100, "ring or line for each dimension; default: by wraps_from", slice.wraps);
  f.optional("count", kCount, 1, 1 << 16, "slices, joined by the network", slice.count);
  f.optional("network_bandwidth", kBandwidth, 1e3, 1e15,
             "of a host, one way, to other slices, sustained; required with count",
             slice.network_bandwidth);
  f.optional("network_latency", kTime, 0, 1, "of a message to another slice",
             slice.network_latency);
  f.text("source", 0, 2000, "where the network's numbers come from", slice.source);
}

void walk_collectives(Fields& f, std::optional<CollectiveLibrary>& described) {
  using enum UnitKind;
  CollectiveLibrary& library = described ? *described : described.emplace();
  f.required("start", kTime, 0, 1, "of a collective: launch, first flags", library.start);
  f.required("ll_step", kTime, 0, 1, "per hop, a flag beside every word: half the rate",
             library.ll_step);
  f.optional("ll128_step", kTime, 0, 1, "per hop, a flag for 128 bytes; 0: not used",
             library.ll128_step);
  f.optional("ll128_share", kRatio, 1e-3, 1, "of the links' sustained rate", library.ll128_share);
  f.required("simple_step", kTime, 0, 1, "per hop, a flag per chunk", library.simple_step);
  f.optional("buffer", kCapacity, 0, kTiB, "received before it is passed on, all channels",
             library.buffer);
  f.optional("multicast", kRatio, 0, 1, "share of the rate of sums inside the switch; 0: none",
             library.multicast);
  f.optional("multicast_start", kTime, 0, 1, "of one of them, beside start",
             library.multicast_start);
  f.optional("group_share", kRatio, 1e-6, 1,
             "share of the rate for groups of up to so many devices", library.group_share, kGroups);
  f.optional("direct_up_to", kCapacity, 0, kTiB,
             "all-reduces of so much are one kernel that reads its peers, as vLLM's; 0: none",
             library.direct_up_to);
  f.optional("direct_start", kTime, 0, 1, "of it: launch, barrier", library.direct_start);
  f.optional("direct_peer", kTime, 0, 1, "more for each other GPU", library.direct_peer);
  f.optional("direct_stage", kTime, 0, 1, "its second stage: sums first, then a gather",
             library.direct_stage);
  f.optional("direct_share", kRatio, 1e-3, 1, "of the links' sustained rate", library.direct_share);
  f.text("source", 1, 2000, "where the numbers come from", library.source);
}

void walk_interconnect(Fields& f, std::optional<Interconnect>& described) {
  using enum UnitKind;
  Interconnect& net = described ? *described : described.emplace();
  f.required("links", kCount, 0, 1 << 16, "per chip", net.links);
  f.required("link_bandwidth", kBandwidth, 1e3, 1e15, "one link, one way", net.link_bandwidth);
  f.optional("efficiency", kRatio, 1e-3, 1, "share of it that one link sustains", net.efficiency);
  f.optional("axes_efficiency", kRatio, 1e-3, 1,
             "share of the sum that several dimensions of a torus sustain at once",
             net.axes_efficiency);
  f.optional("start", kTime, 0, 1, "of each dimension that a collective uses: synchronising",
             net.start);
  f.required("latency", kTime, 0, 1, "per hop", net.latency);
  std::size_t topology = 0;
  for (std::size_t i = 0; i < kTopologies.size(); ++i) {
    if (kTopologies[i] == net.topology) topology = i;
  }
  f.visitor().choice({"topology", kCount, 0, 0, true, "how chips are joined", kTopologies},
                     topology);
  net.topology = kTopologies[topology];
  f.optional("wraps_from", kCount, 3, 1 << 16,
             "chips along a torus from which on it wraps around; fewer are a line", net.wraps_from);
  f.optional("devices_per_host", kCount, 1, 1 << 20, "cores of one host", net.devices_per_host);
  f.optional("named_per_chip", kCount, 1, 64,
             "what names of slices count: 2 where v5p-128 has 64 chips", net.named_per_chip);
  f.optional("network_bandwidth", kBandwidth, 1e3, 1e15,
             "of a host, one way, to other slices; unless the slice says its own",
             net.network_bandwidth);
  f.optional("network_latency", kTime, 0, 1, "of a message to another slice", net.network_latency);
  f.source(net.provenance);
  f.block({"slice", false, "the chips of a program; absent: as square as its groups allow"},
          net.slice, walk_slice, net.slice.has_value());
  f.block({"library", false, "how a GPU library moves data inside a node; absent: plain steps"},
          net.library, walk_collectives, net.library.has_value());
}

void walk_host_link(Fields& f, std::optional<HostLink>& described) {
  using enum UnitKind;
  HostLink& link = described ? *described : described.emplace();
  f.required("bandwidth", kBandwidth, 1e3, 1e15, "one way, of the chip", link.bandwidth);
  f.required("latency", kTime, 0, 1, "of one transfer", link.latency);
  f.optional("capacity", kCapacity, 1, 1000 * kTiB,
             "of the host's memory, for each chip; absent: not checked", link.capacity);
  f.source(link.provenance);
}

void walk_energy(Fields& f, std::optional<Energy>& described) {
  using enum UnitKind;
  Energy& energy = described ? *described : described.emplace();
  f.optional("matrix", kEnergy, 0, 1e-6,
             "per dtype of matrix.passes: one operation; a multiply-add is 2", energy.matrix,
             kDtypes);
  f.required("vector", kEnergy, 0, 1e-6, "one operation of a lane", energy.vector);
  f.required("transcendental", kEnergy, 0, 1e-6, "one element", energy.transcendental);
  f.required("memory", kEnergyPerByte, 0, 1e-6,
             "per level of memory: one byte read or written there", energy.memory);
  f.optional("network", kEnergyPerByte, 0, 1e-6,
             "one byte that leaves a chip; required with an interconnect", energy.network);
  f.required("idle_power", kPower, 0, 1e6, "of a chip while a program runs", energy.idle_power);
  f.optional("clock_power", kPower, 0, 1e6,
             "more while a kernel runs, whatever it does: falls with the clock as that of units",
             energy.clock_power);
  f.optional("power_limit", kPower, 1e-3, 1e6,
             "of a chip: where the average would pass it, the clock is lowered",
             energy.power_limit);
  f.optional("power_window", kTime, 0, 10,
             "the board averages over this: shorter launches run at the full clock; default 0",
             energy.power_window);
  auto state = static_cast<std::size_t>(energy.sustained);
  f.visitor().choice(
      {"power_state", kCount, 0, 0, false,
       "sustained: every launch repeats until the board has averaged; default burst", kPowerStates},
      state);
  energy.sustained = state != 0;
  f.optional("clock_exponent", kCount, 1, 3,
             "core power goes with the clock to this: 1 one voltage, 3 voltage follows",
             energy.clock_exponent);
  f.source(energy.provenance);
}

void walk_dispatch(Fields& f, Dispatch& dispatch) {
  using enum UnitKind;
  f.required("kernel_launch", kTime, 0, 1, "on-device time between kernels",
             dispatch.kernel_launch);
  f.optional("host", kTime, 0, 10, "per program, on the host; reported apart", dispatch.host);
  f.optional("host_argument", kTime, 0, 1, "the same for each argument of a program",
             dispatch.host_argument);
  f.optional("host_launch", kTime, 0, 1,
             "of the host for each launch of a kernel or graph of kernels", dispatch.host_launch);
  f.source(dispatch.provenance);
}

void walk_memory(Fields& f, Device& device) {
  std::vector<std::string> held;
  for (const MemoryLevel& level : device.memory) held.push_back(level.name);
  const std::vector<std::string> names = f.visitor().names(held);
  device.memory.resize(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    device.memory[i].name = names[i];
    f.block({names[i], true, "one memory level"}, device.memory[i], walk_level);
  }
}

void walk_transfer(Fields& f, Device& device) {
  device.engines.resize(device.memory.empty() ? 0 : device.memory.size() - 1);
  for (std::size_t i = 0; i < device.engines.size(); ++i) {
    const std::string key = device.memory[i].name + "_to_" + device.memory[i + 1].name;
    f.block({key, true, "one engine"}, device.engines[i], walk_engine);
  }
}

void walk_peak(Fields& f, PublishedPeak& peak) {
  f.required("value", published_kind(peak.quantity), 1, 1e24, "of one chip", peak.value_si);
  f.text("source", 1, 2000, "who publishes it", peak.source);
}

void walk_published(Fields& f, Device& device) {
  std::vector<std::string> held;
  for (const PublishedPeak& peak : device.published) held.push_back(peak.quantity);
  const std::vector<std::string> names = f.visitor().names(held);
  device.published.resize(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    device.published[i].quantity = names[i];
    f.block({names[i], true, "bf16, s8, vector_fma, hbm.bandwidth, hbm.capacity"},
            device.published[i], walk_peak);
  }
}

void walk_calibration(Fields& f, Calibration& c) {
  using enum UnitKind;
  const auto factor = [&f](std::string_view key, std::string_view doc, double& value) {
    f.optional(key, kCount, 1e-3, 1e3, doc, value);
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
  f.optional("kernel_overhead", kTime, 0, 1, "on the device, added to every kernel",
             c.kernel_overhead);
  f.optional("dispatch", kTime, 0, 10, "by op class: host time per launch", c.dispatch);
  f.text("source", 1, 2000, "what they were fitted on", c.source);
}

void walk_identity(Fields& f, Device& device) {
  using enum UnitKind;
  f.text("name", 0, 100, "default: the file's name", device.name);
  f.text("description", 0, 2000, "one line", device.description);
  f.text("generation", 0, 100, "family and step", device.generation);
  f.text("profile_names", 0, 1000, "its names in profiles, commas between", device.profile_names);
  f.text("xla_target", 0, 100, "what XLA compiles for: sm_90a, v5e", device.xla_target);
  auto execution = static_cast<std::size_t>(device.execution);
  f.visitor().choice({"execution", kCount, 0, 0, true, "how kernels run", kExecutions}, execution);
  device.execution = static_cast<Execution>(execution);
  auto fusion = static_cast<std::size_t>(device.fusion);
  f.visitor().choice({"fusion", kCount, 0, 0, false, "rules for programs not fused yet", kFusions},
                     fusion);
  device.fusion = static_cast<Fusion>(fusion);
  auto attention = static_cast<std::size_t>(device.attention);
  f.visitor().choice(
      {"attention", kCount, 0, 0, false,
       "fused by a library: where a program is nothing else, everywhere, nowhere", kAttentions},
      attention);
  device.attention = static_cast<AttentionBy>(attention);
  f.required("clock", kFrequency, 1e3, 1e12, "of the core", device.clock);
  f.optional("cores_per_chip", kCount, 1, 1 << 20, "cores of one chip", device.cores_per_chip);
  f.source(device.provenance);
}

}  // namespace

void walk(SchemaVisitor& visitor, Device& device) {
  Fields f(visitor);
  walk_identity(f, device);
  f.block({"memory", true, "levels by name, outermost first"}, device, walk_memory);
  f.block({"transfer", true, "engines between neighbouring levels"}, device, walk_transfer);
  f.block({"matrix", false, "matrix unit; absent: none"}, device.matrix, walk_matrix,
          device.matrix.rows > 0);
  f.block({"vector", true, "vector unit"}, device.vector, walk_vector);
  f.block({"transcendental", true, "exp, log, tanh ..."}, device.transcendental,
          walk_transcendental);
  f.block({"cross_lane", true, "moves between lanes"}, device.cross_lane, walk_cross_lane);
  visitor.word_groups({"co_issue", UnitKind::kCount, 0, 0, false,
                       "units that issue in the same cycle; groups do not overlap", kUnits},
                      device.co_issue);
  f.block({"multiplexing", false, "workers that share one kernel"}, device.multiplexing,
          walk_multiplexing, !device.multiplexing.provenance.source.empty());
  f.block({"library", false, "how a GPU's library multiplies matrices"}, device.library,
          walk_library, !device.library.provenance.source.empty());
  f.block({"native_tile", false, "layout of arrays; absent: plain row-major"}, device.native_tile,
          walk_native_tile, !device.native_tile.provenance.source.empty());
  f.block({"interconnect", false, "links between chips"}, device.interconnect, walk_interconnect,
          device.interconnect.has_value());
  f.block({"host_link", false, "to the memory of the host (PCIe, NVLink-C2C)"}, device.host_link,
          walk_host_link, device.host_link.has_value());
  f.block({"dispatch", true, "cost of starting work"}, device.dispatch, walk_dispatch);
  f.block({"energy", false, "energy of work, power; absent: not described"}, device.energy,
          walk_energy, device.energy.has_value());
  f.block({"published", false, "data-sheet peaks of a chip, by quantity"}, device, walk_published,
          !device.published.empty());
  f.block({"calibration", false, "fitted to measurements"}, device.calibration, walk_calibration,
          !device.calibration.source.empty());
}

std::string_view name(Execution execution) {
  return kExecutions.at(static_cast<std::size_t>(execution));
}

UnitKind published_kind(std::string_view quantity) {
  if (quantity.ends_with(".bandwidth")) return UnitKind::kBandwidth;
  if (quantity.ends_with(".capacity")) return UnitKind::kCapacity;
  return UnitKind::kFlopRate;
}

}  // namespace tilecast::hwdesc
