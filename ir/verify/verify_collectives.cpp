// Checks device groups of collectives and source-target pairs of permutes.
#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "base/math.h"
#include "ir/collective_groups.h"
#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

std::string_view name_of(GroupMode mode) {
  constexpr std::array<std::string_view, 4> kNames = {"kCrossReplica", "kCrossPartition",
                                                      "kCrossReplicaAndPartition", "kFlattenedID"};
  return kNames[static_cast<std::size_t>(mode)];
}

GroupMode checked_mode(const Site& site, const CollectiveAttrs& attrs) {
  const Opcode opcode = site.instruction.opcode;
  fail_if(takes_global_ids(opcode) && attrs.channel_id == 0 && attrs.use_global_device_ids,
          "Invalid combination of has_channel_id and use_global_device_ids: {} uses global device "
          "ids without a channel",
          site.instruction.name);
  return group_mode(opcode, attrs);
}

// The number of devices that the module declares for this mode; 1 if not declared.
std::int64_t declared_devices(const Module& module, GroupMode mode) {
  switch (mode) {
    case GroupMode::kCrossPartition:
      return module.num_partitions;
    case GroupMode::kFlattenedId: {
      std::int64_t all = 1;
      return __builtin_mul_overflow(module.replica_count, module.num_partitions, &all) ? 1 : all;
    }
    default:
      return module.replica_count;
  }
}

std::string_view devices_called(GroupMode mode) {
  if (mode == GroupMode::kCrossPartition) return "partitions";
  return mode == GroupMode::kFlattenedId ? "flattened IDs" : "replicas";
}

// Requires every id 0..n-1 exactly once and no empty group. Returns n.
std::int64_t check_ids(const std::vector<std::vector<std::int64_t>>& groups) {
  std::vector<std::int64_t> ids;
  for (const auto& group : groups) {
    fail_if(group.empty(), "Instruction cannot have an empty replica group");
    ids.insert(ids.end(), group.begin(), group.end());
  }
  const auto count = static_cast<std::int64_t>(ids.size());
  std::vector<bool> seen(ids.size(), false);
  bool outside = false;
  for (const std::int64_t id : ids) {
    fail_if(id < 0, "Replica {} is negative in instruction's replica-groups", id);
    if (id >= count) {
      outside = true;
      continue;
    }
    fail_if(seen[static_cast<std::size_t>(id)],
            "Replica {} is repeated in instruction's replica-groups", id);
    seen[static_cast<std::size_t>(id)] = true;
  }
  if (outside) {
    const auto missing = std::find(seen.begin(), seen.end(), false) - seen.begin();
    fail("Replica {} is not named in instruction's replica-groups", missing);
  }
  return count;
}

void check_groups(const Site& site, const CollectiveAttrs& attrs, GroupMode mode, bool uniform) {
  const auto& groups = attrs.groups.groups;
  if (groups.empty()) {
    fail_if(mode == GroupMode::kFlattenedId,
            "Replica groups must be specified in flattened-id mode");
    return;
  }
  const std::int64_t ids = check_ids(groups);
  const std::int64_t declared = declared_devices(site.module, mode);
  fail_if(declared != 1 && ids != declared,
          "In {} mode, replica groups should contain {} {}, but found {}", name_of(mode), declared,
          devices_called(mode), ids);
  if (!uniform) return;
  for (const auto& group : groups) {
    fail_if(group.size() != groups[0].size(), "Replica groups expected to be of uniform size");
  }
}

std::int64_t subgroup_size(const Site& site, const CollectiveAttrs& attrs, GroupMode mode) {
  const auto& groups = attrs.groups.groups;
  const std::int64_t declared =
      mode == GroupMode::kCrossPartition ? site.module.num_partitions : site.module.replica_count;
  const std::int64_t size = groups.empty() ? declared : static_cast<std::int64_t>(groups[0].size());
  if (mode != GroupMode::kCrossReplicaAndPartition) return size;
  std::int64_t all = 1;
  return __builtin_mul_overflow(size, site.module.num_partitions, &all) ? 1 : all;
}

