// Asynchronous chains: start, updates, done.
#include <algorithm>
#include <span>

#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
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

bool is_async_root(const Site& site) {
  return site.is_root() && site.facts.called_by_async[site.computation_id.index()];
}

// ---- async-start, async-update, async-done -----------------------------------------------------

// The start of the chain an update or done belongs to; the chain was checked operand by operand.
const Instruction* chain_start(const Site& site) {
  const Instruction* at = &site.instruction;
  for (std::size_t steps = site.computation.instructions.size(); steps > 0; --steps) {
    if (at->opcode == Opcode::kAsyncStart) return at;
    if (at->operands.empty()) return nullptr;
    at = &site.computation.at(at->operands[0]);
    if (!is_one_of(at->opcode, {Opcode::kAsyncStart, Opcode::kAsyncUpdate})) return nullptr;
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
  const bool is_start = site.instruction.opcode == Opcode::kAsyncStart;
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
    if (!is_one_of(operand.opcode, {Opcode::kAsyncStart, Opcode::kAsyncUpdate})) continue;
    if (i == 0 && is_one_of(site.instruction.opcode, {Opcode::kAsyncUpdate, Opcode::kAsyncDone})) {
      continue;
    }
    fail(
        "Async instruction {} used as operand {} of {}. Async instructions can only be used as "
        "the first operand of async-update or async-done.",
        operand.name, i, site.instruction.name);
  }
}

void check_native_pair(const Site& site) {
  using enum Opcode;
  constexpr std::pair<Opcode, Opcode> kPairs[] = {
      {kAllReduceStart, kAllReduceDone},
      {kAllGatherStart, kAllGatherDone},
      {kCopyStart, kCopyDone},
      {kCollectivePermuteStart, kCollectivePermuteDone}};
  constexpr std::pair<Opcode, Opcode> kTransfers[] = {{kSend, kSendDone}, {kRecv, kRecvDone}};
  const Opcode opcode = site.instruction.opcode;
  for (const auto& [start, done] : kPairs) {
    if (opcode == start) check_single_user(site, {done});
    if (opcode == done) check_single_operand(site, {start});
  }
  for (const auto& [start, done] : kTransfers) {
    if (opcode == start && !is_async_root(site)) check_single_user(site, {done, kTuple});
    if (opcode == done) check_single_operand(site, {start, kGetTupleElement});
  }
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
