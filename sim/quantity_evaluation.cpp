#include "sim/quantity_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "hybrid/hybrid_dir.h"
#include "learned/model_dir.h"
#include "sim/model_choice.h"

namespace tilecast::sim {
namespace {

using learned::LoadedModel;

std::vector<LoadedModel> load_models(std::span<const std::string> folders) {
  std::vector<LoadedModel> models;
  for (const std::string& folder : folders) {
    if (!predicts_quantity(folder)) {
      throw Error(
          fmt::format("--model {}: predicts times, others do not; expected models of one "
                      "quantity",
                      folder));
    }
    models.push_back(learned::load_model(folder));
    const learned::Target &first = models.front().card.predicts, &one = models.back().card.predicts;
    if (one.quantity == first.quantity && one.unit == first.unit) continue;
    throw Error(
        fmt::format("--model {}: predicts {} in {}, the first one {} in {}; expected one "
                    "quantity",
                    folder, one.quantity, one.unit, first.quantity, first.unit));
  }
  return models;
}

// Notes rows in a model's training data, which are no test of it.
void note_training_rows(const LoadedModel& model, const std::string& name,
                        const std::vector<measured::SampleSet>& sets,
                        std::vector<std::string>& notes) {
  for (const measured::SampleSet& set : sets) {
    const auto& data = model.card.data;
    if (std::ranges::find(data, set.hash, &learned::ModelData::hash) == data.end()) continue;
    notes.push_back(
        fmt::format("{}: trained on rows of set {}: its card has the figures of "
                    "held-out rows",
                    name, set.name));
  }
}

}  // namespace

bool predicts_quantity(const std::string& model) {
  if (!learned::is_model_directory(model) || hybrid::is_hybrid_directory(model)) return false;
  return !learned::load_model(model).card.predicts.is_time();
}

QuantityEvaluation evaluate_quantity(std::span<const std::string> sets,
                                     const hwdesc::Device& device,
                                     std::span<const std::string> models, int jobs) {
  const std::vector<LoadedModel> loaded = load_models(models);
  TC_CHECK(!loaded.empty(), "a model to evaluate");
  QuantityEvaluation result;
  std::vector<measured::SampleSet> samples;
  for (const std::string& path : sets) {
    samples.push_back(measured::make_samples(measured::read_measurement_set(path), device,
                                             {.untimed = true, .jobs = jobs}));
  }
  const std::vector<hwdesc::Device> devices(samples.size(), device);
  const bool with_priors = std::ranges::any_of(
      loaded, [](const LoadedModel& model) { return model.predictor->needs_prior(); });
  learned::Target target = loaded.front().card.predicts;
  target.scale = learned::TargetScale::kIdentity;  // for models with different scales
  const learned::Examples examples =
      learned::make_examples(samples, devices, analytical_prior(), with_priors, jobs, target);
  if (examples.rows.empty()) {
    throw Error(fmt::format("no row of these sets has {} on {}", target.quantity, device.name));
  }
  if (examples.target.unit != target.unit) {
    throw Error(fmt::format("{}: the models predict it in {}, the sets hold it in {}",
                            target.quantity, target.unit, examples.target.unit));
  }
  std::vector<learned::QuantityColumn> columns;
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    const learned::ModelCard& card = loaded[i].card;
    const std::string name = std::filesystem::path(models[i]).lexically_normal().string();
    const double mean = learned::unscaled(card.predicts, card.target.mean);
    columns.push_back({fmt::format("training mean of {}", name),
                       std::vector<double>(examples.rows.size(), mean)});
    columns.push_back({name, learned::quantity_answers(*loaded[i].predictor, examples)});
    note_training_rows(loaded[i], name, samples, result.notes);
  }
  result.report = learned::quantity_report(examples, columns);
  if (examples.unlabelled > 0) {
    result.notes.push_back(
        fmt::format("{} rows have no {}: not scored", examples.unlabelled, target.quantity));
  }
  if (result.report.unanswered > 0) {
    result.notes.push_back(fmt::format("{} rows were not answered by every model: scored for none",
                                       result.report.unanswered));
  }
  return result;
}

}  // namespace tilecast::sim