// Result `index` of an operation with one result per operand; shapes were inferred already.
const Shape& gathered(const Site& site) {
  const Shape& shape = site.instruction.opcode == Opcode::kAllGatherStart
                           ? site.instruction.shape.elements[1]
                           : site.instruction.shape;
  return site.count() > 1 ? shape.elements[0] : shape;
}

void check_shards(const Site& site, std::int64_t subgroup, bool gather) {
  const auto axis = static_cast<std::size_t>(site.single_dimension());
  const std::int64_t in = site.operand(0).dims[axis];
  const std::int64_t out = gathered(site).dims[axis];
  const std::int64_t larger = gather ? out : in;
  const std::int64_t smaller = gather ? in : out;
  const std::int64_t shards = smaller == 0 ? subgroup : base::ceil_div(larger, smaller);
  fail_if(subgroup != 1 && shards != subgroup, "shard_count = {}, subgroup_size = {}, {}", shards,
          subgroup, site.instruction.name);
}

void check_all_to_all(const Site& site, std::int64_t splits) {
  if (site.instruction.dimensions.empty()) {
    fail_if(splits != 1 && static_cast<std::int64_t>(site.count()) != splits,
            "hlo->operand_count() == split_count: all-to-all has {} operands for groups of {}",
            site.count(), splits);
    return;
  }
  const std::int64_t size = site.operand(0).dims[static_cast<std::size_t>(site.single_dimension())];
  fail_if(splits > 1 && size % splits != 0,
          "AllToAll split dimension size {} must be dividable by split_count {}.", size, splits);
}

// ---- collective-permute ------------------------------------------------------------------------

class PairLimits {
 public:
  PairLimits(std::string_view what, std::int64_t limit) : what_(what), limit_(limit) {}

  void add(std::int64_t id, bool once) {
    fail_if(id < 0, "{} {} in the instruction's source-target pair must be >= 0", what_, id);
    fail_if(limit_ != 1 && id >= limit_,
            "{} {} in the instruction's source-target pair must be < {}", what_, id, limit_);
    fail_if(!seen_.insert(id).second && once,
            "{} {} appears more than once in instruction's source-target pairs", what_, id);
  }

 private:
  std::string_view what_;
  std::int64_t limit_;
  std::set<std::int64_t> seen_;
};

// In place, a device may send several slices.
void check_permute(const Site& site, const CollectiveAttrs& attrs) {
  const bool once = site.instruction.find_raw("slice_sizes") == nullptr;
  const std::int64_t limit = declared_devices(site.module, checked_mode(site, attrs));
  PairLimits sources("Source", limit);
  PairLimits targets("Target", limit);
  for (const auto& [source, target] : attrs.source_target_pairs) {
    sources.add(source, once);
    targets.add(target, once);
  }
}

}  // namespace

void check_collective(const Site& site) {
  using enum Opcode;
  const CollectiveAttrs* attrs = site.instruction.get<CollectiveAttrs>();
  if (attrs == nullptr) return;
  const Opcode opcode = info(site.instruction.opcode).plain;
  if (opcode == kCollectivePermute) return check_permute(site, *attrs);
  const bool reduces = opcode == kAllReduce;
  const bool shards = is_one_of(opcode, {kAllGather, kReduceScatter});
  if (!reduces && !shards && !is_one_of(opcode, {kAllToAll, kRaggedAllToAll})) return;
  const GroupMode mode = checked_mode(site, *attrs);
  check_groups(site, *attrs, mode, /*uniform=*/!reduces);
  if (shards) check_shards(site, subgroup_size(site, *attrs, mode), opcode != kReduceScatter);
  if (opcode == kAllToAll) check_all_to_all(site, subgroup_size(site, *attrs, mode));
  fail_if(reduces && attrs->channel_id < 0, "All reduce channel id must be greater than 0 for {}",
          site.instruction.name);
}

