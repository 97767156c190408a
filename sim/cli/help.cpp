#include "sim/cli/help.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "sim/cli/examples.h"
#include "sim/version.h"
#include "sim/views/rows.h"

namespace tilecast::sim::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* const kHeading = "Examples, from the root of the repository:\n";

bool is_shown(const CLI::App* verb) {
  return !verb->get_group().empty();
}

std::vector<CLI::App*> verbs_below(CLI::App& app) {
  return app.get_subcommands(is_shown);
}

// "hw list": the names from below the command down to `verb`.
std::string path_of(const CLI::App& verb) {
  const CLI::App* parent = verb.get_parent();
  if (parent == nullptr) return "";
  const std::string above = path_of(*parent);
  return above.empty() ? verb.get_name() : above + " " + verb.get_name();
}

Json option_json(const CLI::Option& option) {
  Json names = Json::array();
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  if (option.get_positional()) names = Json::array({option.get_single_name()});
  return {{"names", names},
          {"type", option.get_items_expected_max() == 0 ? "" : option.get_type_name()},
          {"default", option.get_default_str()},
          {"required", option.get_required()},
          {"several", option.get_items_expected_max() > 1},
          {"description", option.get_description()}};
}

Json verb_json(const CLI::App& verb) {
  Json arguments = Json::array();
  Json options = Json::array();
  for (const CLI::Option* option : verb.get_options()) {
    (option->get_positional() ? arguments : options).push_back(option_json(*option));
  }
  const std::string path = path_of(verb);
  Json commands = Json::array();
  for (const Example& example : examples()) {
    if (example.verb != path) continue;
    commands.push_back({{"command", fmt::format("tilecast {}", example.command)},
                        {"shows", example.shows},
                        {"runs", example.runs}});
  }
  const std::string footer = verb.get_footer();
  return {{"name", path},
          {"description", verb.get_description()},
          {"notes", footer.substr(0, footer.find(kHeading))},
          {"arguments", arguments},
          {"options", options},
          {"examples", commands}};
}

void append_verbs(const CLI::App& app, Json& verbs) {
  for (const CLI::App* verb : app.get_subcommands(is_shown)) {
    verbs.push_back(verb_json(*verb));
    append_verbs(*verb, verbs);
  }
}

// The examples of the verb; for a group of verbs, the first example of each.
std::string examples_text(const std::string& path) {
  std::string text;
  std::string_view before;
  for (const Example& example : examples()) {
    const std::string_view verb = example.verb;
    if (verb == path || (verb != before && verb.starts_with(path + " "))) {
      text += fmt::format("  tilecast {}\n      {}\n", example.command, example.shows);
    }
    before = verb;
  }
  return text;
}

}  // namespace

void add_examples(CLI::App& app) {
  for (CLI::App* verb : verbs_below(app)) {
    const std::string text = examples_text(path_of(*verb));
    const std::string notes = verb->get_footer();
    if (!text.empty()) verb->footer(notes + (notes.empty() ? "" : "\n") + kHeading + text);
    add_examples(*verb);
  }
}

std::string help_json(const CLI::App& app) {
  Json verbs = Json::array();
  append_verbs(app, verbs);
  return views::json_line({{"schema", "tilecast.help/1"},
                           {"description", app.get_description()},
                           {"version", version()},
                           {"verbs", verbs}},
                          1);
}

}  // namespace tilecast::sim::cli
