#include "sim/training/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "analytical/analytical_model.h"
#include "analytical/roofline.h"
#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/device_yaml.h"
#include "measured/importers/column_mapping.h"
#include "measured/importers/importer.h"
#include "measured/importers/set_writer.h"

namespace tilecast::sim::training {
namespace {

namespace fs = std::filesystem;
using hwdesc::Device;
using measured::SampleSet;

// Creates a set of one row from a module and its time.
void import_program(const DataSource& source, const std::string& file, const std::string& device,
                    const measured::ImportOptions& options) {
  constexpr double kNanosecondsPerSecond = 1e9;
  const std::string name = fs::path(file).filename().string();
  const auto text = base::SourceText::read_file(file);
  measured::SetWriter writer(options);
  writer.begin_rows({"program", "runtime_ns"});
  writer.add({name, fmt::format("{:.0f}", source.runtime_s * kNanosecondsPerSecond)});
  writer.add_file(name, text.text());
  measured::Manifest manifest;
  manifest.name = source.name;
  manifest.device = device;
  manifest.source = source.source;
  manifest.licence = source.licence;
  manifest.how_timed = source.how_timed;
  writer.commit(manifest);
}

// Keeps `count` random rows of `device` and none of other devices; no change if there are not more.
void sample(measured::MeasurementSet& set, const std::string& device, std::size_t count,
            std::uint64_t seed) {
  std::vector<std::size_t> of_device;
  for (std::size_t i = 0; i < set.rows.size(); ++i) {
    if (set.rows[i].device == device) of_device.push_back(i);
  }
  if (of_device.size() > count) of_device = measured::sampled_rows(of_device, count, seed).fit;
  std::vector<measured::MeasurementRow> rows;
  for (const std::size_t i : of_device) rows.push_back(set.rows[i]);
  set.rows = std::move(rows);
}

// Shows paths below the current folder as relative paths; names are unchanged.
std::string display_path(const std::string& device) {
  if (!hwdesc::is_path(device)) return device;
  const std::string from_here =
      std::filesystem::path(device).lexically_proximate(std::filesystem::current_path()).string();
  return from_here.starts_with("..") ? device : from_here;
}

void load_source(const TrainingFile& file, const DataSource& source, ImportedData& data, int jobs,
                 const SeenSet& seen, LoadedSets& loaded) {
  const bool untimed = std::ranges::any_of(
      file.learners, [](const learned::LearnerSpec& learner) { return !learner.target.is_time(); });
  const std::vector<std::string> devices =
      source.devices.empty() ? std::vector<std::string>{file.device} : source.devices;
  for (const std::string& name : devices) {
    const Device device = hwdesc::load_device(name);
    measured::MeasurementSet set = data.read(source, name);
    const std::size_t all = set.rows.size();
    if (source.sample_rows > 0) sample(set, name, source.sample_rows, source.sample_seed);
    SampleSet samples = measured::make_samples(set, device, {.untimed = untimed, .jobs = jobs});
    samples.name = devices.size() > 1 ? fmt::format("{} {}", source.name, name) : source.name;
    if (samples.samples.empty()) {
      throw Error("{}: data {}: no row that can be used on {}", file.file, source.name, name);
    }
    if (set.rows.size() < all && source.sample_rows > 0) {
      loaded.notes.push_back(fmt::format("{}: {} random rows (seed {}) of {} of all devices",
                                         samples.name, set.rows.size(), source.sample_seed, all));
    }
    loaded.described.push_back({.name = samples.name,
                                .hash = samples.hash,
                                .device = display_path(samples.measured_on),
                                .rows = samples.samples.size(),
                                .left_out = samples.faults.size()});
    loaded.described.back().with_dispatch = static_cast<std::size_t>(
        std::ranges::count(samples.samples, true, &measured::Sample::holds_dispatch));
    if (seen) seen(set, samples);
    loaded.sets.push_back(std::move(samples));
    loaded.devices.push_back(device);
    loaded.names.push_back(source.name);
  }
}

using measured::GroupBy;
using measured::Split;
using measured::Workload;

using Indices = std::vector<std::size_t>;

class Dealer {
 public:
  Dealer(const TrainingFile& file, std::span<const SampleSet> sets,
         std::span<const std::string> names)
      : file_(file), sets_(sets), names_(names), rows_(rows_of(sets)) {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const double measured_s = sets[rows_[row].set].samples[rows_[row].sample].measured.value;
      const double time_s = std::isnan(measured_s) ? 0 : measured_s;  // not timed
      double& fastest = fastest_.try_emplace(work(row).fingerprint, time_s).first->second;
      fastest = std::min(fastest, time_s);
    }
    fit_ = pool(file.fit, "fit");
    score_ = pool(file.score, "score");
  }

