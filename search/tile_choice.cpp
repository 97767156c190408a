#include "search/tile_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "ir/canonical_hash.h"
#include "ir/kernels/kernel_fingerprint.h"

namespace tilecast::search {
namespace {

using analytical::Estimate;
using analytical::KernelAnalysis;
using analytical::KernelQuery;
using analytical::TileConfig;

constexpr std::string_view kFormat = "tilecast.tile_choices/1";
constexpr std::string_view kBlanks = " \t\r";
constexpr std::size_t kHashDigits = 32;

bool is_hash(std::string_view word) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return word.size() == kHashDigits && word.find_first_not_of(kDigits) == std::string_view::npos;
}

// Offers with a finite score, best first.
std::vector<RankedOffer> by_score(std::span<const std::optional<double>> scores) {
  std::vector<RankedOffer> order;
  order.reserve(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] && std::isfinite(*scores[i])) order.push_back({i, *scores[i]});
  }
  std::ranges::sort(order, {},
                    [](const RankedOffer& one) { return std::pair(one.score, one.offer); });
  return order;
}

// Scores only tiles that fit this kernel's loops.
std::vector<std::optional<double>> scores_of(const ir::Kernel& kernel, const hwdesc::Device& device,
                                             const analytical::TileRanker& ranker,
                                             std::span<const TileConfig> offered,
                                             const KernelAnalysis& analysis) {
  std::vector<std::size_t> fitting;
  for (std::size_t i = 0; i < offered.size(); ++i) {
    if (analysis.misfit(offered[i]).empty()) fitting.push_back(i);
  }
  const bool all = fitting.size() == offered.size();
  std::vector<TileConfig> copies;
  for (std::size_t k = 0; !all && k < fitting.size(); ++k) copies.push_back(offered[fitting[k]]);
  std::vector<std::optional<double>> scores =
      ranker.scores(kernel, all ? offered : std::span<const TileConfig>(copies), device);
  TC_CHECK(scores.size() == fitting.size(), "a score or none for each tile");
  if (all) return scores;
  std::vector<std::optional<double>> by_offer(offered.size());
  for (std::size_t k = 0; k < fitting.size(); ++k) by_offer[fitting[k]] = scores[k];
  return by_offer;
}

std::string why_none_runs(const KernelAnalysis& analysis, const hwdesc::Device& device,
                          std::span<const TileConfig> offered) {
  if (offered.empty()) return "no tile is offered";
  std::string reason;  // of the first tile that cannot run
  std::size_t feasible = 0;
  for (const TileConfig& tile : offered) {
    std::string problem = analysis.infeasible_reason(tile);
    if (problem.empty()) ++feasible;
    if (reason.empty()) reason = std::move(problem);
  }
  if (feasible > 0) return fmt::format("the ranker has no score for {} feasible tiles", feasible);
  return fmt::format("none of {} tiles offered can run on {}: {}", offered.size(), device.name,
                     reason);
}

}  // namespace

std::string text_of(const TileChoices& tiles, const std::map<std::string, std::string>& names) {
  std::string text = fmt::format("{}\n", kFormat);
  for (const auto& [hash, tile] : tiles) {
    const auto name = names.find(hash);
    text += fmt::format("{} {}{}\n", hash, tile == TileConfig{} ? "whole" : to_string(tile),
                        name == names.end() ? "" : "  # " + name->second);
  }
  return text;
}

TileChoices read_tiles(const base::SourceText& text) {
  TileChoices tiles;
  bool first = true;
  const std::string_view all = text.text();
  for (std::size_t start = 0; start < all.size();) {
    const std::size_t end = std::min(all.find('\n', start), all.size());
    std::string_view line = all.substr(start, end - start);
    line = base::trim(line.substr(0, line.find('#')), kBlanks);
    const std::size_t at = start;
    start = end + 1;
    if (line.empty()) continue;
    if (std::exchange(first, false)) {
      if (line == kFormat) continue;
      throw Error(text.describe(
          at, fmt::format("got '{}', expected '{}' in the first line", line, kFormat)));
    }
    const std::size_t blank = line.find_first_of(kBlanks);
    const std::string_view hash = line.substr(0, blank);
    if (blank == std::string_view::npos || !is_hash(hash)) {
      throw Error(text.describe(at, "expected the hash of a kernel (32 hex digits) and a tile"));
    }
    const std::string_view tile = base::trim(line.substr(blank), kBlanks);
    try {
      const bool is_new =
          tiles.emplace(hash, tile == "whole" ? TileConfig{} : analytical::parse_tile(tile)).second;
      if (!is_new) throw Error("this kernel stands in the file twice");
    } catch (const Error& error) {
      throw Error(text.describe(at, error.what()));
    }
  }
  if (first) throw Error(fmt::format("{}: is empty; expected '{}'", text.file(), kFormat));
  return tiles;
}

