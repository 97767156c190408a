#include "ir/fusion/attention_form.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "base/text.h"
#include "ir/array_elements.h"
#include "ir/attention.h"
#include "ir/backend_config.h"
#include "ir/fusion/fusion_rewriter.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

bool moves_or_renames(Opcode opcode) {
  return is_one_of(opcode, {Opcode::kReshape, Opcode::kBitcast, Opcode::kTranspose, Opcode::kCopy,
                            Opcode::kConvert, Opcode::kBroadcast});
}

bool between_products(Opcode opcode) {
  return is_elementwise(opcode) || moves_or_renames(opcode) ||
         is_one_of(opcode, {Opcode::kReduce, Opcode::kIota, Opcode::kConstant, Opcode::kParameter});
}

std::int64_t product_of(const Shape& shape, const Dims& dims) {
  std::int64_t product = 1;
  for (const std::int64_t d : dims) product *= shape.dims[static_cast<std::size_t>(d)];
  return product;
}

// Sizes of the dimensions that a product neither contracts nor batches.
Dims free_sizes(const Shape& shape, const Dims& batch, const Dims& contracting) {
  Dims sizes;
  for (std::int64_t d = 0; d < std::ssize(shape.dims); ++d) {
    if (std::ranges::find(batch, d) != batch.end()) continue;
    if (std::ranges::find(contracting, d) != contracting.end()) continue;
    sizes.push_back(shape.dims[static_cast<std::size_t>(d)]);
  }
  return sizes;
}

std::int64_t all_of(const Dims& sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

// Values of arrays that depend on positions and constants only.
class Positions {
 public:
  explicit Positions(const Computation& computation) : computation_(computation) {}

  // nullopt where it depends on anything else.
  [[nodiscard]] std::optional<double> value(InstrId id, const Dims& at) const {
    const Instruction& op = computation_.at(id);
    switch (op.opcode) {
      case Opcode::kConstant:
        return constant(op);
      case Opcode::kIota:
        return static_cast<double>(at[static_cast<std::size_t>(op.as<IndexAttrs>().index)]);
      case Opcode::kConvert:
      case Opcode::kCopy:
        return value(op.operands[0], at);
      case Opcode::kBroadcast:
      case Opcode::kTranspose:
      case Opcode::kReshape:
      case Opcode::kBitcast:
        return moved(op, at);
      default:
        return is_elementwise(op.opcode) ? computed(op, at) : std::nullopt;
    }
  }

 private:
  static std::optional<double> constant(const Instruction& op) {
    const Literal& literal = op.as<ConstantAttrs>().literal;
    if (literal.is_integer && literal.integers.size() == 1) {
      return static_cast<double>(literal.integers[0]);
    }
    if (element_count(op.shape) != 1) return std::nullopt;
    if (literal.text.find("-inf") != std::string::npos) return -kHuge;
    return base::parse_number<double>(literal.text);
  }

  std::optional<double> moved(const Instruction& op, const Dims& at) const {
    const Shape& from = computation_.at(op.operands[0]).shape;
    Dims there(from.dims.size(), 0);
    if (op.opcode == Opcode::kBroadcast || op.opcode == Opcode::kTranspose) {
      for (std::size_t i = 0; i < op.dimensions.size(); ++i) {
        const auto d = static_cast<std::size_t>(op.dimensions[i]);
        if (op.opcode == Opcode::kBroadcast) {
          there[i] = at[d];
        } else {
          there[d] = at[i];
        }
      }
      return value(op.operands[0], there);
    }
    std::int64_t place = 0;
    for (std::size_t d = 0; d < at.size(); ++d) place = place * op.shape.dims[d] + at[d];
    for (std::size_t d = there.size(); d-- > 0;) {
      there[d] = place % from.dims[d];
      place /= from.dims[d];
    }
    return value(op.operands[0], there);
  }

  std::optional<double> computed(const Instruction& op, const Dims& at) const {
    std::array<double, 3> x{};
    if (op.operands.size() > x.size()) return std::nullopt;
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const auto of = value(op.operands[i], at);
      if (!of) return std::nullopt;
      x[i] = *of;
    }
    switch (op.opcode) {
      case Opcode::kAdd:
        return x[0] + x[1];
      case Opcode::kSubtract:
        return x[0] - x[1];
      case Opcode::kMultiply:
        return x[0] * x[1];
      case Opcode::kAnd:
        return x[0] != 0 && x[1] != 0 ? 1 : 0;
      case Opcode::kOr:
        return x[0] != 0 || x[1] != 0 ? 1 : 0;
      case Opcode::kNot:
        return x[0] == 0 ? 1 : 0;
      case Opcode::kSelect:
        return x[0] != 0 ? x[1] : x[2];
      case Opcode::kCompare:
        return compared(op.as<CompareAttrs>().direction, x[0], x[1]);
      default:
        return std::nullopt;
    }
  }

  static std::optional<double> compared(const std::string& direction, double a, double b) {
    const auto says = [](bool holds) { return holds ? 1.0 : 0.0; };
    if (direction == "GE") return says(a >= b);
    if (direction == "GT") return says(a > b);
    if (direction == "LE") return says(a <= b);
    if (direction == "LT") return says(a < b);
    if (direction == "EQ") return says(a == b);
    if (direction == "NE") return says(a != b);
    return std::nullopt;
  }

  static constexpr double kHuge = 1e300;
  const Computation& computation_;
};