  [[nodiscard]] std::vector<NamedSplit> deal() const {
    const SplitSpec& spec = file_.split;
    switch (spec.kind) {
      case SplitKind::kNone:
        return {{"", {{}, score_}}};
      case SplitKind::kFixed:
        return with_shares(repeated(fixed()));
      case SplitKind::kKFold:
        return folds(measured::k_fold(keys(GroupBy::kKernel), spec.folds, spec.seed));
      case SplitKind::kLargest:
        return repeated(within_pools(measured::largest_held_out(
            of_sets(measured::work_sizes), keys(GroupBy::kOpClass), spec.share)));
      case SplitKind::kLeaveOneClassOut:
        return left_out(keys(GroupBy::kOpClass), keys(GroupBy::kOpClass));
      case SplitKind::kLeaveOneKernelOut:
        return left_out(keys(GroupBy::kKernel), work_names());
      case SplitKind::kLeaveOneDeviceOut:
        return devices_left_out();
      case SplitKind::kLeaveOneFamilyOut:
        return families();
      case SplitKind::kSampledRows:
      case SplitKind::kSampledWorks:
        return seeds();
      case SplitKind::kHeldOutFamilies:
        return held_out(keys(GroupBy::kFamily));
      case SplitKind::kHeldOutWorks:
        return held_out(keys(GroupBy::kKernel));
    }
    return {};
  }

 private:
  [[nodiscard]] const Workload& work(std::size_t row) const {
    const SampleSet& set = sets_[rows_[row].set];
    return set.works[set.samples[rows_[row].sample].work];
  }

