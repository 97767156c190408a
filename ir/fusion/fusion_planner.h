// Decides which instructions of a computation form a kernel together; part of fuse().
//
// 1. Producers into consumers, in reverse order: a producer joins the kernel of its users if they
//    are all in one kernel. It is recomputed in several kernels if that is free (broadcast, iota,
//    widening convert) or moves fewer bytes than writing and re-reading it, else becomes the root
//    of a kernel. A convert to a narrower type stays in the kernel that computes its operand.
// 2. Several outputs: a root joins a kernel that reads it element by element, and kernels that read
//    the same array in one loop nest are merged, unless that closes a cycle; not for XLA:CPU.
// Choices (ir/fusion/fusion_space.h) may forbid a step or force a recomputation that moves more
// bytes, never allow an illegal step. The instructions must be in topological order. Near-linear.
#pragma once

#include <boost/container/flat_set.hpp>
#include <boost/container/small_vector.hpp>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ir/fusion/fusion.h"
#include "ir/fusion/fusion_space.h"

namespace tilecast::ir {

class FusionPlanner {
 public:
  // `graph` must be that of `computation`. Both, and the choices, must outlive the planner.
  FusionPlanner(const Computation& computation, const FusionGraph& graph,
                const FusionOptions& options, FusionChoices choices = {});
  [[nodiscard]] std::vector<FusedKernel> plan();

 private:
  static constexpr std::uint32_t kNoCluster = UINT32_MAX;
  // How a member's elements map to the iterations of the kernel's loop.
  enum class Position : std::uint8_t {
    kAfter,   // one to one with the roots, after the hero if there is one
    kBefore,  // one to one with the input of the kernel's reductions
    kRow,     // one per row of the roots: kept while the kernel passes over the row again
    kOther,   // broadcast, sliced, rearranged or read several times on the way
  };
  struct Home {
    std::uint32_t cluster;
    Position position;
    bool reused;  // some element may be computed more than once
    // The members that determine its indices: itself if it is a root, users that rearrange
    // elements, and the indexers of users that read one to one. Its code is emitted as often as all
    // of theirs.
    boost::container::small_vector<std::uint32_t, 2> indexers = {};
    std::uint32_t evaluations = 1;
  };
  struct Read {  // a user of an instruction, in one of the kernels that the user belongs to
    std::uint32_t cluster, user;
    friend auto operator<=>(const Read&, const Read&) = default;
  };
  struct Cluster {
    std::uint32_t first = UINT32_MAX, last = 0;  // positions in the text
    std::uint32_t last_visit = 0;
    std::vector<InstrId> roots;
    boost::container::flat_set<std::uint32_t> inputs;  // instructions read from outside
    std::vector<InstrId> members;
    bool has_matrix = false, has_reduction = false, has_tuple_root = false, alive = true;
    bool has_rows = false;              // a reduction along rows whose results the same rows use
    std::uint32_t update = kNoCluster;  // the member that updates in place
    Dims reduced_loop, reduced;         // of reductions: input loop dims, reduced dims
  };
  using Homes = boost::container::small_vector<Home, 1>;
  using Clusters = boost::container::small_vector<std::uint32_t, 4>;

  [[nodiscard]] const Instruction& at(std::uint32_t id) const {
    return computation_.instructions[id];
  }
  [[nodiscard]] std::span<const std::uint32_t> users(std::uint32_t id) const {
    return graph_.users(id);
  }
  [[nodiscard]] const Home* home(std::uint32_t id, std::uint32_t cluster) const;
  // Whether a choice forbids this step at an edge from `id` to a member of the kernel.
  [[nodiscard]] bool is_kept(FusionStep step, std::uint32_t id, std::uint32_t cluster) const;
  [[nodiscard]] bool is_forced(std::uint32_t id) const;  // into every reader's kernel

