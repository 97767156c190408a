#include "ir/fusion/fusion_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "ir/fusion/fusion_planner.h"
#include "ir/fusion/fusion_rewriter.h"
#include "ir/fusion/fusion_rules.h"
#include "ir/op_hash.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

constexpr std::size_t kSteps = std::size(kFusionSteps);

// Whether the reader's kernel may ever compute the array.
bool may_join(const Computation& computation, const Instruction& array, const Instruction& reader) {
  for (std::size_t i = 0; i < reader.operands.size(); ++i) {
    if (&computation.at(reader.operands[i]) == &array &&
        !accepts_producer(computation, reader, i, array)) {
      return false;
    }
  }
  return true;
}

// By instruction: whether it may be computed in several kernels, because it has several readers or
// its only reader may be computed in several.
std::vector<bool> copied(const Computation& computation, const FusionGraph& graph) {
  std::vector<bool> result(computation.instructions.size(), false);
  for (auto id = static_cast<std::uint32_t>(result.size()); id-- > 0;) {
    const Instruction& op = computation.instructions[id];
    const auto users = graph.users(id);
    if (users.empty() || !fuses_into_users(op)) continue;
    if (!may_be_duplicated(computation, op) && (!streams(op) || is_costly(op))) continue;
    result[id] = users.front() != users.back() || result[users.front()];
  }
  return result;
}

// Sizes and types only; layouts depend on the device.
void add_plain_shape(Hash128& hash, const Shape& shape) {
  hash.add(name(shape.dtype));
  hash.add(shape.dims);
  hash.add(std::uint64_t{shape.elements.size()});
  for (const Shape& element : shape.elements) add_plain_shape(hash, element);
}

void add_computation(Hash128& hash, const Computation& computation) {
  hash.add(std::uint64_t{computation.instructions.size()});
  hash.add(std::uint64_t{computation.root.index()});
  for (const Instruction& op : computation.instructions) {
    hash.add(name(op.opcode));
    add_plain_shape(hash, op.shape);
    hash.add(op.dimensions);
    add_cost_attributes(hash, op.attrs);
    add_value_attributes(hash, op.attrs);
    for (const InstrId operand : op.operands) hash.add(std::uint64_t{operand.index()});
    for (const ComputationId called : op.called) hash.add(std::uint64_t{called.index()});
  }
}

}  // namespace

FusionGraph::FusionGraph(const Computation& computation)
    : pinned_(computation.instructions.size(), false) {
  const std::size_t count = computation.instructions.size();
  first_user_.assign(count + 1, 0);
  for (const Instruction& op : computation.instructions) {
    for (const InstrId operand : op.operands) ++first_user_[operand.index() + 1];
    for (const InstrId before : *op.control_predecessors) pinned_[before.index()] = true;
  }
  for (std::size_t i = 0; i < count; ++i) first_user_[i + 1] += first_user_[i];
  users_.resize(first_user_[count]);
  std::vector<std::uint32_t> next(first_user_.begin(), first_user_.end() - 1);
  for (std::uint32_t user = 0; user < count; ++user) {
    for (const InstrId operand : computation.instructions[user].operands) {
      users_[next[operand.index()]++] = user;
    }
  }
}

FusionSpace::FusionSpace(Module module, const FusionOptions& options)
    : module_(prepared_for_fusion(std::move(module), options)), options_(options) {
  highest_number_ = FreshNames(module_).highest();
  sequential_ = sequential_computations(module_);
  module_ = tidied(std::move(module_));
  for (std::size_t i = 0; i < module_.computations.size(); ++i) {
    graphs_.emplace_back(module_.computations[i]);
    slots_.emplace_back(kSteps * graphs_[i].edges(), FusionChoices::kNone);
    if (sequential_[i]) list_decisions(ComputationId(i));
  }
}

void FusionSpace::list_decisions(ComputationId id) {
  const Computation& computation = module_.at(id);
  const FusionGraph& graph = graphs_[id.index()];
  std::vector<std::uint32_t>& slots = slots_[id.index()];
  const auto fits = [&](std::uint32_t op) {
    return !graph.is_pinned(op) && is_fusible(computation.instructions[op]);
  };
  const std::vector<bool> in_several = copied(computation, graph);
  for (std::uint32_t array = 0; array < computation.instructions.size(); ++array) {
    const Instruction& made = computation.instructions[array];
    const auto users = graph.users(array);
    const bool is_root = computation.root.index() == array;
    for (std::size_t i = 0; i < users.size(); ++i) {
      const std::uint32_t user = users[i];
      if ((i > 0 && user == users[i - 1]) || !fits(user)) continue;
      const auto slot = [&](FusionStep step) -> std::uint32_t& {
        return slots[static_cast<std::size_t>(step) * graph.edges() + graph.first_edge(array) + i];
      };
      const auto decide = [&](FusionStep step, bool may_recompute) {
        slot(step) = static_cast<std::uint32_t>(decisions_.size());
        decisions_.push_back({step, id, InstrId(array), InstrId(user), may_recompute});
      };
      const bool several = users.front() != users.back() || in_several[user];
      const bool fusible = fits(array) && fuses_into_users(made);
      const bool joins = fusible && may_join(computation, made, computation.instructions[user]);
      if (joins) decide(FusionStep::kInto, several && streams(made) && !is_costly(made));
      if (joins && !several && !is_root) {
        // Nothing else reads the array, so it is not a result of the merged kernel.
        slot(FusionStep::kOutput) = slot(FusionStep::kInto);
      } else if (fusible) {
        decide(FusionStep::kOutput, false);
      }
      if (several && made.shape.is_array() && !made.shape.is_scalar()) {
        decide(FusionStep::kBeside, false);
      }
    }
  }
}

