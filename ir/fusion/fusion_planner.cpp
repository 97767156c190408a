#include "ir/fusion/fusion_planner.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "ir/fusion/fusion_rules.h"

namespace tilecast::ir {
namespace {

constexpr std::size_t kMaxCopies = 4;
constexpr std::size_t kMaxCostlyCopies = 2;  // of exponentials and the like, on a GPU
// Most evaluations of an expression in one kernel. Nested slices and pads (a scan, a stencil of
// many steps) would double the code with every level (same limit as XLA's
// FusionNodeIndexingEvaluation).
constexpr std::uint32_t kMaxEvaluations = 15;
constexpr std::size_t kMaxSources = 16;  // inputs of the expression that a convert narrows

}  // namespace

FusionPlanner::FusionPlanner(const Computation& computation, const FusionGraph& graph,
                             const FusionOptions& options, FusionChoices choices)
    : computation_(computation),
      graph_(graph),
      options_(options),
      choices_(choices),
      homes_(computation.instructions.size()),
      owner_(computation.instructions.size(), kNoCluster),
      seen_(computation.instructions.size(), 0) {}

// The position of the operand of an op at `position`: one-to-one ops keep it, reductions start a
// new loop. On a GPU a value per row that the row's elements use returns to the elements' loop.
FusionPlanner::Position FusionPlanner::operand_position(const Instruction& user,
                                                        Position position) const {
  if (streams(user)) return position;
  const bool keeps_row = position == Position::kRow && keeps_elements(computation_, user);
  if (user.opcode == Opcode::kReduce && !keeps_row) {
    if (position == Position::kRow) return Position::kAfter;
    return position == Position::kAfter ? Position::kBefore : Position::kOther;
  }
  if (position == Position::kRow) return keeps_row ? Position::kRow : Position::kOther;
  if (position == Position::kAfter && is_gpu() && repeats_rows(computation_, user)) {
    return Position::kRow;
  }
  const bool rearranges = has(user.opcode, Trait::kRelayout);
  return rearranges && position == Position::kAfter ? Position::kAfter : Position::kOther;
}

std::vector<FusedKernel> FusionPlanner::plan() {
  for (auto id = static_cast<std::uint32_t>(computation_.instructions.size()); id-- > 0;)
    locate(id);
  if (!is_cpu()) fuse_outputs();
  std::vector<FusedKernel> kernels;
  for (Cluster& cluster : clusters_) {
    if (!cluster.alive) continue;
    std::optional<GpuCode> code = code_of(cluster);
    kernels.push_back({std::move(cluster.members), std::move(cluster.roots), std::move(code)});
  }
  return kernels;
}

const FusionPlanner::Home* FusionPlanner::home(std::uint32_t id, std::uint32_t cluster) const {
  for (const Home& candidate : homes_[id]) {
    if (candidate.cluster == cluster) return &candidate;
  }
  return nullptr;
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
  if (graph_.is_pinned(id) || !is_fusible(op) ||
      (options_.windows && stands_alone(computation_, op)))
    return;
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
        const bool made_here = options_.windows && is_matrix(user);
        result.reused |=
            position != Position::kRow && !made_here && reuses_operand(computation_, user, i);
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
  if (is_cpu() && is_called_alone(op, kernel.has_matrix)) return std::nullopt;
  if (std::ssize(kernel.inputs) + std::ssize(op.operands) - 1 > options_.max_parameters) {
    return std::nullopt;
  }
  for (const Read& read : reads) {
    const Instruction& user = at(read.user);
    for (std::size_t i = 0; i < user.operands.size(); ++i) {
      if (user.operands[i].index() != producer) continue;
      if (!accepts_producer(computation_, user, i, op)) return std::nullopt;
      if (is_gpu() && needs_transposition(computation_, user, i)) return std::nullopt;
      if (options_.windows && picks_elements(user) && !may_be_duplicated(computation_, op)) {
        return std::nullopt;
      }
    }
  }
  const Home home = home_of(producer, reads);
  if (home.evaluations > kMaxEvaluations) return std::nullopt;
  if (is_costly(op) && !is_matrix(op) && home.reused) return std::nullopt;
  if (breaks_update(kernel, op)) return std::nullopt;
  if (is_gpu() && kernel.has_matrix && !(is_light(computation_, op) && takes_others(kernel))) {
    return std::nullopt;
  }
  if (home.position == Position::kRow && !accepts_row(kernel, op)) return std::nullopt;
  if (is_kept(FusionStep::kInto, producer, reads.front().cluster)) return std::nullopt;
  if ((is_matrix(op) || is_reduction(op)) && !accepts_hero(kernel, op, home)) return std::nullopt;
  return home;
}

// Whether the kernel reads the value only as an operand of its product, element by element.
bool FusionPlanner::is_factor(std::uint32_t id, std::uint32_t cluster) const {
  return std::ranges::all_of(users(id), [&](std::uint32_t user) {
    if (home(user, cluster) == nullptr || is_matrix(at(user))) return true;
    return streams(at(user)) && is_factor(user, cluster);
  });
}

// A product joins another one that reads it if one of the two, by the machine the first or the
// second, is a convolution of each feature by itself.
bool FusionPlanner::accepts_second_product(const Cluster& cluster, const Instruction& hero,
                                           const Home& home) const {
  const auto id = static_cast<std::uint32_t>(&hero - computation_.instructions.data());
  const auto depthwise = [&](InstrId member) {
    return is_depthwise(computation_, computation_.at(member));
  };
  const auto matrix = [&](InstrId member) { return is_matrix(computation_.at(member)); };
  return std::ranges::count_if(cluster.members, matrix) == 1 && cluster.roots.size() == 1 &&
         depthwise(InstrId(std::size_t{id})) == options_.depthwise_first &&
         std::ranges::any_of(cluster.members, depthwise) != options_.depthwise_first &&
         is_factor(id, home.cluster);
}

// Whether the kernel's product may be computed with what surrounds it: cuDNN's convolutions stand
// alone (but for a bias and an activation that it has code for, which is not modelled).
bool FusionPlanner::takes_others(const Cluster& cluster) const {
  return std::ranges::none_of(cluster.members, [&](InstrId id) {
    return computation_.at(id).opcode == Opcode::kConvolution;
  });
}

bool FusionPlanner::accepts_hero(const Cluster& cluster, const Instruction& hero,
                                 const Home& home) const {
  if (options_.windows && is_matrix(hero) && cluster.has_matrix) {
    return accepts_second_product(cluster, hero, home);
  }
  if (home.reused || cluster.has_matrix || cluster.update != kNoCluster) return false;
  if (home.position == Position::kRow) return true;  // see accepts_row()
  if (is_matrix(hero)) {
    const auto light = [&](InstrId id) { return is_light(computation_, computation_.at(id)); };
    const bool takes = hero.opcode != Opcode::kConvolution;
    if (is_gpu() && !(takes && std::ranges::all_of(cluster.members, light))) return false;
    return home.position == (cluster.has_reduction ? Position::kBefore : Position::kAfter);
  }
  return home.position == Position::kAfter &&
         (!cluster.has_reduction || (cluster.reduced == reduced_dims(computation_, hero) &&
                                     cluster.reduced_loop == reduced_loop(computation_, hero)));
}

// Whether the op may be computed once per row in this kernel: a reduction of the rows that the
// kernel's elements are, or what leads from there to them (XLA's SoftmaxRewriterTriton: between the
// reduction and the elements nothing but ops that combine it with scalars).
bool FusionPlanner::accepts_row(const Cluster& cluster, const Instruction& op) const {
  if (cluster.has_matrix || cluster.roots.size() != 1) return false;
  if (!is_reduction(op) || keeps_elements(computation_, op)) {
    boost::container::flat_set<std::uint32_t> rows;
    for (const InstrId id : op.operands) {
      const Instruction& operand = computation_.at(id);
      const bool repeats = operand.opcode == Opcode::kBroadcast;
      const Instruction& repeated = repeats ? computation_.at(operand.operands[0]) : operand;
      if (!repeated.shape.is_scalar()) rows.insert(id.value);
    }
    return op.shape.is_scalar() || rows.size() <= 1;
  }
  if (!reduces_rows(computation_, op)) return false;
  const Shape& root = computation_.at(cluster.roots.front()).shape;
  const Shape& read = computation_.at(op.operands.front()).shape;
  return loop_dims(root) == loop_dims(read) &&
         elements(read) <= static_cast<double>(options_.max_row) * elements(op.shape) &&
         (!cluster.has_reduction || cluster.has_rows);
}

// XLA:GPU writes kernels of rows by tiles of whole rows, most often of 2,048 elements, and of
// 16,384 if all blocks read an array that repeats. Sizes count as powers of two. (Its cost model
// chooses among all sizes; 60 fusions of 26 programs.)
std::optional<GpuCode> FusionPlanner::code_of(const Cluster& cluster) const {
  const auto reduces = [&](InstrId id) { return computation_.at(id).opcode == Opcode::kReduce; };
  if (!is_gpu() || cluster.has_matrix || std::ranges::none_of(cluster.members, reduces)) {
    return std::nullopt;
  }
  if (!cluster.has_rows) return GpuCode{.emitter = GpuCode::Emitter::kHero, .tile = {}};
  constexpr double kElements = 2048, kSharedElements = 16384;
  constexpr std::pair<double, int> kWarps[] = {{512, 1}, {1024, 2}, {4096, 4}};
  constexpr int kMostWarps = 8;
  double row = 1;
  bool repeats = false;
  for (const InstrId id : cluster.members) {
    const Instruction& op = computation_.at(id);
    if (op.operands.empty()) continue;
    const Shape& read = computation_.at(op.operands[0]).shape;
    if (op.opcode == Opcode::kReduce) row = std::max(row, elements(read) / elements(op.shape));
    repeats |= op.opcode == Opcode::kBroadcast && !read.is_scalar() &&
               !keeps_elements(computation_, op) && !repeats_rows(computation_, op);
  }
  const auto padded = static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(row)));
  double rows = std::max(std::floor((repeats ? kSharedElements : kElements) / padded), 1.0);
  GpuCode code{.emitter = GpuCode::Emitter::kTriton, .tile = {}, .warps = kMostWarps};
  for (const auto& [most, warps] : kWarps) {
    if (padded * rows <= most) code.warps = std::min(code.warps, warps);
  }
  code.tile = computation_.at(cluster.roots.front()).shape.dims;
  for (auto size = code.tile.rbegin(); size != code.tile.rend(); ++size) {
    double& left = row > 1 ? row : rows;
    const double taken = std::min(static_cast<double>(*size), left);
    left = std::max(std::floor(left / taken), 1.0);
    *size = static_cast<std::int64_t>(taken);
  }
  return code;
}