// Which keys the queries see, by what masks say of the first, the middle and the last query.
struct Mask {
  bool causal = false, unread = false;
  std::int64_t window = 0;
};

struct Found {
  Attention what;
  std::vector<InstrId> operands;  // q, k, v; backward: in the order of first use
};

class AttentionSearch {
 public:
  explicit AttentionSearch(const Computation& computation)
      : computation_(computation), users_(user_lists(computation)) {}

  // The attention whose last product is `product`; nullopt if it is none.
  [[nodiscard]] std::optional<Found> forward(InstrId product) const {
    const Instruction& last = computation_.at(product);
    if (last.opcode != Opcode::kDot) return std::nullopt;
    for (std::size_t side = 0; side < 2; ++side) {
      const Region region = region_of(last.operands[side]);
      if (region.products.size() != 1 || !region.has_exponential) continue;
      if (!is_private(region, product)) continue;
      const auto& dims = last.as<DotAttrs>().dims;
      const Dims& contracted = side == 0 ? dims.lhs_contracting : dims.rhs_contracting;
      const std::int64_t keys = product_of(computation_.at(last.operands[side]).shape, contracted);
      std::optional<Found> found = described(region, keys);
      if (!found) continue;
      const InstrId values = last.operands[1 - side];
      found->what.value_width = all_of(
          free_sizes(computation_.at(values).shape, side == 0 ? dims.rhs_batch : dims.lhs_batch,
                     side == 0 ? dims.rhs_contracting : dims.lhs_contracting));
      found->operands.push_back(source_of(values));
      return found;
    }
    return std::nullopt;
  }

  // The attention whose gradients are the results of the last three of `products`, which are five.
  [[nodiscard]] std::optional<Found> backward(std::span<const InstrId> products) const {
    constexpr std::size_t kProducts = 5, kScores = 2;
    if (products.size() != kProducts) return std::nullopt;
    std::vector<InstrId> scores;
    for (const InstrId product : products) {
      const Region lhs = region_of(computation_.at(product).operands[0]);
      const Region rhs = region_of(computation_.at(product).operands[1]);
      if (lhs.products.empty() && rhs.products.empty()) scores.push_back(product);
    }
    if (scores.size() != kScores) return std::nullopt;
    for (std::size_t i = 0; i < kScores; ++i) {
      Region region = exponent_of(scores[i]);
      if (!region.has_exponential) continue;
      const Instruction& first = computation_.at(scores[i]);
      const auto& dims = first.as<DotAttrs>().dims;
      const std::int64_t keys = all_of(free_sizes(computation_.at(first.operands[1]).shape,
                                                  dims.rhs_batch, dims.rhs_contracting));
      std::optional<Found> found = described(region, keys);
      if (!found) return std::nullopt;
      const Instruction& other = computation_.at(scores[1 - i]);
      found->what.value_width = product_of(computation_.at(other.operands[0]).shape,
                                           other.as<DotAttrs>().dims.lhs_contracting);
      found->what.backward = true;
      for (const InstrId operand : other.operands) found->operands.push_back(source_of(operand));
      return found;
    }
    return std::nullopt;
  }

