#include "sim/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "hybrid/hybrid_dir.h"
#include "learned/model_dir.h"
#include "measured/physics.h"
#include "sim/model_choice.h"

namespace tilecast::sim {
namespace {

using measured::Answers;
using measured::SampleSet;
using measured::Stratum;

// Strata are named after sets, so a later set with an equal name gets its hash appended. The same
// data twice is an error, because it would count twice.
void tell_apart(measured::MeasurementSet& set, const std::string& path,
                const measured::ScoreSheet& sheet) {
  constexpr std::size_t kShortHash = 6;
  for (const measured::ScoredSet& other : sheet.sets) {
    if (other.hash == set.hash) {
      throw Error("{}: the same data as set '{}'; give each set once", path, other.name);
    }
  }
  for (const measured::ScoredSet& other : sheet.sets) {
    if (other.name != set.manifest.name) continue;
    set.manifest.name += fmt::format(" ({})", set.hash.substr(0, kShortHash));
    return;
  }
}

// The samples of one set on every device, and every column's predictions for them.
void answer(const measured::MeasurementSet& set, EvaluationReport& report,
            const EvaluateSetsOptions& options) {
  std::vector<SampleSet> samples;
  samples.reserve(report.devices.size());
  for (const hwdesc::Device& device : report.devices) {
    samples.push_back(measured::make_samples(
        set, device, {.check_physics = options.check_physics, .jobs = options.evaluation.jobs}));
    if (samples.back().samples.empty()) {
      report.notes.push_back(
          fmt::format("{}: no row to score on {}", set.manifest.name, device.name));
    } else if (!is_measured_on(device, samples.back().measured_on)) {
      report.notes.push_back(fmt::format("{}: measured on {}, scored against a model of {}",
                                         set.manifest.name, samples.back().measured_on,
                                         device.name));
    }
    if (std::string note = measured::rounding_note(samples.back(), device); !note.empty()) {
      report.notes.push_back(std::move(note));
    }
  }
  std::vector<std::vector<measured::Prediction>> predictions;
  std::vector<Answers> answers;
  predictions.reserve(report.columns.size());
  for (const ModelColumn& column : report.columns) {
    predictions.push_back(measured::predict(samples[column.device], *column.answers,
                                            report.devices[column.device],
                                            options.evaluation.jobs));
    answers.push_back({samples[column.device], predictions.back()});
    if (options.step) options.step();
  }
  measured::add_answers(report.sheet, answers);
}

std::string rows_of(std::size_t n) {
  return fmt::format("{} {}", n, n == 1 ? "row" : "rows");
}

// Rows that a model was trained on are no test of it.
std::string trained_note(const std::string& model, const std::string& on) {
  return fmt::format("{}: {}: its card has the figures of held-out rows", model, on);
}

// Number of rows in families that a model was trained on, in sets it does not know: it may have
// been trained on their kernels.
std::size_t familiar_rows(const EvaluationReport& report, const ModelColumn& column) {
  return static_cast<std::size_t>(
      std::ranges::count_if(report.sheet.rows, [&](const measured::ScoredRow& row) {
        const std::string& set = report.sheet.sets[row.set].hash;
        const std::string& family = report.sheet.works[row.work].family;
        return std::ranges::find(column.trained_on, set) == column.trained_on.end() &&
               std::ranges::find(column.families, family) != column.families.end();
      }));
}

void add_notes_on_models(EvaluationReport& report) {
  for (const ModelColumn& column : report.columns) {
    if (!column.note.empty()) {
      report.notes.push_back(fmt::format("{}: {}", column.name, column.note));
    }
    if (column.ranks_only) {
      report.notes.push_back(
          fmt::format("{}: only ranks the tiles of a kernel; it has no other metric", column.name));
    }
    for (const measured::ScoredSet& set : report.sheet.sets) {
      if (std::ranges::find(column.trained_on, set.hash) == column.trained_on.end()) continue;
      report.notes.push_back(trained_note(column.name, "trained on rows of set " + set.name));
    }
    if (const std::size_t familiar = familiar_rows(report, column); familiar > 0) {
      report.notes.push_back(trained_note(
          column.name,
          rows_of(familiar) + " of families it was trained on, perhaps of the very kernels"));
    }
  }
}

void add_notes(EvaluationReport& report) {
  add_notes_on_models(report);
  for (const measured::ScoredSet& set : report.sheet.sets) {
    if (!set.faults.empty()) {
      report.notes.push_back(fmt::format("{}: {} left out: {}", set.name,
                                         rows_of(set.faults.size()), fault_summary(set.faults)));
    }
    if (set.with_dispatch > 0) {
      report.notes.push_back(
          fmt::format("{}: {} of {} rows hold the host's dispatch, unmeasured; they are compared "
                      "with the model's time plus a dispatch floor",
                      set.name, set.with_dispatch, set.rows));
    }
  }
  const Stratum& all = report.evaluation.strata.front();
  if (all.kernels_without_fastest > 0) {
    report.notes.push_back(
        fmt::format("the fastest tile measured of {} of {} kernels was not answered by every "
                    "model: what choices of tiles lose is against the fastest answered",
                    all.kernels_without_fastest, all.kernels_with_tiles));
  }
  for (std::size_t i = 0; i < report.columns.size(); ++i) {
    const measured::Scores& scores = all.columns[i];
    if (scores.answered < all.rows_measured) {
      report.notes.push_back(fmt::format(
          "{}: {} of {} rows not answered; no model is scored on them", report.columns[i].name,
          all.rows_measured - scores.answered, all.rows_measured));
    }
    if (scores.kernels_ranked < all.kernels_with_tiles) {
      report.notes.push_back(
          fmt::format("{}: says the same for every tile of {} of {} kernels: it cannot rank them",
                      report.columns[i].name, all.kernels_with_tiles - scores.kernels_ranked,
                      all.kernels_with_tiles));
    }
  }
}

using measured::Breakdown;

struct ColumnChoice {
  std::string model;
  std::size_t device = 0;
  friend bool operator==(const ColumnChoice&, const ColumnChoice&) = default;
};

std::vector<ColumnChoice> column_choices(std::span<const std::string> models, std::size_t devices) {
  static const std::string kModels[] = {"roofline", "analytical", "default"};
  std::vector<ColumnChoice> result;
  for (std::size_t device = 0; device < devices; ++device) {
    const auto without = std::span(kModels).subspan(device == 0 ? 0 : 1);
    for (const std::string& model : models.empty() ? without : models) {
      const ColumnChoice choice{model, device};
      if (std::ranges::find(result, choice) == result.end()) result.push_back(choice);
    }
  }
  return result;
}

std::string column_name(const ColumnChoice& choice, const hwdesc::Device& device) {
  if (choice.device == 0) return choice.model;
  return choice.model == "analytical" ? device.name
                                      : fmt::format("{} {}", choice.model, device.name);
}

// A model that only ranks the tiles of a kernel: its "times" are exp(score) and only their order is
// meaningful.
class RankingModel final : public analytical::CostModel {
 public:
  // `prior`: the analytical model that the predictor's features refer to; must outlive this.
  RankingModel(std::unique_ptr<learned::Predictor> predictor, const analytical::CostModel& prior)
      : predictor_(std::move(predictor)), prior_(prior) {}
  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override {
    constexpr double kLargestExponent = 700;  // exp() of it is finite and not 0
    std::vector<double> scores(queries.size());
    predictor_->predict(queries, device, priors_for(*predictor_, prior_, queries, device), scores);
    std::vector<std::optional<analytical::Estimate>> estimates(queries.size());
    for (std::size_t i = 0; i < queries.size(); ++i) {
      if (!std::isfinite(scores[i])) continue;
      const double score = std::clamp(scores[i], -kLargestExponent, kLargestExponent);
      estimates[i].emplace();
      estimates[i]->time = Seconds{std::exp(score)};
    }
    return estimates;
  }

