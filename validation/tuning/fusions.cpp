// Searches over the fusions of one program by every arm and seed, on kernels that are timed once
// (kernel_store.h); the fastest of each run then run whole, together with the rules' program.
//
//   fusions configs/programs/small_adam.hlo host.yaml /tmp/tuning rows.csv 10
//       "hybrid + 1 min,default,rules,60" "hardware 1 min,,rules,60"
//
// The program, the device, a folder, the table to write, the number of seeds, arms.
// An arm is its name, model, start and seconds of hardware; without a model, hardware costs every
// program that is proposed. In the folder: the times of kernels and of whole programs, from which a
// broken-off session goes on. An arm "clock" runs whole programs in place of kernels, on seed 1.
#include <fmt/format.h>
#include <sys/resource.h>

#include <filesystem>
#include <limits>
#include <map>
#include <sstream>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/read_module.h"
#include "measured/growing_csv.h"
#include "sim/model_choice.h"
#include "validation/tuning/kernel_store.h"

namespace tilecast::validation {
namespace {

using Arm = std::vector<std::string>;
enum ArmCell { kName, kModel, kStart, kBudget };

struct Arguments {
  std::string program, folder, rows;
  std::uint64_t seeds = 0;
  std::vector<std::string> arms;
};

Arm cells_of(const std::string& text) {
  Arm cells(1 + kBudget);
  std::istringstream stream(text);
  for (std::string& cell : cells) std::getline(stream, cell, ',');
  return cells;
}

struct Found {  // by an arm from one seed
  std::string arm;
  std::uint64_t seed = 0;
  std::size_t programs = 0;
  double spent_s = 0;
  std::vector<KernelStore::Ran> fastest;
};

// Seconds that this process and its finished children (compilers, timed programs) have computed:
// what they take on a core of their own, whatever else the machine does meanwhile.
double now_s() {
  double seconds = 0;
  for (const int whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(whose, &used);
    for (const timeval& part : {used.ru_utime, used.ru_stime}) {
      seconds += static_cast<double>(part.tv_sec) + 1e-6 * static_cast<double>(part.tv_usec);
    }
  }
  return seconds;
}

class Searches {
 public:
  Searches(const Arguments& arguments, const hwdesc::Device& device)
      : arguments_(arguments),
        device_(device),
        stem_(std::filesystem::path(arguments.program).stem().string()),
        space_(ir::read_module(arguments.program), analytical::layout_rules(device).fusion),
        store_(fmt::format("{}/{}_kernels.csv", arguments.folder, stem_), space_.program_hash()),
        whole_(fmt::format("{}/{}_programs.csv", arguments.folder, stem_), space_.program_hash()),
        host_(search::host_hardware(device)),
        trials_(*host_, whole_, now_s) {}

  void run() {
    program_s_ = time_of_program();
    std::vector<Found> found;
    for (std::uint64_t seed = 1; seed <= arguments_.seeds; ++seed) {
      for (const std::string& text : arguments_.arms) {
        const Arm arm = cells_of(text);
        if (arm[kName] == "clock" && seed > 1) continue;
        found.push_back(search(arm, seed));
        fmt::print(stderr, "{} {}: {} programs, {:.1f} s; {} kernels\n", arm[kName], seed,
                   found.back().programs, found.back().spent_s, store_.size());
      }
    }
    write(found);
  }

 private:
  [[nodiscard]] search::HardwareTrial trial(std::string name, const ir::Module& module) const {
    return {std::move(name), [this, &module] {
              return search::HardwareJob{space_.program_hash(), module};
            }};
  }

  // Median of what linking, checking and timing the rules' program take, its kernels compiled.
  double time_of_program() {
    std::vector<double> spent_s;
    for (int visit = 0; visit <= search::kSittings; ++visit) {
      const search::HardwareTrial one = trial(fmt::format("visit {}", visit), rules_);
      (void)trials_.time({&one, 1}, one);
      if (visit > 0) spent_s.push_back(whole_.find(one.name)->spent_s);
    }
    std::ranges::sort(spent_s);
    return spent_s[search::kSittings / 2];
  }

  search::FusionCost& cost_of(const std::string& model) {
    if (const auto known = costs_.find(model); known != costs_.end()) return known->second;
    models_.push_back(sim::choose_model(model, {&device_, 1}));
    return costs_.try_emplace(model, space_, device_, *models_.back().model).first->second;
  }

