#include "ir/mosaic/mosaic_code.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "ir/array_elements.h"

namespace tilecast::ir::mosaic {
namespace {

using mlir::Attribute;
using mlir::Operation;
using mlir::Type;
using Kind = Node::Kind;
using Number = std::int64_t;

struct OpRow {
  Opcode opcode;
  std::string_view names;  // without dialect, each between spaces
};
using enum Opcode;
// Operations of the dialects arith, math, vector and tpu, and the HLO operation that does the same
// (per element, if on vectors). kParameter: parts of registers and of memory, copies of whole
// registers, and marks, which are no work.
constexpr OpRow kRows[] = {
    {kAdd, " addf addi "},
    {kSubtract, " subf subi "},
    {kMultiply, " mulf muli fma "},
    {kDivide, " divf divsi divui floordivsi ceildivsi "},
    {kRemainder, " remf remsi remui "},
    {kMaximum, " maximumf maxnumf maxsi maxui "},
    {kMinimum, " minimumf minnumf minsi minui "},
    {kAnd, " andi "},
    {kOr, " ori "},
    {kXor, " xori "},
    {kShiftLeft, " shli "},
    {kShiftRightArithmetic, " shrsi "},
    {kShiftRightLogical, " shrui "},
    {kNegate, " negf "},
    {kCompare, " cmpf cmpi "},
    {kSelect, " select "},
    {kConvert,
     " extf extsi extui truncf trunci sitofp uitofp fptosi fptoui index_cast "
     "index_castui stochastic_convert "},
    {kAbs, " absf absi "},
    {kCeil, " ceil "},
    {kFloor, " floor "},
    {kRoundNearestAfz, " round "},
    {kRoundNearestEven, " roundeven "},
    {kPopcnt, " ctpop "},
    {kClz, " ctlz "},
    {kExp, " exp exp2 "},
    {kExpm1, " expm1 "},
    {kLog, " log log2 "},
    {kLog1p, " log1p "},
    {kTanh, " tanh "},
    {kRsqrt, " rsqrt reciprocal "},
    {kSqrt, " sqrt "},
    {kSin, " sin "},
    {kCos, " cos "},
    {kTan, " tan "},
    {kPower, " powf "},
    {kErf, " erf "},
    {kAtan2, " atan2 "},
    {kRng, " prng_random_bits "},
    {kIota, " iota step "},
    {kReshape, " shape_cast reshape "},
    {kTranspose, " transpose "},
    {kReduce, " multi_reduction reduction all_reduce reduce_index "},
    {kConcatenate, " concatenate "},
    {kReverse, " rotate dynamic_rotate "},
    {kDynamicSlice, " load transfer_read vector_load strided_load "},
    {kDynamicUpdateSlice, " store transfer_write vector_store strided_store "},
    {kDot, " matmul contract "},
    {kParameter,
     " constant broadcast splat repeat extract extract_strided_slice insert "
     "insert_strided_slice bitcast bitcast_vreg mask_cast poison memref_slice "
     "memref_squeeze memref_reshape memref_bitcast reinterpret_cast assume_multiple "
     "assume_layout trace_start trace_stop sem_signal sem_wait "}};

std::optional<Opcode> opcode_of(std::string_view word) {
  const std::string key = " " + std::string(word) + " ";
  const auto* row = std::ranges::find_if(
      kRows, [&](const OpRow& each) { return each.names.find(key) != std::string_view::npos; });
  return row == std::end(kRows) ? std::nullopt : std::optional(row->opcode);
}

const Attribute* number_of(const Operation& op, std::string_view name) {
  const Attribute* attribute = op.find(name);
  const bool is = attribute != nullptr && attribute->kind == Attribute::Kind::kInteger;
  return is ? attribute : nullptr;
}

Dims numbers_of(const Operation& op, std::string_view name, int below) {
  Dims numbers;
  if (const Attribute* list = op.find(name)) {
    for (const Attribute& element : list->elements) {
      if (element.integer >= 0 && element.integer < below) numbers.push_back(element.integer);
    }
  }
  return numbers;
}

// "<[1], [0], [0, 0]>": the lists; of "(d0, d1) -> (d1)": {0, 1}, {1}.
std::vector<Dims> lists_of(std::string_view text) {
  std::vector<Dims> lists;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '(') lists.emplace_back();
    const bool begins = text[i] >= '0' && text[i] <= '9' && !lists.empty();
    if (!begins) continue;
    Number value = 0;
    const char* end = text.data() + text.size();
    i = static_cast<std::size_t>(std::from_chars(text.data() + i, end, value).ptr - text.data()) -
        1;
    lists.back().push_back(value);
  }
  return lists;
}

