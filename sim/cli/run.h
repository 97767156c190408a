// The command line: parses it and runs one verb.
#pragma once

namespace tilecast::sim::cli {

// Returns the exit code: 0 done, 2 wrong usage. Throws the errors of the verb (commands.h).
int run(int argc, char** argv);

}  // namespace tilecast::sim::cli
