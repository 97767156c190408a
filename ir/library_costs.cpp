#include "ir/library_costs.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/backend_config.h"

namespace tilecast::ir {
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
  return CustomCallCost{.flops = real_products * batch * flops(matrix), .full_precision = true};
}

// Scores are query x key per batch and head; every product contracts or produces the head size.
std::optional<CustomCallCost> attention_cost(const AttentionConfig& config, const Shape& query) {
  if (!query.is_array() || query.dims.empty()) return std::nullopt;
  double scores = config.causal ? 0.5 : 1;
  for (const std::int64_t size : config.scores) scores *= static_cast<double>(size);
  const auto head = static_cast<double>(query.dims.back());
  return CustomCallCost{.flops = 2 * config.products * scores * head, .transcendentals = scores};
}

}  // namespace

std::optional<CustomCallCost> library_cost(const Instruction& call,
                                           std::span<const Shape> operands) {
  const auto* attrs = call.get<CustomCallAttrs>();
  if (call.opcode != Opcode::kCustomCall || attrs == nullptr || operands.empty()) {
    return std::nullopt;
  }
  if (const SolverFlops flops = solver_of(attrs->target)) return solver_cost(flops, operands[0]);
  if (!attrs->target.starts_with("__cudnn$fmha")) return std::nullopt;
  const auto attention = read_attention(*call.backend_config);
  return attention ? attention_cost(*attention, operands[0]) : std::nullopt;
}

}  // namespace tilecast::ir