// Asynchronous chains: start, updates, done.

namespace {

using OpcodeList = std::initializer_list<Opcode>;

std::string joined(OpcodeList opcodes, std::string_view separator) {
  std::string text;
  for (const Opcode opcode : opcodes) {
    if (!text.empty()) text += separator;
    text += name(opcode);
  }
  return text;
}

bool is_control_dependence(const Instruction& user) {
  const CustomCallAttrs* attrs = user.get<CustomCallAttrs>();
  return attrs != nullptr && attrs->target == "control_dep";
}

// Custom calls that only order the program do not count as consumers.
void check_single_user(const Site& site, OpcodeList expected) {
  std::uint32_t users = site.users.count[site.id.index()];
  InstrId consumer = site.users.first[site.id.index()];
  if (users > 1) {
    users = 0;
    for (std::size_t i = 0; i < site.computation.instructions.size(); ++i) {
      const Instruction& user = site.computation.instructions[i];
      const auto& operands = user.operands;
      if (is_control_dependence(user)) continue;
      if (std::find(operands.begin(), operands.end(), site.id) == operands.end()) continue;
      if (users++ == 0) consumer = InstrId(i);
    }
  }
  fail_if(users != 1, "The {} instruction requires one consumer, found {}",
          name(site.instruction.opcode), users);
  const Opcode found = site.computation.at(consumer).opcode;
  if (!is_one_of(found, expected)) {
    fail("The consumer of a {} instruction needs to be {}, found {}", name(site.instruction.opcode),
         joined(expected, " or "), name(found));
  }
}

void check_single_operand(const Site& site, OpcodeList expected) {
  const bool open = site.instruction.opcode == Opcode::kAsyncUpdate;  // others: awaited values
  fail_if(site.count() < 1 || (!open && site.count() != 1),
          "The {} instruction requires one operand, found {}", name(site.instruction.opcode),
          site.count());
  const Opcode found = site.operand_instruction(0).opcode;
  if (!is_one_of(found, expected)) {
    fail("The operand of a {} instruction needs to be {}, found {}", name(site.instruction.opcode),
         joined(expected, " or "), name(found));
  }
}

// Whether a chain goes on after an op of it, or went on before.
bool goes_on(Opcode opcode) {
  return is_async_chain(opcode) && opcode != Opcode::kAsyncDone;
}
bool continues(Opcode opcode) {
  return is_async_chain(opcode) && !starts_asynchronously(opcode);
}

bool is_async_root(const Site& site) {
  return site.is_root() && site.facts.called_by_async[site.computation_id.index()];
}

// ---- async-start, async-update, async-done -----------------------------------------------------

// The start of the chain an update or done belongs to; the chain was checked operand by operand.
const Instruction* chain_start(const Site& site) {
  const Instruction* at = &site.instruction;
  for (std::size_t steps = site.computation.instructions.size(); steps > 0; --steps) {
    if (starts_asynchronously(at->opcode)) return at;
    if (at->operands.empty()) return nullptr;
    at = &site.computation.at(at->operands[0]);
    if (!goes_on(at->opcode)) return nullptr;
  }
  return nullptr;
}

// `async` is ((operands), result, contexts...) of the chain.
void check_wrapped_shapes(const Site& site, const Shape& async, const Computation& wrapped) {
  const auto opcode = name(site.instruction.opcode);
  fail_if(!async.is_tuple() || async.elements.size() < 2,
          "{} expects the async shape to be a tuple of at least two elements, found {}.", opcode,
          ShapeText{async});
  const Shape& arguments = async.elements[0];
  bool good = arguments.is_tuple() && arguments.elements.size() == wrapped.parameters.size();
  for (std::size_t i = 0; good && i < wrapped.parameters.size(); ++i) {
    good = match(arguments.elements[i], infer::parameter_shape(wrapped, i));
  }
  fail_if(!good,
          "{} expects the async shape at index {{0}} to match async computation parameter shape; "
          "got {}, computation {} has {} parameters.",
          opcode, ShapeText{arguments}, wrapped.name, wrapped.parameters.size());
  const Shape& root = infer::root_shape(wrapped);
  fail_if(!match(async.elements[1], root),
          "{} expects the async shape at index {{1}} to match the async computation root shape ({} "
          "vs {}).",
          opcode, ShapeText{async.elements[1]}, ShapeText{root});
}

void check_start_operands(const Site& site) {
  const Shape& arguments = site.instruction.shape.elements[0];
  fail_if(site.count() != arguments.elements.size(), "async-start expects {} operands, found {}.",
          arguments.elements.size(), site.count());
  for (std::size_t i = 0; i < site.count(); ++i) {
    fail_if(!match(arguments.elements[i], site.operand(i)),
            "async-start expects the shape of operand {} to match the async shape at index {{0}} "
            "({} vs {}).",
            i, ShapeText{site.operand(i)}, ShapeText{arguments.elements[i]});
  }
}

void check_chain(const Site& site) {
  const Instruction* start = chain_start(site);
  fail_if(start == nullptr || start->called.size() != 1,
          "{} belongs to no async-start with one called computation", site.instruction.name);
  const Computation& wrapped = site.module.at(start->called[0]);
  const bool is_start = starts_asynchronously(site.instruction.opcode);
  const Shape& async = is_start ? site.instruction.shape : site.operand(0);
  fail_if(site.instruction.opcode == Opcode::kAsyncUpdate && !match(async, site.instruction.shape),
          "async-update expects the shape of operand and output to match ({} vs {}).",
          ShapeText{async}, ShapeText{site.instruction.shape});
  check_wrapped_shapes(site, async, wrapped);
  if (!site.instruction.called.empty() && site.instruction.called != start->called) {
    fail(
        "The {} expects its wrapped async computation to be identical to its operand's ({} vs "
        "{}).",
        name(site.instruction.opcode), site.callee(0).name, wrapped.name);
  }
  if (is_start) check_start_operands(site);
  if (site.instruction.opcode == Opcode::kAsyncDone &&
      !match(async.elements[1], site.instruction.shape)) {
    fail(
        "async-done expects the shape of output to match the async shape at index {{1}} ({} vs "
        "{}).",
        ShapeText{site.instruction.shape}, ShapeText{async.elements[1]});
  }
}

// A start may only feed operand 0 of an update or done.
void check_async_operands(const Site& site) {
  for (std::size_t i = 0; i < site.count(); ++i) {
    const Instruction& operand = site.operand_instruction(i);
    if (!goes_on(operand.opcode) || (i == 0 && continues(site.instruction.opcode))) continue;
    fail(
        "Async instruction {} used as operand {} of {}. Async instructions can only be used as "
        "the first operand of async-update or async-done.",
        operand.name, i, site.instruction.name);
  }
}

void check_native_pair(const Site& site) {
  using enum Opcode;
  const Opcode opcode = site.instruction.opcode;
  const Opcode partner = info(opcode).partner;
  if (partner == opcode) return;
  const bool starts = starts_asynchronously(opcode);
  if (!is_one_of(starts ? opcode : partner, {kSend, kRecv})) {
    return starts ? check_single_user(site, {partner}) : check_single_operand(site, {partner});
  }
  if (!starts) return check_single_operand(site, {partner, kGetTupleElement});
  if (!is_async_root(site)) check_single_user(site, {partner, kTuple});
}

}  // namespace

void check_async(const Site& site) {
  using enum Opcode;
  check_async_operands(site);
  const Opcode opcode = site.instruction.opcode;
  if (!is_async_chain(opcode)) return check_native_pair(site);
  if (opcode != kAsyncStart) check_single_operand(site, {kAsyncStart, kAsyncUpdate});
  if (opcode != kAsyncDone) check_single_user(site, {kAsyncUpdate, kAsyncDone});
  check_chain(site);
}

}  // namespace tilecast::ir::verification