  // The array behind moves, conversions and scales by constants.
  [[nodiscard]] InstrId source_of(InstrId id) const {
    for (;;) {
      const Instruction& op = computation_.at(id);
      if (moves_or_renames(op.opcode)) {
        id = op.operands[0];
      } else if (is_one_of(op.opcode, {Opcode::kMultiply, Opcode::kDivide}) &&
                 is_scale(op.operands[1])) {
        id = op.operands[0];
      } else if (op.opcode == Opcode::kMultiply && is_scale(op.operands[0])) {
        id = op.operands[1];
      } else {
        return id;
      }
    }
  }

 private:
  struct Region {
    std::vector<bool> inside;
    std::vector<InstrId> ops, products;
    bool has_exponential = false;
  };

  [[nodiscard]] bool is_scale(InstrId id) const {
    const Instruction* op = &computation_.at(id);
    while (moves_or_renames(op->opcode)) op = &computation_.at(op->operands[0]);
    return op->opcode == Opcode::kConstant;
  }

  // What computes `id`, up to products.
  [[nodiscard]] Region region_of(InstrId id) const {
    Region region{.inside = std::vector<bool>(computation_.instructions.size()), .ops = {}};
    add(id, region);
    return region;
  }

  // From the exponential of these scores.
  [[nodiscard]] Region exponent_of(InstrId scores) const {
    const std::vector<bool> later = dependents(users_, scores);
    for (std::size_t i = 0; i < computation_.instructions.size(); ++i) {
      if (!later[i] || computation_.instructions[i].opcode != Opcode::kExp) continue;
      Region region = region_of(InstrId(i));
      if (region.products.size() == 1) return region;
    }
    return region_of(scores);
  }

  void add(InstrId start, Region& region) const {
    std::vector<InstrId> waiting{start};
    while (!waiting.empty()) {
      const InstrId id = waiting.back();
      waiting.pop_back();
      if (region.inside[id.index()]) continue;
      region.inside[id.index()] = true;
      const Instruction& op = computation_.at(id);
      region.ops.push_back(id);
      if (!between_products(op.opcode)) {  // another kind of kernel counts as a product
        region.products.push_back(id);
        continue;
      }
      region.has_exponential |= op.opcode == Opcode::kExp;
      waiting.insert(waiting.end(), op.operands.begin(), op.operands.end());
    }
  }

  // Whether nothing outside reads what depends on the scores.
  [[nodiscard]] bool is_private(const Region& region, InstrId product) const {
    const std::vector<bool> later = dependents(users_, region.products.front());
    return std::ranges::all_of(region.ops, [&](InstrId id) {
      if (!later[id.index()] && id != region.products.front()) return true;
      return std::ranges::all_of(users_[id.index()], [&](InstrId user) {
        return user == product || region.inside[user.index()] || after_sum(user);
      });
    });
  }

  // What normalises the results after the last product reads sums of rows, one a query.
  [[nodiscard]] bool after_sum(InstrId user) const {
    return computation_.at(user).opcode == Opcode::kBroadcast ||
           computation_.at(user).opcode == Opcode::kReduce;
  }

  // All but values, from the product in `region`; nullopt if it is not one of 16-bit queries.
  [[nodiscard]] std::optional<Found> described(const Region& region, std::int64_t keys) const {
    const InstrId scores = region.products.front();
    const Instruction& first = computation_.at(scores);
    if (first.opcode != Opcode::kDot) return std::nullopt;
    const auto& dims = first.as<DotAttrs>().dims;
    const Shape &lhs = computation_.at(first.operands[0]).shape,
                &rhs = computation_.at(first.operands[1]).shape;
    Dims rows = free_sizes(lhs, dims.lhs_batch, dims.lhs_contracting);
    const Dims columns = free_sizes(rhs, dims.rhs_batch, dims.rhs_contracting);
    std::size_t query_side = 0;
    if (all_of(columns) != keys) {
      if (all_of(rows) != keys) return std::nullopt;
      rows = columns;
      query_side = 1;
    }
    const InstrId q = source_of(first.operands[query_side]);
    const InstrId k = source_of(first.operands[1 - query_side]);
    constexpr int kNarrow = 16;
    for (const InstrId source : {q, k}) {
      const DType dtype = computation_.at(source).shape.dtype;
      if (!is_floating(dtype) || bits(dtype) > kNarrow) return std::nullopt;
    }
    Found found;
    Attention& what = found.what;
    const std::int64_t batch = product_of(lhs, dims.lhs_batch);
    what.queries = queries_among(rows, computation_.at(q).shape, computation_.at(k).shape, keys);
    if (std::min({batch, keys, what.queries, all_of(rows)}) < 1) return std::nullopt;
    what.keys = keys;
    what.heads = batch * (all_of(rows) / what.queries);
    what.width = product_of(lhs, dims.lhs_contracting);
    what.dtype = computation_.at(q).shape.dtype;
    what.kv_dtype = computation_.at(k).shape.dtype;
    const std::int64_t held =
        element_count(computation_.at(k).shape) / std::max<std::int64_t>(keys * what.width, 1);
    what.kv_heads = held > 0 && batch % held == 0 ? held : batch;
    const Mask mask = mask_of(region, what);
    what.causal = mask.causal;
    what.window = mask.window;
    what.unread_mask = mask.unread;
    found.operands = {q, k};
    if (!misfit(what).empty() || what.width < 1) return std::nullopt;
    return found;
  }

