#include "measured/importers/xplane_graphs.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/kernels/kernel_fingerprint.h"

namespace tilecast::measured {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
// A larger table of an alignment (kernels of the graph x of the computation) is not made; library
// kernels are then unknown.
constexpr std::size_t kMaxCells = 100'000'000;

// Of an alignment: what corresponds gains, what stands alone costs.
constexpr int kSameName = 5, kSameKernel = 4, kSameSort = 3, kLostKernel = -1, kLostCall = -3,
              kSkipped = -1, kSecondKernel = -1;
constexpr int kImpossible = std::numeric_limits<int>::min() / 2;

// How a kernel is called in code: "loop_add_fusion.2" is loop_add_fusion_2 there.
std::string code_name(std::string_view instruction) {
  std::string name(instruction);
  std::ranges::replace_if(
      name, [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
}

// Without what backends append: ".kd" of ROCm, "__1" of the further kernels of an instruction.
std::string_view plain_name(std::string_view kernel) {
  if (kernel.ends_with(".kd")) kernel.remove_suffix(3);
  const std::size_t digits = kernel.find_last_not_of("0123456789");
  const bool is_further = digits != std::string_view::npos && digits > 0 &&
                          digits + 1 < kernel.size() && kernel.substr(digits - 1, 2) == "__";
  return is_further ? kernel.substr(0, digits - 1) : kernel;
}

// Whether a second kernel of this name is likelier to be part of a call than a call of its own.
bool ends_a_call(std::string_view kernel) {
  return kernel.find("reduce") != std::string_view::npos ||
         kernel.find("splitK") != std::string_view::npos;
}

enum class Sort { kNamed, kLibrary, kCopy, kOther };

// A kernel of the program.
struct Item {
  Sort sort = Sort::kOther;
  std::size_t group = 0;  // the first kernel that computes the same
  std::size_t computation = 0;
};

// A kernel of a graph.
struct Event {
  Sort sort = Sort::kOther;
  std::size_t group = kNone, named = kNone;  // of the kernel that it is named after
  std::size_t item = kNone;                  // that it was aligned with
  const XplaneGraph::Node* node = nullptr;
};

// Whether a kernel moves arrays and computes at most scalars, such as an index.
bool only_moves(const ir::Kernel& kernel) {
  return std::ranges::all_of(kernel.ops(), [](const ir::Op& op) {
    const ir::OpClass work = ir::op_class(op.opcode);
    return work == ir::OpClass::kFree || work == ir::OpClass::kDataMovement ||
           (op.shape.is_array() &&
            std::ranges::all_of(op.shape.dims, [](std::int64_t size) { return size == 1; }));
  });
}

// Fusions have code of their own, under their own name; calls of libraries have not.
bool may_call_library(const ir::Kernel& kernel) {
  return kernel.opcode() != ir::Opcode::kFusion ||
         std::ranges::any_of(kernel.ops(), [](const ir::Op& op) {
           const ir::OpClass work = ir::op_class(op.opcode);
           return work == ir::OpClass::kCustomCall || work == ir::OpClass::kMatrix;
         });
}

// Aligns `events` with `items`, both in order; sets Event::item.
class Alignment {
 public:
  Alignment(const std::vector<Item>& all, std::vector<std::size_t> items,
            std::vector<Event*> events)
      : all_(all), items_(std::move(items)), events_(std::move(events)) {}

  void run() {
    const std::size_t columns = items_.size() + 1;
    if (events_.empty() || items_.empty() || events_.size() >= kMaxCells / columns) return;
    best_.assign(columns, 0);
    joined_.assign(columns, kImpossible);
    steps_.assign((events_.size() + 1) * columns, {});
    for (std::size_t j = 1; j < columns; ++j) steps_[j].skips_item = true;
    for (std::size_t i = 1; i <= events_.size(); ++i) add_event(i);
    trace_back();
  }

 private:
  struct Step {
    bool joins : 1 = false;       // the best so far ends with event i at item j
    bool skips_item : 1 = false;  // else: with item j skipped, or event i
    bool continues : 1 = false;   // if event i is at item j: event i - 1 is, too
  };

  [[nodiscard]] int gain(const Event& event, const Item& item) const {
    if (event.sort != item.sort) return kImpossible;
    if (event.sort == Sort::kNamed) {
      if (event.group != item.group) return kImpossible;
      return &item == &all_[event.named] ? kSameName : kSameKernel;
    }
    return kSameSort;
  }
  [[nodiscard]] static int alone(const Event& event) {
    return event.sort == Sort::kLibrary ? kLostCall : event.sort == Sort::kNamed ? kLostKernel : 0;
  }
  [[nodiscard]] static int further(const Event& event) {
    if (event.sort == Sort::kCopy) return kImpossible;
    return ends_a_call(event.node->name) ? 1 : kSecondKernel;
  }

  // Row i of the tables of best sums.
  void add_event(std::size_t i) {
    const std::size_t columns = items_.size() + 1;
    const Event& event = *events_[i - 1];
    std::vector<int> best(columns), joined(columns, kImpossible);
    best[0] = best_[0] + alone(event);
    for (std::size_t j = 1; j < columns; ++j) {
      const Item& item = all_[items_[j - 1]];
      Step& step = steps_[i * columns + j];
      const int fits = gain(event, item);
      if (fits != kImpossible) {
        const int starts = best_[j - 1] + fits, goes_on = joined_[j] + further(event);
        step.continues = goes_on > starts;
        joined[j] = std::max(starts, goes_on);
      }
      // What lies before and after the graph in the schedule costs nothing.
      const bool at_end = i == events_.size() || item.sort == Sort::kCopy;
      const int skips_item = best[j - 1] + (at_end ? 0 : kSkipped),
                skips_event = best_[j] + alone(event);
      best[j] = std::max({joined[j], skips_item, skips_event});
      step.joins = best[j] == joined[j];
      step.skips_item = best[j] == skips_item;
    }
    best_ = std::move(best);
    joined_ = std::move(joined);
  }

  void trace_back() {
    const std::size_t columns = items_.size() + 1;
    std::size_t i = events_.size(), j = items_.size();
    while (i > 0 && j > 0) {
      const Step step = steps_[i * columns + j];
      // Of equally good places, the earliest.
      if (step.skips_item || !step.joins) {
        step.skips_item ? --j : --i;
        continue;
      }
      for (;;) {
        events_[i - 1]->item = items_[j - 1];
        const bool continues = steps_[i * columns + j].continues;
        --i;
        if (!continues) break;
      }
      --j;
    }
  }

  const std::vector<Item>& all_;
  std::vector<std::size_t> items_;
  std::vector<Event*> events_;
  std::vector<int> best_, joined_;
  std::vector<Step> steps_;
};

// Kernels of one graph that are `calls` calls: of several kernels each if there are more of them.
XplaneTimes times_of_calls(const std::vector<const XplaneTimes*>& kernels, std::size_t calls) {
  XplaneTimes all;
  double squares = 0;
  for (const XplaneTimes* times : kernels) {
    if (!all.launch || times->median > all.median) all.launch = times->launch;
    all.median = std::max(all.median, times->median);  // of the longest, so far
    all.occurrences = std::max(all.occurrences, times->occurrences);
    all.total += times->total;
    squares += times->spread.value * times->spread.value;
  }
  const auto each = static_cast<double>(calls);
  Seconds medians, minima = kernels.front()->min;
  for (const XplaneTimes* times : kernels) {
    medians += times->median;
    minima = std::min(minima, times->min);
  }
  const bool one_each = calls == kernels.size();
  all.occurrences *= static_cast<std::int64_t>(calls);
  all.median = medians / each;
  all.min = one_each ? minima : all.median;
  all.spread = Seconds{std::sqrt(squares / each)};
  return all;
}

class GraphJoin {
 public:
  GraphJoin(const XplaneModule& profiled, const ir::Program& program,
            const std::map<std::string, std::string, std::less<>>& kernel_of)
      : profiled_(profiled), program_(program) {
    std::unordered_map<std::string, std::size_t> by_name, computations;
    std::map<ir::Fingerprint, std::size_t> same;
    for (const ir::ScheduledKernel& each : program.kernels()) {
      const std::size_t i = items_.size();
      by_name.emplace(each.kernel.name(), i);
      items_.push_back(
          {.group = same.emplace(ir::fingerprint(each.kernel), i).first->second,
           .computation =
               computations.emplace(each.computation, computations.size()).first->second});
    }
    for (const auto& [instruction, kernel] : kernel_of) {
      const auto found = by_name.find(kernel);
      if (found == by_name.end()) continue;
      const auto [known, is_new] = by_code_name_.emplace(code_name(instruction), found->second);
      if (!is_new && instruction == kernel) known->second = found->second;
    }
    sort_items();
  }

  GraphTimes times() {
    GraphTimes result;
    for (const XplaneGraph& graph : distinct_graphs()) add(graph, result);
    return result;
  }

 private:
  // A graph that was built again, or on another device, has the same kernels in the same order.
  [[nodiscard]] std::vector<XplaneGraph> distinct_graphs() const {
    std::vector<XplaneGraph> graphs;
    std::map<std::string, std::size_t> known;
    for (const XplaneGraph& graph : profiled_.graphs) {
      std::string key = graph.instruction;
      for (const XplaneGraph::Node& node : graph.nodes) key += '\n' + node.name;
      const auto [found, is_new] = known.emplace(std::move(key), graphs.size());
      if (is_new) {
        graphs.push_back(graph);
        continue;
      }
      XplaneGraph& same = graphs[found->second];
      for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        add_times(graph.nodes[i].times, same.nodes[i].times);
      }
    }
    return graphs;
  }

  [[nodiscard]] std::size_t named(std::string_view kernel) const {
    for (const std::string_view name : {kernel, plain_name(kernel)}) {
      const auto found = by_code_name_.find(std::string(name));
      if (found != by_code_name_.end()) return found->second;
    }
    return kNone;
  }

  void sort_items() {
    std::set<std::size_t> groups;
    for (const XplaneGraph& graph : profiled_.graphs) {
      for (const auto& [name, times] : graph.nodes) {
        if (const std::size_t item = named(name); item != kNone) groups.insert(items_[item].group);
      }
    }
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const ir::Kernel& kernel = program_.kernels()[i].kernel;
      Item& item = items_[i];
      if (groups.contains(item.group)) {
        item.sort = Sort::kNamed;
      } else if (profiled_.instructions.contains(kernel.name())) {
        item.sort = Sort::kOther;  // runs outside of graphs
      } else if (only_moves(kernel)) {
        item.sort = Sort::kCopy;
      } else if (may_call_library(kernel)) {
        item.sort = Sort::kLibrary;
      }
    }
  }

  // The kernels of the computation that most of the graph's named kernels are in, without those
  // that another graph launches.
  [[nodiscard]] std::vector<std::size_t> candidates(const std::vector<Event>& events,
                                                    const std::string& graph) const {
    std::set<std::size_t> groups;
    for (const Event& event : events) {
      if (event.group != kNone) groups.insert(event.group);
    }
    std::map<std::size_t, std::set<std::size_t>> found;  // by computation
    for (const Item& item : items_) {
      if (groups.contains(item.group)) found[item.computation].insert(item.group);
    }
    const auto most =
        std::ranges::max_element(found, {}, [](const auto& entry) { return entry.second.size(); });
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const auto taken = taken_by_.find(i);
      if (items_[i].sort == Sort::kOther || (taken != taken_by_.end() && taken->second != graph))
        continue;
      if (most == found.end() || items_[i].computation == most->first) result.push_back(i);
    }
    return result;
  }

