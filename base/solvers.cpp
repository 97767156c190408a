#include "base/solvers.h"

#include <mutex>
#include <utility>

#include "base/plugin.h"

namespace tilecast::base {
namespace {

constexpr Plugin kCeres = {.what = "the module of Ceres",
                           .file = "libtilecast_ceres.so",
                           .variable = "TILECAST_CERES_MODULE",
                           .hint = "",
                           .abi_symbol = "tilecast_ceres_module_abi",
                           .entry_symbol = "tilecast_ceres_module",
                           .abi = kCeresModuleAbi};

const Solvers& solvers() {
  static std::mutex loading;
  static const Solvers* loaded = nullptr;
  const std::lock_guard lock(loading);
  if (loaded == nullptr) loaded = static_cast<const Solvers*>(load_plugin(kCeres));
  return *loaded;
}

}  // namespace

LeastSquaresSolution least_squares(const LeastSquares& problem, std::vector<double> start) {
  return solvers().squares(problem, std::move(start));
}

std::vector<double> smooth_minimum(const SmoothFunction& function, std::vector<double> start) {
  return solvers().minimum(function, std::move(start));
}

}  // namespace tilecast::base
