// The examples of every verb: one table used for the end of each `--help`, docs/commands.md, the
// manual page and the test that runs them.
#pragma once

#include <span>

namespace tilecast::sim::cli {

struct Example {
  const char* verb;     // "simulate", "hw list"
  const char* command;  // run in the repository's root, after "tilecast "
  const char* shows;
  // false: takes minutes or needs data outside the repository; tests only check its options.
  bool runs = true;
};

// In the order of the verbs; later examples may read files that earlier ones wrote.
[[nodiscard]] std::span<const Example> examples();

}  // namespace tilecast::sim::cli
