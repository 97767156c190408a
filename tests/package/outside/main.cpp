// A third-party program: simulates a file on one device with the installed libraries, like
// `tilecast simulate --device tpu_v3 FILE`.
#include <tilecast/hwdesc/device_yaml.h>
#include <tilecast/ir/load_program.h>
#include <tilecast/sim/answers.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::puts("usage: outside PROGRAM");
    return 2;
  }
  const tilecast::ir::LoadOptions load;
  const auto device = tilecast::hwdesc::load_device("tpu_v3");
  const auto placed = tilecast::sim::place(tilecast::ir::load_module(argv[1], load), device, load);
  const auto model = tilecast::sim::choose_model("default", {&device, 1});
  const auto simulation = tilecast::sim::simulate(placed, model);
  std::printf("time      %.1f us\n", simulation.time.value * 1e6);
  return 0;
} catch (const std::exception& error) {
  std::printf("error: %s\n", error.what());
  return 1;
}
