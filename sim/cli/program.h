// Shared by programs with a command line: turns errors into messages and exit codes (0 ok, 1
// failed, 2 wrong usage).
#pragma once

namespace CLI {
class App;
}

namespace tilecast::sim::cli {

// Returns the exit code: 0 done, 2 wrong usage. Throws the errors of the verb (commands.h).
int parse_and_run(CLI::App& app, int argc, char** argv);
// The body of main(): calls `run` and reports its errors.
int program(int argc, char** argv, int (*run)(int argc, char** argv));

}  // namespace tilecast::sim::cli
