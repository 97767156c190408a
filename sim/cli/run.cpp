#include "sim/cli/run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/plugin.h"
#include "sim/cli/commands.h"
#include "sim/cli/help.h"
#include "sim/cli/program.h"
#include "sim/training.h"
#include "sim/verb_module.h"
#include "sim/version.h"

namespace tilecast::sim::cli {
namespace {

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
    {"report", add_report},
    {"serve", nullptr, &kServePlugin},
};

// If its module is missing, the verb says how to install it, for any arguments and for --help.
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

// Adds only the requested verb; adds all if it is unknown, for help and hints. Creating all options
// takes longer than a small simulation.
void add_verbs(CLI::App& app, std::string_view asked) {
  const auto* const found = std::ranges::find(kVerbs, asked, &Verb::name);
  if (found != std::end(kVerbs)) return add_verb(app, *found);
  for (const Verb& verb : kVerbs) add_verb(app, verb);
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app("Predicts how long a tensor program runs on a described machine.", "tilecast");
  app.set_version_flag("--version", fmt::format("tilecast {}", version()));
  app.add_flag_callback(
      "--help-json", [&app] { throw CLI::CallForVersion(help_json(app), 0); },
      "every verb, option and example as JSON");
  app.require_subcommand(1);
  add_verbs(app, argc > 1 ? argv[1] : "");
  app.footer("Start with: tilecast hw list, then tilecast simulate --device DEVICE model.hlo");
  add_examples(app);
  return parse_and_run(app, argc, argv);
}

}  // namespace tilecast::sim::cli
