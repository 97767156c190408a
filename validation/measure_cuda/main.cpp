// Times matrix products on an NVIDIA GPU over tiles, warps and pipeline stages, and writes a
// measurement set. Exit codes: 0 ok, 1 failed, 2 wrong usage. See README.md.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "base/error.h"
#include "validation/measure_cuda/gemm_set.h"

namespace tilecast::measure_cuda {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLeastMajor = 8;  // compute capability, for cp.async

struct Options {
  std::string out, device, cards = TILECAST_CUDA_CARDS, inputs = "both", name = "cuda_gemm";
  int card = 0;
  double budget_s = 600;
  std::uint64_t seed = 1;
  bool force = false, list = false;
  TimingOptions timing;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<Input> inputs_of(const std::string& text) {
  if (text == "f16") return {Input::kF16};
  if (text == "bf16") return {Input::kBf16};
  return {Input::kF16, Input::kBf16};
}

void list_configurations() {
  for (const GemmConfig& c : gemm_configs()) {
    fmt::print("tile {} x {} x {}, warps {}, stages {}: {} bytes of shared memory\n", c.block_m,
               c.block_n, c.block_k, c.warps, c.stages, shared_bytes(c));
  }
  for (const GemmSize& s : gemm_sizes())
    fmt::print("size {} {} {} ({})\n", s.m, s.n, s.k, s.family);
}

// Every size gets an equal share of the remaining budget, and within it a sample of the
// configurations in the order of the seed.
struct Sweep {
  const Options& options;
  Clock::time_point start = Clock::now();
  std::vector<GemmMeasurement> done;
  std::size_t left_out = 0;

  void run() {
    const std::vector<Input> inputs = inputs_of(options.inputs);
    std::size_t left = inputs.size() * gemm_sizes().size();
    for (const Input input : inputs) {
      const auto runner = make_gemm_runner(options.card, input);
      for (const GemmSize& size : gemm_sizes()) {
        const double spent = seconds_since(start);
        measure(*runner, input, size, spent + (options.budget_s - spent) / left--);
        show_progress(left);
      }
    }
  }

  void measure(GemmRunner& runner, Input input, const GemmSize& size, double until_s) {
    const std::vector<GemmConfig> order = shuffled(gemm_configs(), options.seed);
    const std::size_t first = done.size();
    runner.prepare(size);
    for (const GemmConfig& config : order) {
      if (seconds_since(start) > until_s) break;
      done.push_back({size, input, config, runner.run(config, options.timing)});
    }
    left_out += order.size() - (done.size() - first);
    // In the order of the list, so that the file does not depend on the seed.
    const std::vector<GemmConfig> listed = gemm_configs();
    const auto place = [&](const GemmMeasurement& at) {
      return std::find(listed.begin(), listed.end(), at.config) - listed.begin();
    };
    std::sort(done.begin() + static_cast<std::ptrdiff_t>(first), done.end(),
              [&](const auto& x, const auto& y) { return place(x) < place(y); });
  }

  void show_progress(std::size_t sizes_left) const {
    if (isatty(STDERR_FILENO) == 0) return;
    fmt::print(stderr, "\r{} configurations, {} sizes left, {:.0f} of {:.0f} s {}", done.size(),
               sizes_left, seconds_since(start), options.budget_s, sizes_left == 0 ? "\n" : "");
  }
};

int report(const Sweep& sweep, const Options& options, const SetDescription& about) {
  std::array<std::size_t, 3> counts{};
  for (const GemmMeasurement& at : sweep.done)
    ++counts[static_cast<std::size_t>(at.outcome.status)];
  fmt::print("{}: {} ({}); {} timed, {} do not fit, {} wrong, {} left out by the budget\n",
             options.out, about.card.name, about.device, counts[0], counts[1], counts[2],
             sweep.left_out);
  for (const GemmMeasurement& at : sweep.done) {
    if (at.outcome.status != GemmStatus::kWrongResult) continue;
    fmt::print(stderr, "wrong: {} x {} x {}, tile {} x {} x {}, warps {}, stages {}: {}\n",
               at.size.m, at.size.n, at.size.k, at.config.block_m, at.config.block_n,
               at.config.block_k, at.config.warps, at.config.stages, at.outcome.message);
  }
  return counts[static_cast<std::size_t>(GemmStatus::kWrongResult)] == 0 ? 0 : 1;
}

int measure(const Options& options) {
  const int cards = card_count();
  if (cards == 0) throw Error("no card: the CUDA driver shows none; nvidia-smi says what it sees");
  if (options.card >= cards) {
    throw Error(fmt::format("--card: got {}, expected less than {}, the cards the driver shows",
                            options.card, cards));
  }
  SetDescription about;
  about.name = options.name;
  about.card = card_of(options.card);
  if (about.card.major < kLeastMajor) {
    throw Error(fmt::format("{}: got compute capability {}.{}, expected {}.0 or more (cp.async)",
                            about.card.name, about.card.major, about.card.minor, kLeastMajor));
  }
  about.device =
      options.device.empty() ? device_of_card(about.card.name, options.cards) : options.device;
  about.timing = options.timing;
  about.date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  Sweep sweep{.options = options};
  sweep.run();
  about.cut_short = sweep.left_out > 0;
  write_gemm_set(options.out, options.force, about, sweep.done);
  return report(sweep, options, about);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Times matrix products on an NVIDIA card; writes a measurement set.",
               "tilecast_measure_cuda");
  app.add_option("--out", options.out, "Directory of the set to write");
  app.add_flag("--force", options.force, "Replace a set that is there");
  app.add_option("--name", options.name, "Name of the set")->capture_default_str();
  app.add_option("--card", options.card, "Number of the card")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--device", options.device,
                 "Preset or path of the card's description (default: by the card's name)");
  app.add_option("--cards", options.cards, "CSV of card names and presets")->capture_default_str();
  app.add_option("--inputs", options.inputs, "Types of the inputs")
      ->check(CLI::IsMember({"f16", "bf16", "both"}))
      ->capture_default_str();
  app.add_option("--budget", options.budget_s, "Seconds of measuring, about")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--groups", options.timing.groups, "Timed groups of calls per configuration")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--flush-l2", options.timing.flush_l2,
               "Empty the L2 cache before every call; calls are then timed one by one");
  app.add_option("--seed", options.seed, "Order of the configurations")->capture_default_str();
  app.add_flag("--list", options.list, "Show what would be swept; needs no card");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.list) {
    list_configurations();
    return 0;
  }
  if (options.out.empty()) throw UsageError("--out: expected a directory to write");
  return measure(options);
}

}  // namespace
}  // namespace tilecast::measure_cuda

int main(int argc, char** argv) {
  try {
    return tilecast::measure_cuda::run(argc, argv);
  } catch (const tilecast::UsageError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
  }
  return 1;
}
