#include "ir/library_calls.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/array_elements.h"
#include "ir/attention.h"
#include "ir/backend_config.h"
#include "ir/infer/shape_inference.h"
#include "ir/mosaic/read_kernel_body.h"
#include "ir/ops/index_map.h"

namespace tilecast::ir {
namespace {

bool is_library_product(std::string_view target) {
  return target == "__cublas$gemm" || target.starts_with("__cublas$lt$matmul");
}

bool is_library_convolution(std::string_view target) {
  return target == "__cudnn$convForward" || target == "__cudnn$convForwardGraph" ||
         target == "__cudnn$convBiasActivationForward";
}

bool is_library_selection(std::string_view target) {
  return target == "TopK" || target == "__gpu$TopK";
}

constexpr std::string_view kLibrarySort = "__cub$DeviceRadixSort";

// TopK: the k largest elements of a row, with their indices.
std::optional<Instruction> selection(const Instruction& call) {
  const auto* attrs = call.get<CustomCallAttrs>();
  if (!attrs || !is_library_selection(attrs->target) || call.operands.size() != 1 ||
      !call.shape.is_tuple() || call.shape.elements.size() != 2) {
    return std::nullopt;
  }
  const Shape& values = call.shape.elements.front();
  if (!values.is_array() || values.dims.empty()) return std::nullopt;
  Instruction op = call;
  op.called.clear();
  op.opcode = Opcode::kTopK;
  op.attrs = IndexAttrs{values.dims.back()};
  return op;
}

// CUB's radix sort: keys, or keys with values, along the last dimension; then scratch memory.
std::optional<Instruction> library_sort(const Instruction& call) {
  const auto* attrs = call.get<CustomCallAttrs>();
  if (!attrs || !attrs->target.starts_with(kLibrarySort) || call.operands.empty() ||
      call.operands.size() > 2 || !call.shape.is_tuple() || call.shape.elements.empty()) {
    return std::nullopt;
  }
  const Shape& keys = call.shape.elements.front();
  if (!keys.is_array() || keys.dims.empty()) return std::nullopt;
  Instruction op = call;
  op.called.clear();
  op.opcode = Opcode::kSort;
  op.dimensions = {keys.rank() - 1};
  op.attrs = {};
  return op;
}

// The operation that the call performs; nullopt if it is not a supported one or cannot be
// determined.
std::optional<Instruction> performed(const Module& module, const Computation& computation,
                                     const Instruction& call) {
  const auto* attrs = call.get<CustomCallAttrs>();
  if (!attrs || call.operands.size() < 2) return std::nullopt;
  Instruction op = call;
  op.operands.resize(2);
  op.aliasing.reset();
  op.called.clear();
  if (call.shape.is_tuple()) {
    if (call.shape.elements.empty()) return std::nullopt;
    op.shape = call.shape.elements.front();
  }
  if (is_library_product(attrs->target)) {
    const auto dims = read_gemm_dims(*call.backend_config);
    if (!dims) return std::nullopt;
    op.opcode = Opcode::kDot;
    op.attrs = DotAttrs{.dims = *dims, .algorithm = {}, .precision = {}};
  } else if (is_library_convolution(attrs->target) && attrs->dims) {
    op.opcode = Opcode::kConvolution;
    op.attrs = ConvAttrs{.window = attrs->window,
                         .dims = *attrs->dims,
                         .feature_group_count = attrs->feature_group_count,
                         .batch_group_count = attrs->batch_group_count,
                         .precision = {}};
  } else {
    return std::nullopt;
  }
  try {
    const std::optional<Shape> inferred = infer_shape(module, computation, op);
    if (!inferred || !op.shape.is_array() || inferred->dims != op.shape.dims) {
      return std::nullopt;
    }
  } catch (const Error&) {
    return std::nullopt;  // its dimension numbers do not have the expected meaning
  }
  return op;
}

bool takes_first_result(const Instruction& user) {
  const auto* element = user.get<IndexAttrs>();
  return user.opcode == Opcode::kGetTupleElement && element && element->index == 0;
}

// `is_entry`: the scratch memory in the result of its root is not used by a caller.
bool replace_calls(const Module& module, Computation& computation, bool is_entry) {
  std::vector<Instruction>& instructions = computation.instructions;
  std::vector<bool> only_first(instructions.size(), true);  // only its first result is used
  only_first[computation.root.index()] = is_entry;
  for (const Instruction& user : instructions) {
    if (takes_first_result(user)) continue;
    for (const InstrId operand : user.operands) only_first[operand.index()] = false;
  }
  std::vector<bool> was_tuple(instructions.size());
  bool replaced = false;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    auto ordered = selection(instructions[i]);
    if (!ordered) ordered = library_sort(instructions[i]);
    if (ordered) {
      instructions[i] = *std::move(ordered);
      replaced = true;
      continue;
    }
    const bool is_tuple = instructions[i].shape.is_tuple();
    if (is_tuple && !only_first[i]) continue;
    std::optional<Instruction> op = performed(module, computation, instructions[i]);
    if (!op) continue;
    instructions[i] = *std::move(op);
    was_tuple[i] = is_tuple;
    replaced = true;
  }
  for (Instruction& user : instructions) {
    if (!takes_first_result(user) || !was_tuple[user.operands.front().index()]) continue;
    user.opcode = Opcode::kBitcast;
    user.attrs = {};
  }
  return replaced;
}

bool has_library_call(const Module& module) {
  return std::ranges::any_of(module.computations, [](const Computation& computation) {
    return std::ranges::any_of(computation.instructions, [](const Instruction& op) {
      const auto* call = op.get<CustomCallAttrs>();
      return call && (is_library_product(call->target) || is_library_convolution(call->target) ||
                      is_library_selection(call->target) || call->target.starts_with(kLibrarySort));
    });
  });
}

}  // namespace

