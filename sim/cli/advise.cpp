#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "ir/fusion/fusion.h"
#include "sim/advice.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/model_choice.h"

namespace tilecast::sim::cli {
namespace {

struct AdviseArguments {
  std::string file, kernel, models;
  std::vector<int> unroll;
  std::vector<std::string> fuse;
  DeviceOptions device;
  LoadArguments load;
  OutputOptions output;
};

constexpr double kNsPerSecond = 1e9;

std::string nanoseconds(const std::optional<Seconds>& time) {
  return time ? fmt::format("{:.1f}", time->value * kNsPerSecond) : std::string();
}

measured::CsvTable table_of(const Advisor& advisor, const std::string& file) {
  measured::CsvTable table{file, {"choice", "kernel", "unroll"}, {}};
  for (const learned::Target& one : advisor.quantities()) table.columns.push_back(one.quantity);
  table.columns.insert(table.columns.end(), {"estimate_ns", "verdict"});
  return table;
}

void add_row(measured::CsvTable& table, const std::string& choice, const Prospect& prospect,
             const std::string& verdict) {
  std::vector<std::string> cells{choice, prospect.kernel, fmt::to_string(prospect.unroll)};
  for (const double value : prospect.values) cells.push_back(fmt::format("{:.4g}", value));
  cells.push_back(nanoseconds(prospect.time));
  cells.push_back(verdict);
  table.rows.push_back({0, std::move(cells)});
}

measured::CsvTable of_unrolling(const AdviseArguments& arguments, const Advisor& advisor,
                                const hwdesc::Device& device) {
  const ir::LoadOptions load = load_options(arguments.load);
  const ir::DeviceProgram built = ir::program_for(ir::load_module(arguments.file, load),
                                                  analytical::layout_rules(device), load);
  measured::CsvTable table = table_of(advisor, arguments.file);
  const auto answer = [&](const ir::Kernel& kernel) {
    const std::vector<Prospect> choices = advisor.unrolled(kernel, device, arguments.unroll);
    const std::size_t best = advised(choices);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      add_row(table, fmt::format("unroll {}", choices[i].unroll), choices[i],
              i == best ? "best" : "");
    }
  };
  if (!arguments.kernel.empty()) {
    answer(find_kernel(built.program, arguments.kernel, arguments.file));
    return table;
  }
  for (const ir::ScheduledKernel& one : built.program.kernels()) answer(one.kernel);
  return table;
}

std::optional<Seconds> sum_of(std::span<const Prospect> kernels) {
  Seconds sum;
  for (const Prospect& one : kernels) {
    if (!one.time) return std::nullopt;
    sum += *one.time;
  }
  return sum;
}

measured::CsvTable of_fusing(const AdviseArguments& arguments, const Advisor& advisor,
                             const hwdesc::Device& device) {
  const ir::LoadedModule loaded =
      ir::load_module(arguments.file, {.read = load_options(arguments.load).read, .fuse = false});
  if (ir::is_optimised(loaded.module)) {
    throw Error(
        fmt::format("{}: is fused already; --fuse expects a program that is not", arguments.file));
  }
  const FusionProspect prospect =
      advisor.fused(loaded.module, arguments.fuse[0], arguments.fuse[1], device);
  measured::CsvTable table = table_of(advisor, arguments.file);
  const auto apart = sum_of(prospect.apart), fused = sum_of(prospect.fused);
  const bool known = apart && fused;
  const auto add = [&](const char* choice, const std::vector<Prospect>& kernels,
                       const std::optional<Seconds>& time, bool is_best) {
    for (const Prospect& one : kernels) add_row(table, choice, one, "");
    Prospect all{fmt::format("all {}", kernels.size()), 1, {}, time};
    all.values.assign(advisor.quantities().size(), 0);
    add_row(table, choice, all, known && is_best ? "best" : "");
    for (std::size_t q = 0; q < all.values.size(); ++q) table.rows.back().cells[3 + q].clear();
  };
  add("apart", prospect.apart, apart, known && *apart <= *fused);
  add("fused", prospect.fused, fused, known && *fused < *apart);
  return table;
}

// configs/models/advice, or the advice folder beside the shipped models.
std::string models_of(const AdviseArguments& arguments) {
  if (!arguments.models.empty()) return arguments.models;
  const std::string shipped = shipped_advice();
  if (!shipped.empty()) return shipped;
  throw Error("no models of advice are shipped here; expected --models FOLDER (docs/learning.md)");
}

void run(const AdviseArguments& arguments) {
  if (arguments.unroll.empty() == arguments.fuse.empty()) {
    throw UsageError("expected --unroll N,... or --fuse ARRAY,READER, one of them");
  }
  if (!arguments.fuse.empty() && arguments.fuse.size() != 2) {
    throw UsageError(
        fmt::format("--fuse: got {} names, expected two: ARRAY,READER", arguments.fuse.size()));
  }
  const Advisor advisor(models_of(arguments));
  const hwdesc::Device device = load_devices(arguments.device).front();
  if (const std::string note = advisor.note(device); !note.empty()) {
    tell(fmt::format("note: {}", note));
  }
  write_rows(arguments.output,
             arguments.fuse.empty() ? of_unrolling(arguments, advisor, device)
                                    : of_fusing(arguments, advisor, device),
             "tilecast.advice/1");
}

}  // namespace

void add_advise(CLI::App& app) {
  auto arguments = std::make_shared<AdviseArguments>();
  CLI::App& verb = *app.add_subcommand("advise", "unroll by how much, fuse or not, uncompiled");
  verb.add_option("program", arguments->file, "file of the program")->required()->type_name("FILE");
  verb.add_option("-k,--kernel", arguments->kernel, "one kernel; without: all of them")
      ->type_name("NAME");
  verb.add_option("--unroll", arguments->unroll, "by what the compiler may unroll parallel loops")
      ->check(CLI::Range(1, 64))
      ->allow_extra_args(false)
      ->delimiter(',')
      ->type_name("N,...");
  verb.add_option("--fuse", arguments->fuse,
                  "an array's instruction and one that reads it, of a program not fused yet")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->type_name("ARRAY,READER");
  verb.add_option("--models", arguments->models,
                  "folder of trained models, each of one quantity; default: the shipped ones")
      ->check(CLI::ExistingDirectory)
      ->type_name("FOLDER");
  add_device_options(verb, arguments->device, Devices::kOne);
  add_load_options(verb, arguments->load);
  add_output_options(verb, arguments->output, {"table", "json", "csv"});
  verb.footer(
      "Kernels as generated C on a processor (measure host) under the tile that physics chooses.\n"
      "Columns: what each model predicts, in its unit (docs/measurements.md lists labels), and\n"
      "estimate_ns. best: the first choice within 1 % of the shortest time. --fuse lists the\n"
      "kernels that differ and their sum. Nothing is compiled; measure host --unroll does that.");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