 private:
  std::unique_ptr<learned::Predictor> predictor_;
  const analytical::CostModel& prior_;
};

void set_training(const learned::ModelCard& card, ModelColumn& column) {
  for (const learned::ModelData& data : card.data) column.trained_on.push_back(data.hash);
  column.families = card.families;
}

ModelColumn ranking_column(const std::string& name, const ColumnChoice& choice,
                           learned::LoadedModel model) {
  ModelColumn column{.name = name, .model = choice.model, .device = choice.device};
  column.ranks_only = true;
  set_training(model.card, column);
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

using learned::LoadedModel;

std::vector<LoadedModel> load_models(std::span<const std::string> folders) {
  std::vector<LoadedModel> models;
  for (const std::string& folder : folders) {
    if (!predicts_quantity(folder)) {
      throw Error("--model {}: predicts times, others do not; expected models of one quantity",
                  folder);
    }
    models.push_back(learned::load_model(folder));
    const learned::Target &first = models.front().card.predicts, &one = models.back().card.predicts;
    if (one.quantity == first.quantity && one.unit == first.unit) continue;
    throw Error("--model {}: predicts {} in {}, the first one {} in {}; expected one quantity",
                folder, one.quantity, one.unit, first.quantity, first.unit);
  }
  return models;
}

}  // namespace

bool is_measured_on(const hwdesc::Device& device, const std::string& measured_on) {
  std::error_code failed;
  if (!device.file.empty() && std::filesystem::equivalent(device.file, measured_on, failed)) {
    return true;
  }
  const std::string name =
      hwdesc::is_path(measured_on) ? hwdesc::load_device(measured_on).name : measured_on;
  return device.lineage_distance(name).has_value();
}

std::string fault_summary(std::span<const measured::RowFault> faults) {
  std::map<measured::RowFault::Kind, std::size_t> counts;
  for (const measured::RowFault& fault : faults) ++counts[fault.kind];
  std::string text;
  for (const auto& [kind, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, measured::name(kind));
  }
  return text;
}

EvaluationReport evaluate_sets(std::span<const std::string> paths,
                               std::vector<hwdesc::Device> devices,
                               std::vector<ModelColumn> columns,
                               const EvaluateSetsOptions& options) {
  EvaluationReport report;
  report.devices = std::move(devices);
  report.columns = std::move(columns);
  for (const ModelColumn& column : report.columns) {
    report.sheet.columns.push_back(column.name);
    report.sheet.ranks_only.push_back(column.ranks_only);
  }
  for (const std::string& path : paths) {
    measured::MeasurementSet set = measured::read_measurement_set(path);
    tell_apart(set, path, report.sheet);
    answer(set, report, options);
  }
  if (report.sheet.rows.empty()) {
    std::string why = "no row of these sets can be scored on these devices";
    for (const std::string& note : report.notes) why += "; " + note;
    for (const measured::ScoredSet& set : report.sheet.sets) {
      if (!set.faults.empty())
        why += fmt::format("; {}: left out: {}", set.name, fault_summary(set.faults));
    }
    throw Error(why);
  }
  report.evaluation = measured::evaluate(report.sheet, options.evaluation);
  add_notes(report);
  return report;
}

ModelColumn model_column(const std::string& name, const std::string& model,
                         const std::vector<hwdesc::Device>& devices, std::size_t device) {
  ModelColumn column{.name = name, .model = model, .device = device};
  ChosenModel chosen = choose_model(model, {&devices[device], 1});
  if (chosen.card) set_training(*chosen.card, column);
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
      throw UsageError("--by: got '{}', expected class, size, split, family or kernel", name);
    }
    result.push_back(*found);
  }
  return result;
}

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
    throw Error("no row of these sets has {} on {}", target.quantity, device.name);
  }
  if (examples.target.unit != target.unit) {
    throw Error("{}: the models predict it in {}, the sets hold it in {}", target.quantity,
                target.unit, examples.target.unit);
  }
  std::vector<learned::QuantityColumn> columns;
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    const learned::ModelCard& card = loaded[i].card;
    const std::string name = std::filesystem::path(models[i]).lexically_normal().string();
    const double mean = learned::unscaled(card.predicts, card.target.mean);
    columns.push_back({fmt::format("training mean of {}", name),
                       std::vector<double>(examples.rows.size(), mean)});
    columns.push_back({name, learned::quantity_answers(*loaded[i].predictor, examples)});
    for (const measured::SampleSet& set : samples) {
      if (std::ranges::find(card.data, set.hash, &learned::ModelData::hash) == card.data.end())
        continue;
      result.notes.push_back(trained_note(name, "trained on rows of set " + set.name));
    }
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