  // Step 1.
  void locate(std::uint32_t id);
  [[nodiscard]] Home home_of(std::uint32_t producer, std::span<const Read> reads) const;
  [[nodiscard]] std::optional<Home> accepted_home(std::uint32_t producer,
                                                  std::span<const Read> reads) const;
  void add_indexers(const Read& read, Home& producer) const;
  [[nodiscard]] bool takes_others(const Cluster& cluster) const;
  [[nodiscard]] bool accepts_hero(const Cluster& cluster, const Instruction& hero,
                                  const Home& home) const;
  [[nodiscard]] bool accepts_second_product(const Cluster& cluster, const Instruction& hero,
                                            const Home& home) const;
  [[nodiscard]] bool is_factor(std::uint32_t id, std::uint32_t cluster) const;
  [[nodiscard]] bool accepts_row(const Cluster& cluster, const Instruction& op) const;
  [[nodiscard]] std::optional<GpuCode> code_of(const Cluster& cluster) const;
  [[nodiscard]] bool is_gpu() const { return options_.compiler == Compiler::kXlaGpu; }
  [[nodiscard]] bool is_cpu() const { return options_.compiler == Compiler::kXlaCpu; }
  [[nodiscard]] Position operand_position(const Instruction& user, Position position) const;
  [[nodiscard]] bool breaks_update(const Cluster& cluster, const Instruction& producer) const;
  [[nodiscard]] bool may_repeat_costly(const std::vector<Home>& homes) const;
  [[nodiscard]] bool is_worth_recomputing(std::uint32_t id, const std::vector<Home>& homes) const;
  [[nodiscard]] bool narrows_stored_value(std::uint32_t id, const std::vector<Home>& homes) const;
  void join(std::uint32_t id, Home home);
  void make_root(std::uint32_t id);

  // Step 2.
  void fuse_outputs();
  void fuse_into_readers(std::uint32_t id);
  void fuse_siblings(std::uint32_t id);
  [[nodiscard]] std::optional<Position> reading_position(std::uint32_t cluster,
                                                         std::uint32_t id) const;
  [[nodiscard]] bool loops_differ(std::uint32_t a, std::uint32_t b, std::uint32_t id) const;
  [[nodiscard]] bool can_merge(const Cluster& a, const Cluster& b) const;
  [[nodiscard]] std::uint32_t last_before(std::uint32_t position) const;
  void add_span(std::uint32_t first, std::uint32_t last);
  [[nodiscard]] std::uint32_t first_after(std::uint32_t position) const;
  struct Node {  // a kernel, or an instruction outside all kernels
    std::uint32_t id;
    bool is_cluster;
    friend bool operator==(const Node&, const Node&) = default;
  };
  struct Side {  // one end of a bidirectional search
    std::uint32_t mark;
    std::vector<Node> open;
  };
  [[nodiscard]] bool reaches(std::uint32_t from, std::uint32_t to, bool through_others_only);
  [[nodiscard]] bool reaches_near(std::uint32_t from, std::uint32_t to, bool through_others_only,
                                  std::uint32_t last);
  [[nodiscard]] bool reaches_far(std::uint32_t from, std::uint32_t to, bool through_others_only);
  template <class Visit>
  void for_each_reader(Node of, std::uint32_t last, Visit&& visit) const;
  template <class Visit>
  void for_each_source(Node of, std::uint32_t first, Visit&& visit) const;
  void merge(std::uint32_t into, std::uint32_t from);
  [[nodiscard]] bool is_read_outside(InstrId root) const;
  void drop_inner_roots(std::uint32_t cluster);
  void drop_unread();
  bool drop_unread_members(std::uint32_t cluster);  // whether there were any
  [[nodiscard]] Clusters reading_clusters(std::uint32_t id) const;
  const Computation& computation_;
  const FusionGraph& graph_;
  const FusionOptions& options_;
  FusionChoices choices_;
  std::vector<Homes> homes_;
  std::vector<std::uint32_t> owner_;  // per instruction: the cluster of which it is a root
  std::vector<Cluster> clusters_;
  std::map<std::uint32_t, std::uint32_t> spans_;  // if several roots: first root -> last member
  std::vector<std::uint32_t> seen_;               // by instruction, for reaches()
  std::uint32_t visit_ = 0;
};

}  // namespace tilecast::ir
