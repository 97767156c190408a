// Cycle checks of the fusion planner: whether one kernel depends on another.
#include <algorithm>

#include "ir/fusion/fusion_planner.h"

namespace tilecast::ir {
namespace {

// Most users visited in one cycle check: near the kernels, and anywhere that kernels with several
// roots reach. The second search is rarely needed, so it may be long.
constexpr std::size_t kMaxVisitedNear = 256;
constexpr std::size_t kMaxVisitedFar = 65536;

}  // namespace

// The last text position that can come before `position` in some order of the kernels. Kernels with
// several roots need everything up to their last member before anything after their first root.
std::uint32_t FusionPlanner::last_before(std::uint32_t position) const {
  const auto after = spans_.upper_bound(position);
  return after == spans_.begin() ? position : std::max(position, std::prev(after)->second);
}

// The first position that can come after `position`.
std::uint32_t FusionPlanner::first_after(std::uint32_t position) const {
  const auto after = spans_.upper_bound(position);
  const bool inside = after != spans_.begin() && std::prev(after)->second >= position;
  return inside ? std::prev(after)->first : position;
}

// Adds a span; overlapping spans are merged.
void FusionPlanner::add_span(std::uint32_t first, std::uint32_t last) {
  auto it = spans_.upper_bound(first);
  if (it != spans_.begin() && std::prev(it)->second >= first) --it;
  while (it != spans_.end() && it->first <= last) {
    first = std::min(first, it->first);
    last = std::max(last, it->second);
    it = spans_.erase(it);
  }
  spans_.emplace(first, last);
}

// Whether `to` depends on `from`, through other kernels only or also directly. Returns true if the
// bounded search is exhausted; text positions prune the search.
bool FusionPlanner::reaches(std::uint32_t from, std::uint32_t to, bool through_others_only) {
  const std::uint32_t last = clusters_[to].last;
  return reaches_near(from, to, through_others_only, last) ||
         (last_before(last) > last && reaches_far(from, to, through_others_only));
}

bool FusionPlanner::reaches_near(std::uint32_t from, std::uint32_t to, bool through_others_only,
                                 std::uint32_t last) {
  ++visit_;
  std::size_t visited = 0;
  std::vector<std::uint32_t> open;
  const auto open_roots = [&](std::uint32_t cluster) {
    clusters_[cluster].last_visit = visit_;
    for (const InstrId root : clusters_[cluster].roots) open.push_back(root.value);
  };
  open_roots(from);
  std::size_t direct = open.size();
  for (std::size_t next = 0; next < open.size(); ++next) {
    const bool is_direct = next < direct;
    for (const std::uint32_t user : users(open[next])) {
      if (homes_[user].empty() && user <= last && seen_[user] != visit_) {
        seen_[user] = visit_;
        open.push_back(user);
      }
      for (const Home& reading : homes_[user]) {
        const Cluster& reader = clusters_[reading.cluster];
        if (reading.cluster != to && reader.last_visit == visit_) continue;
        if (reader.first > last) continue;                           // it cannot reach the target
        if (home(open[next], reading.cluster) != nullptr) continue;  // computes it itself
        if (reading.cluster != to) {
          open_roots(reading.cluster);
        } else if (!(is_direct && through_others_only)) {
          return true;
        }
      }
      if (++visited > kMaxVisitedNear) return true;
    }
  }
  return false;
}

// Bidirectional search, because one of the two sides is often small.
bool FusionPlanner::reaches_far(std::uint32_t from, std::uint32_t to, bool through_others_only) {
  const std::uint32_t last = last_before(clusters_[to].last);
  const std::uint32_t first = first_after(std::ranges::min(clusters_[from].roots).value);
  Side after{++visit_, {}}, before{++visit_, {}};
  const Node start{from, true}, goal{to, true};
  std::size_t visited = 0;
  bool met = false;
  const auto open = [&](Side& side, const Side& other, Node at, Node next) {
    std::uint32_t& mark = next.is_cluster ? clusters_[next.id].last_visit : seen_[next.id];
    const bool is_direct = (at == start && next == goal) || (at == goal && next == start);
    if (mark == other.mark) met |= !(is_direct && through_others_only);
    if (mark == other.mark || mark == side.mark) return;
    mark = side.mark;
    side.open.push_back(next);
  };
  clusters_[from].last_visit = after.mark;
  after.open.push_back(start);
  clusters_[to].last_visit = before.mark;
  before.open.push_back(goal);
  for (std::size_t i = 0; i < after.open.size() && i < before.open.size(); ++i) {
    for_each_reader(after.open[i], last, [&, at = after.open[i]](Node next) {
      ++visited;
      open(after, before, at, next);
    });
    for_each_source(before.open[i], first, [&, at = before.open[i]](Node next) {
      ++visited;
      open(before, after, at, next);
    });
    if (met || visited > kMaxVisitedFar) return true;
  }
  return false;
}

// Only readers up to text position `last`.
template <class Visit>
void FusionPlanner::for_each_reader(Node of, std::uint32_t last, Visit&& visit) const {
  const auto readers = [&](std::uint32_t value) {
    for (const std::uint32_t user : users(value)) {
      if (homes_[user].empty() && user <= last) visit(Node{user, false});
      for (const Home& reader : homes_[user]) {
        if (clusters_[reader.cluster].first > last) continue;
        if (home(value, reader.cluster) == nullptr) visit(Node{reader.cluster, true});
      }
    }
  };
  if (!of.is_cluster) return readers(of.id);
  for (const InstrId root : clusters_[of.id].roots) readers(root.value);
}

// Only sources from text position `first` on.
template <class Visit>
void FusionPlanner::for_each_source(Node of, std::uint32_t first, Visit&& visit) const {
  const auto source = [&](std::uint32_t value) {
    if (owner_[value] != kNoCluster) {
      if (clusters_[owner_[value]].last >= first) visit(Node{owner_[value], true});
    } else if (value >= first) {
      visit(Node{value, false});
    }
  };
  if (of.is_cluster) {
    for (const std::uint32_t input : clusters_[of.id].inputs) source(input);
  } else {
    for (const InstrId operand : at(of.id).operands) source(operand.value);
  }
}

}  // namespace tilecast::ir
