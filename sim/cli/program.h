// What programs with a command line share: errors become messages and exit codes (0 ok, 1 failed,
// 2 wrong usage).
#pragma once

namespace CLI {
class App;
}

namespace tilecast::sim::cli {

// The exit code: 0 done, 2 wrong usage. Throws what a verb throws (commands.h).
int parse_and_run(CLI::App& app, int argc, char** argv);
// What main() does: runs `run`, whose errors it tells.
int program(int argc, char** argv, int (*run)(int argc, char** argv));

}  // namespace tilecast::sim::cli
