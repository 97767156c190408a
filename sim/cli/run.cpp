#include "sim/cli/run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "base/plugin.h"
#include "base/source_text.h"
#include "sim/cli/commands.h"
#include "sim/cli/help.h"
#include "sim/cli/options.h"
#include "sim/training.h"
#include "sim/verb_module.h"
#include "sim/version.h"

namespace tilecast::sim::cli {
namespace {

// The nearest option or verb to an argument nobody expected, as a hint; "" when none is near.
std::string hint(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(verb->get_name());
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string near = base::nearest(word.substr(0, word.find('=')), known);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

const CLI::App& innermost(const CLI::App& app) {
  const auto used = app.get_subcommands();
  return used.empty() ? app : innermost(*used.front());
}

// "tilecast tune program"
std::string words_to(const CLI::App& verb) {
  const CLI::App* parent = verb.get_parent();
  return parent == nullptr ? verb.get_name() : words_to(*parent) + " " + verb.get_name();
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& verb = innermost(app);
  const std::vector<std::string> extra = app.remaining(/*recurse=*/true);
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  const bool unexpected = !extra.empty() && (code == CLI::ExitCodes::ExtrasError ||
                                             code == CLI::ExitCodes::RequiredError);
  const std::string message =
      unexpected ? fmt::format("'{}' was not expected{}", extra.front(), hint(verb, extra.front()))
                 : std::string(error.what());
  tell(fmt::format("error: {}\nsee {} --help", message, words_to(verb)));
  return 2;
}

// OpenBLAS 0.3.21, which networks are trained with, takes an Intel processor younger than itself
// for a Pentium 4: products take four times as long. What the user set stays.
void choose_kernels_of_openblas() {
#if defined(__x86_64__)
  if (__builtin_cpu_is("intel") == 0 || __builtin_cpu_supports("avx2") == 0) return;
  const bool wide =
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  ::setenv("OPENBLAS_CORETYPE", wide ? "SKYLAKEX" : "HASWELL", /*overwrite=*/0);
#endif
}

constexpr base::Plugin kServePlugin = {"serve", "the module of the page and its JSON API",
                                       kVerbModuleAbi, "serve"};

struct Verb {
  std::string_view name;
  void (*add)(CLI::App& app);  // nullptr: `module` adds it
  const base::Plugin* module = nullptr;
};
constexpr Verb kVerbs[] = {
    {"simulate", add_simulate},
    {"explain", add_explain},
    {"kernels", add_kernels},
    {"convert", add_convert},
    {"hw", add_hw},
    {"ops", add_ops},
    {"sweep", add_sweep},
    {"sensitivity", add_sensitivity},
    {"tiles", add_tiles},
    {"advise", add_advise},
    {"features", add_features},
    {"train", nullptr, &kTrainPlugin},
    {"evaluate", add_evaluate},
    {"calibrate", add_calibrate},
    {"compare", add_compare},
    {"import", add_import},
    {"measure", add_measure},
    {"tune", add_tune},
    {"validate", nullptr, &kTrainPlugin},
    {"report", add_report},
    {"serve", nullptr, &kServePlugin},
};

// Where its module is not there, the verb says how to add it, with any arguments and to --help.
void add_verb(CLI::App& app, const Verb& verb) {
  if (verb.add != nullptr) return verb.add(app);
  if (base::has_plugin(*verb.module)) {
    return static_cast<const VerbModule*>(base::load_plugin(*verb.module))->add(app, verb.name);
  }
  CLI::App& absent = *app.add_subcommand(
      std::string(verb.name),
      fmt::format("not in this build; add it with: scripts/build {}", verb.module->component));
  absent.prefix_command();
  absent.callback([&verb] { static_cast<void>(base::load_plugin(*verb.module)); });
}

// The one that is asked for; all where it is none of them, for help and hints: making all options
// takes longer than a small simulation.
void add_verbs(CLI::App& app, std::string_view asked) {
  const auto* const found = std::ranges::find(kVerbs, asked, &Verb::name);
  if (found != std::end(kVerbs)) return add_verb(app, *found);
  for (const Verb& verb : kVerbs) add_verb(app, verb);
}

}  // namespace

int run(int argc, char** argv) {
  choose_kernels_of_openblas();  // while there is one thread
  CLI::App app("Predicts how long a tensor program runs on a described machine.", "tilecast");
  app.set_version_flag("--version", fmt::format("tilecast {}", version()));
  app.add_flag_callback(
      "--help-json", [&app] { throw CLI::CallForVersion(help_json(app), 0); },
      "every verb, option and example as JSON");
  app.require_subcommand(1);
  add_verbs(app, argc > 1 ? argv[1] : "");
  app.footer("Start with: tilecast hw list, then tilecast simulate --device DEVICE model.hlo");
  add_examples(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return usage_error(app, error);
    write({}, (error.get_name() == "CallForHelp" ? app.help() : error.what()) + std::string("\n"));
  }
  return 0;
}

}  // namespace tilecast::sim::cli
