#include "ir/fusion/fusion_planner.h"

#include <algorithm>
#include <functional>

#include "ir/fusion/fusion_rules.h"

namespace tilecast::ir {
namespace {

constexpr std::size_t kMaxCopies = 4;
// Most evaluations of an expression in one kernel. Nested slices and pads (a scan, a stencil of
// many steps) would double the code with every level (same limit as XLA's
// FusionNodeIndexingEvaluation).
constexpr std::uint32_t kMaxEvaluations = 15;
constexpr std::size_t kMaxSources = 16;  // inputs of the expression that a convert narrows

// The position of the operand of an op at `position`: one-to-one ops keep it, reductions start a
// new loop.
template <class Position>
Position operand_position(const Instruction& user, Position position) {
  if (streams(user)) return position;
  if (user.opcode == Opcode::kReduce)
    return position == Position::kAfter ? Position::kBefore : Position::kOther;
  const bool rearranges = user.opcode == Opcode::kTranspose || user.opcode == Opcode::kReshape;
  return rearranges && position == Position::kAfter ? Position::kAfter : Position::kOther;
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

FusionPlanner::FusionPlanner(const Computation& computation, const FusionGraph& graph,
                             const FusionOptions& options, FusionChoices choices)
    : computation_(computation),
      graph_(graph),
      options_(options),
      choices_(choices),
      homes_(computation.instructions.size()),
      owner_(computation.instructions.size(), kNoCluster),
      seen_(computation.instructions.size(), 0) {}

std::vector<FusedKernel> FusionPlanner::plan() {
  for (auto id = static_cast<std::uint32_t>(computation_.instructions.size()); id-- > 0;)
    locate(id);
  fuse_outputs();
  std::vector<FusedKernel> kernels;
  for (Cluster& cluster : clusters_) {
    if (cluster.alive) kernels.push_back({std::move(cluster.members), std::move(cluster.roots)});
  }
  return kernels;
}

const FusionPlanner::Home* FusionPlanner::home(std::uint32_t id, std::uint32_t cluster) const {
  for (const Home& candidate : homes_[id]) {
    if (candidate.cluster == cluster) return &candidate;
  }
  return nullptr;
}

bool FusionPlanner::is_small_constant(InstrId id) const {
  const Instruction& op = computation_.at(id);
  return op.opcode == Opcode::kConstant && op.shape.is_scalar();
}

bool FusionPlanner::is_kept(FusionStep step, std::uint32_t id, std::uint32_t cluster) const {
  if (choices_.empty()) return false;
  const auto readers = users(id);
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (choices_.at(step, graph_.first_edge(id) + i) == FusionChoice::kKeep &&
        home(readers[i], cluster) != nullptr) {
      return true;
    }
  }
  return false;
}

bool FusionPlanner::is_forced(std::uint32_t id) const {
  if (choices_.empty()) return false;
  for (std::size_t i = 0; i < users(id).size(); ++i) {
    if (choices_.at(FusionStep::kInto, graph_.first_edge(id) + i) == FusionChoice::kFuse) {
      return true;
    }
  }
  return false;
}

void FusionPlanner::locate(std::uint32_t id) {
  const Instruction& op = at(id);
  if (graph_.is_pinned(id) || !is_fusible(op)) return;
  bool needed_outside = computation_.root.index() == id;
  std::vector<Read> reads;
  for (const std::uint32_t user : users(id)) {
    needed_outside |= homes_[user].empty();
    for (const Home& home : homes_[user]) reads.push_back({home.cluster, user});
  }
  std::sort(reads.begin(), reads.end());
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());