  // The dimension of queries among the rows of a product, the others being heads of one group: at
  // the place where keys have theirs, [batch, heads, rows, width] or [batch, rows, heads, width].
  static std::int64_t queries_among(const Dims& rows, const Shape& q, const Shape& k,
                                    std::int64_t keys) {
    constexpr std::int64_t kRank = 4;
    if (q.rank() == kRank && k.rank() == kRank) {
      for (const std::size_t place : {std::size_t{2}, std::size_t{1}}) {
        if (k.dims[place] != keys) continue;
        if (q.dims[place] > 0 && all_of(rows) % q.dims[place] == 0) return q.dims[place];
      }
    }
    return rows.empty() ? 1 : *std::ranges::max_element(rows);
  }

  [[nodiscard]] Mask mask_of(const Region& region, const Attention& what) const {
    const std::vector<bool> later = dependents(users_, region.products.front());
    Mask mask;
    for (const InstrId id : region.ops) {
      const Instruction& op = computation_.at(id);
      const bool selects = op.opcode == Opcode::kSelect && !later[op.operands[0].index()];
      const bool adds = op.opcode == Opcode::kAdd && later[id.index()] &&
                        later[op.operands[0].index()] != later[op.operands[1].index()];
      if (!later[id.index()] || (!selects && !adds)) continue;
      const InstrId scores = region.products.front();
      const auto holds = [&](InstrId one) { return later[one.index()] || one == scores; };
      if (selects) {
        read_mask(op.operands[0], holds(op.operands[1]), what, mask);
      } else if (!is_scale(op.operands[holds(op.operands[0]) ? 1 : 0])) {
        read_mask(op.operands[holds(op.operands[0]) ? 1 : 0], std::nullopt, what, mask);
      }
    }
    return mask;
  }

  // `kept`: whether a true element keeps the score; nullopt: the mask is added.
  void read_mask(InstrId id, std::optional<bool> kept, const Attention& what, Mask& mask) const {
    const Shape& shape = computation_.at(id).shape;
    if (shape.rank() < 2 || shape.dims.back() != what.keys) {
      mask.unread = true;
      return;
    }
    std::size_t query_dim = shape.dims.size() - 1;
    for (std::size_t d = 0; d + 1 < shape.dims.size(); ++d) {
      if (shape.dims[d] == what.queries) query_dim = d;
    }
    const Positions positions(computation_);
    constexpr double kHidden = -1e4;  // what masks add to hidden scores is far below
    std::int64_t window = 0;
    bool causal = true, all = true;
    for (const std::int64_t query : {std::int64_t{0}, what.queries / 2, what.queries - 1}) {
      std::int64_t first = -1, last = -1;
      for (std::int64_t key = 0; key < what.keys; ++key) {
        Dims at(shape.dims.size(), 0);
        if (query_dim + 1 < shape.dims.size()) at[query_dim] = query;
        at.back() = key;
        const auto value = positions.value(id, at);
        if (!value) {
          mask.unread = true;
          return;
        }
        const bool seen = kept ? (*value != 0) == *kept : *value > kHidden;
        if (seen && first < 0) first = key;
        if (seen) last = key;
      }
      causal &= last == query + what.keys - what.queries || last == query;
      all &= first == 0 && last == what.keys - 1;
      if (first > 0) window = std::max(window, last - first + 1);
    }
    if (all) return;
    mask.causal |= causal;
    if (causal && window > 0) mask.window = window;
    mask.unread |= !causal;
  }

  const Computation& computation_;
  UserLists users_;
};

