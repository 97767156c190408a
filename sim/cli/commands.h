// The command line and its verbs. Each add_*() adds one verb to the app: options, help and
// callback. A verb writes its result to stdout or --output, and everything else to stderr. It
// throws tilecast::Error (exit 1) or UsageError (exit 2).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace tilecast::sim::cli {

void add_simulate(CLI::App& app);
void add_advise(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_compare(CLI::App& app);
void add_convert(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_explain(CLI::App& app);
void add_kernels(CLI::App& app);
void add_features(CLI::App& app);
void add_hw(CLI::App& app);
void add_import(CLI::App& app);
void add_measure(CLI::App& app);
void add_ops(CLI::App& app);
void add_report(CLI::App& app);
void add_sensitivity(CLI::App& app);
void add_sweep(CLI::App& app);
void add_tiles(CLI::App& app);
void add_tune(CLI::App& app);
void add_tune_tiles(CLI::App& tune);  // a verb of tune

// The examples of every verb: one table used for the end of each `--help`, docs/commands.md, the
// manual page and the test that runs them. In the order of the verbs; later examples may read files
// that earlier ones wrote.
struct Example {
  std::string_view command;  // run in the repository's root, after "tilecast "
  std::string_view shows;
  // false: takes minutes or needs data outside the repository; tests only check its options.
  bool runs = true;
};
[[nodiscard]] std::span<const Example> examples();

// Parses and runs one verb. Returns the exit code: 0 done, 2 wrong usage. Throws the verb's errors.
int run(int argc, char** argv);
// The same for other programs with a command line.
int parse_and_run(CLI::App& app, int argc, char** argv);
// The body of main(): calls `run`, and turns errors into messages and exit codes (0 ok, 1 failed, 2
// wrong usage).
int program(int argc, char** argv, int (*run)(int argc, char** argv));

}  // namespace tilecast::sim::cli
