// Tiles of a program's kernels: as data, and chosen by a ranker.
//
//   TileChoices tiles = read_tiles(text);                   // a file that `tune program` wrote
//   ChosenTiles model(times, {.ranker = &ranks, .fixed = tiles});
//   sim::simulate(program, device, model);                  // with these tiles, timed by `times`
//
// Choices are keyed by a kernel's canonical hash (ir/canonical_hash.h), so they survive renaming
// and different fusions around the kernel.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analytical/analytical_model.h"
#include "analytical/tile_ranker.h"
#include "base/source_text.h"

namespace tilecast::search {

using TileChoices = std::map<std::string, analytical::TileConfig>;  // by canonical hash

// One line per kernel, after a line with the format's name:
//   tilecast.tile_choices/1
//   0f3a...  out=16x128 kernel=64  # dot_fusion.4
// `names`: kernel names by hash, written as comments.
[[nodiscard]] std::string text_of(const TileChoices& tiles,
                                  const std::map<std::string, std::string>& names = {});
// Throws Error, with the line, for malformed text and for a kernel that occurs twice.
[[nodiscard]] TileChoices read_tiles(const base::SourceText& text);

// Contract of all tile choices (`tiles`, `tune`, ChosenTiles): the chosen tile is one of those
// offered and can run on the device according to KernelAnalysis, whatever the ranker says. If there
// is none, the caller keeps its own tile.
struct RankedOffer {
  std::size_t offer = 0;  // index into the offered tiles
  double score = 0;
};
struct OfferRanking {
  std::vector<RankedOffer> best;  // best first; ties in the order offered; no duplicates
  std::string why_none;  // "none of 3 tiles offered can run on tpu_v3: ..."; empty if one can
};
// Ranks the offered tiles that can run and have a finite score, and returns at most `most`. Tiles
// that do not fit the kernel's shape count as unable to run, without an error. Thread-safe if the
// ranker is.
[[nodiscard]] OfferRanking rank_offered(const ir::Kernel& kernel, const hwdesc::Device& device,
                                        const analytical::TileRanker& ranker,
                                        std::span<const analytical::TileConfig> offered,
                                        std::size_t most = std::numeric_limits<std::size_t>::max());

struct RankedTile {
  analytical::TileConfig tile;
  double score = 0;
};
struct TileListing {
  analytical::TileSet set = analytical::TileSet::kLadder;
  std::size_t most = 4096;
};
// Lists a kernel's tiles and ranks them as rank_offered() does.
[[nodiscard]] std::vector<RankedTile> rank_tiles(const ir::Kernel& kernel,
                                                 const hwdesc::Device& device,
                                                 const analytical::TileRanker& ranker,
                                                 const TileListing& listing = {});

// One of the tiles that a caller offers, or its default.
struct TileDecision {
  analytical::TileConfig tile;       // offered[*offer], or the unchanged default
  std::optional<std::size_t> offer;  // nullopt: the default is kept
  std::string why_default;           // OfferRanking::why_none
};
// The best tile by rank_offered(); if there is none, `by_default`, unchanged and unchecked.
[[nodiscard]] TileDecision choose_tile(const ir::Kernel& kernel, const hwdesc::Device& device,
                                       const analytical::TileRanker& ranker,
                                       std::span<const analytical::TileConfig> offered,
                                       const analytical::TileConfig& by_default);

struct ChosenTilesOptions {
  const analytical::TileRanker* ranker = nullptr;  // nullptr: `times` chooses
  TileListing listing = {};
  TileChoices fixed = {};  // take precedence over the ranker
};

// Combines times from one model with tiles from another. A query without a tile gets the one fixed
// for its kernel, else the ranker's best; if the ranker has no answer, the model of times chooses.
// Tiles stated in a dump are kept. Arguments must outlive this. Thread-safe.
class ChosenTiles final : public analytical::CostModel {
 public:
  ChosenTiles(const analytical::CostModel& times, ChosenTilesOptions options)
      : times_(times), options_(std::move(options)) {}
  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override;
  // The tile for a query that states none; nullopt: the model of times chooses.
  [[nodiscard]] std::optional<analytical::TileConfig> tile_of(const ir::Kernel& kernel,
                                                              const hwdesc::Device& device) const;

 private:
  const analytical::CostModel& times_;
  ChosenTilesOptions options_;
};

}  // namespace tilecast::search
