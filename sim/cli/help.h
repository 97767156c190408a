// Help texts of the command line, and the same as JSON.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tilecast::sim::cli {

// Appends examples (sim/cli/examples.h) to the help of every verb below `app`.
void add_examples(CLI::App& app);

// `app` and everything below it as JSON, schema "tilecast.help/1": verbs[] with name, description,
// notes, arguments[], options[] and examples[]. scripts/make_docs generates the command reference,
// the manual page and shell completions from it.
[[nodiscard]] std::string help_json(const CLI::App& app);

}  // namespace tilecast::sim::cli
