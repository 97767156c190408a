#include "host/probe_runner.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>

#include "base/error.h"
#include "host/timing_arrays.h"

namespace tilecast::host {
namespace {

using LoopFunction = void (*)(char*, long, long);

// Exit codes of a child: the step that failed. Distinct from those of sanitizers and libc.
enum ExitCode { kDone = 0, kNotLoaded = 50, kNotPinned, kNoMemory };

std::int64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{1'000'000'000} * t.tv_sec + t.tv_nsec;
}

// Memory shared by parent and children.
struct Board {
  std::atomic<int> arrived, round;
  std::atomic<std::int64_t> calls;  // minimum over the children
  std::atomic<int> vector_bytes;
  std::atomic<int> repeats;  // repeats to run; set before any child could start a further one

  // Spins, so that all leave at the same moment. Yields if there are too few cores.
  void meet(int all) {
    const int mine = round.load();
    if (arrived.fetch_add(1) + 1 == all) {
      arrived.store(0);
      round.store(mine + 1);
      return;
    }
    constexpr unsigned kSpins = 4096;
    for (unsigned i = 0; round.load(std::memory_order_acquire) == mine; ++i) {
      if (i % kSpins == kSpins - 1) ::sched_yield();
    }
  }
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

struct Span {
  std::int64_t start_ns, end_ns;
};

struct Unmap {
  std::size_t bytes = 0;
  void operator()(void* memory) const { ::munmap(memory, bytes); }
};
using SharedMemory = std::unique_ptr<void, Unmap>;

SharedMemory shared_memory(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("probe: no memory to share with child processes");
  return {memory, Unmap{bytes}};
}

// A random cycle through all lines (Sattolo's shuffle): each holds the address of the next.
void fill_chain(char* memory, std::int64_t bytes, std::int64_t line) {
  std::vector<std::uint32_t> next(static_cast<std::size_t>(bytes / line));
  std::iota(next.begin(), next.end(), 0U);
  std::minstd_rand random(1);
  for (std::size_t i = next.size() - 1; i > 0; --i) {
    const std::size_t high = random();
    std::swap(next[i], next[(high << 30 ^ random()) % i]);
  }
  for (std::size_t i = 0; i < next.size(); ++i) {
    char* const target = memory + std::int64_t{next[i]} * line;
    std::memcpy(memory + static_cast<std::int64_t>(i) * line, &target, sizeof target);
  }
}

void fill(char* memory, const LoopRun& run) {
  std::minstd_rand random(1);
  const std::int64_t count = run.bytes / 4;
  auto* floats = reinterpret_cast<float*>(memory);
  switch (run.loop.fill) {
    case Fill::kOnes:
      std::fill(floats, floats + count, 1.0F);
      return;
    case Fill::kChain:
      fill_chain(memory, run.bytes, run.line);
      return;
    case Fill::kRandom:
    case Fill::kIndex:
      std::generate(floats, floats + count,
                    [&] { return std::uniform_real_distribution<float>(0.5F, 4.0F)(random); });
      if (run.loop.fill == Fill::kRandom) return;
      std::generate_n(reinterpret_cast<std::int32_t*>(memory), kOpElements,
                      [&] { return static_cast<std::int32_t>(random() % kOpElements); });
  }
}

// Number of calls that take about `repeat`; running them also warms up caches and clock.
std::int64_t enough_calls(LoopFunction function, char* memory, const LoopRun& run) {
  const double wanted_ns = run.repeat.value * 1e9;
  for (std::int64_t calls = 1;;) {
    const std::int64_t start = now_ns();
    function(memory, run.bytes, calls);
    const double took_ns = static_cast<double>(std::max<std::int64_t>(now_ns() - start, 1));
    const double more = wanted_ns / took_ns;
    if (more < 2) return std::max<std::int64_t>(1, std::llround(static_cast<double>(calls) * more));
    calls = std::llround(static_cast<double>(calls) * std::min(more, 100.0));
  }
}

ExitCode measure(const std::string& library, const LoopRun& run, int child, Board& board,
                 Span* spans) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<unsigned>(run.pus[static_cast<std::size_t>(child)]), &only);
  if (::sched_setaffinity(0, sizeof only, &only) != 0) return kNotPinned;
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return kNotLoaded;
  const std::string name(run.loop.function);
  const auto function = reinterpret_cast<LoopFunction>(::dlsym(handle, name.c_str()));
  const auto* width = static_cast<const int*>(::dlsym(handle, "vector_bytes"));
  if (function == nullptr || width == nullptr) return kNotLoaded;
  board.vector_bytes.store(*width);
  Mapping mapping;  // without huge pages, results include the cost of small ones, as for kernels
  try {
    mapping = Mapping(static_cast<std::size_t>(run.bytes));
  } catch (const Error&) {
    return kNoMemory;
  }
  char* memory = reinterpret_cast<char*>(mapping.data());
  fill(memory, run);
  const int all = static_cast<int>(run.pus.size());
  board.meet(all);
  const std::int64_t mine = enough_calls(function, memory, run);
  for (std::int64_t fewest = board.calls.load();
       mine < fewest && !board.calls.compare_exchange_weak(fewest, mine);) {
  }
  board.meet(all);
  const std::int64_t calls = board.calls.load();
  const std::int64_t end_ns = now_ns() + std::llround(run.budget.value * 1e9);
  for (int repeat = 0; repeat < run.most_repeats; ++repeat) {
    if (child == 0 && repeat >= run.least_repeats && now_ns() >= end_ns) board.repeats = repeat;
    board.meet(all);
    if (repeat >= board.repeats) break;
    Span& span = spans[repeat * all + child];
    span.start_ns = now_ns();
    function(memory, run.bytes, calls);
    span.end_ns = now_ns();
  }
  return kDone;
}

std::string ending(int status, const LoopRun& run) {
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) == SIGALRM) return fmt::format("took over {} s", run.timeout_s);
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  }
  switch (WEXITSTATUS(status)) {
    case kNotLoaded:
      return "is not in the compiled library, or that cannot be loaded";
    case kNotPinned:
      return "could not be pinned to its core";
    case kNoMemory:
      return fmt::format("got no {} MiB of memory", run.bytes >> 20);
    default:
      return fmt::format("ended with {}", WEXITSTATUS(status));
  }
}