bool holds(const Dims& dims, Number dim) {
  return std::ranges::find(dims, dim) != dims.end();
}

// vector.contract: a loop that both operands have is contracted, or of the batch.
std::optional<DotDims> contracted(const Attribute& maps) {
  constexpr std::size_t kMaps = 3;
  std::vector<Dims> of;
  for (const Attribute& map : maps.elements) {
    const std::vector<Dims> sides = lists_of(map.text);
    if (sides.size() != 2) return std::nullopt;
    of.push_back(sides[1]);
  }
  if (of.size() != kMaps) return std::nullopt;
  DotDims dims;
  for (std::size_t i = 0; i < of[0].size(); ++i) {
    const auto other = std::ranges::find(of[1], of[0][i]);
    if (other == of[1].end()) continue;
    const bool batch = holds(of[2], of[0][i]);
    (batch ? dims.lhs_batch : dims.lhs_contracting).push_back(static_cast<Number>(i));
    (batch ? dims.rhs_batch : dims.rhs_contracting).push_back(other - of[1].begin());
  }
  return dims;
}

std::optional<DotDims> dot_dims(const Operation& op) {
  if (const Attribute* maps = op.find("indexing_maps")) return contracted(*maps);
  constexpr std::size_t kLists = 7, kLhsBatch = 5;
  if (const Attribute* numbers = op.find("dimension_numbers")) {
    const std::vector<Dims> lists = lists_of(numbers->text);
    if (lists.size() < kLists) return std::nullopt;
    return DotDims{.lhs_contracting = lists[0],
                   .rhs_contracting = lists[1],
                   .lhs_batch = lists[kLhsBatch],
                   .rhs_batch = lists[kLhsBatch + 1],
                   .lhs_ragged = {},
                   .rhs_group = {}};
  }
  const auto transposed = [&](std::string_view name) {
    const Attribute* flag = number_of(op, name);
    return flag != nullptr && flag->integer != 0;
  };
  return DotDims{.lhs_contracting = {transposed("transpose_lhs") ? 0 : 1},
                 .rhs_contracting = {transposed("transpose_rhs") ? 1 : 0},
                 .lhs_batch = {},
                 .rhs_batch = {},
                 .lhs_ragged = {},
                 .rhs_group = {}};
}

// False if the operands do not have the dimensions that the numbers name, of equal sizes.
bool fits(const DotDims& dims, const Shape& lhs, const Shape& rhs) {
  const auto pairs = [&](const Dims& left, const Dims& right) {
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (left[i] >= lhs.rank() || right[i] >= rhs.rank()) return false;
      const auto a = static_cast<std::size_t>(left[i]), b = static_cast<std::size_t>(right[i]);
      if (lhs.dims[a] != rhs.dims[b]) return false;
    }
    return true;
  };
  return pairs(dims.lhs_contracting, dims.rhs_contracting) && pairs(dims.lhs_batch, dims.rhs_batch);
}

// Whether pieces are whole registers.
bool joins_registers(const KernelBody::Work& work) {
  constexpr Number kLanes = 128, kSublanes = 8;
  const Number dim = work.dimensions.empty() ? 0 : work.dimensions[0];
  return std::ranges::all_of(work.operands, [&](const Shape& piece) {
    const Number from_minor = piece.rank() - 1 - dim;
    const Number unit = from_minor == 0 ? kLanes : from_minor == 1 ? kSublanes : 1;
    return from_minor < 0 || piece.dims[static_cast<std::size_t>(dim)] % unit == 0;
  });
}

