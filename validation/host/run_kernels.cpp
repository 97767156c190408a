#include "validation/host/run_kernels.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "diag/error.h"
#include "validation/host/child_process.h"
#include "validation/host/timing_arrays.h"
#include "validation/host/timing_loop.h"

namespace tilecast::host {
namespace {

constexpr Seconds kSetUpTimeout{120};  // of loading the library and filling arrays

// What the child reports. Shorter than PIPE_BUF, so it is written whole.
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

// Never closed: the child that opened it ends.
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

// In the child: times jobs[first...] and reports each.
void time_jobs(int pipe, const std::string& path, std::span<const RunJob> jobs, std::size_t first,
               const TimingOptions& options, std::size_t cold) {
  Record record;
  record.job = first;
  try {
    void* library = open_library(path);
    ArrayPools pools(cold, jobs, options.state);
    ReferenceLoop reference;
    for (int i = 0; i < 20; ++i) reference.run();  // until the clock is up
    for (record.job = first; record.job < jobs.size(); ++record.job) {
      const RunJob& job = jobs[record.job];
      Arrays arrays = pools.place(job);
      if (options.state == CacheState::kCold) pools.evict();
      record.kind = Record::Kind::kStarted;
      const auto starts = [&] { send(pipe, record); };
      const RunOutcome outcome =
          time_function(find_function(library, job.function), arrays, options, reference, starts);
      record.kind = Record::Kind::kDone;
      record.status = outcome.status;
      record.timing = outcome.timing;
      send(pipe, record);
    }
  } catch (const std::exception& error) {
    record.kind = Record::Kind::kUnusable;
    set_message(record, error.what());
    send(pipe, record);
  }
}

// Follows one child until it ends, or a job ends it; the next job, or all when `done` said stop.
class Follower {
 public:
  Follower(ForkedChild& child, const TimingOptions& options, std::size_t first, std::size_t jobs,
           const std::function<bool(std::size_t, const RunOutcome&)>& done)
      : child_(child), options_(options), next_(first), jobs_(jobs), done_(done) {}

  std::size_t follow() {
    Seconds patience = kSetUpTimeout;
    Record record;
    while (next_ < jobs_) {
      switch (child_.read(std::as_writable_bytes(std::span(&record, 1)), patience)) {
        case ForkedChild::Got::kEnd: {
          const std::string how = child_.end(/*kill=*/false);
          return fail(RunStatus::kCrashed, how.empty() ? "ended the process" : how);
        }
        case ForkedChild::Got::kTimeout:
          return fail(RunStatus::kTimedOut, fmt::format("took longer than {} s", patience.value));
        case ForkedChild::Got::kRecord:
          break;
      }
      patience = record.kind == Record::Kind::kStarted ? options_.timeout : kSetUpTimeout;
      if (record.kind == Record::Kind::kUnusable) return fail(RunStatus::kCrashed, record.message);
      if (record.kind == Record::Kind::kDone && !report({record.status, record.timing, ""})) break;
    }
    return jobs_;
  }

 private:
  bool report(const RunOutcome& outcome) { return done_(next_++, outcome); }
  std::size_t fail(RunStatus status, const std::string& message) {
    return report({status, {}, message}) ? next_ : jobs_;
  }

  ForkedChild& child_;
  const TimingOptions& options_;
  std::size_t next_, jobs_;
  const std::function<bool(std::size_t, const RunOutcome&)>& done_;
};

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

void run_kernels(const std::string& library, std::span<const RunJob> jobs,
                 const TimingOptions& options,
                 const std::function<bool(std::size_t, const RunOutcome&)>& done) {
  const int core = chosen_core(options);
  const std::size_t cold = cold_bytes(core);
  const KeptOff elsewhere(core);
  for (std::size_t next = 0; next < jobs.size();) {
    ForkedChild child(core, [&](int pipe) { time_jobs(pipe, library, jobs, next, options, cold); });
    next = Follower(child, options, next, jobs.size(), done).follow();
  }
}

}  // namespace tilecast::host
