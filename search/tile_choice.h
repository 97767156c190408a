// Which tile each kernel of a program has: as data, and chosen by whatever orders tiles.
//
//   TileChoices tiles = read_tiles(text);                   // a file that `tune program` wrote
//   ChosenTiles model(times, {.ranker = &ranks, .fixed = tiles});
//   sim::simulate(program, device, model);                  // with these tiles, timed by `times`
//
// A tile belongs to a kernel by what it computes (ir/canonical_hash.h), so that a choice survives
// renaming and other fusions around the kernel.
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

// A line for each kernel, and a first line that says what the file is:
//   tilecast.tile_choices/1
//   0f3a...  out=16x128 kernel=64  # dot_fusion.4
// `names`: of kernels, by hash; for the reader.
[[nodiscard]] std::string text_of(const TileChoices& tiles,
                                  const std::map<std::string, std::string>& names = {});
// Throws Error, with the line, for anything else and for a kernel that stands there twice.
[[nodiscard]] TileChoices read_tiles(const base::SourceText& text);

// The contract of choosing, whoever chooses (`tiles`, `tune`, ChosenTiles): the answer is among the
// tiles offered, runs on the device by KernelAnalysis whatever the ranker says, and where there is
// none the caller keeps what it has.
struct RankedOffer {
  std::size_t offer = 0;  // into what was offered
  double score = 0;
};
struct OfferRanking {
  std::vector<RankedOffer> best;  // the best first, of equal scores the first offered; each once
  std::string why_none;  // "none of 3 tiles offered can run on tpu_v3: ..."; empty: there is one
};
// At most `most` of those that can run and have a finite score. Tiles of another kernel's shape
// cannot run; that is no error. Thread-safe where the ranker is.
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
// The tiles that are listed of a kernel, as rank_offered() orders them.
[[nodiscard]] std::vector<RankedTile> rank_tiles(const ir::Kernel& kernel,
                                                 const hwdesc::Device& device,
                                                 const analytical::TileRanker& ranker,
                                                 const TileListing& listing = {});

// One of the tiles that a caller offers, or what it has without a choice.
struct TileDecision {
  analytical::TileConfig tile;       // offered[*offer], else the default as it was given
  std::optional<std::size_t> offer;  // nullopt: the default is kept
  std::string why_default;           // OfferRanking::why_none
};
// The best by rank_offered(); where there is none `by_default`, unchanged and unchecked.
[[nodiscard]] TileDecision choose_tile(const ir::Kernel& kernel, const hwdesc::Device& device,
                                       const analytical::TileRanker& ranker,
                                       std::span<const analytical::TileConfig> offered,
                                       const analytical::TileConfig& by_default);

struct ChosenTilesOptions {
  const analytical::TileRanker* ranker = nullptr;  // null: `times` chooses as it does by itself
  TileListing listing = {};
  TileChoices fixed = {};  // come first
};

// Times by one model, tiles by another: a query without a tile gets the one fixed for its kernel,
// else the ranker's best. A dump's own tile is kept; where the ranker has no answer the model of
// times chooses. What is given outlives this. Thread-safe.
class ChosenTiles final : public analytical::CostModel {
 public:
  ChosenTiles(const analytical::CostModel& times, ChosenTilesOptions options)
      : times_(times), options_(std::move(options)) {}
  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override;
  // The tile that a query without one gets; nothing: the model of times chooses.
  [[nodiscard]] std::optional<analytical::TileConfig> tile_of(const ir::Kernel& kernel,
                                                              const hwdesc::Device& device) const;

 private:
  const analytical::CostModel& times_;
  ChosenTilesOptions options_;
};

}  // namespace tilecast::search