std::optional<Module> with_library_calls_replaced(const Module& module) {
  if (!has_library_call(module)) return std::nullopt;
  Module result = module;
  bool replaced = false;
  for (std::size_t i = 0; i < result.computations.size(); ++i) {
    const bool is_entry = ComputationId(i) == module.entry;
    replaced = replace_calls(module, result.computations[i], is_entry) || replaced;
  }
  if (!replaced) return std::nullopt;
  return result;
}

namespace {

struct Matrix {
  double m, n;  // m >= n
};

using SolverFlops = double (*)(const Matrix&);

double qr(const Matrix& a) {
  return 2 * a.m * a.n * a.n - 2 * a.n * a.n * a.n / 3;
}
double lu(const Matrix& a) {
  return a.m * a.n * a.n - a.n * a.n * a.n / 3;
}
double symmetric_eigenvalues(const Matrix& a) {
  return 9 * a.n * a.n * a.n;
}
double eigenvalues(const Matrix& a) {
  return 25 * a.n * a.n * a.n;
}
double singular_values(const Matrix& a) {
  return 6 * a.m * a.n * a.n + 20 * a.n * a.n * a.n;
}
double cholesky(const Matrix& a) {
  return a.n * a.n * a.n / 3;
}

struct Solver {
  std::string_view routine;  // LAPACK name without the type letter
  SolverFlops flops;
};
constexpr std::array kRoutines = {Solver{"gesv", singular_values},  // gesvd, gesvdj, ...
                                  Solver{"gesdd", singular_values},
                                  Solver{"syev", symmetric_eigenvalues},
                                  Solver{"heev", symmetric_eigenvalues},
                                  Solver{"geev", eigenvalues},
                                  Solver{"geqrf", qr},
                                  Solver{"orgqr", qr},
                                  Solver{"ungqr", qr},
                                  Solver{"getrf", lu},
                                  Solver{"potrf", cholesky}};
constexpr std::array kOfTpus = {
    Solver{"Qr", qr}, Solver{"ProductOfElementaryHouseholderReflectors", qr},
    Solver{"LuDecomposition", lu}, Solver{"Eigh", symmetric_eigenvalues},
    Solver{"Cholesky", cholesky}};

SolverFlops solver_of(std::string_view target) {
  const auto* exact = std::ranges::find(kOfTpus, target, &Solver::routine);
  if (exact != kOfTpus.end()) return exact->flops;
  constexpr std::array<std::string_view, 6> kLibraries = {"cusolver", "hipsolver", "lapack",
                                                          "cublas",   "hipblas",   "magma"};
  const bool of_library = std::ranges::any_of(
      kLibraries, [&](std::string_view library) { return target.starts_with(library); });
  if (!of_library) return nullptr;
  const auto* found = std::ranges::find_if(kRoutines, [&](const Solver& solver) {
    return target.find(solver.routine) != std::string_view::npos;
  });
  return found == kRoutines.end() ? nullptr : found->flops;
}

std::optional<CustomCallCost> solver_cost(SolverFlops flops, const Shape& a) {
  if (!a.is_array() || a.rank() < 2) return std::nullopt;
  const auto rows = static_cast<double>(a.dims[a.dims.size() - 2]);
  const auto columns = static_cast<double>(a.dims.back());
  if (rows == 0 || columns == 0) return std::nullopt;
  const Matrix matrix{.m = std::max(rows, columns), .n = std::min(rows, columns)};
  const double batch = static_cast<double>(element_count(a)) / (rows * columns);
  const double real_products = is_complex(a.dtype) ? 4 : 1;
  constexpr double kPanel = 64, kPanelOfBatch = 16;  // columns (names of cuSOLVER's kernels)
  return CustomCallCost{.flops = real_products * batch * flops(matrix),
                        .steps = matrix.n,
                        .panel_steps = batch > 1 ? kPanelOfBatch : kPanel,
                        .full_precision = true};
}

// Queries are [batch, rows, heads, width] or [batch, heads, rows, width], and so are keys.
std::optional<Attention> attention_of(const AttentionConfig& config,
                                      std::span<const Shape> operands) {
  constexpr std::size_t kArrays = 3, kRank = 4;
  constexpr int kForward = 2;
  if (operands.size() < kArrays || config.scores.size() != kRank) return std::nullopt;
  for (const Shape& shape : operands.first(kArrays)) {
    if (!shape.is_array() || shape.rank() != kRank || element_count(shape) == 0) {
      return std::nullopt;
    }
  }
  Attention of{.batch = config.scores[0],
               .heads = config.scores[1],
               .queries = config.scores[2],
               .keys = config.scores[3],
               .width = operands[0].dims.back(),
               .value_width = operands[2].dims.back(),
               .causal = config.causal,
               .window = static_cast<std::int64_t>(config.window),
               .backward = config.products > kForward,
               .dtype = operands[0].dtype,
               .kv_dtype = operands[1].dtype};
  of.kv_heads =
      element_count(operands[1]) / std::max<std::int64_t>(of.batch * of.keys * of.width, 1);
  const bool fits = of.kv_heads > 0 && misfit(of).empty() &&
                    of.kv_heads * of.batch * of.keys * of.width == element_count(operands[1]);
  return fits ? std::optional(of) : std::nullopt;
}

// Scores are query x key per batch and head. Every product contracts or produces a head size: that
// of queries and keys, or that of values (one product forward, two backward).
std::optional<CustomCallCost> attention_cost(const AttentionConfig& config,
                                             std::span<const Shape> operands) {
  const auto head_of = [&](std::size_t operand) {
    const bool says = operand < operands.size() && operands[operand].is_array() &&
                      !operands[operand].dims.empty();
    return says ? static_cast<double>(operands[operand].dims.back()) : 0.0;
  };
  constexpr std::size_t kValues = 2;
  constexpr int kForward = 2;
  if (head_of(0) <= 0) return std::nullopt;
  double scores = config.causal ? 0.5 : 1;
  for (const std::int64_t size : config.scores) scores *= static_cast<double>(size);
  const double per_query = static_cast<double>(config.scores.back()) * (config.causal ? 0.5 : 1);
  if (config.window > 0) scores *= std::min(config.window / per_query, 1.0);
  const double with_values = config.products > kForward ? 2 : 1;
  const double values = head_of(kValues) > 0 ? head_of(kValues) : head_of(0);
  const double heads = (config.products - with_values) * head_of(0) + with_values * values;
  return CustomCallCost{.flops = 2 * scores * heads,
                        .transcendentals = scores,
                        .in_turn = true,
                        .attention = attention_of(config, operands)};
}

// The number behind the first `key` in a kernel's name, "_block_kv_2048_"; 0 without one.
std::int64_t number_after(std::string_view name, std::string_view key) {
  const std::size_t at = name.find(key);
  std::int64_t number = 0;
  if (at != std::string_view::npos) {
    std::from_chars(name.data() + at + key.size(), name.data() + name.size(), number);
  }
  return number;
}

// Splash kernels read, before the queries, which blocks are visited: [heads, blocks of queries,
// visits], of gradients of keys [heads, visits, blocks of keys]. A mask that hides nothing needs
// none. As many visits as there are blocks are a causal mask's, fewer those of a window.
void assume_mask(const Instruction& call, std::span<const Shape> operands, Attention& of) {
  constexpr std::size_t kRank = 3;
  const Shape* visited = nullptr;
  for (const Shape& shape : operands) {
    if (shape.is_array() && is_floating(shape.dtype)) break;  // the queries
    if (shape.is_array() && shape.rank() > 0) visited = &shape;
  }
  of.unread_mask = visited == nullptr || of.queries > of.keys;
  if (of.unread_mask) return;
  of.assumed_mask = of.causal = true;
  if (visited->rank() != kRank || element_count(*visited) == 0) return;
  const bool of_keys = of.backward && of.gradients != Gradients::kOfQueries;
  const std::int64_t blocks = visited->dims[of_keys ? 2 : 1],
                     visits = visited->dims[of_keys ? 1 : 2];
  const std::int64_t side = (of_keys ? of.keys : of.queries) / blocks;
  if (of.query_block == 0) {  // its code does not say
    const char* key = !of.backward ? "_block_kv_" : of_keys ? "_block_q_dkv_" : "_block_kv_dq_";
    const std::int64_t named = number_after(call.name, key), other = named > 0 ? named : side;
    of.query_block = of_keys ? other : side;
    of.key_block = of_keys ? side : other;
  }
  const std::int64_t other = of_keys ? of.query_block : of.key_block;
  if (visits * other < (of_keys ? of.queries : of.keys)) {
    of.window = std::max<std::int64_t>(visits * other - side, 1);
  }
}

// Products per block of scores: of attention, of gradients of queries, of keys and values, of all.
constexpr int kForwardProducts = 2, kQueriesProducts = 3, kKeysProducts = 4, kAllProducts = 5;

// By the names that JAX gives its splash and flash kernels, of which profiles hold no code; 0:
// another kernel.
int products_by_name(const Instruction& call) {
  const auto named = [&](std::initializer_list<std::string_view> texts) {
    return std::ranges::any_of(texts, [&](std::string_view text) {
      return call.name.find(text) != std::string::npos ||
             call.op_name().find(text) != std::string_view::npos;
    });
  };
  // A kernel of all gradients also writes parts of the queries', one for each block of keys.
  constexpr int kRankOfParts = 4;
  const auto has_parts = [](const Shape& shape) { return shape.rank() > kRankOfParts; };
  const bool of_all = call.shape.is_tuple() && std::ranges::any_of(call.shape.elements, has_parts);
  if (named({"splash_mha_dkv", "splash_mqa_dkv", "flash_mha_bwd_dkv"})) {
    return of_all ? kAllProducts : kKeysProducts;
  }
  if (named({"splash_mha_dq", "splash_mqa_dq", "flash_mha_bwd_dq"})) return kQueriesProducts;
  const bool forward = named({"splash_mha_fwd", "splash_mqa_fwd", "flash_attention"});
  return forward ? kForwardProducts : 0;
}

// The rows of a matrix whose other side is `width`: JAX's kernels take queries, keys and values
// with either side innermost (splash attention's QKVLayout).
std::int64_t rows_beside(const Dims& dims, std::int64_t width) {
  const std::int64_t inner = dims.back(), outer = dims[dims.size() - 2];
  return inner != width && outer == width ? inner : outer;
}

// Sides of the blocks that the code works on: of its windows, or of the scores that it makes at a
// time where a window holds all keys.
void set_blocks(const KernelBody& body, std::size_t queries, std::size_t keys, Attention& of) {
  const auto rows = [&](std::size_t array) -> std::int64_t {
    for (const KernelBody::Window& window : body.windows) {
      if (window.written || window.array != array || window.block.size() < 2) continue;
      return rows_beside(window.block, of.width);
    }
    return 0;
  };
  const Dims& scores = body.scores.block;
  of.query_block = rows(queries);
  of.key_block = rows(keys);
  if (scores.size() != 2 || of.query_block == 0 || of.key_block == 0) return;
  if (of.key_block == of.keys) of.key_block = scores[scores[0] == of.query_block ? 1 : 0];
  if (of.query_block == of.queries) of.query_block = scores[scores[0] == of.key_block ? 1 : 0];
}

// Attention in a Pallas kernel: queries, keys and values are the first arrays of 16-bit floats,
// [heads, rows, width] or [batch, heads, rows, width], or width before rows where the code says so.
std::optional<CustomCallCost> pallas_attention(const Instruction& call,
                                               std::span<const Shape> operands,
                                               const KernelBody* body) {
  const int products =
      body != nullptr ? static_cast<int>(body->scores.products + 0.5) : products_by_name(call);
  if (products < kForwardProducts || products > kAllProducts) return std::nullopt;
  std::vector<std::size_t> arrays;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Shape& shape = operands[i];
    const bool holds = shape.is_array() && is_floating(shape.dtype) && bits(shape.dtype) <= 16 &&
                       shape.rank() >= 3 && element_count(shape) > 0;
    if (holds) arrays.push_back(i);
  }
  constexpr std::size_t kArrays = 3;
  if (arrays.size() < kArrays) return std::nullopt;
  const auto heads = [](const Shape& shape) {
    return element_count(shape) / (shape.dims.back() * shape.dims[shape.dims.size() - 2]);
  };
  const auto has_side = [](const Shape& shape, std::int64_t size) {
    return size == shape.dims.back() || size == shape.dims[shape.dims.size() - 2];
  };
  const Shape &q = operands[arrays[0]], &k = operands[arrays[1]], &v = operands[arrays[2]];
  const std::int64_t said = body != nullptr ? std::llround(body->scores.width) : 0;
  const std::int64_t width = has_side(q, said) ? said : q.dims.back();
  const std::int64_t keys = rows_beside(k.dims, width);
  Attention of{.heads = heads(q),
               .kv_heads = heads(k),
               .queries = rows_beside(q.dims, width),
               .keys = keys,
               .width = width,
               .value_width = rows_beside(v.dims, keys),
               .backward = products > kForwardProducts,
               .dtype = q.dtype,
               .kv_dtype = k.dtype};
  if (of.backward) {
    of.gradients = products == kQueriesProducts ? Gradients::kOfQueries
                   : products == kAllProducts   ? Gradients::kAlone
                                                : Gradients::kOfKeys;
  }
  if (body != nullptr) set_blocks(*body, arrays[0], arrays[1], of);
  if (body == nullptr || body->by_data) {
    assume_mask(call, operands, of);
    of.segmented =
        of.assumed_mask && (body != nullptr ? body->scores.compares > 1
                                            : call.name.find("_segmented") != std::string::npos);
  } else {
    const double all = static_cast<double>(of.heads) * static_cast<double>(of.queries) *
                       static_cast<double>(of.keys);
    of.causal = body->scores.count < all && of.queries <= of.keys;
  }
  if (!misfit(of).empty() || !has_side(k, of.width)) return std::nullopt;
  return cost_of(of);
}