void note(KernelBody& body, std::string text) {
  if (std::ranges::find(body.notes, text) == body.notes.end()) {
    body.notes.push_back(std::move(text));
  }
}

bool in_main_memory(std::string_view space) {
  return space.find("<any>") != std::string_view::npos ||
         space.find("<hbm>") != std::string_view::npos;
}

}  // namespace

double contracted_elements(const DotDims& dims, const Shape& lhs) {
  double size = 1;
  for (const Number dim : dims.lhs_contracting) {
    size *= static_cast<double>(lhs.dims[static_cast<std::size_t>(dim)]);
  }
  return size;
}

Code::Code(const mlir::Tree& tree, KernelBody& body)
    : tree_(tree), body_(body), used_(tree.values.size()), sources_(tree.values.size()) {}

bool Code::is_vector(ValueId value) const {
  const Type& type = tree_.type_of(value);
  return type.kind == Type::Kind::kArray && type.text == "vector";
}

// Loads whose values nobody needs are not done.
void Code::mark_used(const mlir::Region& region) {
  for (const mlir::Block& block : region.blocks) {
    for (std::size_t i = block.operations.size(); i-- > 0;) {
      const Operation& op = block.operations[i];
      bool used = op.result_count == 0 || !op.regions.empty();
      for (std::uint32_t r = 0; r < op.result_count; ++r) used |= used_[op.result(r).index()];
      if (!used) continue;
      for (const ValueId operand : op.operands) used_[operand.index()] = true;
      for (const mlir::Region& inner : op.regions) mark_used(inner);
    }
  }
}

Function Code::function(const Operation& op, std::size_t loops) {
  Function function;
  if (op.regions.size() != 1 || op.regions[0].blocks.size() != 1) return function;
  function.arguments = op.regions[0].blocks[0].arguments;
  for (std::size_t i = 0; i < function.arguments.size(); ++i) {
    sources_[function.arguments[i].index()] = i < loops ? 1U << i : 0;
  }
  mark_used(op.regions[0]);
  function.nodes = nodes(op.regions[0], 0);
  return function;
}

std::vector<Node> Code::nodes(const mlir::Region& region, Sources from) {
  std::vector<Node> list;
  for (const mlir::Block& block : region.blocks) {
    for (const ValueId argument : block.arguments) sources_[argument.index()] |= from;
    for (const Operation& op : block.operations) {
      bool used = op.result_count == 0 || !op.regions.empty();
      for (std::uint32_t r = 0; r < op.result_count; ++r) used |= used_[op.result(r).index()];
      if (used) list.push_back(node(op));
    }
  }
  return list;
}

Node Code::node(const Operation& op) {
  Node node{.op = &op};
  Sources from = 0;
  for (const ValueId operand : op.operands) from |= sources_[operand.index()];
  set_kind(op, node);
  if (node.kind == Kind::kUnknown && op.name.ends_with(".load")) from |= kOfData;
  if (node.kind == Kind::kWork) {
    const Opcode opcode = body_.work[node.work].opcode;
    if (opcode == kDot && (from & kOfScores) != 0) chains_products_ = true;
    if (opcode == kDot) from = kOfProduct;
    if (opcode == kExp && (from & kOfProduct) != 0) from |= kOfScores;
    if (opcode == kDynamicSlice) from = 0;
  }
  if (node.kind == Kind::kIf || node.kind == Kind::kFor) {
    const std::size_t bounds = node.kind == Kind::kIf ? 1 : 3;
    for (std::size_t i = 0; i < std::min(bounds, op.operands.size()); ++i) {
      deciding_ |= sources_[op.operands[i].index()];
    }
  }
  read_regions(op, from, node);
  for (std::uint32_t r = 0; r < op.result_count; ++r) sources_[op.result(r).index()] = from;
  return node;
}

void Code::read_regions(const Operation& op, Sources from, Node& node) {
  for (const mlir::Region& region : op.regions) {
    const bool loops = node.kind == Kind::kFor || node.kind == Kind::kOnce;
    node.regions.push_back(nodes(region, loops ? from | kOfLoop : from));
    for (const Node& inner : node.regions.back()) {
      node.branches |= inner.kind == Kind::kIf || inner.kind == Kind::kFor || inner.branches;
      node.size += inner.size;
    }
  }
}