// Whether adding `producer` would break an in-place update: such a kernel may read the updated
// buffer only where it writes it.
bool FusionPlanner::breaks_update(const Cluster& cluster, const Instruction& producer) const {
  return cluster.update != kNoCluster && reads_what_changes(producer, at(cluster.update));
}

// Whether exponentials and the like may be computed in each of these kernels.
bool FusionPlanner::may_repeat_costly(const std::vector<Home>& homes) const {
  if (is_gpu()) return homes.size() <= kMaxCostlyCopies;
  return options_.windows && std::ranges::all_of(homes, [&](const Home& home) {
           return home.position != Position::kOther || clusters_[home.cluster].has_matrix;
         });
}

// Compares bytes: recomputing reads the operands again in every kernel; a root is written once and
// read by each kernel.
bool FusionPlanner::is_worth_recomputing(std::uint32_t id, const std::vector<Home>& homes) const {
  const Instruction& op = at(id);
  if (is_gpu() && is_reduction(op)) {  // of rows that these kernels pass over anyway
    const auto in_row = [](const Home& home) { return home.position == Position::kRow; };
    return homes.size() <= kMaxCopies && std::ranges::all_of(homes, in_row);
  }
  const bool slices = is_gpu() && op.opcode == Opcode::kSlice;  // read where they are used
  if (homes.size() > kMaxCopies || !(streams(op) || slices)) return false;
  if (is_costly(op) && !may_repeat_costly(homes)) return false;
  if (is_forced(id)) return true;
  if (!options_.recompute_to_save_bytes) return false;
  const double written = bytes(op.shape);
  double recompute = 0, keep = written * static_cast<double>(homes.size() + 1);
  for (const InstrId operand : op.operands) {
    const Instruction& source = computation_.at(operand);
    if (has(source.opcode, Trait::kSpreads)) continue;
    const double read = slices ? written : bytes(source.shape);
    keep += read;
    for (const Home& home : homes) {
      if (!clusters_[home.cluster].inputs.contains(operand.value)) recompute += read;
    }
  }
  return recompute <= keep;
}