std::optional<CustomCallCost> pallas_cost(const Instruction& call, std::span<const Shape> operands,
                                          const BackendConfig& config) {
  if (config.body.empty()) {
    auto cost = pallas_attention(call, operands, nullptr);
    if (!cost) cost = config.cost;
    if (config.unreadable && !cost) cost = {.note = "its backend_config cannot be parsed"};
    return cost;
  }
  const std::size_t results = call.shape.is_tuple() ? call.shape.elements.size() : 1;
  KernelBody body;
  try {
    const double stated = config.cost ? config.cost->flops : 0;
    body = read_kernel_body(config.body, operands.size(), results, stated);
  } catch (const Error& error) {
    auto cost = pallas_attention(call, operands, nullptr);
    if (!cost) cost = config.cost.value_or(CustomCallCost{});
    cost->note = std::string("its code is not read: ") + error.what();
    return cost;
  }
  if (auto cost = pallas_attention(call, operands, &body)) return cost;
  CustomCallCost cost{.flops = body.flops, .transcendentals = body.transcendentals};
  if (config.cost && config.cost->flops > 0 && body.by_data && body.flops > 0) {
    const double share = config.cost->flops / body.flops;
    for (KernelBody::Work& work : body.work) work.times *= share;
    body.notes.emplace_back("as often as its cost_estimate says");
    cost.flops = config.cost->flops;
    cost.transcendentals = config.cost->transcendentals;
  }
  cost.body = std::move(body);
  return cost;
}

