#include "sim/evaluation_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "hybrid/hybrid_dir.h"
#include "sim/model_choice.h"

namespace tilecast::sim {
namespace {

using measured::Breakdown;

struct ColumnChoice {
  std::string model;
  std::size_t device = 0;
  friend bool operator==(const ColumnChoice&, const ColumnChoice&) = default;
};

std::vector<ColumnChoice> column_choices(std::span<const std::string> models, std::size_t devices) {
  std::vector<ColumnChoice> result;
  for (std::size_t device = 0; device < devices; ++device) {
    if (!models.empty()) {
      for (const std::string& model : models) {
        const ColumnChoice choice{model, device};
        if (std::ranges::find(result, choice) == result.end()) result.push_back(choice);
      }
      continue;
    }
    if (device == 0) result.push_back({"roofline", device});
    result.push_back({"analytical", device});
    result.push_back({"default", device});
  }
  return result;
}

std::string column_name(const ColumnChoice& choice, const hwdesc::Device& device) {
  if (choice.device == 0) return choice.model;
  return choice.model == "analytical" ? device.name
                                      : fmt::format("{} {}", choice.model, device.name);
}

ModelColumn ranking_column(const std::string& name, const ColumnChoice& choice,
                           learned::LoadedModel model) {
  ModelColumn column{.name = name, .model = choice.model, .device = choice.device};
  column.ranks_only = true;
  for (const learned::ModelData& data : model.card.data) column.trained_on.push_back(data.hash);
  column.families = model.card.families;
  column.answers = std::make_unique<RankingModel>(std::move(model.predictor), analytical_prior());
  return column;
}

// A trained model's folder is named after the folder.
ModelColumn named_column(const std::string& name, const ColumnChoice& choice,
                         const std::vector<hwdesc::Device>& devices) {
  if (learned::is_model_directory(choice.model) && !hybrid::is_hybrid_directory(choice.model)) {
    learned::LoadedModel model = learned::load_model(choice.model);
    if (model.card.ranks_only) return ranking_column(name, choice, std::move(model));
  }
  return model_column(name, choice.model, devices, choice.device);
}

}  // namespace

ModelColumn model_column(const std::string& name, const std::string& model,
                         const std::vector<hwdesc::Device>& devices, std::size_t device) {
  ModelColumn column{.name = name, .model = model, .device = device};
  ChosenModel chosen = choose_model(model, {&devices[device], 1});
  if (chosen.card) {
    for (const learned::ModelData& data : chosen.card->data) {
      column.trained_on.push_back(data.hash);
    }
    column.families = chosen.card->families;
  }
  column.model = chosen.name;
  column.note = chosen.note;
  column.answers = std::move(chosen.model);
  return column;
}

std::vector<ModelColumn> named_columns(std::span<const std::string> models,
                                       const std::vector<hwdesc::Device>& devices) {
  std::vector<ModelColumn> columns;
  for (const ColumnChoice& choice : column_choices(models, devices.size())) {
    std::string name = column_name(choice, devices[choice.device]);
    const auto same = std::ranges::count(columns, name, &ModelColumn::name);
    if (same > 0) name += fmt::format(" #{}", choice.device + 1);
    columns.push_back(named_column(name, choice, devices));
    const bool repeats = models.empty() && choice.model == "default";
    if (repeats && columns.back().model == "analytical") columns.pop_back();
  }
  return columns;
}

std::vector<Breakdown> named_breakdowns(std::span<const std::string> names) {
  constexpr Breakdown kChoices[] = {Breakdown::kOpClass, Breakdown::kSize, Breakdown::kSplit,
                                    Breakdown::kFamily, Breakdown::kKernel};
  std::vector<Breakdown> result;
  for (const std::string& name : names) {
    const auto* found = std::ranges::find_if(
        kChoices, [&](Breakdown candidate) { return measured::name(candidate) == name; });
    if (found == std::end(kChoices)) {
      throw UsageError(
          fmt::format("--by: got '{}', expected class, size, split, family or kernel", name));
    }
    result.push_back(*found);
  }
  return result;
}

}  // namespace tilecast::sim
