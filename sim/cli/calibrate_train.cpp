#include "sim/cli/calibrate_train.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "hybrid/hybrid_dir.h"
#include "sim/cli/progress.h"

namespace tilecast::sim::cli {
namespace {

namespace fs = std::filesystem;

std::vector<measured::SampleSet> without_outliers(std::span<const measured::SampleSet> sets,
                                                  const hybrid::Calibrated& calibrated) {
  std::vector<measured::SampleSet> kept;
  for (const measured::SampleSet& set : sets) {
    if (set.samples.empty()) continue;
    kept.push_back(set);
    std::erase_if(kept.back().samples, [&](const measured::Sample& sample) {
      for (std::size_t i = 0; i < calibrated.outliers.size(); ++i) {
        if (calibrated.outlier_sets[i] == set.name && calibrated.outliers[i].line == sample.line) {
          return true;
        }
      }
      return false;
    });
  }
  std::erase_if(kept, [](const measured::SampleSet& set) { return set.samples.empty(); });
  return kept;
}

const hybrid::CandidateScore& score_of(const hybrid::FittedHybrid& fitted,
                                       const std::string& name) {
  const auto found = std::ranges::find(fitted.candidates, name, &hybrid::CandidateScore::name);
  TC_CHECK(found != fitted.candidates.end(), "a score of every candidate");
  return *found;
}

learned::ModelCard card_of(const hybrid::FittedHybrid& fitted,
                           std::span<const measured::SampleSet> sets) {
  learned::ModelCard card = fitted.card;
  card.created = base::today();
  card.split = "all rows fitted; errors are of held-out trials";
  for (const measured::SampleSet& set : sets) {
    card.data.push_back({.name = set.name,
                         .hash = set.hash,
                         .device = set.device,
                         .licence = set.manifest.licence,
                         .train = set.samples.size()});
  }
  card.metrics = {{.metric = "mean_absolute_log_error",
                   .n = fitted.rows,
                   .value = score_of(fitted, fitted.chosen).error,
                   .baseline = score_of(fitted, "none").error}};
  const std::pair<std::string, std::string> ours{"tilecast", TILECAST_VERSION};
  if (std::ranges::find(card.versions, ours) == card.versions.end()) {
    card.versions.insert(card.versions.begin(), ours);
  }
  return card;
}

}  // namespace

void check_folder(const ThenTrain& options) {
  std::error_code failure;
  if (!options.force && fs::exists(options.directory, failure)) {
    throw Error(fmt::format("{}: exists; --force replaces a model", options.directory));
  }
}

hybrid::FittedHybrid then_train(const ThenTrain& options, std::span<const measured::SampleSet> sets,
                                const hybrid::Calibrated& calibrated) {
  const std::vector<measured::SampleSet> rows = without_outliers(sets, calibrated);
  const fs::path folder = fs::path(options.directory).lexically_normal();
  hybrid::HybridSpec spec = hybrid::default_hybrid(
      (folder.has_filename() ? folder : folder.parent_path()).filename().string());
  spec.calibrate = false;  // it has been
  const std::vector<hwdesc::Device> devices(rows.size(), calibrated.device);
  hybrid::FittedHybrid fitted;
  {
    constexpr std::size_t kWhole = 100;  // %
    Progress progress("train:", kWhole);
    fitted = hybrid::fit_hybrid(
        spec, rows, devices,
        {.jobs = options.jobs, .step = [&progress](const std::string& what, double done) {
           progress.show(static_cast<std::size_t>(done * kWhole), " %, " + what);
         }});
  }
  hybrid::save_hybrid(card_of(fitted, rows), fitted.parts, fitted.training_csv, options.directory,
                      options.force);
  fmt::print(stderr, "wrote {}\n", options.directory);
  return fitted;
}

}  // namespace tilecast::sim::cli