void Code::set_kind(const Operation& op, Node& node) {
  const bool of_vectors =
      std::ranges::any_of(op.operands, [&](ValueId v) { return is_vector(v); }) ||
      (op.result_count > 0 && is_vector(op.first_result));
  const std::string_view dialect = op.name.substr(0, op.name.find('.'));
  const std::string_view word = op.name.substr(std::min(dialect.size() + 1, op.name.size()));
  if (op.name == "arith.constant") {
    const Attribute* value = number_of(op, "value");
    if (value == nullptr || op.result_count != 1) return;
    node.kind = Kind::kConstant;
    node.number = value->integer;
  } else if (op.name == "scf.if") {
    node.kind = Kind::kIf;
  } else if (op.name == "scf.for") {
    node.kind = Kind::kFor;
  } else if (word == "yield" || word == "return") {
    node.kind = Kind::kEnd;
  } else if (op.name == "tpu.enqueue_dma" || op.name == "tpu.enqueue_indirect_dma") {
    set_copy(op, node);
  } else if (op.name.starts_with("tpu.wait_dma")) {
    node.kind = Kind::kWait;
    if (!op.operands.empty()) node.semaphore = op.operands[0];
  } else if (!op.regions.empty()) {
    node.kind = Kind::kOnce;
    if (op.name == "scf.while") note(body_, "a loop of unknown length counted once");
  } else if (of_vectors) {
    set_work(op, node);
  } else if (dialect == "arith") {
    const std::optional<Opcode> opcode = opcode_of(word);
    if (!opcode) return;
    node.kind = Kind::kArithmetic;
    node.opcode = *opcode;
    node.number = word == "floordivsi" ? Node::kFloor : word == "ceildivsi" ? Node::kCeil : 0;
    if (const Attribute* predicate = number_of(op, "predicate")) node.number = predicate->integer;
  } else if (word.find("remote") != std::string_view::npos || dialect == "func") {
    note(body_, std::string(op.name) + " is not counted");
  }
}

// Blocks, and numbers for the semaphore: operands are source, [semaphore there], target, semaphore,
// [device, core], as operandSegmentSizes tells.
void Code::set_copy(const Operation& op, Node& node) {
  node.kind = Kind::kCopy;
  constexpr std::size_t kFourParts = 4, kDevice = 4;
  Dims parts = numbers_of(op, "operandSegmentSizes", 2);
  if (parts.size() < kFourParts || op.operands.size() < 3) parts = {1, 0, 1, 1};
  const auto target = static_cast<std::size_t>(parts[0] + parts[1]);
  if (target + 1 >= op.operands.size()) return;
  node.semaphore = op.operands[target + 1];
  const Type &from = tree_.type_of(op.operands[0]), &to = tree_.type_of(op.operands[target]);
  const Shape& moved = in_main_memory(from.encoding) ? to.shape : from.shape;
  if (!moved.is_array() || moved.is_unbounded()) {
    note(body_, "a copy of unknown size is not counted");
    return;
  }
  const double bytes = array_elements(moved) * bits(moved.dtype) / 8;
  node.copy.count = 1;
  if (in_main_memory(from.encoding)) node.copy.read_bytes = bytes;
  if (in_main_memory(to.encoding)) node.copy.written_bytes = bytes;
  if (parts.size() > kDevice && parts[kDevice] > 0) {
    note(body_, "copies to other devices count as main memory's");
  }
}