FusionConfiguration FusionSpace::random(double share, std::uint64_t seed) const {
  std::mt19937_64 engine(seed);
  FusionConfiguration chosen = by_rules();
  for (FusionChoice& choice : chosen) {
    const double drawn = std::ldexp(static_cast<double>(engine() >> 11), -53);
    if (drawn >= share) choice = FusionChoice::kKeep;
  }
  return chosen;
}

std::vector<FusedKernel> FusionSpace::plan(ComputationId computation,
                                           const FusionConfiguration& chosen) const {
  const std::size_t i = computation.index();
  return FusionPlanner(module_.computations[i], graphs_[i], options_, choices(i, chosen)).plan();
}

Module FusionSpace::fused(const FusionConfiguration& chosen) const {
  TC_CHECK(chosen.size() == decisions_.size(), "a choice for every decision");
  return with_plans(module_, FreshNames(highest_number_),
                    [&](const Computation&, std::size_t computation) {
                      return plan(ComputationId(computation), chosen);
                    });
}

Module fuse_at_random(Module module, double share, std::uint64_t seed,
                      const FusionOptions& options) {
  const FusionSpace space(std::move(module), options);
  return space.fused(space.random(share, seed));
}

std::string FusionSpace::program_hash() const {
  Hash128 hash;
  hash.add(std::uint64_t{module_.entry.index()});
  for (const Computation& computation : module_.computations) add_computation(hash, computation);
  return fmt::format("{:016x}{:016x}", hash.result()[0], hash.result()[1]);
}

// The file format of fusion configurations: FusionSpace::text_of() and read().

namespace {

constexpr std::string_view kFormat = "tilecast.fusion/1";

std::string place(const FusionDecision& decision) {
  return fmt::format("{}:{}>{}", decision.computation.index(), decision.array.index(),
                     decision.reader.index());
}

template <class Names>
std::size_t index_of(const Names& names, std::string_view word) {
  return static_cast<std::size_t>(std::ranges::find(names, word) - std::begin(names));
}

// The words of a line up to `#`, with their offsets in the text.
struct Line {
  std::vector<std::string_view> words;
  std::size_t offset = 0;
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string_view rest = text.substr(start, end - start);
    rest = rest.substr(0, rest.find('#'));
    Line line{{}, start};
    while (true) {
      const std::size_t from = rest.find_first_not_of(" \t\r");
      if (from == std::string_view::npos) break;
      rest.remove_prefix(from);
      const std::size_t length = std::min(rest.find_first_of(" \t\r"), rest.size());
      line.words.push_back(rest.substr(0, length));
      rest.remove_prefix(length);
    }
    if (!line.words.empty()) lines.push_back(std::move(line));
    start = end + 1;
  }
  return lines;
}

}  // namespace

std::string FusionSpace::name_of(const FusionDecision& decision) const {
  const Computation& computation = module_.at(decision.computation);
  return fmt::format("{} > {}", computation.at(decision.array).name,
                     computation.at(decision.reader).name);
}

std::string FusionSpace::text_of(const FusionConfiguration& chosen) const {
  std::string text =
      fmt::format("{} {} {} decisions\n", kFormat, program_hash(), decisions_.size());
  for (std::size_t i = 0; i < decisions_.size(); ++i) {
    if (chosen[i] == FusionChoice::kRule) continue;
    const FusionDecision& decision = decisions_[i];
    text += fmt::format("{} {} {}  # {}\n", kFusionChoices[static_cast<std::size_t>(chosen[i])],
                        kFusionSteps[static_cast<std::size_t>(decision.step)], place(decision),
                        name_of(decision));
  }
  return text;
}

FusionConfiguration FusionSpace::read(const base::SourceText& text) const {
  const std::vector<Line> lines = lines_of(text.text());
  const auto fail = [&](const Line& line, const std::string& what) -> Error {
    return Error(text.describe(line.offset, what));
  };
  if (lines.empty() || lines.front().words.front() != kFormat) {
    throw Error(
        fmt::format("{}: no fusion configuration; expected a first line that begins with "
                    "'{}'",
                    text.file(), kFormat));
  }
  const auto& head = lines.front().words;
  if (head.size() < 2 || head[1] != program_hash()) {
    throw fail(lines.front(),
               fmt::format("made for another program; got {}, expected {} ({}); names may change, "
                           "what is computed may not",
                           head.size() < 2 ? "nothing" : head[1], program_hash(), module_.name));
  }
  std::map<std::pair<std::string, std::string_view>, std::size_t> known;
  for (std::size_t i = 0; i < decisions_.size(); ++i) {
    const auto step = kFusionSteps[static_cast<std::size_t>(decisions_[i].step)];
    known.emplace(std::pair(place(decisions_[i]), step), i);
  }
  FusionConfiguration chosen = by_rules();
  std::vector<bool> seen(decisions_.size(), false);
  for (const Line& line : std::span(lines).subspan(1)) {
    if (line.words.size() != 3) {
      throw fail(line, "expected CHOICE STEP COMPUTATION:ARRAY>READER, as in keep into 0:17>23");
    }
    const std::size_t choice = index_of(kFusionChoices, line.words[0]);
    if (choice == std::size(kFusionChoices)) {
      throw fail(line, fmt::format("no choice is called '{}'; expected rule, keep or fuse",
                                   line.words[0]));
    }
    const auto found = known.find(std::pair(std::string(line.words[2]), line.words[1]));
    if (found == known.end()) {
      throw fail(line,
                 fmt::format("the program has no decision '{} {}'", line.words[1], line.words[2]));
    }
    if (seen[found->second]) throw fail(line, "this decision stands in the file twice");
    seen[found->second] = true;
    chosen[found->second] = static_cast<FusionChoice>(choice);
  }
  return chosen;
}

}  // namespace tilecast::ir
