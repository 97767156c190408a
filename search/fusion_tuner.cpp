#include "search/fusion_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace tilecast::search {
namespace {

std::string name_of(const PlanHash& plan) {
  return fmt::format("{:016x}{:016x}", plan[0], plan[1]);
}

// Times programs, or finds them in the journal; counts what that took.
class Trials {
 public:
  Trials(const ir::FusionSpace& space, Hardware& hardware, const VerifyOptions& options,
         FusionJournal& journal)
      : space_(space), hardware_(hardware), options_(options), journal_(journal) {}

  struct Asked {
    const ir::FusionConfiguration* chosen;
    std::string name;
  };

  std::vector<HardwareTime> time(const std::vector<Asked>& asked) {
    std::vector<HardwareTime> times(asked.size());
    std::vector<std::size_t> open;
    std::vector<ir::Module> modules;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (const FusionJournal::Row* known = journal_.find(asked[i].name)) {
        times[i] = known->time;
        spent_s_ += known->spent_s;
      } else {
        open.push_back(i);
        modules.push_back(space_.fused(*asked[i].chosen));
      }
    }
    if (open.empty()) return times;
    set_reference(asked, open);
    const double begin = options_.now();
    std::vector<HardwareTime> got = hardware_.time(modules);
    const double each = (options_.now() - begin) / static_cast<double>(open.size());
    for (std::size_t i = 0; i < open.size(); ++i) {
      journal_.add({asked[open[i]].name, got[i], each});
      spent_s_ += each;
      times[open[i]] = std::move(got[i]);
    }
    return times;
  }

  [[nodiscard]] double spent_s() const { return spent_s_; }

 private:
  // Results are held against those of the rules' program: after a break it runs once more.
  void set_reference(const std::vector<Asked>& asked, const std::vector<std::size_t>& open) {
    if (referenced_) return;
    referenced_ = true;
    const ir::FusionConfiguration rules = space_.by_rules();
    if (*asked[open.front()].chosen == rules) return;
    const std::vector<ir::Module> reference = {space_.fused(rules)};
    (void)hardware_.time(reference);
  }

  const ir::FusionSpace& space_;
  Hardware& hardware_;
  const VerifyOptions& options_;
  FusionJournal& journal_;
  double spent_s_ = 0;
  bool referenced_ = false;
};

}  // namespace

FusionJournal::FusionJournal(const std::string& file, const std::string& program_hash)
    : file_(file, {"program", "plan", "measured_ns", "spent_ns", "failure"}),
      program_(program_hash) {
  const measured::CsvTable& table = file_.known();
  for (const measured::CsvRow& row : table.rows) {
    if (table.cell(row, "program") != program_) {
      throw Error(fmt::format("{}: got {}, expected {}: the journal is of another program",
                              table.where(row, "program"), table.cell(row, "program"), program_));
    }
    std::string plan(table.cell(row, "plan"));
    HardwareTime time{measured::time_ns_cell(table, row, "measured_ns"),
                      std::string(table.cell(row, "failure"))};
    const double spent_s = measured::time_ns_cell(table, row, "spent_ns").value_or(0);
    rows_[plan] = {plan, std::move(time), spent_s};
  }
}

const FusionJournal::Row* FusionJournal::find(const std::string& plan) const {
  const auto found = rows_.find(plan);
  return found == rows_.end() ? nullptr : &found->second;
}

void FusionJournal::add(Row row) {
  const std::optional<double> spent = row.spent_s > 0 ? std::optional(row.spent_s) : std::nullopt;
  file_.add({program_, row.plan, measured::time_ns_text(row.time.seconds),
             measured::time_ns_text(spent), row.time.failure});
  rows_[row.plan] = std::move(row);
}

TunedFusion verify_fusions(const ir::FusionSpace& space, std::span<const FoundFusion> found,
                           const PlanCost& by_rules, Hardware& hardware,
                           const VerifyOptions& options, FusionJournal& journal) {
  Trials trials(space, hardware, options, journal);
  TunedFusion tuned;
  const ir::FusionConfiguration rules = space.by_rules();
  HardwareTime first = trials.time({{&rules, name_of(by_rules.plan)}}).front();
  if (!first.seconds) {
    throw Error(fmt::format("{}: fused by the rules it does not run here: {}", space.module().name,
                            first.failure));
  }
  tuned.tried.push_back({0, by_rules, first});
  double best_s = *first.seconds;
  std::size_t best = found.size();
  const auto is_open = [&] { return !tuned.stopped && trials.spent_s() < options.budget_s; };
  for (std::size_t next = 0; next < found.size() && is_open();) {
    std::vector<Trials::Asked> asked;
    std::vector<std::size_t> which;
    for (; next < found.size() && asked.size() < options.batch; ++next) {
      if (found[next].cost.plan == by_rules.plan) continue;
      asked.push_back({&found[next].chosen, name_of(found[next].cost.plan)});
      which.push_back(next);
    }
    if (asked.empty()) break;
    const std::vector<HardwareTime> times = trials.time(asked);
    for (std::size_t i = 0; i < which.size(); ++i) {
      tuned.tried.push_back({which[i] + 1, found[which[i]].cost, times[i]});
      if (times[i].seconds && *times[i].seconds < best_s) {
        best_s = *times[i].seconds;
        best = which[i];
      }
      tuned.stopped |= !options.step(tuned.tried.size(), best_s);
    }
  }
  tuned.chosen = rules;
  tuned.by_rules_s = tuned.chosen_s = *first.seconds;
  if (best < found.size() && !tuned.stopped) {
    const std::vector<HardwareTime> pair =
        trials.time({{&rules, name_of(by_rules.plan) + " again"},
                     {&found[best].chosen, name_of(found[best].cost.plan) + " again"}});
    if (pair[0].seconds) tuned.by_rules_s = tuned.chosen_s = *pair[0].seconds;
    if (pair[0].seconds && pair[1].seconds && *pair[1].seconds < *pair[0].seconds) {
      tuned.chosen = found[best].chosen;
      tuned.chosen_rank = best + 1;
      tuned.chosen_s = *pair[1].seconds;
    }
  }
  tuned.spent_s = trials.spent_s();
  return tuned;
}

}  // namespace tilecast::search