Instruction call_of(const Found& found, Shape shape, std::string name) {
  Instruction call;
  call.name = std::move(name);
  call.opcode = Opcode::kCustomCall;
  call.shape = std::move(shape);
  call.operands = found.operands;
  call.attrs = CustomCallAttrs{.target = "attention"};
  call.backend_config = attention_config(found.what);
  return call;
}

// What a program returns, seen through moves and conversions.
struct Result {
  InstrId shown, product;
};

std::optional<Result> result_behind(const AttentionSearch& search, const Computation& computation,
                                    InstrId id, bool is_gradient) {
  const InstrId shown = id;
  for (;;) {
    const Instruction& op = computation.at(id);
    if (op.opcode == Opcode::kDot) return Result{shown, id};
    const bool sums_group = is_gradient && op.opcode == Opcode::kReduce;  // of shared keys
    const bool normalises = !is_gradient && op.opcode == Opcode::kDivide;
    if (moves_or_renames(op.opcode) || sums_group || normalises) {
      id = op.operands[0];
    } else if (const InstrId source = search.source_of(id); source != id) {
      id = source;
    } else {
      return std::nullopt;
    }
  }
}

std::vector<InstrId> products_of(const Computation& computation) {
  std::vector<InstrId> products;
  for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
    if (computation.instructions[i].opcode == Opcode::kDot) products.emplace_back(i);
  }
  return products;
}

bool reads_parameters(const Computation& computation, const Found& found) {
  return std::ranges::all_of(
      found.operands, [&](InstrId id) { return computation.at(id).opcode == Opcode::kParameter; });
}

// The program is one attention: its results become those of one call.
bool call_alone(Computation& computation, FreshNames& names) {
  const Instruction& root = computation.root_instruction();
  const bool is_tuple = root.opcode == Opcode::kTuple;
  const std::vector<InstrId> returned =
      is_tuple ? root.operands : std::vector<InstrId>{computation.root};
  constexpr std::size_t kForward = 2, kGradients = 3;
  const AttentionSearch search(computation);
  std::vector<Result> results;
  for (const InstrId id : returned) {
    const auto result = result_behind(search, computation, id, returned.size() == kGradients);
    if (!result) return false;
    results.push_back(*result);
  }
  const std::vector<InstrId> products = products_of(computation);
  std::optional<Found> found;
  if (products.size() == kForward && results.size() == 1) {
    found = search.forward(results[0].product);
  } else if (results.size() == kGradients) {
    found = search.backward(products);
  }
  if (!found || !reads_parameters(computation, *found)) return false;
  std::vector<Shape> shapes;
  for (const Result& result : results) shapes.push_back(computation.at(result.shown).shape);
  const bool one = shapes.size() == 1;
  std::vector<Instruction>& all = computation.instructions;
  all.push_back(call_of(*found, one ? shapes[0] : Shape::tuple(shapes), names.next("attention")));
  const InstrId call(all.size() - 1);
  std::vector<InstrId> made{call};
  if (!one) {
    made.clear();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Instruction element;
      element.name = names.next("get-tuple-element");
      element.opcode = Opcode::kGetTupleElement;
      element.shape = shapes[i];
      element.operands = {call};
      element.attrs = IndexAttrs{static_cast<std::int64_t>(i)};
      all.push_back(std::move(element));
      made.emplace_back(all.size() - 1);
    }
  }
  if (is_tuple) {
    all[computation.root.index()].operands = made;
  } else {
    computation.root = made.front();
  }
  return true;
}

int call_everywhere(Computation& computation, FreshNames& names) {
  int calls = 0;
  for (const InstrId product : products_of(computation)) {
    const std::optional<Found> found = AttentionSearch(computation).forward(product);
    if (!found) continue;
    Instruction& op = computation.instructions[product.index()];
    op = call_of(*found, op.shape, names.next("attention"));
    ++calls;
  }
  return calls;
}

}  // namespace

int call_attention(Module& module, AttentionCalls which) {
  if (which == AttentionCalls::kNone) return 0;
  FreshNames names(module);
  if (call_alone(module.computations[module.entry.index()], names)) return 1;
  if (which == AttentionCalls::kAlone) return 0;
  const std::vector<bool> sequential = sequential_computations(module);
  int calls = 0;
  for (std::size_t i = 0; i < module.computations.size(); ++i) {
    if (sequential[i]) calls += call_everywhere(module.computations[i], names);
  }
  return calls;
}

}  // namespace tilecast::ir
