#include "base/solvers.h"

#include <utility>

#include "base/plugin.h"

namespace tilecast::base {
namespace {

constexpr Plugin kCeres = {"ceres", "the module of Ceres", kCeresModuleAbi};

const Solvers& solvers() {
  return *static_cast<const Solvers*>(load_plugin(kCeres));
}

}  // namespace

LeastSquaresSolution least_squares(const LeastSquares& problem, std::vector<double> start) {
  return solvers().squares(problem, std::move(start));
}

std::vector<double> smooth_minimum(const SmoothFunction& function, std::vector<double> start) {
  return solvers().minimum(function, std::move(start));
}

}  // namespace tilecast::base