  std::size_t readers = 0;
  std::vector<Home> accepting;
  for (auto first = reads.begin(); first != reads.end(); ++readers) {
    const auto end = std::find_if(first, reads.end(),
                                  [&](const Read& read) { return read.cluster != first->cluster; });
    if (fuses_into_users(op)) {
      if (const auto home = accepted_home(id, {first, end})) accepting.push_back(*home);
    }
    first = end;
  }
  const bool all_accept = readers > 0 && accepting.size() == readers && !needed_outside;
  const bool free_to_copy = may_be_duplicated(computation_, op);
  if (!free_to_copy && !(all_accept && (readers == 1 || is_worth_recomputing(id, accepting)))) {
    accepting.clear();
  }
  if (narrows_stored_value(id, accepting) && !is_forced(id)) accepting.clear();
  for (const Home& home : accepting) join(id, home);
  if (!all_accept || accepting.empty()) make_root(id);
}

FusionPlanner::Home FusionPlanner::home_of(std::uint32_t producer,
                                           std::span<const Read> reads) const {
  Home result{reads.front().cluster, Position::kOther, false};
  bool is_first = true;
  for (const Read& read : reads) {
    const Instruction& user = at(read.user);
    const Home& user_home = *home(read.user, read.cluster);
    const Position position = operand_position(user, user_home.position);
    result.position = is_first || position == result.position ? position : Position::kOther;
    is_first = false;
    result.reused |= user_home.reused;
    add_indexers(read, result);
    for (std::size_t i = 0; i < user.operands.size(); ++i) {
      if (user.operands[i].index() == producer) {
        result.reused |= reuses_operand(computation_, user, i);
      }
    }
  }
  result.evaluations = 0;
  for (const std::uint32_t indexer : result.indexers) {
    result.evaluations += home(indexer, result.cluster)->evaluations;
  }
  return result;
}

void FusionPlanner::add_indexers(const Read& read, Home& producer) const {
  const auto add = [&](std::uint32_t indexer) {
    if (std::ranges::find(producer.indexers, indexer) == producer.indexers.end()) {
      producer.indexers.push_back(indexer);
    }
  };
  if (streams(at(read.user))) {
    std::ranges::for_each(home(read.user, read.cluster)->indexers, add);
  } else {
    add(read.user);
  }
}

// The home of `producer` in the kernel of `reads` (all its users there); nullopt if it may not
// join.
std::optional<FusionPlanner::Home> FusionPlanner::accepted_home(std::uint32_t producer,
                                                                std::span<const Read> reads) const {
  const Cluster& kernel = clusters_[reads.front().cluster];
  const Instruction& op = at(producer);
  if (std::ssize(kernel.members) >= options_.max_ops) return std::nullopt;
  if (std::ssize(kernel.inputs) + std::ssize(op.operands) - 1 > options_.max_parameters) {
    return std::nullopt;
  }
  for (const Read& read : reads) {
    const Instruction& user = at(read.user);
    for (std::size_t i = 0; i < user.operands.size(); ++i) {
      if (user.operands[i].index() == producer && !accepts_producer(computation_, user, i, op)) {
        return std::nullopt;
      }
    }
  }
  const Home home = home_of(producer, reads);
  if (home.evaluations > kMaxEvaluations) return std::nullopt;
  if (is_costly(op) && !is_matrix(op) && home.reused) return std::nullopt;
  if (breaks_update(kernel, op)) return std::nullopt;
  if (is_kept(FusionStep::kInto, producer, reads.front().cluster)) return std::nullopt;
  if ((is_matrix(op) || is_reduction(op)) && !accepts_hero(kernel, op, home)) return std::nullopt;
  return home;
}

bool FusionPlanner::accepts_hero(const Cluster& cluster, const Instruction& hero,
                                 const Home& home) const {
  if (home.reused || cluster.has_matrix || cluster.update != kNoCluster) return false;
  if (is_matrix(hero)) {
    return home.position == (cluster.has_reduction ? Position::kBefore : Position::kAfter);
  }
  return home.position == Position::kAfter &&
         (!cluster.has_reduction ||
          (cluster.reduced == reduced_dims(hero) && cluster.reduced_loop == reduced_loop(hero)));
}

// Whether adding `producer` would break an in-place update: such a kernel may read the updated
// buffer only where it writes it.
bool FusionPlanner::breaks_update(const Cluster& cluster, const Instruction& producer) const {
  if (cluster.update == kNoCluster) return false;
  const Instruction& update = at(cluster.update);
  const InstrId buffer = update.operands[0];
  if (std::find(producer.operands.begin(), producer.operands.end(), buffer) ==
      producer.operands.end()) {
    return false;
  }
  const bool same_slice = update.opcode == Opcode::kDynamicUpdateSlice &&
                          producer.opcode == Opcode::kDynamicSlice &&
                          std::equal(producer.operands.begin() + 1, producer.operands.end(),
                                     update.operands.begin() + 2, update.operands.end());
  return !same_slice;
}

// Compares bytes: recomputing reads the operands again in every kernel; a root is written once and
// read by each kernel.
bool FusionPlanner::is_worth_recomputing(std::uint32_t id, const std::vector<Home>& homes) const {
  const Instruction& op = at(id);
  if (homes.size() > kMaxCopies || !streams(op) || is_costly(op)) return false;
  if (is_forced(id)) return true;
  if (!options_.recompute_to_save_bytes) return false;
  const double written = bytes(op.shape);
  double recompute = 0, keep = written * static_cast<double>(homes.size() + 1);
  for (const InstrId operand : op.operands) {
    const Instruction& source = computation_.at(operand);
    if (source.opcode == Opcode::kBroadcast || source.opcode == Opcode::kIota) continue;
    keep += bytes(source.shape);
    for (const Home& home : homes) {
      if (!clusters_[home.cluster].inputs.contains(operand.value)) recompute += bytes(source.shape);
    }
  }
  return recompute <= keep;
}

// True if the kernels in `homes` would read the value that this convert narrows rather than compute
// it. The convert then belongs to the kernel that computes the value, which stores the narrow type.
bool FusionPlanner::narrows_stored_value(std::uint32_t id, const std::vector<Home>& homes) const {
  const auto width = [&](InstrId of) { return bits(computation_.at(of).shape.dtype); };
  const Instruction& op = at(id);
  if (op.opcode != Opcode::kConvert || homes.empty() ||
      bits(op.shape.dtype) >= width(op.operands[0])) {
    return false;
  }
  std::vector<InstrId> open{op.operands[0]};  // read only by this convert, element by element
  while (!open.empty() && open.size() <= kMaxSources) {
    const InstrId source = open.back();
    open.pop_back();
    const auto readers = users(source.value);
    if (std::adjacent_find(readers.begin(), readers.end(), std::not_equal_to<>()) !=
        readers.end()) {
      continue;
    }
    const Instruction& made = computation_.at(source);
    const bool hero = is_matrix(made) || is_reduction(made);
    if (hero || (is_costly(made) && streams(made))) {
      const auto computes = [&](const Home& home) {
        return hero ? accepts_hero(clusters_[home.cluster], made, home) : !home.reused;
      };
      if (homes.size() > 1 || !computes(homes.front())) return true;
    }
    if (streams(made)) open.insert(open.end(), made.operands.begin(), made.operands.end());
  }
  return false;
}

void FusionPlanner::join(std::uint32_t id, Home home) {
  Cluster& kernel = clusters_[home.cluster];
  const Instruction& op = at(id);
  kernel.members.emplace_back(std::size_t{id});
  kernel.inputs.erase(id);
  for (const InstrId operand : op.operands) {
    if (!is_small_constant(operand)) kernel.inputs.insert(operand.value);
  }
  kernel.first = std::min(kernel.first, id);
  kernel.last = std::max(kernel.last, id);
  kernel.has_matrix |= is_matrix(op);
  if (updates_in_place(op)) kernel.update = id;
  if (is_reduction(op)) {
    kernel.has_reduction = true;
    kernel.reduced = reduced_dims(op);
    kernel.reduced_loop = reduced_loop(op);
  }
  homes_[id].push_back(home);
}

void FusionPlanner::make_root(std::uint32_t id) {
  const auto cluster = static_cast<std::uint32_t>(clusters_.size());
  clusters_.emplace_back();
  clusters_.back().roots.emplace_back(std::size_t{id});
  clusters_.back().has_tuple_root = at(id).shape.is_tuple();
  owner_[id] = cluster;
  join(id, {cluster, Position::kAfter, false, {id}});
}

Dims FusionPlanner::reduced_loop(const Instruction& reduction) const {
  return loop_dims(computation_.at(reduction.operands[0]).shape);
}

// Reductions share a loop nest if these are equal; every reduce-window has its own.
Dims FusionPlanner::reduced_dims(const Instruction& reduction) const {
  if (reduction.opcode == Opcode::kReduce) {
    Dims dims = reduction.dimensions;
    std::sort(dims.begin(), dims.end());
    return dims;
  }
  return {-1 - (&reduction - computation_.instructions.data())};
}

}  // namespace tilecast::ir
