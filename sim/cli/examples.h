// The examples of every verb: one table behind the end of each `--help`, docs/commands.md, the
// manual page and the test that runs them.
#pragma once

#include <span>

namespace tilecast::sim::cli {

struct Example {
  const char* verb;     // "simulate", "hw list"
  const char* command;  // what a shell in the repository's root reads after "tilecast "
  const char* shows;
  // false: takes minutes or needs data that is not in the repository; tests check its options only.
  bool runs = true;
};

// In the order of the verbs; later ones may read what earlier ones wrote.
[[nodiscard]] std::span<const Example> examples();

}  // namespace tilecast::sim::cli
