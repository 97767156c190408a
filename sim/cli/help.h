// What the command line says about itself.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tilecast::sim::cli {

// Ends the help of every verb below `app` with its examples (sim/cli/examples.h).
void add_examples(CLI::App& app);

// `app` with everything below it as JSON, schema "tilecast.help/1": verbs[] with name, description,
// notes, arguments[], options[] and examples[]. scripts/make_docs turns it into the command
// reference, the manual page and shell completions.
[[nodiscard]] std::string help_json(const CLI::App& app);

}  // namespace tilecast::sim::cli
