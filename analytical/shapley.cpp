#include "analytical/shapley.h"

#include <bit>

#include "base/error.h"

namespace tilecast::analytical {

std::vector<double> shapley_values(std::size_t players, const CoalitionValue& value) {
  constexpr std::size_t kMostPlayers = 20;
  TC_CHECK(players <= kMostPlayers, "too many players to try all orders");
  std::vector<double> values(std::size_t{1} << players);
  for (std::uint32_t s = 0; s < values.size(); ++s) values[s] = value(s);
  const auto n = static_cast<double>(players);
  std::vector<double> share(players);  // weight of a coalition of this size, without the player
  for (std::size_t size = 0; size < players; ++size) {  // size! (n - size - 1)! / n!
    const auto s = static_cast<double>(size);
    share[size] = size == 0 ? 1 / n : share[size - 1] * s / (n - s);
  }
  std::vector<double> result(players);
  for (std::size_t player = 0; player < players; ++player) {
    const std::uint32_t bit = std::uint32_t{1} << player;
    for (std::uint32_t s = 0; s < values.size(); ++s) {
      if ((s & bit) != 0) continue;
      result[player] +=
          share[static_cast<std::size_t>(std::popcount(s))] * (values[s | bit] - values[s]);
    }
  }
  return result;
}

PerBound attributed_time(const AccountingOf& account) {
  const Accounting all = account(0);
  std::vector<Bound> players;  // latency may be hidden until other resources are free
  BoundMask idle = 0;
  for (std::size_t b = 0; b < kBoundCount; ++b) {
    const auto bound = static_cast<Bound>(b);
    const bool works = all.busy[b] > 0 || account(mask_of(bound)).total_s != all.total_s;
    if (works || bound == Bound::kLatency) {
      players.push_back(bound);
    } else {
      idle |= mask_of(bound);
    }
  }
  const std::vector<double> values = shapley_values(players.size(), [&](std::uint32_t present) {
    BoundMask removed = idle;
    for (std::size_t p = 0; p < players.size(); ++p) {
      if ((present >> p & 1U) == 0) removed |= mask_of(players[p]);
    }
    return account(removed).total_s;
  });
  PerBound seconds{};
  for (std::size_t p = 0; p < players.size(); ++p) seconds[index_of(players[p])] = values[p];
  return seconds;
}

}  // namespace tilecast::analytical