// Waits for all children; a failure ends the others. Returns the failure, or "".
std::string wait_for(pid_t group, std::size_t children, const LoopRun& run) {
  std::string failure;
  while (children > 0) {
    int status = 0;
    if (::waitpid(-group, &status, 0) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    --children;
    if (status == 0 || !failure.empty()) continue;
    failure = ending(status, run);
    ::kill(-group, SIGKILL);
  }
  return failure;
}

}  // namespace

double LoopTimes::best() const {
  TC_CHECK(!call_s.empty(), "a loop was timed");
  return *std::ranges::min_element(call_s);
}

double LoopTimes::spread() const {
  std::vector<double> sorted = call_s;
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2] / sorted.front() - 1;
}

LoopTimes run_loop(const std::string& library, const LoopRun& run) {
  const std::size_t all = run.pus.size();
  const std::size_t spans_at = 4096;
  TC_CHECK(all > 0 && run.least_repeats > 0 && run.least_repeats <= run.most_repeats,
           "cores and repeats to measure");
  const SharedMemory shared =
      shared_memory(spans_at + sizeof(Span) * all * static_cast<std::size_t>(run.most_repeats));
  auto* board = new (shared.get()) Board{};
  board->calls.store(std::numeric_limits<std::int64_t>::max());
  board->repeats.store(run.most_repeats);
  auto* spans = reinterpret_cast<Span*>(static_cast<char*>(shared.get()) + spans_at);
  const pid_t parent = ::getpid();
  pid_t group = 0;
  std::size_t started = 0;
  for (; started < all; ++started) {
    const pid_t pid = ::fork();
    if (pid < 0) break;
    if (pid == 0) {
      ::setpgid(0, group);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(kNotPinned);
      ::alarm(static_cast<unsigned>(run.timeout_s));
      ::_exit(measure(library, run, static_cast<int>(started), *board, spans));
    }
    if (group == 0) group = pid;
    ::setpgid(pid, group);
  }
  if (started < all && group != 0) ::kill(-group, SIGKILL);
  const std::string failure = started == 0 ? "" : wait_for(group, started, run);
  if (started < all) throw Error(fmt::format("probe: cannot start {} child processes", all));
  if (!failure.empty()) throw Error(fmt::format("probe: {} {}", run.loop.function, failure));
  LoopTimes times{.vector_bytes = board->vector_bytes.load()};
  const auto calls = static_cast<double>(board->calls.load());
  for (int repeat = 0; repeat < board->repeats.load(); ++repeat) {
    const Span* first = spans + repeat * static_cast<int>(all);
    const auto start = std::ranges::min_element(first, first + all, {}, &Span::start_ns)->start_ns;
    const auto end = std::ranges::max_element(first, first + all, {}, &Span::end_ns)->end_ns;
    times.call_s.push_back(static_cast<double>(std::max<std::int64_t>(end - start, 1)) * 1e-9 /
                           calls);
  }
  return times;
}

}  // namespace tilecast::host
