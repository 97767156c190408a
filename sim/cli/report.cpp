#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/report/page.h"

namespace tilecast::sim::cli {
namespace {

struct ReportArguments {
  std::vector<std::string> results;
  std::string output, title;
};

std::string title_of(const ReportArguments& arguments) {
  if (!arguments.title.empty()) return arguments.title;
  std::string title;
  for (const std::string& result : arguments.results) {
    title += (title.empty() ? "" : ", ") + std::filesystem::path(result).stem().string();
  }
  return title;
}

void run(const ReportArguments& arguments) {
  std::vector<report::Result> results;
  for (const std::string& file : arguments.results) {
    results.push_back(report::read_result_file(file));
  }
  write({.format = "html", .file = arguments.output},
        report::page(results, {.title = title_of(arguments)}));
}

}  // namespace

void add_report(CLI::App& app) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App& verb = *app.add_subcommand("report", "results as one HTML page of plots and tables");
  verb.add_option("results", arguments->results,
                  "what tilecast wrote with --format json, or evaluate with --rows")
      ->required()
      ->type_name("RESULT");
  add_output_file(verb, "-o,--output", arguments->output, "page to write instead of stdout");
  verb.add_option("--title", arguments->title, "heading of the page; without it: the files' names")
      ->type_name("TEXT");
  verb.footer(
      "Two simulated programs are compared: the second against the first, kernel by kernel and\n"
      "resource by resource; of more, each against the first of the same program. Kernels are\n"
      "paired by what they compute, then by name.\n"
      "The page needs no network. It shows roofline, timeline, time by kernel, what holds kernels\n"
      "up and the table of kernels of simulate; times of sides against each other of compare and\n"
      "evaluate --rows; scores of evaluate; any other result as tables.");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
