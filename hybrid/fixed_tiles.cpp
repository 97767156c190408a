#include "hybrid/fixed_tiles.h"

namespace tilecast::hybrid {

using analytical::Estimate;
using analytical::KernelQuery;
using analytical::TileConfig;

FixedTiles::FixedTiles(const analytical::CostModel& model,
                       std::span<const measured::SampleSet> sets, const hwdesc::Device& device)
    : model_(model) {
  std::vector<KernelQuery> queries;
  for (const measured::SampleSet& set : sets) {
    std::vector<bool> asked(set.works.size(), false);
    for (const measured::Sample& sample : set.samples) {
      if (asked[sample.work] || !(sample.tile == TileConfig{})) continue;
      asked[sample.work] = true;
      for (const measured::WorkPart& part : set.works[sample.work].parts) {
        queries.push_back({part.kernel});
      }
    }
  }
  const std::vector<std::optional<Estimate>> answers = model.estimate(queries, device);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (answers[i] && !(answers[i]->tile == TileConfig{})) {
      tiles_.emplace(&queries[i].kernel, answers[i]->tile);
    }
  }
}

std::vector<std::optional<Estimate>> FixedTiles::estimate(std::span<const KernelQuery> queries,
                                                          const hwdesc::Device& device) const {
  std::vector<KernelQuery> with_tiles;
  with_tiles.reserve(queries.size());
  for (const KernelQuery& query : queries) {
    const auto tile = tiles_.find(&query.kernel);
    const bool fixed = query.tile == nullptr && tile != tiles_.end();
    with_tiles.push_back({query.kernel, fixed ? &tile->second : query.tile});
  }
  std::vector<std::optional<Estimate>> answers = model_.estimate(with_tiles, device);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] || with_tiles[i].tile == queries[i].tile) continue;
    answers[i] = std::move(model_.estimate({&queries[i], 1}, device).front());  // it spills
  }
  return answers;
}

}  // namespace tilecast::hybrid
