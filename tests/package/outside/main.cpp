// A program of somebody else's: simulates an HLO file on one device with the installed libraries.
#include <tilecast/analytical/analytical_model.h>
#include <tilecast/hwdesc/device_yaml.h>
#include <tilecast/ir/program.h>
#include <tilecast/ir/text/hlo_parser.h>
#include <tilecast/sim/simulator.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::puts("usage: outside PROGRAM.hlo");
    return 2;
  }
  const auto program = tilecast::ir::make_program(tilecast::ir::read_hlo_file(argv[1]));
  const auto device = tilecast::hwdesc::load_device("tpu_v3");
  const tilecast::analytical::AnalyticalModel model;
  const auto simulation = tilecast::sim::simulate(program, device, model);
  std::printf("%zu kernels\n", simulation.kernels.size());
  return simulation.kernels.empty() ? 1 : 0;
} catch (const std::exception& error) {
  std::printf("error: %s\n", error.what());
  return 1;
}
