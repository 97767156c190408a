#include "learned/training/pretraining.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <unordered_set>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "hwdesc/device_yaml.h"
#include "ir/canonical_hash.h"
#include "ir/fusion/fusion_space.h"
#include "ir/load_program.h"
#include "learned/training/fit.h"

namespace tilecast::learned {
namespace {

using analytical::Estimate;
using analytical::KernelAnalysis;
using analytical::KernelQuery;
using analytical::TileConfig;

// A kernel on one device, with the rows it can contribute.
struct Source {
  const ir::Kernel* kernel = nullptr;
  Example example = {};                              // as its rows, except time and weight
  std::set<std::string> measured = {};               // tiles as text
  std::vector<TileConfig> tiles = {};                // in random order
  bool itself = false;                               // contributes only itself, without tiles
  std::size_t share = 0;                             // number of tiles taken
  std::vector<std::optional<Estimate>> labels = {};  // of the tiles taken

  [[nodiscard]] std::size_t available() const { return itself ? 1 : tiles.size(); }
};

std::vector<Source> sources_of(const Examples& examples) {
  std::map<std::uint32_t, Source> by_kernel;
  for (std::size_t row = 0; row < examples.rows.size(); ++row) {
    const Example& example = examples.rows[row];
    Source fresh{.kernel = &examples.queries[row].kernel, .example = example};
    Source& source = by_kernel.try_emplace(example.kernel, std::move(fresh)).first->second;
    const TileConfig* tile = examples.queries[row].tile;
    if (tile != nullptr) source.measured.insert(analytical::to_string(*tile));
  }
  std::vector<Source> sources;
  for (auto& [number, source] : by_kernel) sources.push_back(std::move(source));
  return sources;
}

std::vector<const hwdesc::Device*> devices_of(const Examples& examples) {
  std::vector<const hwdesc::Device*> devices;
  for (const Example& row : examples.rows) {
    if (std::ranges::find(devices, row.device) == devices.end()) devices.push_back(row.device);
  }
  return devices;
}

// At most `most` kernels of the corpus; numbered after `names`, and their names are appended to it.
std::vector<Source> sources_of(const Corpus& corpus, std::size_t most, std::uint64_t seed,
                               Examples& names) {
  std::vector<CorpusKernel> kernels = corpus.kernels();
  std::mt19937_64 random(seed);
  base::shuffle(kernels, random);
  kernels.resize(std::min(kernels.size(), most));
  std::map<std::string, std::uint32_t> families;
  std::vector<Source> sources;
  for (const CorpusKernel& entry : kernels) {
    const auto next = static_cast<std::uint32_t>(names.families.size());
    const auto [family, is_new] = families.try_emplace(entry.program, next);
    if (is_new) names.families.push_back(entry.program);
    sources.push_back({.kernel = entry.kernel,
                       .example = {.device = entry.device,
                                   .kernel = static_cast<std::uint32_t>(names.kernels.size()),
                                   .family = family->second}});
    names.kernels.push_back(entry.kernel->name());
  }
  return sources;
}

// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): one random stream per kernel.
std::uint64_t stream_of(std::uint64_t seed, std::uint64_t kernel) {
  std::uint64_t x = seed + (kernel + 1) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

bool is_answered(const std::optional<Estimate>& label) {
  return label && label->time.value > 0 && std::isfinite(label->time.value);
}

// At most `most` unmeasured tiles, the model's choice first, then random ones; or the kernel
// itself.
void find(Source& source, const Examples& measured, bool tiled, std::size_t most,
          std::uint64_t seed) {
  const KernelQuery query{*source.kernel};
  const auto itself = measured.prior_model->estimate(std::span(&query, 1), *source.example.device);
  if (!is_answered(itself.front())) return;
  const KernelAnalysis analysis(*source.kernel, *source.example.device);
  source.itself = !tiled || !analysis.tileable();
  if (source.itself) return;
  source.tiles = analysis.tiles();
  std::erase_if(source.tiles, [&](const TileConfig& tile) {
    return source.measured.contains(analytical::to_string(tile));
  });
  std::mt19937_64 random(stream_of(seed, source.example.kernel));
  const std::size_t count = std::min(most, source.tiles.size());
  const auto chosen = std::ranges::find(source.tiles, itself.front()->tile);
  const std::size_t first = chosen == source.tiles.end() || count == 0 ? 0 : 1;
  if (first == 1) std::iter_swap(source.tiles.begin(), chosen);
  for (std::size_t i = first; i < count; ++i) {
    std::swap(source.tiles[i], source.tiles[i + random() % (source.tiles.size() - i)]);
  }
  source.tiles.resize(count);
}

void label(Source& source, const analytical::CostModel& physics) {
  std::vector<KernelQuery> queries;
  for (std::size_t i = 0; i < source.share; ++i) {
    queries.push_back({*source.kernel, source.itself ? nullptr : &source.tiles[i]});
  }
  source.labels = physics.estimate(queries, *source.example.device);
}

// Divides the rows equally; the rest of exhausted sources goes to the others.
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

Unmeasured::Unmeasured(const Examples& measured, const PretrainSpec& spec, std::uint64_t seed,
                       int jobs)
    : examples_{.kernels = measured.kernels,
                .families = measured.families,
                .parameter_names = measured.parameter_names,
                .prior_model = measured.prior_model} {
  TC_CHECK(measured.prior_model != nullptr, "labels come from a model");
  std::vector<Source> sources = sources_of(measured);
  const bool any_tile =
      std::ranges::any_of(measured.queries, [](const KernelQuery& q) { return q.tile != nullptr; });
  if (!spec.programs.empty()) {
    corpus_ = std::make_unique<Corpus>(spec, devices_of(measured), seed, jobs);
    std::vector<Source> more = sources_of(*corpus_, spec.rows, seed, examples_);
    std::ranges::move(more, std::back_inserter(sources));
  }
  base::parallel_for(sources.size(), jobs, [&](std::size_t i) {
    Source& source = sources[i];
    const bool is_measured = source.example.kernel < measured.kernels.size();
    find(source, measured, is_measured ? !source.measured.empty() : any_tile, spec.rows, seed);
  });
  share_out(sources, spec.rows);
  base::parallel_for(sources.size(), jobs,
                     [&](std::size_t i) { label(sources[i], *measured.prior_model); });
  std::size_t most_names = 0;
  for (const auto& names : measured.parameter_names)
    most_names = std::max(most_names, names.size());
  no_parameters_.assign(most_names, std::nanf(""));
  for (Source& source : sources) {
    const auto parameters = std::span<const float>(no_parameters_)
                                .first(measured.parameter_names.at(source.example.set).size());
    for (std::size_t i = 0; i < source.share; ++i) {
      const std::optional<Estimate>& answer = source.labels[i];
      if (!is_answered(answer)) continue;
      examples_.rows.push_back(source.example);
      examples_.rows.back().target = std::log(answer->time.value);
      examples_.rows.back().weight = 1;
      const TileConfig* tile =
          source.itself ? nullptr : &tiles_.emplace_back(std::move(source.tiles[i]));
      examples_.queries.push_back({*source.kernel, tile, parameters});
      examples_.priors.push_back(answer);
    }
  }
}

Examples Unmeasured::joined_to(const Examples& measured) const {
  Examples all = measured;
  all.kernels = examples_.kernels;
  all.families = examples_.families;
  all.rows.insert(all.rows.end(), examples_.rows.begin(), examples_.rows.end());
  for (const KernelQuery& query : examples_.queries) all.queries.push_back(query);
  if (measured.priors.empty()) return all;
  all.priors.insert(all.priors.end(), examples_.priors.begin(), examples_.priors.end());
  return all;
}

std::unique_ptr<Fitter> make_pretrained_fitter(const LearnerSpec& spec, const Examples& examples,
                                               const TrainValidation& split, int threads) {
  const Unmeasured unmeasured(examples.subset(split.train), spec.pretrain, spec.seed, threads);
  std::vector<std::size_t> labelled(unmeasured.examples().rows.size());
  if (labelled.empty()) {
    throw Error(fmt::format(
        "learner {}: pretrain: got {} rows, but the analytical model answers for none of the "
        "kernels",
        spec.name, spec.pretrain.rows));
  }
  std::iota(labelled.begin(), labelled.end(), examples.rows.size());
  return make_fitter(spec, unmeasured.joined_to(examples), split, threads, labelled);
}

namespace {

namespace fs = std::filesystem;

// In the order of their names; a dump is one program, any other folder is one program per file.
std::vector<std::string> program_files(const PretrainSpec& spec) {
  std::vector<std::string> files;
  for (const std::string& program : spec.programs) {
    const fs::path path = (fs::path(spec.folder) / program).lexically_normal();
    if (!fs::is_directory(path)) {
      files.push_back(path.string());
      continue;
    }
    std::vector<std::string> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".hlo") found.push_back(entry.path().string());
    }
    if (found.empty()) throw Error(path.string() + ": pretrain: programs: no *.hlo in this folder");
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

// Cut 0 follows the fusion rules; a program that is already fused is unchanged.
std::vector<ir::Program> cuts_of(const ir::Module& module, const hwdesc::Device& device,
                                 int fusions, std::uint64_t seed) {
  constexpr double kLeastFused = 0.25;  // below, few kernels have several ops
  const bool fused = ir::is_optimised(module);
  std::mt19937_64 random(seed);
  std::vector<ir::Program> cuts;
  for (int cut = 0; cut <= (fused ? 0 : fusions); ++cut) {
    const std::uint64_t drawn = random();
    const double share =
        cut == 0 ? 1
                 : kLeastFused + (1 - kLeastFused) * static_cast<double>(random() >> 11) * 0x1p-53;
    ir::LoadedModule loaded{
        module.file, fused ? module : ir::fuse_at_random(module, share, drawn), {}};
    cuts.push_back(
        ir::program_for(std::move(loaded), analytical::layout_rules(device), {}).program);
  }
  return cuts;
}

}  // namespace

Corpus::Corpus(const PretrainSpec& spec, std::vector<const hwdesc::Device*> devices,
               std::uint64_t seed, int jobs) {
  for (const std::string& name : spec.devices) described_.push_back(hwdesc::load_device(name));
  if (!described_.empty()) devices.clear();
  for (const hwdesc::Device& device : described_) devices.push_back(&device);
  const std::vector<std::string> files = program_files(spec);
  programs_.resize(files.size() * devices.size());
  base::parallel_for(files.size(), jobs, [&](std::size_t file) {
    const ir::Module module = ir::read_module(files[file]);
    for (std::size_t d = 0; d < devices.size(); ++d) {
      programs_[d * files.size() + file] = cuts_of(module, *devices[d], spec.fusions, seed);
    }
  });
  for (std::size_t d = 0; d < devices.size(); ++d) {
    std::unordered_set<std::string> known;
    for (std::size_t file = 0; file < files.size(); ++file) {
      for (const ir::Program& program : programs_[d * files.size() + file]) {
        for (const ir::ScheduledKernel& scheduled : program.kernels()) {
          if (!known.insert(ir::canonical_hash(scheduled.kernel)).second) continue;
          kernels_.push_back(
              {&scheduled.kernel, devices[d], fs::path(files[file]).filename().string()});
        }
      }
    }
  }
}

}  // namespace tilecast::learned