  [[nodiscard]] std::vector<Event> events_of(const XplaneGraph& graph) const {
    std::vector<Event> events;
    for (const XplaneGraph::Node& node : graph.nodes) {
      Event event{.sort = Sort::kLibrary, .node = &node};
      const std::string_view transfer = transfer_category(node.name);
      if (const std::size_t item = named(node.name); item != kNone) {
        event.sort = Sort::kNamed;
        event.group = items_[item].group;
        event.named = item;
      } else if (!transfer.empty()) {
        event.sort = transfer == "memcpy" ? Sort::kCopy : Sort::kOther;
      }
      events.push_back(event);
    }
    return events;
  }

  void add(const XplaneGraph& graph, GraphTimes& result) {
    std::vector<Event> events = events_of(graph);
    const std::vector<std::size_t> items = candidates(events, graph.instruction);
    std::vector<Event*> ordered;
    for (Event& event : events) {
      if (event.sort != Sort::kOther) ordered.push_back(&event);
    }
    Alignment(items_, items, std::move(ordered)).run();
    struct Row {
      std::vector<const XplaneTimes*> kernels;
      std::set<std::size_t> items;
    };
    std::map<std::size_t, Row> rows;  // by the kernel that they are called by
    for (const Event& event : events) {
      if (event.item != kNone) taken_by_.emplace(event.item, graph.instruction);
      const bool aligned = event.item != kNone;
      const std::size_t kernel = event.sort == Sort::kNamed ? event.named
                                 : aligned                  ? items_[event.item].group
                                                            : kNone;
      if (kernel == kNone) {
        add_other(event, result);
        continue;
      }
      Row& row = rows[kernel];
      row.kernels.push_back(&event.node->times);
      if (event.item != kNone) row.items.insert(event.item);
    }
    for (const auto& [kernel, row] : rows) {
      std::size_t calls = row.items.size();
      if (items_[kernel].sort == Sort::kNamed) {
        calls = std::max<std::size_t>(
            calls, static_cast<std::size_t>(std::ranges::count_if(items, [&](std::size_t i) {
              return items_[i].group == items_[kernel].group;
            })));
      }
      if (calls == 0) calls = row.kernels.size();
      calls = std::min(calls, row.kernels.size());
      add_times(times_of_calls(row.kernels, calls),
                result.kernels[program_.kernels()[kernel].kernel.name()]);
    }
  }

