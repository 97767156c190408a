#include "host/run_kernels.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "host/c_kernel.h"
#include "host/child_process.h"
#include "host/timing_arrays.h"
#include "host/timing_loop.h"

namespace tilecast::host {

namespace {

constexpr Seconds kSetUpTimeout{120};  // for loading the library and filling arrays

// A report of the child. Shorter than PIPE_BUF, so it is written atomically.
struct Record {
  enum class Kind { kStarted, kDone, kUnusable } kind = Kind::kStarted;
  std::size_t job = 0;
  RunStatus status = RunStatus::kTimed;
  Timing timing;
  char message[256] = "";
};

void send(int pipe, const Record& record) {
  while (::write(pipe, &record, sizeof record) < 0) {
    if (errno != EINTR) ::_exit(1);
  }
}

void set_message(Record& record, const std::string& text) {
  const std::size_t length = std::min(text.size(), sizeof record.message - 1);
  std::memcpy(record.message, text.data(), length);
  record.message[length] = '\0';
}

// Never closed, as the child ends.
void* open_library(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(fmt::format("{}: cannot be loaded: {}", path, ::dlerror()));
  return library;
}

KernelFunction find_function(void* library, const std::string& name) {
  void* found = ::dlsym(library, name.c_str());
  if (found == nullptr) throw Error(fmt::format("the library has no function '{}'", name));
  return reinterpret_cast<KernelFunction>(found);
}

// Number of jobs visited in turn, so that the visits of one job are about a second apart.
constexpr std::size_t kChunk = 32;

// A child's work: jobs[first...] by chunks, without those that already failed.
struct Assignment {
  const std::string& library;
  std::span<const RunJob> jobs;
  const TimingOptions& options;
  std::size_t cold;
  std::size_t first;
  const std::set<std::size_t>& failed;
};

// In the child.
class Worker {
 public:
  Worker(int pipe, const Assignment& work)
      : pipe_(pipe), work_(work), pools_(work.cold, work.jobs, work.options.state) {
    for (int i = 0; i < kReferenceWarmUp; ++i) reference_.run();
  }

  void time_chunk(std::size_t begin, std::size_t end, Record& record) {
    std::map<std::size_t, TimedFunction> functions;
    for (record.job = begin; record.job < end; ++record.job) {
      if (work_.failed.contains(record.job)) continue;
      const RunJob& job = work_.jobs[record.job];
      functions.try_emplace(record.job, function_of(job), pools_.place(job), work_.options);
    }
    for (bool more = true; more;) {
      more = false;
      for (auto& [job, function] : functions) {
        if (function.settled()) continue;
        const double memory_drift = evict();
        record.job = job;
        record.kind = Record::Kind::kStarted;
        send(pipe_, record);
        function.visit(reference_, memory_drift);
        more = true;
      }
    }
    for (const auto& [job, function] : functions) {
      const RunOutcome outcome = function.outcome();
      send(pipe_, {Record::Kind::kDone, job, outcome.status, outcome.timing});
    }
  }

 private:
  static constexpr int kReferenceWarmUp = 20;  // passes to bring up the clock, about 3 ms

  // Before a cold visit: evicts the caches and measures the speed of memory.
  double evict() {
    if (work_.options.state != CacheState::kCold) return 0;
    const Seconds start = now();
    pools_.evict();
    const Seconds time = now() - start;
    fastest_eviction_ = fastest_eviction_.value == 0 ? time : std::min(fastest_eviction_, time);
    return time / fastest_eviction_ - 1;
  }

  KernelFunction function_of(const RunJob& job) {
    const std::string& path = job.library.empty() ? work_.library : job.library;
    const auto [library, added] = libraries_.try_emplace(path, nullptr);
    if (library->second == nullptr) library->second = open_library(path);
    return find_function(library->second, job.function);
  }

  int pipe_;
  const Assignment& work_;
  std::map<std::string, void*> libraries_;
  ArrayPools pools_;
  ReferenceLoop reference_;
  Seconds fastest_eviction_;
};

void work_through(int pipe, const Assignment& work) {
  Record record;
  record.job = work.first;
  try {
    Worker worker(pipe, work);
    for (std::size_t begin = work.first; begin < work.jobs.size(); begin += kChunk) {
      worker.time_chunk(begin, std::min(begin + kChunk, work.jobs.size()), record);
    }
  } catch (const std::exception& error) {
    record.kind = Record::Kind::kUnusable;
    set_message(record, error.what());
    send(pipe, record);
  }
}

// In the parent: collects outcomes and reports them in the jobs' order.
class Ledger {
 public:
  using Done = std::function<bool(std::size_t, const RunOutcome&)>;
  Ledger(std::size_t jobs, const Done& done) : jobs_(jobs), done_(done) {}