  [[nodiscard]] bool selects(const Selector& selector, std::size_t row) const {
    if (!selector.set.empty() && selector.set != names_[rows_[row].set]) return false;
    const Workload& of_row = work(row);
    const auto fits = [](const std::vector<std::string>& patterns, const std::string& text) {
      return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
               return measured::fits_pattern(pattern, text);
             });
    };
    return (selector.classes.empty() ||
            std::ranges::find(selector.classes, of_row.op_class) != selector.classes.end()) &&
           fits(selector.kernels, of_row.name) && fits(selector.families, of_row.family) &&
           fastest_.at(of_row.fingerprint) >= selector.at_least_s;
  }

  // The rows that match any selector; all rows if there are no selectors.
  [[nodiscard]] Indices pool(const std::vector<Selector>& selectors, std::string_view key) const {
    Indices rows;
    std::vector<bool> used(selectors.size());
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      bool taken = selectors.empty();
      for (std::size_t i = 0; i < selectors.size(); ++i) {
        if (!selects(selectors[i], row)) continue;
        used[i] = true;
        taken = true;
      }
      if (taken) rows.push_back(row);
    }
    if (const auto unused = std::ranges::find(used, false); unused != used.end()) {
      throw Error("{}: {}: entry {} selects no row of the data", file_.file, key,
                  unused - used.begin() + 1);
    }
    return rows;
  }

  [[nodiscard]] static Indices without(const Indices& rows, const Indices& others) {
    Indices rest;
    std::ranges::set_difference(rows, others, std::back_inserter(rest));
    return rest;
  }
  [[nodiscard]] Split within_pools(const Split& split) const {
    Split result;
    std::ranges::set_intersection(split.fit, fit_, std::back_inserter(result.fit));
    std::ranges::set_intersection(split.score, score_, std::back_inserter(result.score));
    return result;
  }

  // Families share kernels: if rows are fitted by family, work equal to scored work is left out.
  [[nodiscard]] Split fixed() const {
    Split split{fit_, file_.score.empty() ? without(score_, fit_) : score_};
    const auto by_family = [](const Selector& selector) { return !selector.families.empty(); };
    if (std::ranges::any_of(file_.fit, by_family)) {
      split.fit = without(fit_, equal_work(split.score));
    }
    return split;
  }

  // Keeps `count` random rows; 0: all.
  static void sample(Indices& rows, std::size_t count, std::uint64_t seed) {
    if (count > 0 && count < rows.size()) rows = measured::sampled_rows(rows, count, seed).fit;
  }
  // Each seed draws its share of the fitted rows, rounded up.
  [[nodiscard]] std::vector<NamedSplit> with_shares(std::vector<NamedSplit> rounds) const {
    std::uint64_t seed = file_.split.seed;
    for (auto& [name, split] : rounds) {
      const double rows = file_.split.share * static_cast<double>(split.fit.size());
      sample(split.fit, static_cast<std::size_t>(std::ceil(rows)), seed++);
    }
    return rounds;
  }

  // The same rows for every seed.
  [[nodiscard]] std::vector<NamedSplit> repeated(const Split& split) const {
    const SplitSpec& spec = file_.split;
    if (spec.seeds == 1) return {{"", split}};
    std::vector<NamedSplit> result(spec.seeds, NamedSplit{"", split});
    for (std::size_t i = 0; i < spec.seeds; ++i) result[i].name = seed_name(i);
    return result;
  }
  [[nodiscard]] std::string seed_name(std::size_t i) const {
    return fmt::format("seed {}", file_.split.seed + i);
  }

  // `share` is relative to the rows that may be scored.
  [[nodiscard]] std::vector<NamedSplit> held_out(const std::vector<std::string>& group) const {
    const SplitSpec& spec = file_.split;
    std::vector<std::string> group_of;
    for (const std::size_t row : score_) group_of.push_back(group[row]);
    std::vector<NamedSplit> result;
    for (std::size_t i = 0; i < spec.seeds; ++i) {
      Split split;
      for (const std::size_t j : measured::held_out(group_of, spec.share, spec.seed + i).score) {
        split.score.push_back(score_[j]);
      }
      split.fit = without(fit_, of_groups(split.score, group));
      split.fit = without(split.fit, equal_work(split.score));
      sample(split.fit, spec.rows, spec.seed + i);
      result.push_back({seed_name(i), std::move(split)});
    }
    return result;
  }

  // By row: what `of` says of the rows of a set.
  template <class Of>
  [[nodiscard]] std::invoke_result_t<const Of&, const SampleSet&> of_sets(const Of& of) const {
    std::invoke_result_t<const Of&, const SampleSet&> all;
    for (const SampleSet& set : sets_) {
      const auto of_set = of(set);
      all.insert(all.end(), of_set.begin(), of_set.end());
    }
    return all;
  }
  [[nodiscard]] std::vector<std::string> keys(GroupBy by) const {
    return of_sets([by](const SampleSet& set) { return measured::group_keys(set, by); });
  }
  [[nodiscard]] std::vector<std::string> devices() const {
    return of_sets([](const SampleSet& set) {
      return std::vector<std::string>(set.samples.size(), set.device);
    });
  }
  [[nodiscard]] std::vector<std::string> work_names() const {
    std::vector<std::string> all;
    for (std::size_t row = 0; row < rows_.size(); ++row) all.push_back(work(row).name);
    return all;
  }

  [[nodiscard]] std::vector<NamedSplit> folds(const std::vector<Split>& splits) const {
    std::vector<NamedSplit> result;
    for (std::size_t i = 0; i < splits.size(); ++i) {
      result.push_back(
          {fmt::format("fold {} of {}", i + 1, splits.size()), within_pools(splits[i])});
    }
    return result;
  }

  // Scores one group after the other; `group` is by row.
  [[nodiscard]] std::vector<NamedSplit> left_out(const std::vector<std::string>& group,
                                                 const std::vector<std::string>& names) const {
    std::vector<NamedSplit> result;
    for (const Split& split : measured::leave_one_out(group)) {
      NamedSplit named{"without " + names[split.score.front()], within_pools(split)};
      if (!named.split.score.empty()) result.push_back(std::move(named));
    }
    return result;
  }

  // With `rows`, also fits that many random rows of the device itself.
  [[nodiscard]] std::vector<NamedSplit> devices_left_out() const {
    const SplitSpec& spec = file_.split;
    const std::vector<std::string> device = devices(), kernel = keys(GroupBy::kKernel);
    std::vector<NamedSplit> left = left_out(device, device);
    if (spec.rows == 0) return left;
    std::vector<std::string> on_device;
    for (std::size_t row = 0; row < device.size(); ++row)
      on_device.push_back(device[row] + "\n" + kernel[row]);
    std::vector<NamedSplit> result;
    for (const NamedSplit& without_it : left) {
      for (std::size_t i = 0; i < spec.seeds; ++i) {
        Split split = without_it.split;
        const Indices known = measured::sampled_rows(split.score, spec.rows, spec.seed + i).fit;
        split.fit.insert(split.fit.end(), known.begin(), known.end());
        std::ranges::sort(split.fit);
        split.score = without(split.score, of_groups(known, on_device));
        result.push_back({fmt::format("{}, {}", without_it.name, seed_name(i)), std::move(split)});
      }
    }
    return result;
  }

  // The rows of each workload, among those that may be fitted.
  [[nodiscard]] std::vector<Indices> works_of(const Indices& rows) const {
    std::map<std::string, Indices> groups;
    std::vector<Indices> members;
    for (const std::size_t row : rows) groups[work(row).fingerprint].push_back(row);
    for (auto& [key, of_work] : groups) members.push_back(std::move(of_work));
    return members;
  }
  // The rows of `count` random workloads.
  [[nodiscard]] static Indices sampled(const std::vector<Indices>& works, std::size_t count,
                                       std::uint64_t seed) {
    Indices order(works.size()), rows;
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (const std::size_t i : measured::sampled_rows(order, count, seed).fit) {
      rows.insert(rows.end(), works[i].begin(), works[i].end());
    }
    std::ranges::sort(rows);
    return rows;
  }

  [[nodiscard]] std::vector<NamedSplit> families() const {
    const SplitSpec& spec = file_.split;
    const std::vector<std::string> family = keys(GroupBy::kFamily);
    std::vector<NamedSplit> result = left_out(family, family);
    for (auto& [name, split] : result) {
      const Indices unseen = without(split.fit, equal_work(split.score));
      split.fit = sampled(works_of(unseen), spec.works, spec.seed);
    }
    return result;
  }

  // One split per seed of the rows that may be fitted and scored; samples rows, or whole workloads.
  [[nodiscard]] std::vector<NamedSplit> seeds() const {
    const SplitSpec& spec = file_.split;
    const std::vector<Indices> works = works_of(fit_);
    const bool by_row = spec.kind == SplitKind::kSampledRows;
    if (by_row && works.size() != 1) {
      throw Error("{}: split: sampled_rows is about rows of one kernel; fit selects {}", file_.file,
                  works.size());
    }
    std::vector<NamedSplit> result;
    for (std::size_t i = 0; i < spec.seeds; ++i) {
      const std::uint64_t seed = spec.seed + i;
      Split split;
      split.fit = by_row ? measured::sampled_rows(fit_, spec.rows, seed).fit
                         : sampled(works, spec.works, seed);
      split.score = without(score_, by_row ? split.fit : equal_work(split.fit));
      result.push_back({seed_name(i), std::move(split)});
    }
    return result;
  }

  // All rows with the same work as one of `rows`.
  [[nodiscard]] Indices equal_work(const Indices& rows) const {
    return of_groups(rows, keys(GroupBy::kKernel));
  }
  // All rows in the groups of `rows`; `group` is by row.
  [[nodiscard]] static Indices of_groups(const Indices& rows,
                                         const std::vector<std::string>& group) {
    std::unordered_set<std::string> wanted;
    for (const std::size_t row : rows) wanted.insert(group[row]);
    Indices all;
    for (std::size_t row = 0; row < group.size(); ++row) {
      if (wanted.contains(group[row])) all.push_back(row);
    }
    return all;
  }

  const TrainingFile& file_;
  std::span<const SampleSet> sets_;
  std::span<const std::string> names_;
  std::vector<RowPlace> rows_;
  std::unordered_map<std::string, double> fastest_;  // seconds, by workload
  Indices fit_, score_;                              // rows that may be fitted, scored
};

}  // namespace

