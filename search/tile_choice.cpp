#include "search/tile_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "ir/canonical_hash.h"
#include "ir/kernels/kernel_fingerprint.h"

namespace tilecast::search {
namespace {

using analytical::Estimate;
using analytical::KernelQuery;
using analytical::TileConfig;

constexpr std::string_view kFormat = "tilecast.tile_choices/1";
constexpr std::string_view kBlanks = " \t\r";
constexpr std::size_t kHashDigits = 32;

bool is_hash(std::string_view word) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return word.size() == kHashDigits && word.find_first_not_of(kDigits) == std::string_view::npos;
}

void check_that_it_runs(const ir::Kernel& kernel, const TileConfig& tile,
                        const hwdesc::Device& device) {
  const auto answer = analytical::KernelAnalysis(kernel, device).estimate(tile);
  const auto* problem = std::get_if<analytical::Infeasible>(&answer);
  if (problem == nullptr) return;
  throw Error(fmt::format("kernel {}: tile {} cannot run on {}: {}", kernel.name(), to_string(tile),
                          device.name, problem->reason));
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

std::vector<RankedTile> rank_tiles(const ir::Kernel& kernel, const hwdesc::Device& device,
                                   const analytical::TileRanker& ranker,
                                   const TileListing& listing) {
  std::vector<TileConfig> tiles =
      analytical::KernelAnalysis(kernel, device).tiles(listing.most, listing.set);
  const std::vector<std::optional<double>> scores = ranker.scores(kernel, tiles, device);
  std::vector<RankedTile> ranked;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (scores[i]) ranked.push_back({std::move(tiles[i]), *scores[i]});
  }
  std::ranges::stable_sort(ranked, {}, &RankedTile::score);
  return ranked;
}

TileDecision choose_tile(const ir::Kernel& kernel, const hwdesc::Device& device,
                         const analytical::TileRanker& ranker, std::span<const TileConfig> offered,
                         const TileConfig& by_default) {
  TileDecision decision{.tile = by_default};
  const analytical::KernelAnalysis analysis(kernel, device);
  std::vector<TileConfig> feasible;
  std::vector<std::size_t> offers;  // by feasible
  std::string reason;               // of the first that cannot run
  for (std::size_t i = 0; i < offered.size(); ++i) {
    const auto answer = analysis.estimate(offered[i]);
    if (const auto* problem = std::get_if<analytical::Infeasible>(&answer)) {
      if (++decision.infeasible == 1) reason = problem->reason;
    } else {
      feasible.push_back(offered[i]);
      offers.push_back(i);
    }
  }
  const std::vector<std::optional<double>> scores = ranker.scores(kernel, feasible, device);
  TC_CHECK(scores.size() == feasible.size(), "a score or none for each tile");
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < feasible.size(); ++i) {
    if (!scores[i] || !(*scores[i] < best)) continue;
    best = *scores[i];
    decision.offer = offers[i];
    decision.tile = feasible[i];
  }
  if (decision.offer) return decision;
  decision.why_default =
      offered.empty() ? "no tile is offered"
      : !feasible.empty()
          ? fmt::format("the ranker has no score for {} feasible tiles", feasible.size())
          : fmt::format("none of {} tiles offered can run on {}: {}", offered.size(), device.name,
                        reason);
  return decision;
}

std::optional<TileConfig> ChosenTiles::tile_of(const ir::Kernel& kernel,
                                               const hwdesc::Device& device) const {
  if (!options_.fixed.empty()) {
    const auto fixed = options_.fixed.find(ir::canonical_hash(kernel));
    if (fixed != options_.fixed.end()) {
      check_that_it_runs(kernel, fixed->second, device);
      return fixed->second;
    }
  }
  if (options_.ranker == nullptr) return std::nullopt;
  const analytical::KernelAnalysis analysis(kernel, device);
  if (!analysis.tileable() || analysis.compiler_tile()) return std::nullopt;
  const std::vector<RankedTile> ranked =
      rank_tiles(kernel, device, *options_.ranker, options_.listing);
  return ranked.empty() ? std::nullopt : std::optional(ranked.front().tile);
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
