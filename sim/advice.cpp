#include "sim/advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "base/error.h"
#include "base/text.h"
#include "ir/canonical_hash.h"
#include "ir/fusion/fusion_space.h"
#include "ir/load_program.h"
#include "sim/model_choice.h"

namespace tilecast::sim {
namespace {

namespace fs = std::filesystem;
using analytical::KernelQuery;
using learned::LoadedModel;

std::vector<double> answers_of(const LoadedModel& model, std::span<const KernelQuery> queries,
                               const hwdesc::Device& device) {
  std::vector<double> values(queries.size());
  const learned::Predictor& predictor = *model.predictor;
  predictor.predict(queries, device,
                    learned::priors_for(predictor, analytical_prior(), queries, device), values);
  return values;
}

// Kernels by content; equal kernels are separate entries.
std::multimap<std::string, ir::Kernel> kernels_of(ir::Module fused, const hwdesc::Device& device) {
  const ir::LoadOptions as_it_is{.fuse = false};
  const ir::DeviceProgram built =
      ir::program_for({.file = "", .module = std::move(fused), .notes = {}},
                      analytical::layout_rules(device), as_it_is);
  std::multimap<std::string, ir::Kernel> kernels;
  for (const ir::ScheduledKernel& one : built.program.kernels()) {
    kernels.emplace(ir::canonical_hash(one.kernel), one.kernel);
  }
  return kernels;
}

std::string_view bare(std::string_view name) {
  return name.starts_with('%') ? name.substr(1) : name;
}

}  // namespace

std::size_t advised(std::span<const Prospect> choices) {
  constexpr double kNothing = 0.01;
  TC_CHECK(!choices.empty(), "a choice among none");
  std::optional<Seconds> shortest;
  for (const Prospect& one : choices) {
    if (one.time && (!shortest || *one.time < *shortest)) shortest = one.time;
  }
  if (!shortest) return 0;
  const auto good = std::ranges::find_if(choices, [&](const Prospect& one) {
    return one.time && *one.time <= *shortest * (1 + kNothing);
  });
  return static_cast<std::size_t>(good - choices.begin());
}

Advisor::Advisor(const std::string& folder) {
  std::vector<std::string> folders;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (learned::is_model_directory(entry.path().string()))
      folders.push_back(entry.path().string());
  }
  std::ranges::sort(folders);
  for (const std::string& path : folders) {
    LoadedModel model = learned::load_model(path);
    if (model.predictor == nullptr || model.predictor->ranks_only()) continue;
    const learned::Target target = model.predictor->target();
    const auto same = [&](const learned::Target& one) { return one.quantity == target.quantity; };
    if ((target.is_time() && times_) || std::ranges::any_of(quantities_, same)) {
      throw Error("{}: a second model of {}; expected one", path, target.quantity);
    }
    if (target.is_time()) {
      times_ = std::move(model);
    } else {
      quantities_.push_back(target);
      models_.push_back(std::move(model));
    }
  }
  if (!times_) {
    throw Error(
        "{}: got {} models, none of times; expected folders that `tilecast train --out` made, one "
        "of them of runtime",
        folder, models_.size());
  }
}

std::string Advisor::note(const hwdesc::Device& device) const {
  const std::vector<std::string>& trained = times_->card.devices;
  if (device.lineage_distance(trained)) return "";
  if (device.execution != hwdesc::Execution::kCache) {
    throw Error(
        "advise: {} is no processor; the models know kernels as C on {}; expected a processor "
        "(tilecast hw list; hw probe describes this one)",
        device.name, fmt::join(trained, ", "));
  }
  return fmt::format("times were learned on {}, not on {}", fmt::join(trained, ", "), device.name);
}

std::vector<Prospect> Advisor::unrolled(const ir::Kernel& kernel, const hwdesc::Device& device,
                                        std::span<const int> factors) const {
  const analytical::TileConfig tile =
      analytical::KernelAnalysis(kernel, device).estimate_best().tile;
  std::vector<float> parameters(factors.begin(), factors.end());
  std::vector<KernelQuery> queries;
  std::vector<Prospect> prospects;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    queries.push_back({kernel, &tile, std::span(parameters).subspan(i, 1)});
    prospects.push_back({kernel.name(), factors[i], {}, std::nullopt});
  }
  for (const LoadedModel& model : models_) {
    const std::vector<double> values = answers_of(model, queries, device);
    for (std::size_t i = 0; i < values.size(); ++i) prospects[i].values.push_back(values[i]);
  }
  const std::vector<double> logs = answers_of(*times_, queries, device);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (std::isfinite(logs[i])) prospects[i].time = Seconds{std::exp(logs[i])};
  }
  return prospects;
}

FusionProspect Advisor::fused(const ir::Module& unfused, const std::string& producer,
                              const std::string& consumer, const hwdesc::Device& device) const {
  const ir::FusionSpace space(unfused, analytical::layout_rules(device).fusion);
  ir::FusionConfiguration apart = space.by_rules(), together = apart;
  std::size_t between = 0;
  for (std::size_t d = 0; d < space.decisions().size(); ++d) {
    const ir::FusionDecision& decision = space.decisions()[d];
    const ir::Computation& in = space.module().at(decision.computation);
    if (in.at(decision.array).name != bare(producer)) continue;
    if (in.at(decision.reader).name != bare(consumer)) continue;
    apart[d] = ir::FusionChoice::kKeep;
    together[d] = ir::FusionChoice::kFuse;
    ++between;
  }
  if (between == 0) {
    throw Error(
        "no fusion of {} into {}: expected an array and an instruction that reads it, of a program "
        "that is not fused yet",
        producer, consumer);
  }
  const auto kept = kernels_of(space.fused(apart), device);
  const auto merged = kernels_of(space.fused(together), device);
  const auto only_in = [&](const auto& these, auto those) {
    std::vector<Prospect> result;
    for (const auto& [hash, kernel] : these) {
      if (const auto same = those.find(hash); same != those.end()) {
        those.erase(same);
      } else {
        result.push_back(unrolled(kernel, device, std::vector{1}).front());
      }
    }
    return result;
  };
  return {only_in(kept, merged), only_in(merged, kept)};
}

}  // namespace tilecast::sim
