#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>

#include "analytical/roofline.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "host/additivity.h"
#include "host/measure_plan.h"
#include "hwdesc/device_yaml.h"
#include "ir/program.h"
#include "ir/read_module.h"
#include "sim/cli/commands.h"
#include "sim/cli/measure_session.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"

namespace tilecast::sim::cli {
namespace {

constexpr Seconds kProgramTimeout{60};  // per program, warm-up included

struct ProgramArguments : TimingArguments {
  ProgramArguments() {
    budget = "5m";
    longest = "500 ms";
  }
  std::vector<std::string> files;
  std::string out, device;
  std::size_t configurations = 8;
};

// A lower bound of the time on any machine of this kind.
Seconds shortest_time(const ir::Module& module, const hwdesc::Device& device) {
  Seconds time{0};
  const ir::Program program = ir::make_program(module);
  for (const ir::ScheduledKernel& scheduled : program.kernels()) {
    time += analytical::speed_of_light(scheduled.kernel, device) * scheduled.multiplicity;
  }
  return time;
}

std::vector<host::ProgramVariant> variants_of(const std::string& file,
                                              const ProgramArguments& arguments,
                                              const hwdesc::Device& device) {
  std::vector<host::ProgramVariant> variants =
      host::whole_programs(ir::read_module(file), device,
                           {.configurations = arguments.configurations, .seed = arguments.seed});
  const Seconds longest = longest_of(arguments);
  for (const host::ProgramVariant& variant : variants) {
    const Seconds time = shortest_time(variant.program, device);
    if (time <= longest) continue;
    throw Error(
        fmt::format("{} takes {:.3g} s at least, expected no more than {:.3g} s (--longest)",
                    variant.name, time.value, longest.value));
  }
  return variants;
}

// All programs with their first configuration, then all with their second ...
std::vector<host::ProgramVariant> variants_of(const ProgramArguments& arguments,
                                              const hwdesc::Device& device) {
  std::vector<std::vector<host::ProgramVariant>> by_program;
  std::size_t most = 0;
  for (const std::string& file : arguments.files.empty() ? host::own_programs() : arguments.files) {
    try {
      by_program.push_back(variants_of(file, arguments, device));
      most = std::max(most, by_program.back().size());
    } catch (const Error& error) {
      tell(fmt::format("note: {}: left out: {}", file, error.what()));
    }
  }
  std::vector<host::ProgramVariant> variants;
  for (std::size_t i = 0; i < most; ++i) {
    for (auto& program : by_program) {
      if (i < program.size()) variants.push_back(std::move(program[i]));
    }
  }
  if (variants.empty()) throw Error("nothing to measure: no program is left; see the notes above");
  return variants;
}

void add_rows(const std::string& program, const std::vector<host::ProgramTimes>& rows,
              measured::CsvTable& table) {
  for (const host::CacheState state : {host::CacheState::kCold, host::CacheState::kWarm}) {
    for (const host::Sum sum : {host::Sum::kAlone, host::Sum::kPlaced}) {
      const auto found = host::summarise(rows, state, sum);
      if (!found) continue;
      table.rows.push_back(
          {0,
           {program, std::string(host::name(state)), sum == host::Sum::kAlone ? "alone" : "placed",
            fmt::format("{}", found->programs), fmt::format("{:.1f}", 100 * found->median),
            fmt::format("{:.1f}", 100 * found->p90), fmt::format("{:.1f}", 100 * found->bias)}});
    }
  }
}

measured::CsvTable summary_table(const std::string& out,
                                 const std::vector<host::ProgramTimes>& rows) {
  measured::CsvTable table{out,
                           {"program", "cache", "sum", "configurations", "median_error_percent",
                            "p90_error_percent", "bias_percent"},
                           {}};
  std::map<std::string, std::vector<host::ProgramTimes>> families;
  for (const host::ProgramTimes& row : rows) {
    families[host::family_of(row.program)].push_back(row);
  }
  for (const auto& [family, of] : families) add_rows(family, of, table);
  add_rows("all", rows, table);
  return table;
}

void report_skipped(const std::vector<host::ProgramTimes>& rows, std::size_t left) {
  std::map<std::string, std::vector<std::string>> programs;  // by reason
  for (const host::ProgramTimes& row : rows) {
    if (!row.skipped.empty()) programs[row.skipped].push_back(row.program);
  }
  for (const auto& [reason, names] : programs) {
    tell(fmt::format("note: {} programs ({} ...) not timed: {}", names.size(), names.front(),
                     reason));
  }
  if (left > 0) tell(fmt::format("out of time: {} variants of programs left", left));
}

void run_programs(const ProgramArguments& arguments) {
  base::require_writable(arguments.out);
  const host::Bench bench = host::this_machine();
  const Seconds end = bench.now() + parse_budget(arguments.budget);
  const hwdesc::Device device = hwdesc::load_device(arguments.device);
  const std::vector<host::ProgramVariant> variants = variants_of(arguments, device);
  const host::TimingOptions timing{.core = arguments.core, .timeout = kProgramTimeout};
  std::vector<host::ProgramTimes> rows;
  {
    Progress progress("measure", variants.size());
    host::measure_additivity(variants, device, bench, timing, [&](const host::ProgramTimes& row) {
      rows.push_back(row);
      progress.step();
      return bench.now() < end;
    });
  }
  const bool is_file = hwdesc::is_path(arguments.device);
  const measured::Manifest manifest{
      .name = device.name + "_programs",
      .description = "whole programs under fusion configurations, and the sum of their kernels",
      .device = is_file ? "device.yaml" : arguments.device,
      .source = fmt::format("measured by `tilecast measure` on {}, {}; {}", bench.machine,
                            base::today(), bench.compiler),
      .licence = "unknown: fill in before passing it on",
      .how_timed = host::how_timed(timing),
      .writer = measured::kOwnWriter};
  host::write_program_set(
      arguments.out,
      {manifest, is_file ? hwdesc::print_device(device) : std::string(), variants, rows});
  report_skipped(rows, variants.size() - rows.size());
  write_rows({.format = arguments.format, .file = {}}, summary_table(arguments.out, rows),
             "tilecast.measure.programs/1");
}

}  // namespace

void add_measure_programs(CLI::App& measure) {
  auto arguments = std::make_shared<ProgramArguments>();
  CLI::App& verb = *measure.add_subcommand(
      "programs", "whole programs beside the sum of their kernels, on this CPU");
  verb.add_option("files", arguments->files, "HLO programs; without any, Tilecast's")
      ->type_name("FILE.hlo");
  verb.add_option("--out", arguments->out, "folder of the measurement set to write")
      ->required()
      ->type_name("FOLDER");
  verb.add_option("-d,--device", arguments->device, "description that chooses tiles")
      ->required()
      ->type_name("DEVICE");
  add_timing_options(verb, *arguments);
  verb.add_option("--configurations", arguments->configurations,
                  "fusion configurations of each program")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  verb.footer(
      "error: sum of the kernels / whole program - 1. cold: a call's inputs come from main "
      "memory;\n"
      "warm: they are where the last call left them. sum alone: of kernels timed alone in that\n"
      "state; placed: each between its warm and its cold time, by what the last cache holds of "
      "its\n"
      "arrays when the program gets there.\n"
      "FOLDER/measurements.csv has the programs, cold; FOLDER/additivity.csv everything.");
  verb.callback([arguments] { run_programs(*arguments); });
}

}  // namespace tilecast::sim::cli