// What the HLO operation needs beside shapes; false if the op is not counted.
bool Code::set_attributes(const Operation& op, KernelBody::Work& work) {
  const int rank = work.operands.empty() ? work.result.rank() : work.operands[0].rank();
  switch (work.opcode) {
    case kDot:
      return set_product(op, work);
    case kReduce:
      work.operands = {work.operands[0], Shape::array(work.operands[0].dtype, {})};
      work.dimensions = numbers_of(op, "reduction_dims", rank);
      if (const Attribute* dim = number_of(op, "dim")) work.dimensions = {dim->integer};
      if (work.dimensions.empty()) work.dimensions = {rank - 1};
      return work.dimensions[0] >= 0 && work.dimensions[0] < rank;
    case kTranspose:
      work.operands.resize(1);
      work.dimensions = numbers_of(op, "permutation", rank);
      return std::ssize(work.dimensions) == rank;
    case kConcatenate:
    case kReverse:
      work.dimensions = {0};
      if (const Attribute* dim = number_of(op, "dimension")) work.dimensions = {dim->integer};
      if (work.dimensions[0] < 0 || work.dimensions[0] >= rank) return false;
      if (work.opcode == kReverse) work.operands.resize(1);
      return work.opcode == kReverse || !joins_registers(work);
    case kReshape:
      work.operands.resize(1);
      return true;
    case kDynamicSlice:
    case kDynamicUpdateSlice:
    case kIota:
    case kRng:
      work.operands.clear();
      return true;
    default:  // per element, of operands as large as the result
      for (Shape& operand : work.operands) operand.dims = work.result.dims;
      work.operands.resize(static_cast<std::size_t>(info(work.opcode).arity), work.result);
      return true;
  }
}

bool Code::set_product(const Operation& op, KernelBody::Work& work) {
  const auto dims = dot_dims(op);
  if (!dims || work.operands.size() < 2 || !fits(*dims, work.operands[0], work.operands[1])) {
    note(body_, std::string(op.name) + " of unknown dimensions is not counted");
    return false;
  }
  const Attribute* precision = op.find("precision");
  const bool full = precision != nullptr && precision->text.find("fp32") != std::string::npos;
  DotAttrs attrs{.dims = *dims, .algorithm = {}, .precision = {}};
  if (full) attrs.precision = {"highest", "highest"};
  work.operands.resize(2);
  work.attrs = std::move(attrs);
  return true;
}

void Code::set_work(const Operation& op, Node& node) {
  const std::optional<Opcode> known = opcode_of(op.name.substr(op.name.find('.') + 1));
  if (known == kParameter) return;
  if (!known) note(body_, std::string(op.name) + " counted as one operation an element");
  KernelBody::Work work{.opcode = known.value_or(kAbs)};
  for (const ValueId operand : op.operands) {
    if (is_vector(operand)) work.operands.push_back(shape(operand));
  }
  const bool makes = op.result_count > 0;
  const bool moves_data = is_one_of(work.opcode, {kIota, kRng, kDynamicSlice});
  if (work.operands.empty() && !moves_data) return;
  work.result = makes ? shape(op.first_result) : work.operands.front();
  if (!work.result.is_array()) return;
  const auto unbounded = [](const Shape& shape) { return shape.is_unbounded(); };
  if (unbounded(work.result) || std::ranges::any_of(work.operands, unbounded)) {
    note(body_, std::string(op.name) + " of unknown size is not counted");
    return;
  }
  if (set_attributes(op, work)) add_work(std::move(work), node);
}

void Code::add_work(KernelBody::Work work, Node& node) {
  const auto equal = [&](const KernelBody::Work& other) {
    const auto* a = work.attrs.get<DotAttrs>();
    const auto* b = other.attrs.get<DotAttrs>();
    const bool dots = a != nullptr && b != nullptr;
    return other.opcode == work.opcode && other.result == work.result &&
           other.operands == work.operands && other.dimensions == work.dimensions &&
           (!dots || (a->dims.lhs_contracting == b->dims.lhs_contracting &&
                      a->dims.rhs_contracting == b->dims.rhs_contracting &&
                      a->dims.lhs_batch == b->dims.lhs_batch && a->precision == b->precision));
  };
  node.kind = Kind::kWork;
  node.size = array_elements(work.result);
  if (const auto* dot = work.attrs.get<DotAttrs>()) {
    node.size *= 2 * contracted_elements(dot->dims, work.operands[0]);
  }
  const auto found = std::ranges::find_if(body_.work, equal);
  node.work = static_cast<std::size_t>(found - body_.work.begin());
  if (found == body_.work.end()) body_.work.push_back(std::move(work));
}

}  // namespace tilecast::ir::mosaic