std::string ImportedData::path(const std::string& from) const {
  return (fs::path(folder_) / from).lexically_normal().string();
}

std::optional<std::string> ImportedData::missing(const TrainingFile& file) const {
  std::error_code failure;
  for (const DataSource& source : file.data) {
    for (const std::string& from : source.from) {
      if (!fs::exists(path(from), failure)) return path(from);
    }
  }
  return std::nullopt;
}

void ImportedData::import(const DataSource& source, const std::string& device,
                          const std::string& target) const {
  measured::ImportOptions options;
  options.output = target;
  std::vector<std::string> inputs;
  for (const std::string& from : source.from) inputs.push_back(path(from));
  if (source.importer == "program") {
    import_program(source, inputs.front(), device, options);
  } else {
    static_cast<void>(measured::import_operators(inputs, source.mapping, options));
  }
}

measured::MeasurementSet ImportedData::read(const DataSource& source, const std::string& device) {
  if (source.importer == "set") return measured::read_measurement_set(path(source.from.front()));
  const std::string key = fmt::format(
      "{}\n{}\n{}\n{}\n{}", source.importer, source.mapping, fmt::join(source.from, "\n"),
      source.runtime_s, source.importer == "program" ? source.name + "\n" + device : "");
  const auto known = imported_.find(key);
  if (known != imported_.end()) return measured::read_measurement_set(known->second);
  const std::string target = temporary_.file(fmt::format("set{}", imported_.size()));
  import(source, device, target);
  imported_.emplace(key, target);
  return measured::read_measurement_set(target);
}

