#include "learned/training/pretraining.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "base/parallel.h"
#include "learned/training/fit.h"

namespace tilecast::learned {
namespace {

using analytical::Estimate;
using analytical::KernelAnalysis;
using analytical::KernelQuery;
using analytical::TileConfig;

// A kernel on one device, with what it can give.
struct Source {
  std::size_t row = 0;                               // the first of its examples
  std::set<std::string> measured = {};               // tiles, as text
  std::vector<TileConfig> tiles = {};                // in random order
  bool itself = false;                               // gives no tiles but itself
  std::size_t share = 0;                             // how many are taken
  std::vector<std::optional<Estimate>> labels = {};  // of those

  [[nodiscard]] std::size_t available() const { return itself ? 1 : tiles.size(); }
};

std::vector<Source> sources_of(const Examples& examples) {
  std::map<std::uint32_t, Source> by_kernel;
  for (std::size_t row = 0; row < examples.rows.size(); ++row) {
    Source& source =
        by_kernel.try_emplace(examples.rows[row].kernel, Source{.row = row}).first->second;
    const TileConfig* tile = examples.queries[row].tile;
    if (tile != nullptr) source.measured.insert(analytical::to_string(*tile));
  }
  std::vector<Source> sources;
  for (auto& [number, source] : by_kernel) sources.push_back(std::move(source));
  return sources;
}

// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a stream for every kernel.
std::uint64_t stream_of(std::uint64_t seed, std::uint64_t kernel) {
  std::uint64_t x = seed + (kernel + 1) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

bool is_answered(const std::optional<Estimate>& label) {
  return label && label->time.value > 0 && std::isfinite(label->time.value);
}

// At most `most` unmeasured tiles at random; or the kernel itself.
void find(Source& source, const Examples& examples, std::size_t most, std::uint64_t seed) {
  const Example& example = examples.rows[source.row];
  const ir::Kernel& kernel = examples.queries[source.row].kernel;
  const KernelQuery query{kernel};
  const auto itself = examples.prior_model->estimate(std::span(&query, 1), *example.device);
  if (!is_answered(itself.front())) return;
  const KernelAnalysis analysis(kernel, *example.device);
  source.itself = source.measured.empty() || !analysis.tileable();
  if (source.itself) return;
  source.tiles = analysis.tiles();
  std::erase_if(source.tiles, [&](const TileConfig& tile) {
    return source.measured.contains(analytical::to_string(tile));
  });
  std::mt19937_64 random(stream_of(seed, example.kernel));
  const std::size_t count = std::min(most, source.tiles.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(source.tiles[i], source.tiles[i + random() % (source.tiles.size() - i)]);
  }
  source.tiles.resize(count);
}

void label(Source& source, const Examples& examples) {
  const ir::Kernel& kernel = examples.queries[source.row].kernel;
  std::vector<KernelQuery> queries;
  for (std::size_t i = 0; i < source.share; ++i) {
    queries.push_back({kernel, source.itself ? nullptr : &source.tiles[i]});
  }
  source.labels = examples.prior_model->estimate(queries, *examples.rows[source.row].device);
}

// Equal shares; what a source does not have goes to those that have more.
void share_out(std::vector<Source>& sources, std::size_t rows) {
  std::vector<std::size_t> order(sources.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return sources[i].available(); });
  for (std::size_t i = 0; i < order.size(); ++i) {
    Source& source = sources[order[i]];
    source.share = std::min(source.available(), rows / (order.size() - i));
    rows -= source.share;
  }
}

}  // namespace

Unmeasured::Unmeasured(const Examples& measured, std::size_t rows, std::uint64_t seed, int jobs)
    : examples_{.kernels = measured.kernels,
                .families = measured.families,
                .parameter_names = measured.parameter_names,
                .prior_model = measured.prior_model} {
  TC_CHECK(measured.prior_model != nullptr, "labels come from a model");
  std::vector<Source> sources = sources_of(measured);
  base::parallel_for(sources.size(), jobs,
                     [&](std::size_t i) { find(sources[i], measured, rows, seed); });
  share_out(sources, rows);
  base::parallel_for(sources.size(), jobs, [&](std::size_t i) { label(sources[i], measured); });
  std::size_t most_names = 0;
  for (const auto& names : measured.parameter_names)
    most_names = std::max(most_names, names.size());
  no_parameters_.assign(most_names, std::nanf(""));
  for (Source& source : sources) {
    const Example& example = measured.rows[source.row];
    const auto parameters = std::span<const float>(no_parameters_)
                                .first(measured.parameter_names.at(example.set).size());
    for (std::size_t i = 0; i < source.share; ++i) {
      const std::optional<Estimate>& answer = source.labels[i];
      if (!is_answered(answer)) continue;
      examples_.rows.push_back(example);
      examples_.rows.back().log_time = std::log(answer->time.value);
      examples_.rows.back().weight = 1;
      const TileConfig* tile =
          source.itself ? nullptr : &tiles_.emplace_back(std::move(source.tiles[i]));
      examples_.queries.push_back({measured.queries[source.row].kernel, tile, parameters});
      examples_.priors.push_back(answer);
    }
  }
}

Examples Unmeasured::joined_to(const Examples& measured) const {
  Examples all = measured;
  all.rows.insert(all.rows.end(), examples_.rows.begin(), examples_.rows.end());
  for (const KernelQuery& query : examples_.queries) all.queries.push_back(query);
  if (measured.priors.empty()) return all;
  all.priors.insert(all.priors.end(), examples_.priors.begin(), examples_.priors.end());
  return all;
}

std::unique_ptr<Fitter> make_pretrained_fitter(const LearnerSpec& spec, const Examples& examples,
                                               const TrainValidation& split, int threads) {
  const auto fail = [&](std::string_view why) {
    throw Error(fmt::format("learner {}: pretrain: got {}, {}", spec.name, spec.pretrain, why));
  };
  if (spec.target != Target::kTime) {
    fail("expected 0 with target residual: the labels of physics would all be 0");
  }
  if (spec.kind == LearnerKind::kGaussianProcess) {
    fail("expected 0: a Gaussian process does not learn in steps; set target: residual instead");
  }
  const Unmeasured unmeasured(examples.subset(split.train), spec.pretrain, spec.seed, threads);
  std::vector<std::size_t> labelled(unmeasured.examples().rows.size());
  if (labelled.empty()) fail("but the analytical model answers for none of the kernels");
  std::iota(labelled.begin(), labelled.end(), examples.rows.size());
  return make_fitter(spec, unmeasured.joined_to(examples), split, threads, labelled);
}

}  // namespace tilecast::learned
