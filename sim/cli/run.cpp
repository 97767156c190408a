#include <fcntl.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/plugin.h"
#include "base/source_text.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/terminal.h"
#include "sim/modules.h"
#include "sim/version.h"
#include "sim/views/rows.h"

namespace tilecast::sim::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* const kHeading = "Examples, from the root of the repository:\n";

bool is_shown(const CLI::App* verb) {
  return !verb->get_group().empty();
}

// "hw list": the names from below the command down to `verb`.
std::string path_of(const CLI::App& verb) {
  const CLI::App* parent = verb.get_parent();
  if (parent == nullptr) return "";
  const std::string above = path_of(*parent);
  return above.empty() ? verb.get_name() : above + " " + verb.get_name();
}

// "hw list": two words of a group of verbs, else one.
std::string_view verb_of(const Example& example) {
  std::size_t end = example.command.find(' ');
  for (const std::string_view group : {"hw", "import", "measure", "tune"}) {
    if (example.command.substr(0, end) == group) end = example.command.find(' ', end + 1);
  }
  return example.command.substr(0, end);
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
    if (verb_of(example) != path) continue;
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
    const std::string_view verb = verb_of(example);
    if (verb == path || (verb != before && verb.starts_with(path + " "))) {
      text += fmt::format("  tilecast {}\n      {}\n", example.command, example.shows);
    }
    before = verb;
  }
  return text;
}

// Appends examples to the help of every verb below `app`.
void add_examples(CLI::App& app) {
  for (CLI::App* verb : app.get_subcommands(is_shown)) {
    const std::string text = examples_text(path_of(*verb));
    const std::string notes = verb->get_footer();
    if (!text.empty()) verb->footer(notes + (notes.empty() ? "" : "\n") + kHeading + text);
    add_examples(*verb);
  }
}

// `app` and everything below it as JSON, schema "tilecast.help/1": verbs[] with name, description,
// notes, arguments[], options[] and examples[]. scripts/make_docs generates the command reference,
// the manual page and shell completions from it.
std::string help_json(const CLI::App& app) {
  Json verbs = Json::array();
  append_verbs(app, verbs);
  return views::json_line({{"schema", "tilecast.help/1"},
                           {"description", app.get_description()},
                           {"version", version()},
                           {"verbs", verbs}},
                          1);
}

// Suggests the option or verb closest to an unexpected argument; "" if none is close.
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
  tell("error: {}\nsee {} --help", message, words_to(verb));
  return 2;
}

// OpenBLAS 0.3.21, used to train networks, treats Intel processors newer than itself as a Pentium
// 4, which makes products four times slower. A setting of the user is kept.
void choose_kernels_of_openblas() {
#if defined(__x86_64__)
  if (__builtin_cpu_is("intel") == 0 || __builtin_cpu_supports("avx2") == 0) return;
  const bool wide =
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  ::setenv("OPENBLAS_CORETYPE", wide ? "SKYLAKEX" : "HASWELL", /*overwrite=*/0);
#endif
}

// A file opened first would get the number of a closed standard stream, and its output. Occupies
// those numbers so that writing to a closed standard output is an error.
void occupy_standard_streams() {
  for (const int stream : {0, 1, 2}) {
    if (::fcntl(stream, F_GETFD) < 0) {
      [[maybe_unused]] const int taken = ::open("/dev/null", stream == 1 ? O_RDONLY : O_RDWR);
    }
  }
}

constexpr base::Plugin kTrainPlugin = {"train", "the module that trains models", kVerbModuleAbi,
                                       "train"};
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
    return static_cast<const VerbModule*>(base::load_plugin(*verb.module))->add(app);
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

int parse_and_run(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return usage_error(app, error);
    write({}, (error.get_name() == "CallForHelp" ? app.help() : error.what()) + std::string("\n"));
  }
  return 0;
}

int program(int argc, char** argv, int (*run)(int argc, char** argv)) {
  occupy_standard_streams();
  choose_kernels_of_openblas();  // must run while single-threaded
  try {
    return run(argc, argv);
  } catch (const UsageError& error) {
    tell("error: {}", error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    tell("error: out of memory");
  } catch (const std::exception& error) {
    tell("error: {}", error.what());
  }
  return 1;
}

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
