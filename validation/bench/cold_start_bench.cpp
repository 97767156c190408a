// The command from fork to exit on a small program (bars: 20 ms, 30 MB). Linked first, so that it
// runs while this process is small: the system counts a parent's memory towards its child.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <string>

namespace tilecast::bench {
namespace {

// Runs the command and discards its output; returns peak memory in MB, negative on failure.
double run_command(const std::string& program) {
  std::string command = TILECAST_COMMAND, verb = "simulate", flag = "--device", device = "tpu_v3",
              file = program;
  char* arguments[] = {command.data(), verb.data(), flag.data(),
                       device.data(),  file.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawn(&child, command.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  rusage usage{};
  if (failed != 0 || wait4(child, &status, 0, &usage) != child || status != 0) {
    return -1;
  }
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

void cold_start(benchmark::State& state) {
  const std::string program = std::string(TILECAST_SOURCE_DIR) + "/configs/programs/mlp_train.hlo";
  double peak_mb = 0;
  for (auto _ : state) {
    peak_mb = run_command(program);
    if (peak_mb < 0) {
      state.SkipWithError("the command failed");
      break;
    }
  }
  state.counters["peak_MB"] = peak_mb;
}
BENCHMARK(cold_start)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace tilecast::bench