OfferRanking rank_offered(const ir::Kernel& kernel, const hwdesc::Device& device,
                          const analytical::TileRanker& ranker, std::span<const TileConfig> offered,
                          std::size_t most) {
  const KernelAnalysis analysis(kernel, device);
  OfferRanking ranking;
  for (const RankedOffer& one : by_score(scores_of(kernel, device, ranker, offered, analysis))) {
    if (ranking.best.size() == most) break;
    const bool runs = std::isfinite(analysis.time(offered[one.offer]).value);
    if (runs) ranking.best.push_back(one);
  }
  if (ranking.best.empty()) ranking.why_none = why_none_runs(analysis, device, offered);
  return ranking;
}

std::vector<RankedTile> rank_tiles(const ir::Kernel& kernel, const hwdesc::Device& device,
                                   const analytical::TileRanker& ranker,
                                   const TileListing& listing) {
  std::vector<TileConfig> tiles = KernelAnalysis(kernel, device).tiles(listing.most, listing.set);
  std::vector<RankedTile> ranked;
  for (const RankedOffer& one : rank_offered(kernel, device, ranker, tiles).best) {
    ranked.push_back({std::move(tiles[one.offer]), one.score});
  }
  return ranked;
}

TileDecision choose_tile(const ir::Kernel& kernel, const hwdesc::Device& device,
                         const analytical::TileRanker& ranker, std::span<const TileConfig> offered,
                         const TileConfig& by_default) {
  OfferRanking ranking = rank_offered(kernel, device, ranker, offered, 1);
  if (ranking.best.empty()) return {by_default, std::nullopt, std::move(ranking.why_none)};
  const std::size_t chosen = ranking.best.front().offer;
  return {offered[chosen], chosen, {}};
}

std::optional<TileConfig> ChosenTiles::tile_of(const ir::Kernel& kernel,
                                               const hwdesc::Device& device) const {
  const KernelAnalysis analysis(kernel, device);
  if (!options_.fixed.empty()) {
    const auto fixed = options_.fixed.find(ir::canonical_hash(kernel));
    if (fixed != options_.fixed.end()) {
      const std::string problem = analysis.infeasible_reason(fixed->second);
      if (problem.empty()) return fixed->second;
      throw Error(fmt::format("kernel {}: tile {} cannot run on {}: {}", kernel.name(),
                              to_string(fixed->second), device.name, problem));
    }
  }
  if (options_.ranker == nullptr) return std::nullopt;
  if (!analysis.tileable() || analysis.compiler_tile()) return std::nullopt;
  const auto offered = analysis.tiles(options_.listing.most, options_.listing.set);
  TileDecision decision = choose_tile(kernel, device, *options_.ranker, offered, {});
  return decision.offer ? std::optional(std::move(decision.tile)) : std::nullopt;
}

std::vector<std::optional<Estimate>> ChosenTiles::estimate(std::span<const KernelQuery> queries,
                                                           const hwdesc::Device& device) const {
  std::map<ir::Fingerprint, std::optional<TileConfig>> chosen;  // equal kernels are ranked once
  std::vector<KernelQuery> with_tiles;
  for (const KernelQuery& query : queries) {
    with_tiles.push_back(query);
    if (query.tile != nullptr) continue;
    const auto [at, is_new] = chosen.try_emplace(ir::fingerprint(query.kernel));
    if (is_new) at->second = tile_of(query.kernel, device);
    if (at->second) with_tiles.back().tile = &*at->second;
  }
  return times_.estimate(with_tiles, device);
}

}  // namespace tilecast::search