  Found search(const Arm& arm, std::uint64_t seed) {
    KernelStore kernels(device_, bench_, store_, {program_s_, now_s});
    const bool whole = arm[kName] == "clock";
    const auto fresh = search::host_hardware(device_);
    search::Hardware& hardware = whole ? *fresh : kernels;
    const std::function<double()> clock =
        whole ? std::function<double()>(now_s) : [&] { return kernels.clock_s(); };
    const double budget_s = std::stod(arm[kBudget]);
    search::TuningJournal journal("", space_.program_hash());
    search::HardwareTrials trials(hardware, journal, clock);
    search::FusionSearchOptions options{.random_start = arm[kStart] == "random", .seed = seed};
    Found found{arm[kName], seed};
    if (arm[kModel].empty()) {
      search::HardwareObjective objective(cost_of("analytical"), trials, {});
      options.costs = 1'000'000;  // any number: hardware ends it
      options.spent = [&] { return trials.spent_s() / budget_s; };
      (void)search_fusions(objective, space_, options);
      found.programs = journal.size();
      found.spent_s = trials.spent_s();
    } else {
      search::FusionCost& cost = cost_of(arm[kModel]);
      const auto step = [&](std::size_t programs, double) {
        found.programs = programs;
        found.spent_s = clock();
        return true;
      };
      (void)verify_fusions(
          cost, search_fusions(cost, options), hardware,
          {.budget_s = budget_s, .batch = 1, .seed = seed, .now = clock, .step = step}, journal);
    }
    found.fastest = kernels.fastest();
    return found;
  }

  // Seconds by name, "" for the rules' program, of those that ran; together in several sittings.
  std::map<std::string, double> time(const std::map<std::string, const ir::Module*>& modules,
                                     bool sittings) {
    std::vector<search::HardwareTrial> asked = {trial("rules", rules_)};
    for (const auto& [name, module] : modules) asked.push_back(trial(name, *module));
    const std::vector<search::HardwareTime> times =
        sittings ? median_of_sittings(trials_, asked, "together")
                 : trials_.time(asked, asked.front());
    std::map<std::string, double> seconds = {{"", times.front().seconds.value()}};
    std::size_t next = 0;
    for (const auto& [name, module] : modules) {
      if (times[++next].seconds) seconds[name] = *times[next].seconds;
    }
    return seconds;
  }

  void write(const std::vector<Found>& found) {
    std::map<std::string, const ir::Module*> finalists, winners;
    for (const Found& one : found) {
      for (const KernelStore::Ran& ran : one.fastest) finalists[ran.name] = &ran.module;
    }
    const std::map<std::string, double> once_s = time(finalists, false);
    const auto seconds = [](const std::map<std::string, double>& by_name, const std::string& name) {
      const auto at = by_name.find(name);
      return at == by_name.end() ? std::numeric_limits<double>::infinity() : at->second;
    };
    std::vector<KernelStore::Ran> chosen;
    for (const Found& one : found) {
      if (one.fastest.empty()) continue;
      chosen.push_back(*std::ranges::min_element(
          one.fastest, {}, [&](const auto& ran) { return seconds(once_s, ran.name); }));
      winners[chosen.back().name] = finalists.at(chosen.back().name);
    }
    const std::map<std::string, double> last_s = time(winners, true);
    measured::GrowingCsv rows(arguments_.rows,
                              {"program", "seed", "arm", "programs_run", "spent_s", "program_s",
                               "kernels_s", "rules_s", "chosen_s", "speedup", "machine"});
    auto ran = chosen.begin();
    for (const Found& one : found) {
      std::vector<std::string> cells = {stem_,
                                        std::to_string(one.seed),
                                        one.arm,
                                        std::to_string(one.programs),
                                        fmt::format("{:.1f}", one.spent_s),
                                        fmt::format("{:.3f}", program_s_)};
      if (one.fastest.empty()) {
        cells.resize(10);
      } else {
        const double rules = last_s.at(""), best = std::min(rules, seconds(last_s, ran->name));
        for (const double value : {ran->seconds, rules, best, rules / best}) {
          cells.push_back(fmt::format("{:.6g}", value));
        }
        ++ran;
      }
      cells.push_back(device_.description);
      rows.add(cells);
    }
  }

  const Arguments& arguments_;
  const hwdesc::Device& device_;
  std::string stem_;
  ir::FusionSpace space_;
  search::TuningJournal store_, whole_;
  host::Bench bench_ = host::this_machine();
  std::unique_ptr<search::Hardware> host_;
  search::HardwareTrials trials_;
  ir::Module rules_ = space_.fused(space_.by_rules());
  std::vector<sim::ChosenModel> models_;
  std::map<std::string, search::FusionCost> costs_;
  double program_s_ = 0;
};

}  // namespace
}  // namespace tilecast::validation

int main(int argc, char** argv) {
  constexpr int kFirstArm = 6;
  if (argc <= kFirstArm) {
    fmt::print(stderr, "usage: fusions PROGRAM DEVICE FOLDER ROWS.csv SEEDS ARM...\n");
    return 2;
  }
  try {
    const tilecast::hwdesc::Device device = tilecast::hwdesc::load_device(argv[2]);
    const tilecast::validation::Arguments arguments{
        argv[1], argv[3], argv[4], std::stoul(argv[5]), {argv + kFirstArm, argv + argc}};
    tilecast::validation::Searches(arguments, device).run();
  } catch (const tilecast::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
