#include "search/pareto.h"

#include <algorithm>
#include <cmath>

namespace tilecast::search {
namespace {

bool dominates(const std::vector<double>& a, const std::vector<double>& b) {
  bool less = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    less = less || a[i] < b[i];
  }
  return less;
}

}  // namespace

std::vector<std::size_t> pareto_front(std::span<const std::vector<double>> points) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (std::ranges::none_of(points[i], [](double v) { return std::isnan(v); })) order.push_back(i);
  }
  // In sorted order no point is dominated by a later one. With two objectives, comparing with the
  // last point of the front suffices, since it has the smallest second objective so far.
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return points[a] != points[b] ? points[a] < points[b] : a < b;
  });
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    const bool two = points[i].size() == 2;
    const bool beaten = two ? !front.empty() && dominates(points[front.back()], points[i])
                            : std::ranges::any_of(front, [&](std::size_t f) {
                                return dominates(points[f], points[i]);
                              });
    if (!beaten) front.push_back(i);
  }
  std::ranges::sort(front);
  return front;
}

}  // namespace tilecast::search
