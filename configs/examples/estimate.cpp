// What `tilecast simulate -d DEVICE PROGRAM` prints, from C++; docs/c-api.md builds it.
#include <tilecast/tilecast.h>

#include <cstdio>

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::puts("usage: estimate DEVICE PROGRAM");
    return 2;
  }
  const tilecast::Device device = tilecast::load_device(argv[1]);
  const tilecast::Program program = tilecast::load_program(argv[2], device);
  const tilecast::Model model = tilecast::load_model("default", device);
  const tilecast::Simulation run = tilecast::simulate(program, model);
  std::fputs(tilecast::describe(run).c_str(), stdout);
  return 0;
} catch (const std::exception& error) {
  std::printf("error: %s\n", error.what());
  return 1;
}
