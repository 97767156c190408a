// Step 2 of the fusion planner: kernels with several outputs.
#include <algorithm>

#include "ir/fusion/fusion_planner.h"
#include "ir/fusion/fusion_rules.h"

namespace tilecast::ir {
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
    if (at(user).opcode == Opcode::kReduce && found->position == Position::kAfter)
      position = Position::kBefore;
    if (common && *common != position) return std::nullopt;
    common = position;
  }
  return common;
}

bool FusionPlanner::can_merge(const Cluster& a, const Cluster& b) const {
  if (a.has_tuple_root || b.has_tuple_root || a.update != kNoCluster || b.update != kNoCluster)
    return false;
  if (a.has_matrix && b.has_matrix) return false;
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
      if (!is_inside && !is_small_constant(operand)) kernel.inputs.insert(operand.value);
    }
  }
  kernel.alive = !kernel.members.empty();
  return true;
}

}  // namespace tilecast::ir