  // False if all are reported or the receiver stopped.
  bool more() const { return !stopped_ && reported_ < jobs_; }
  // First job of the chunk that a new child must start with.
  std::size_t first() const { return reported_ / kChunk * kChunk; }
  // The first job without an outcome.
  std::size_t unknown() const {
    std::size_t job = reported_;
    while (known_.contains(job)) ++job;
    return job;
  }
  // Failed and finished jobs of the chunk, which a new child skips.
  std::set<std::size_t> known() const {
    std::set<std::size_t> jobs;
    for (std::size_t job = first(); job < reported_; ++job) jobs.insert(job);
    for (const auto& [job, outcome] : known_) jobs.insert(job);
    return jobs;
  }
  void add(std::size_t job, const RunOutcome& outcome) {
    known_.emplace(job, outcome);
    for (auto next = known_.find(reported_); next != known_.end() && !stopped_;
         next = known_.find(reported_)) {
      const RunOutcome due = next->second;
      known_.erase(next);
      stopped_ = !done_(reported_++, due);
    }
  }

 private:
  std::size_t jobs_, reported_ = 0;
  bool stopped_ = false;
  std::map<std::size_t, RunOutcome> known_;  // not yet reported
  const Done& done_;
};

// Follows one child until it ends, a job terminates it, or all work is done.
void follow(ForkedChild& child, const TimingOptions& options, Ledger& ledger) {
  Seconds patience = kSetUpTimeout;
  std::size_t running = ledger.unknown();
  Record record;
  while (ledger.more()) {
    switch (child.read(std::as_writable_bytes(std::span(&record, 1)), patience)) {
      case ForkedChild::Got::kEnd: {
        const std::string how = child.end(/*kill=*/false);
        return ledger.add(running, {.status = RunStatus::kCrashed,
                                    .message = how.empty() ? "ended the process" : how});
      }
      case ForkedChild::Got::kTimeout:
        return ledger.add(running,
                          {.status = RunStatus::kTimedOut,
                           .message = fmt::format("took longer than {} s", patience.value)});
      case ForkedChild::Got::kRecord:
        break;
    }
    const bool started = record.kind == Record::Kind::kStarted;
    patience = started ? options.timeout : kSetUpTimeout;
    running = record.job;
    if (record.kind == Record::Kind::kUnusable) {
      return ledger.add(running, {.status = RunStatus::kCrashed, .message = record.message});
    }
    if (!started) {
      ledger.add(record.job, {.status = record.status, .timing = record.timing});
      running = ledger.unknown();
    }
  }
}

int chosen_core(const TimingOptions& options) {
  const std::vector<int> cores = allowed_cores();
  if (options.core < 0) return cores.back();
  if (std::find(cores.begin(), cores.end(), options.core) == cores.end()) {
    throw Error(
        fmt::format("core: got {}, expected one of the {} this process may run on, up to {}",
                    options.core, cores.size(), cores.back()));
  }
  return options.core;
}

}  // namespace

std::string_view reason(RunStatus status) {
  switch (status) {
    case RunStatus::kTimed:
      break;
    case RunStatus::kCrashed:
      return "crash";
    case RunStatus::kTimedOut:
      return "time-out";
    case RunStatus::kUnstable:
      return "unstable";
  }
  return "";
}

void run_kernels(const std::string& library, std::span<const RunJob> jobs,
                 const TimingOptions& options,
                 const std::function<bool(std::size_t, const RunOutcome&)>& done) {
  const int core = chosen_core(options);
  const std::size_t cold = cold_bytes(core);
  const KeptOff elsewhere(core);
  Ledger ledger(jobs.size(), done);
  while (ledger.more()) {
    const std::set<std::size_t> known = ledger.known();
    const Assignment work{library, jobs, options, cold, ledger.first(), known};
    ForkedChild child(core, [&](int pipe) { work_through(pipe, work); });
    follow(child, options, ledger);
  }
}

namespace {

constexpr std::size_t kAlignment = 64;   // bytes, of every array
constexpr std::size_t kGuard = 1 << 20;  // bytes of guard pages on both sides of an array
constexpr std::byte kUnwritten{0xFF};    // NaN in every float type, to reveal elements not written
constexpr std::byte kPadding{0xA5};      // fills the space after an array, up to its alignment

// An array shared with the child, followed by inaccessible memory. Accesses beyond the array's
// aligned end, or before its first page, crash.
class GuardedArray {
 public:
  explicit GuardedArray(std::size_t bytes) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    padded_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    inside_ = std::max<std::size_t>(1, (padded_ + page - 1) / page) * page;
    base_ = mapped_memory(inside_ + 2 * kGuard, PROT_NONE, MAP_SHARED);
    if (base_ == nullptr) {
      throw Error(fmt::format("memory for an array of {} bytes: {}", bytes, std::strerror(errno)));
    }
    pages_ = static_cast<std::byte*>(base_.get()) + kGuard;
    ::mprotect(pages_, inside_, PROT_READ | PROT_WRITE);
    std::memset(pages_, static_cast<int>(kPadding), inside_);
    std::memset(data(), static_cast<int>(kUnwritten), bytes_);
  }

