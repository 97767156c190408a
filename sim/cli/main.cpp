// The entry point of the command.
#include "sim/cli/commands.h"

int main(int argc, char** argv) {
  return tilecast::sim::cli::program(argc, argv, &tilecast::sim::cli::run);
}
