// The entry point of the command.
#include "sim/cli/program.h"
#include "sim/cli/run.h"

int main(int argc, char** argv) {
  return tilecast::sim::cli::program(argc, argv, &tilecast::sim::cli::run);
}