// True if the kernels in `homes` would read the value that this convert narrows rather than compute
// it. The convert then belongs to the kernel that computes the value, which stores the narrow type.
bool FusionPlanner::narrows_stored_value(std::uint32_t id, const std::vector<Home>& homes) const {
  const auto width = [&](InstrId of) { return bits(computation_.at(of).shape.dtype); };
  const Instruction& op = at(id);
  if (arithmetic(op.opcode) != Arithmetic::kConversion || homes.empty() ||
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
    if (!is_scalar_constant(computation_.at(operand))) kernel.inputs.insert(operand.value);
  }
  kernel.first = std::min(kernel.first, id);
  kernel.last = std::max(kernel.last, id);
  kernel.has_matrix |= is_matrix(op);
  if (updates_in_place(op)) kernel.update = id;
  if (is_reduction(op)) {
    kernel.has_reduction = true;
    kernel.has_rows |= home.position == Position::kRow;
    kernel.reduced = reduced_dims(computation_, op);
    kernel.reduced_loop = reduced_loop(computation_, op);
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

// Step 2 of the fusion planner: kernels with several outputs.

namespace {

constexpr std::size_t kMaxReaders = 12;  // most readers of one array that are compared

}  // namespace

void FusionPlanner::fuse_outputs() {
  const auto count = static_cast<std::uint32_t>(computation_.instructions.size());
  for (std::uint32_t id = 0; id < count; ++id) {
    if (owner_[id] != kNoCluster) fuse_into_readers(id);
  }
  for (std::uint32_t id = 0; id < count; ++id) {
    if (at(id).shape.is_array() && !at(id).shape.is_scalar()) fuse_siblings(id);
  }
  drop_unread();
}

FusionPlanner::Clusters FusionPlanner::reading_clusters(std::uint32_t id) const {
  Clusters readers;
  for (const std::uint32_t user : users(id)) {
    for (const Home& home : homes_[user]) {
      if (clusters_[home.cluster].inputs.contains(id)) readers.push_back(home.cluster);
    }
  }
  std::sort(readers.begin(), readers.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(clusters_[a].first, a) < std::pair(clusters_[b].first, b);
  });
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  return readers;
}

void FusionPlanner::fuse_into_readers(std::uint32_t id) {
  if (!fuses_into_users(at(id))) return;
  Clusters readers = reading_clusters(id);
  if (readers.size() > kMaxReaders) readers.resize(kMaxReaders);
  for (const std::uint32_t reader : readers) {
    const std::uint32_t own = owner_[id];
    if (own == kNoCluster) return;  // nothing outside reads it anymore
    if (reader == own || !clusters_[reader].alive) continue;
    const Cluster& from = clusters_[own];
    const Cluster& to = clusters_[reader];
    if (!can_merge(from, to) || (from.has_reduction && to.has_matrix)) continue;
    bool in_order = true;
    for (const InstrId root : from.roots) {
      if (!to.inputs.contains(root.value)) continue;
      const std::optional<Position> position = reading_position(reader, root.value);
      in_order &= position.has_value() && *position != Position::kOther;
      if (from.has_matrix && to.has_reduction) in_order &= position == Position::kBefore;
      if (from.has_reduction && to.has_reduction) {
        in_order &= loop_dims(computation_.at(root).shape) == from.reduced_loop;
      }
    }
    if (!in_order || is_kept(FusionStep::kOutput, id, reader)) continue;
    if (!reaches(own, reader, true)) merge(own, reader);
  }
}

// Merges kernels that read the same array element by element, in the same loop nest.
void FusionPlanner::fuse_siblings(std::uint32_t id) {
  const Clusters readers = reading_clusters(id);
  if (readers.size() < 2) return;
  const std::size_t count = std::min(readers.size(), kMaxReaders);
  const auto in_order = [&](std::uint32_t cluster) {
    const std::optional<Position> position = reading_position(cluster, id);
    return position.has_value() && *position != Position::kOther;
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (!clusters_[readers[i]].alive || !in_order(readers[i])) continue;
    for (std::size_t j = i + 1; j < count; ++j) {
      const std::uint32_t a = readers[i], b = readers[j];
      if (!clusters_[b].alive || !in_order(b)) continue;
      if (clusters_[a].has_matrix || clusters_[b].has_matrix) continue;
      if (!can_merge(clusters_[a], clusters_[b])) continue;
      if (reading_position(a, id) != reading_position(b, id) && loops_differ(a, b, id)) continue;
      if (is_kept(FusionStep::kBeside, id, b)) continue;
      if (!reaches(a, b, false) && !reaches(b, a, false)) merge(a, b);
    }
  }
}

// If one kernel streams the array to its output and the other reduces it, the loops are the same
// unless the first kernel has reductions before that position.
bool FusionPlanner::loops_differ(std::uint32_t a, std::uint32_t b, std::uint32_t id) const {
  const auto after_reduction = [&](std::uint32_t cluster) {
    return clusters_[cluster].has_reduction && reading_position(cluster, id) == Position::kAfter;
  };
  return after_reduction(a) || after_reduction(b);
}

// The common position of all members of `cluster` that read `id` directly; nullopt if they differ.
std::optional<FusionPlanner::Position> FusionPlanner::reading_position(std::uint32_t cluster,
                                                                       std::uint32_t id) const {
  std::optional<Position> common;
  for (const std::uint32_t user : users(id)) {
    const Home* found = home(user, cluster);
    if (found == nullptr) continue;
    Position position = Position::kOther;
    if (streams(at(user))) position = found->position;
    if (at(user).opcode == Opcode::kReduce) position = operand_position(at(user), found->position);
    if (common && *common != position) return std::nullopt;
    common = position;
  }
  return common;
}

bool FusionPlanner::can_merge(const Cluster& a, const Cluster& b) const {
  if (a.has_tuple_root || b.has_tuple_root || a.update != kNoCluster || b.update != kNoCluster)
    return false;
  if (a.has_matrix && b.has_matrix) return false;
  if (a.has_rows || b.has_rows) return false;
  if (is_gpu() && (a.has_matrix || b.has_matrix)) return false;
  if (a.has_reduction && b.has_reduction &&
      (a.reduced != b.reduced || a.reduced_loop != b.reduced_loop)) {
    return false;
  }
  const auto root_only = [&](const Cluster& cluster) {
    return std::any_of(cluster.roots.begin(), cluster.roots.end(),
                       [&](InstrId root) { return !fuses_into_users(computation_.at(root)); });
  };
  if (root_only(a) || root_only(b)) return false;
  return std::ssize(a.members) + std::ssize(b.members) <= options_.max_ops &&
         std::ssize(a.roots) + std::ssize(b.roots) <= options_.max_parameters &&
         std::ssize(a.inputs) + std::ssize(b.inputs) <= options_.max_parameters;
}

void FusionPlanner::merge(std::uint32_t into, std::uint32_t from) {
  Cluster& kernel = clusters_[into];
  Cluster& gone = clusters_[from];
  for (const InstrId member : gone.members) {
    Homes& homes = homes_[member.index()];
    const bool already_there = home(member.value, into) != nullptr;
    for (auto it = homes.begin(); it != homes.end(); ++it) {
      if (it->cluster != from) continue;
      if (already_there) {
        homes.erase(it);
      } else {
        it->cluster = into;
      }
      break;
    }
    if (!already_there) kernel.members.push_back(member);
  }
  kernel.inputs.merge(gone.inputs);
  for (auto it = kernel.inputs.begin(); it != kernel.inputs.end();) {
    it = home(*it, into) != nullptr ? kernel.inputs.erase(it) : it + 1;
  }
  for (const InstrId root : gone.roots) {
    kernel.roots.push_back(root);
    owner_[root.index()] = into;
  }
  kernel.first = std::min(kernel.first, gone.first);
  kernel.last = std::max(kernel.last, gone.last);
  kernel.has_matrix |= gone.has_matrix;
  if (gone.has_reduction) {
    kernel.has_reduction = true;
    kernel.reduced = gone.reduced;
    kernel.reduced_loop = gone.reduced_loop;
  }
  gone = {};
  gone.alive = false;
  drop_inner_roots(into);
  const std::vector<InstrId>& roots = clusters_[into].roots;
  if (roots.size() < 2) return;
  add_span(std::min_element(roots.begin(), roots.end())->value, clusters_[into].last);
}

bool FusionPlanner::is_read_outside(InstrId root) const {
  if (root == computation_.root) return true;
  for (const std::uint32_t user : users(root.value)) {
    if (homes_[user].empty()) return true;
    for (const Home& reader : homes_[user]) {
      if (clusters_[reader.cluster].inputs.contains(root.value)) return true;
    }
  }
  return false;
}

// Roots that only the kernel itself reads are not outputs.
void FusionPlanner::drop_inner_roots(std::uint32_t cluster) {
  std::erase_if(clusters_[cluster].roots, [&](InstrId root) {
    if (is_read_outside(root)) return false;
    owner_[root.index()] = kNoCluster;
    return true;
  });
}

// After a merge, a value that one kernel read from a third may be computed inside. If nothing else
// reads the third kernel's result, it is dropped, with everything that only it needed.
void FusionPlanner::drop_unread() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (std::uint32_t cluster = 0; cluster < clusters_.size(); ++cluster) {
      if (!clusters_[cluster].alive) continue;
      drop_inner_roots(cluster);
      changed |= drop_unread_members(cluster);
    }
  }
}