  static void add_other(const Event& event, GraphTimes& result) {
    const std::string& name = event.node->name;
    const std::string_view transfer = transfer_category(name);
    auto& rows = transfer.empty() ? result.unknown : result.transfers;
    add_times(event.node->times, rows[transfer.empty() ? name : std::string(transfer)]);
  }

  const XplaneModule& profiled_;
  const ir::Program& program_;
  std::vector<Item> items_;  // by kernel of the program
  std::unordered_map<std::string, std::size_t> by_code_name_;
  std::unordered_map<std::size_t, std::string> taken_by_;  // library calls and copies, by graph
};

}  // namespace

void add_times(const XplaneTimes& more, XplaneTimes& all) {
  if (all.occurrences == 0) {
    all = more;
    return;
  }
  const auto before = static_cast<double>(all.occurrences),
             n = static_cast<double>(more.occurrences);
  const auto mean = [&](Seconds a, Seconds b) { return (a * before + b * n) / (before + n); };
  const auto square = [](Seconds s) { return s.value * s.value; };
  all.spread =
      Seconds{std::sqrt((square(all.spread) * before + square(more.spread) * n) / (before + n))};
  all.median = mean(all.median, more.median);
  all.min = std::min(all.min, more.min);
  all.total += more.total;
  all.occurrences += more.occurrences;
}

GraphTimes times_of_graphs(const XplaneModule& profiled, const ir::Program& program,
                           const std::map<std::string, std::string, std::less<>>& kernel_of) {
  if (profiled.graphs.empty()) return {};
  return GraphJoin(profiled, program, kernel_of).times();
}

}  // namespace tilecast::measured
