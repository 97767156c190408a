// Converts the events of one line of a device plane, in file order, to times per instruction.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "measured/importers/xplane.h"
#include "measured/importers/xplane_names.h"

namespace tilecast::measured {

// Accumulates times of one instruction or module: total, minimum, spread and median, in bounded
// memory. The median is exact for up to kExact times, then within 0.1 %.

class TimeSamples {
 public:
  static constexpr std::size_t kExact = 512;

  // Adds `count` (at least 1) occurrences that took `picoseconds` (>= 0) in total.
  void add(double picoseconds, std::int64_t count = 1);
  // Sets occurrences, total, median, min and spread of `times`.
  void write_to(XplaneTimes& times) const;
  [[nodiscard]] Seconds total() const;
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  [[nodiscard]] double median() const;
  void put_in_bucket(double picoseconds, std::int64_t count);

  std::int64_t count_ = 0;
  double total_ = 0, min_ = 0, max_ = 0;
  double mean_ = 0, squares_ = 0;        // Welford: running mean, sum of squares around it
  std::vector<double> exact_;            // up to kExact times
  std::map<int, std::int64_t> buckets_;  // after that, by logarithm of the time
};

struct XplaneEvent {
  std::int64_t start_ps = 0, duration_ps = 0;  // >= 0; their sum does not overflow
  std::int64_t count = 1;                      // occurrences that it stands for
  std::uint32_t kind = 0;
  std::uint32_t instruction = 0, module = 0;  // named by the event itself; 0: none
  std::optional<std::uint64_t> program;
  std::uint32_t details = 0;  // text of its launch's details
  std::uint64_t scope = 0;    // of one execution of `instruction`; 0: unknown
  bool in_graph = false;      // `instruction` launches a graph
  std::uint64_t graph = 0, node = 0;

  [[nodiscard]] std::int64_t end_ps() const { return start_ps + duration_ps; }
};

// Computes the self times of nested ops: the time of an op less that of the ops inside it. Events
// may be out of order by up to kWindow positions; an event further back starts a new sequence.
class SelfTimes {
 public:
  static constexpr std::size_t kWindow = std::size_t{1} << 17;
  using Emit = std::function<void(const XplaneEvent&, std::int64_t self_ps)>;

  explicit SelfTimes(Emit emit) : emit_(std::move(emit)) {}
  void add(const XplaneEvent& event);
  void finish();

 private:
  struct Open {
    XplaneEvent event;
    std::int64_t inside_ps = 0;
  };
  void drain(std::size_t count);
  void nest(const XplaneEvent& event);
  void close();

  Emit emit_;
  std::vector<XplaneEvent> window_;
  std::vector<Open> open_;
  std::int64_t last_start_ = 0;
};

// Identifies a program as events do; `module` is 0 if they give only a program id.
struct XplaneRunKey {
  std::uint64_t program = 0;
  std::uint32_t module = 0;
  auto operator<=>(const XplaneRunKey&) const = default;
};

struct XplaneTally {
  struct Instruction {
    TimeSamples times;
    std::uint32_t kind = 0, details = 0;
  };
  struct GraphKey {
    std::uint32_t instruction = 0;
    int device = 0;
    std::uint64_t graph = 0;
    auto operator<=>(const GraphKey&) const = default;
  };
  struct GraphNode : Instruction {
    std::int64_t start_ps = 0;  // of the first occurrence
  };
  using NodeKey = std::pair<std::uint64_t, std::uint32_t>;  // node id, kind
  struct Program {
    TimeSamples runs;
    std::unordered_map<std::uint32_t, Instruction> instructions, transfers;
    std::map<GraphKey, std::map<NodeKey, GraphNode>> graphs;
  };
  std::map<XplaneRunKey, Program> programs;
  std::map<std::uint32_t, TimeSamples> nameless;  // by name: kernels without an instruction
  TimeSamples steps;
  double device_ps = 0, host_transfers_ps = 0;

  void add(const XplaneRunKey& program, std::uint32_t instruction, const XplaneEvent& event,
           double picoseconds);
  void add_node(const XplaneRunKey& program, int device, const XplaneEvent& event);
};

// Groups the kernels of a GPU stream. Consecutive kernels of an instruction are one occurrence of
// it (of one scope, or until its first kernel is launched again). Consecutive kernels of a program
// are one run (until its first instruction occurs again). Kernels of graphs are counted node by
// node.
class StreamKernels {
 public:
  StreamKernels(XplaneTally& tally, int device) : tally_(tally), device_(device) {}
  void add(const XplaneEvent& event);
  void finish();

 private:
  void end_occurrence();
  void end_run();

  [[nodiscard]] bool starts_occurrence(const XplaneEvent& event) const;

  XplaneTally& tally_;
  int device_;
  XplaneRunKey program_;
  bool running_ = false, occurring_ = false;
  std::uint32_t first_instruction_ = 0;
  XplaneEvent first_kernel_;        // of the current occurrence
  std::int64_t longest_ps_ = 0;     // of its kernels
  std::int64_t occurrence_ps_ = 0;  // time of its kernels so far
  std::int64_t run_start_ = 0, run_end_ = 0;
};

}  // namespace tilecast::measured