LoadedSets load_sets(const TrainingFile& file, ImportedData& data, int jobs, const SeenSet& seen) {
  LoadedSets loaded;
  for (const DataSource& source : file.data) {
    load_source(file, source, data, jobs, seen, loaded);
  }
  return loaded;
}

std::vector<RowPlace> rows_of(std::span<const SampleSet> sets) {
  std::vector<RowPlace> rows;
  for (std::size_t set = 0; set < sets.size(); ++set) {
    for (std::size_t i = 0; i < sets[set].samples.size(); ++i) rows.push_back({set, i});
  }
  return rows;
}

std::vector<SampleSet> restricted(std::span<const SampleSet> sets,
                                  std::span<const std::size_t> rows) {
  const std::vector<RowPlace> all = rows_of(sets);
  std::vector<SampleSet> kept(sets.begin(), sets.end());
  for (SampleSet& set : kept) set.samples.clear();
  for (const std::size_t row : rows) {
    kept[all[row].set].samples.push_back(sets[all[row].set].samples[all[row].sample]);
  }
  return kept;
}

measured::ScoreSheet base_sheet(const TrainingFile& file, const std::vector<std::string>& columns,
                                const LoadedSets& loaded, int jobs) {
  const analytical::AnalyticalModel analytical;
  const analytical::RooflineModel roofline;
  const analytical::BottleneckModel bottleneck;
  const std::pair<std::string_view, const analytical::CostModel&> baselines[] = {
      {"roofline", roofline}, {"bottleneck", bottleneck}};
  measured::ScoreSheet sheet{.columns = columns};
  for (const std::string& column : columns) {
    const learned::LearnerSpec* learner = file.learner(column);
    sheet.ranks_only.push_back(learner != nullptr && learner->ranks_only());
  }
  for (std::size_t i = 0; i < loaded.sets.size(); ++i) {
    const measured::PredictionPlan plan(loaded.sets[i]);
    const std::vector<measured::Prediction> prior =
        plan.predict(analytical, loaded.devices[i], jobs);
    std::map<std::string_view, std::vector<measured::Prediction>> of_baseline;
    for (const auto& [name, model] : baselines) {
      if (std::ranges::find(columns, name) == columns.end()) continue;
      of_baseline[name] = plan.predict(model, loaded.devices[i], jobs);
    }
    std::vector<measured::Answers> answers;
    for (const std::string& column : columns) {
      const auto baseline = of_baseline.find(column);
      answers.push_back({loaded.sets[i], baseline == of_baseline.end() ? prior : baseline->second});
    }
    measured::add_answers(sheet, answers);
  }
  return sheet;
}

