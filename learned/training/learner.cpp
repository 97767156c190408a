#include "learned/training/learner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "base/error.h"
#include "learned/training/learner_parameters.h"
#include "learned/training/search.h"

namespace tilecast::learned {
namespace {

constexpr std::size_t kLeastRows = 8;
constexpr std::size_t kMostNames = 500;  // maximum in a card

// Writes training.csv and reports progress to hooks.
class Log {
 public:
  Log(const LearnerSpec& spec, const LearnerHooks& hooks, bool validates)
      : spec_(spec), hooks_(hooks), validates_(validates) {
    text_ = "trial,round,step,loss,validation,seconds";
    for (const SearchRange& range : spec.search.ranges) text_ += "," + range.parameter;
    text_ += "\n";
  }

  void alone(const FitStep& fit) {
    append(1, 1, fit, spec_);
    const int of = resource_of(spec_);
    report(fmt::format("{} {} of {}", step_name(), fit.step, of), double{1} * fit.step / of, fit);
  }
  void search(const SearchStep& step) {
    append(step.trial, step.round, step.fit, *step.spec);
    report(fmt::format("trial {} of {}, round {} of {}, {} {}", step.trial, spec_.search.trials,
                       step.round, step.rounds, step_name(), step.fit.step),
           step.done, step.fit);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  [[nodiscard]] std::string_view step_name() const {
    if (spec_.kind == LearnerKind::kNetwork && spec_.training.steps > 0) return "step";
    constexpr std::string_view kSteps[] = {"tree", "epoch"};  // by kind
    return kSteps[static_cast<std::size_t>(spec_.kind)];
  }
  void append(int trial, int round, const FitStep& fit, const LearnerSpec& spec) {
    const std::string validation = validates_ ? fmt::format("{:.6g}", fit.validation) : "";
    text_ += fmt::format("{},{},{},{:.6g},{},{:.3f}", trial, round, fit.step, fit.loss, validation,
                         seconds());
    for (const SearchRange& range : spec_.search.ranges) {
      text_ += "," + get_parameter(spec, range.parameter);
    }
    text_ += "\n";
  }
  void report(std::string what, double done, const FitStep& fit) const {
    if (hooks_.step) hooks_.step({std::move(what), done, fit.loss, fit.validation});
  }

  const LearnerSpec& spec_;
  const LearnerHooks& hooks_;
  bool validates_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::string text_;
};

std::vector<std::string> names_of(const std::set<std::string>& all) {
  std::vector<std::string> names(all.begin(), all.end());
  if (names.size() <= kMostNames) return names;
  const std::size_t more = names.size() - kMostNames;
  names.resize(kMostNames);
  names.push_back(fmt::format("and {} more", more));
  return names;
}

void describe_domain(const Examples& examples, ModelCard& card) {
  std::set<std::string> classes, devices, families;
  std::set<const ir::Kernel*> kernels;
  for (std::size_t i = 0; i < examples.rows.size(); ++i) {
    const ir::Kernel& kernel = examples.queries[i].kernel;
    if (kernels.insert(&kernel).second) classes.insert(measured::op_class(kernel));
    devices.insert(examples.rows[i].device->name);
    families.insert(examples.families.at(examples.rows[i].family));
  }
  card.op_classes.assign(classes.begin(), classes.end());
  card.devices.assign(devices.begin(), devices.end());
  card.families = names_of(families);
}

ModelCard card_of(const Trained& trained, const Examples& examples) {
  const LearnerKind kind = trained.spec.kind;
  ModelCard card{.name = trained.spec.name, .kind = std::string(name(kind))};
  card.seed = trained.spec.seed;
  card.settings = settings_of(trained.spec);
  card.training_seconds = trained.seconds;
  card.ranks_only = trained.spec.ranks_only();
  card.predicts = trained.predictor->target();
  describe_domain(examples, card);
  if (kind == LearnerKind::kXgboost) card.versions = {{"XGBoost", xgboost_version()}};
  if (kind == LearnerKind::kNetwork) {
    std::string version = graph_module().version();  // "LibTorch 1.13.1, ..."
    constexpr std::string_view kLibrary = "LibTorch ";
    if (version.starts_with(kLibrary)) version.erase(0, kLibrary.size());
    card.versions = {{"LibTorch", std::move(version)}};
  }
  return card;
}

void require_rows(const LearnerSpec& spec, const Examples& examples) {
  if (examples.rows.size() >= kLeastRows) return;
  throw TooFewRows(fmt::format(
      "learner {}: got {} rows of single kernels to train on, expected at least {}; left out: {} "
      "of programs",
      spec.name, examples.rows.size(), kLeastRows, examples.programs));
}

// The parameters of queries have no names, so the learner's must equal the data's, in order.
void require_parameters(const LearnerSpec& spec, const Examples& examples) {
  const NetworkFeatures& features = spec.network_features;
  for (const FeatureSelection* selection :
       {&spec.features, &features.at_nodes, &features.at_kernel}) {
    if (selection->parameters.empty()) continue;
    for (const Example& row : examples.rows) {
      const std::vector<std::string>& names = examples.parameter_names.at(row.set);
      if (names == selection->parameters) continue;
      throw Error(fmt::format(
          "learner {}: parameters: got [{}], but the data has [{}]; expected them in this order",
          spec.name, fmt::join(selection->parameters, ", "), fmt::join(names, ", ")));
    }
  }
}

void require_target(const LearnerSpec& spec, const Examples& examples) {
  const Target& given = examples.target;
  if (spec.target.quantity == given.quantity && spec.target.scale == given.scale) return;
  throw Error(fmt::format("learner {}: target: got {}, but the examples are of {}", spec.name,
                          setting_of(spec.target), setting_of(given)));
}

// The rows with an analytical estimate, with their times divided by it.
Examples residuals(const Examples& examples) {
  std::vector<std::size_t> answered;
  for (std::size_t i = 0; i < examples.rows.size(); ++i) {
    if (examples.priors.at(i)) answered.push_back(i);
  }
  Examples result = examples.subset(answered);
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    result.rows[i].target -= std::log(result.priors[i]->time.value);
  }
  return result;
}

// Examples as the learner sees them: like its predictor, without priors that it does not need.
Examples shown_to(const LearnerSpec& spec, const Examples& given) {
  if (spec.target.residual) return residuals(given);
  Examples result = given;
  if (!spec.needs_prior()) result.priors.clear();
  return result;
}

}  // namespace

void Trained::save(ModelCard about, const std::string& directory, bool force) const {
  ModelCard full = card;
  if (!about.name.empty()) full.name = about.name;
  full.created = std::move(about.created);
  full.split = std::move(about.split);
  full.data = std::move(about.data);
  full.metrics = std::move(about.metrics);
  full.versions.insert(full.versions.begin(), about.versions.begin(), about.versions.end());
  save_model({std::move(full), predictor.get(), training_csv}, directory, force);
}

Trained train(const LearnerSpec& spec, const Examples& given, const LearnerHooks& hooks) {
  require_target(spec, given);
  const Examples examples = shown_to(spec, given);
  require_rows(spec, examples);
  require_parameters(spec, examples);
  Trained trained{.spec = spec};
  trained.split = split_validation(examples, spec.validate_by, spec.validation, spec.seed);
  trained.train_rows = trained.split.train.size();
  trained.validation_rows = trained.split.validation.size();
  Log log(spec, hooks, !trained.split.validation.empty());
  const std::unique_ptr<Fitter> fitter = make_fitter(spec, examples, trained.split, hooks.threads);
  if (spec.search.trials > 0) {
    SearchResult best =
        run_search(spec, *fitter, hooks.threads, [&](const SearchStep& step) { log.search(step); });
    trained.spec = std::move(best.spec);
    trained.predictor = std::move(best.fit.predictor);
  } else {
    trained.predictor = fitter
                            ->fit(spec, {.step = [&](const FitStep& step) { log.alone(step); },
                                         .threads = hooks.threads,
                                         .checkpoint = hooks.checkpoint})
                            .predictor;
  }
  Target target = examples.target;
  target.residual = spec.target.residual;
  trained.predictor = answering(target, std::move(trained.predictor));
  trained.seconds = log.seconds();
  trained.training_csv = log.take();
  trained.card = card_of(trained, examples);
  return trained;
}

}  // namespace tilecast::learned
