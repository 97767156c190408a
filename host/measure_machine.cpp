#include <chrono>
#include <fstream>

#include "host/measure.h"

namespace tilecast::host {
namespace {

// The name in Linux' /proc/cpuinfo, whose key differs between architectures.
std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    for (const std::string_view key : {"model name", "Hardware", "cpu model", "cpu\t"}) {
      const std::size_t colon = line.find(": ");
      if (line.starts_with(key) && colon != std::string::npos) return line.substr(colon + 2);
    }
  }
  return "a processor that does not tell its name";
}

Seconds steady_now() {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  return Seconds{now.count()};
}

}  // namespace

Bench this_machine() {
  const Compiler compiler;
  return {.machine = processor_name(),
          .compiler = compiler.description(),
          .generate = generate_c,
          .compile = [compiler](std::span<const std::string> sources,
                                int jobs) { return compiler.compile(sources, jobs); },
          .link = [compiler](std::span<const LinkedSource> sources,
                             int jobs) { return compiler.compile(sources, jobs); },
          .run = run_kernels,
          .now = steady_now};
}

}  // namespace tilecast::host