RowAnswers predict_rows(const analytical::CostModel& model, const LoadedSets& loaded,
                        const std::vector<Device>& devices, std::span<const std::size_t> rows,
                        int jobs) {
  RowAnswers answers;
  const std::vector<SampleSet> asked = restricted(loaded.sets, rows);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    for (const measured::Prediction& one : measured::predict(asked[i], model, devices[i], jobs)) {
      const double time_s = one.comparable().value;
      const bool usable = one.answered && std::isfinite(time_s) && time_s > 0;
      answers.predicted_s.push_back(usable ? std::optional(time_s) : std::nullopt);
      answers.interval_s.push_back(usable ? one.interval : std::nullopt);
    }
  }
  return answers;
}

Apart apart(SplitKind kind) {
  if (kind == SplitKind::kSampledRows) return Apart::kRows;
  return kind == SplitKind::kLeaveOneDeviceOut ? Apart::kWorksOnDevice : Apart::kWorks;
}

void require_disjoint(const Split& split, std::span<const SampleSet> sets, Apart apart,
                      const std::string& where) {
  const std::vector<RowPlace> rows = rows_of(sets);
  const auto describe = [&](std::size_t row) {
    const SampleSet& set = sets[rows[row].set];
    const measured::Sample& sample = set.samples[rows[row].sample];
    return fmt::format("{} of set {} line {}", set.works[sample.work].name, set.name, sample.line);
  };
  const auto key = [&](std::size_t row) {
    const SampleSet& set = sets[rows[row].set];
    const std::string& print = set.works[set.samples[rows[row].sample].work].fingerprint;
    return apart == Apart::kWorksOnDevice ? print + '\n' + set.device : print;
  };
  std::map<std::string, std::size_t> fitted;
  for (const std::size_t row : split.fit) {
    fitted.emplace(key(row), row);
    if (std::ranges::binary_search(split.score, row)) {
      throw Error("{}: {} is both fitted and scored", where, describe(row));
    }
  }
  if (apart == Apart::kRows) return;
  for (const std::size_t row : split.score) {
    const auto same = fitted.find(key(row));
    if (same == fitted.end()) continue;
    throw Error("{}: {} is scored, and {} with equal work is fitted", where, describe(row),
                describe(same->second));
  }
}

std::vector<NamedSplit> deal_rows(const TrainingFile& file, std::span<const SampleSet> sets,
                                  std::span<const std::string> names) {
  std::vector<NamedSplit> splits = Dealer(file, sets, names).deal();
  const bool fits = file.split.kind != SplitKind::kNone;
  for (const NamedSplit& named : splits) {
    const std::string where =
        named.name.empty() ? file.file : fmt::format("{}: {}", file.file, named.name);
    if (named.split.score.empty()) throw Error(where + ": no row is left to score");
    if (fits && named.split.fit.empty()) throw Error(where + ": no row is left to fit");
    require_disjoint(named.split, sets, apart(file.split.kind), where);
  }
  return splits;
}

}  // namespace tilecast::sim::training