// Gradients of a convolution multiply as often as it does: every gradient of a result with every
// weight of its feature.
std::optional<CustomCallCost> backward_convolution_cost(const CustomCallAttrs& call,
                                                        const Shape& result,
                                                        std::span<const Shape> operands) {
  if (!call.dims || operands.size() < 2) return std::nullopt;
  const bool of_filter = call.target.find("Filter") != std::string::npos;
  const Shape& gradients = operands[of_filter ? 1 : 0];
  const Shape& filter = of_filter ? first_array(result) : operands[1];
  const auto feature = static_cast<std::size_t>(call.dims->kernel_output_feature);
  const bool readable = gradients.is_array() && filter.is_array() && feature < filter.dims.size() &&
                        filter.dims[feature] > 0;
  if (!readable) return std::nullopt;
  const double weights = array_elements(filter) / static_cast<double>(filter.dims[feature]);
  return CustomCallCost{.flops = 2 * array_elements(gradients) * weights};
}

std::optional<CustomCallCost> named_cost(const Instruction& call, const CustomCallAttrs& attrs,
                                         std::span<const Shape> operands) {
  if (operands.empty()) return std::nullopt;
  if (const SolverFlops flops = solver_of(attrs.target)) return solver_cost(flops, operands[0]);
  if (attrs.target.starts_with("__cudnn$convBackward")) {
    return backward_convolution_cost(attrs, call.shape, operands);
  }
  if (attrs.target == "attention") {
    const auto said = read_attention_call(*call.backend_config);
    return said ? std::optional(cost_of(*said)) : std::nullopt;
  }
  if (!attrs.target.starts_with("__cudnn$fmha")) return std::nullopt;
  const auto attention = read_attention(*call.backend_config);
  return attention ? attention_cost(*attention, operands) : std::nullopt;
}

}  // namespace

std::optional<CustomCallCost> library_cost(const Instruction& call, std::span<const Shape> operands,
                                           const BackendConfig& config) {
  const auto* attrs = call.get<CustomCallAttrs>();
  if (attrs == nullptr) return config.cost;
  if (attrs->target == "tpu_custom_call") return pallas_cost(call, operands, config);
  auto known = named_cost(call, *attrs, operands);
  const bool describes = known && known->attention;  // its own statement says less
  return config.cost && !describes ? config.cost : known;
}

}  // namespace tilecast::ir