  [[nodiscard]] std::byte* data() const { return pages_ + inside_ - padded_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data(), bytes_}; }
  void make_read_only() { ::mprotect(pages_, inside_, PROT_READ); }
  // Whether the bytes around the array, within its pages, are unchanged.
  [[nodiscard]] bool intact() const {
    const auto untouched = [](std::byte byte) { return byte == kPadding; };
    return std::all_of(pages_, data(), untouched) &&
           std::all_of(data() + bytes_, pages_ + inside_, untouched);
  }

 private:
  std::size_t bytes_, padded_, inside_;
  MappedMemory base_;
  std::byte* pages_;
};

std::vector<GuardedArray> copies_of(std::span<const std::vector<std::byte>> inputs) {
  std::vector<GuardedArray> arrays;
  for (const auto& input : inputs) {
    std::copy(input.begin(), input.end(), arrays.emplace_back(input.size()).data());
    arrays.back().make_read_only();
  }
  return arrays;
}

// In the child: makes the call and reports errors through the pipe.
void call_once(int pipe, const std::string& library, const std::string& function,
               std::span<const void* const> in, std::span<void* const> out, void* scratch) {
  void* opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* found = opened == nullptr ? nullptr : ::dlsym(opened, function.c_str());
  if (found == nullptr) {
    const std::string said = ::dlerror();
    if (::write(pipe, said.data(), said.size()) < 0) ::_exit(1);
    return;
  }
  reinterpret_cast<KernelFunction>(found)(in.data(), out.data(), scratch);
}

// Waits for the child; throws Error if it failed.
void wait_for(ForkedChild& child, const std::string& function, Seconds timeout) {
  std::string said;
  for (std::byte byte;;) {
    const auto got = child.read(std::span(&byte, 1), timeout);
    if (got == ForkedChild::Got::kTimeout) {
      throw Error(fmt::format("{}: took longer than {} s", function, timeout.value));
    }
    if (got == ForkedChild::Got::kEnd) break;
    said.push_back(static_cast<char>(byte));
  }
  const std::string how = child.end(/*kill=*/false);
  if (!how.empty()) throw Error(fmt::format("{}: {}", function, how));
  if (!said.empty()) throw Error(fmt::format("{}: cannot be loaded: {}", function, said));
}

}  // namespace

std::vector<std::vector<std::byte>> run_once(const std::string& library, const RunJob& job,
                                             std::span<const std::vector<std::byte>> inputs,
                                             Seconds timeout) {
  TC_CHECK(inputs.size() == job.inputs.size(), "one array of bytes per input");
  std::vector<const void*> in;
  std::vector<void*> out;
  const std::vector<GuardedArray> given = copies_of(inputs);
  for (std::size_t i = 0; i < given.size(); ++i) {
    TC_CHECK(std::ssize(inputs[i]) == host_bytes(job.inputs[i]), "an input has its shape's bytes");
    in.push_back(given[i].data());
  }
  std::vector<GuardedArray> made;
  for (const ir::Shape& shape : job.outputs) {
    out.push_back(made.emplace_back(static_cast<std::size_t>(host_bytes(shape))).data());
  }
  const GuardedArray scratch(
      static_cast<std::size_t>(std::max<std::int64_t>(0, job.scratch_bytes)));
  ForkedChild child(/*core=*/-1, [&](int pipe) {
    call_once(pipe, job.library.empty() ? library : job.library, job.function, in, out,
              scratch.data());
  });
  wait_for(child, job.function, timeout);
  if (!scratch.intact()) throw Error(fmt::format("{}: writes beyond its scratch", job.function));
  std::vector<std::vector<std::byte>> results;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!made[i].intact()) {
      throw Error(fmt::format("{}: writes beyond its output {}", job.function, i));
    }
    results.emplace_back(made[i].bytes().begin(), made[i].bytes().end());
  }
  return results;
}

}  // namespace tilecast::host
