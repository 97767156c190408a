// The command line: parses it and runs one verb.
#pragma once

namespace tilecast::sim::cli {

// The exit code: 0 done, 2 wrong usage. Throws what the verb throws (commands.h).
int run(int argc, char** argv);

}  // namespace tilecast::sim::cli