bool FusionPlanner::drop_unread_members(std::uint32_t cluster) {
  Cluster& kernel = clusters_[cluster];
  std::vector<InstrId> members = kernel.members;  // sorted: users before operands
  std::sort(members.rbegin(), members.rend());
  ++visit_;  // marks needed members
  for (const InstrId root : kernel.roots) seen_[root.index()] = visit_;
  const auto is_unread = [&](InstrId member) { return seen_[member.index()] != visit_; };
  for (const InstrId member : members) {
    if (is_unread(member)) continue;
    for (const InstrId operand : computation_.at(member).operands) {
      seen_[operand.index()] = visit_;
    }
  }
  if (std::erase_if(kernel.members, is_unread) == 0) return false;
  kernel.inputs.clear();
  for (const InstrId member : members) {
    if (is_unread(member)) {
      const auto here = [&](const Home& home) { return home.cluster == cluster; };
      Homes& homes = homes_[member.index()];
      homes.erase(std::remove_if(homes.begin(), homes.end(), here), homes.end());
    }
  }
  for (const InstrId member : kernel.members) {
    for (const InstrId operand : computation_.at(member).operands) {
      const bool is_inside = home(operand.value, cluster) != nullptr;
      if (!is_inside && !is_scalar_constant(computation_.at(operand)))
        kernel.inputs.insert(operand.value);
    }
  }
  kernel.alive = !kernel.members.empty();
  return true;
}

}  // namespace tilecast::ir
