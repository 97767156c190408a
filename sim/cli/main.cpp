// The command: errors become messages and exit codes (0 ok, 1 failed, 2 wrong usage).
#include <fmt/format.h>

#include <cstdio>
#include <new>

#include "base/error.h"
#include "base/text.h"
#include "sim/cli/run.h"

int main(int argc, char** argv) {
  try {
    return tilecast::sim::cli::run(argc, argv);
  } catch (const tilecast::UsageError& error) {
    fmt::print(stderr, "error: {}\n", tilecast::base::printable(error.what()));
    return 2;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", tilecast::base::printable(error.what()));
  }
  return 1;
}
