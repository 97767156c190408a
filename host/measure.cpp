#include "host/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "host/timing_loop.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::host {

namespace {

constexpr std::size_t kFilesPerJob = 4;  // files per batch and compiler
constexpr std::size_t kRowsAtOnce = 16;  // rows per write; also written at the end of a batch

struct Prepared {
  const WorkItem* item = nullptr;
  CKernel code;
};

struct Library {
  CompiledLibrary compiled;
  std::span<const Prepared> kernels;
};

std::string source_of(std::span<const Prepared> kernels) {
  std::string source(c_prelude());
  for (const Prepared& prepared : kernels) source += prepared.code.source;
  return source;
}

class Session {
 public:
  Session(std::span<const WorkItem> plan, const hwdesc::Device& device, GrowingSet& set,
          const Bench& bench, const SessionOptions& options, const SessionEvents& events)
      : device_(device),
        set_(set),
        bench_(bench),
        options_(options),
        events_(events),
        start_(bench.now()) {
    report_.planned = plan.size();
    for (const WorkItem& item : plan) queue_.push_back(&item);
  }

  SessionReport run();

 private:
  [[nodiscard]] std::optional<Seconds> budget_left() const {
    if (!options_.budget) return std::nullopt;
    return *options_.budget - (bench_.now() - start_);
  }
  bool must_end();
  [[nodiscard]] std::size_t batch_size() const;
  std::vector<Prepared> next_batch();
  std::optional<Prepared> prepare(const WorkItem& item);
  bool readable(const WorkItem& item);
  std::vector<Library> compile(std::span<const Prepared> batch);
  void compile_alone(std::span<const Prepared> kernels, std::vector<Library>& libraries);
  void time(std::span<const Library> libraries);
  void settle(const Prepared& prepared, const RunOutcome& outcome);
  void skip(const WorkItem& item, std::string_view reason, const std::string& detail);
  void save();

  void run_queue();

  const hwdesc::Device& device_;
  GrowingSet& set_;
  const Bench& bench_;
  const SessionOptions& options_;
  const SessionEvents& events_;
  Seconds start_;
  std::vector<const WorkItem*> queue_, unstable_;
  bool again_ = false;  // the queue holds unstable items for a second try
  std::size_t next_ = 0, settled_ = 0, functions_ = 0;
  std::unordered_map<std::string, std::string> unreadable_;  // hash -> why, or ""
  std::vector<MeasuredRow> rows_;
  std::vector<SkippedRow> skipped_;
  SessionReport report_;
};

bool Session::must_end() {
  if (report_.end != SessionEnd::kFinished) return true;
  const std::optional<Seconds> left = budget_left();
  if (events_.stop()) {
    report_.end = SessionEnd::kStopped;
  } else if (left && *left <= Seconds{0}) {
    report_.end = SessionEnd::kOutOfTime;
  }
  return report_.end != SessionEnd::kFinished;
}

// A few files per compiler; fewer if the budget ends earlier.
std::size_t Session::batch_size() const {
  const std::size_t jobs = static_cast<std::size_t>(std::max(options_.jobs, 1));
  const std::size_t whole = options_.kernels_per_file * jobs * kFilesPerJob;
  const std::optional<Seconds> left = budget_left();
  if (!left) return whole;
  if (report_.measured == 0) return options_.kernels_per_file * jobs;
  const Seconds each = (report_.compiling + report_.timing) / double(report_.measured);
  const double fit = *left / std::max(each, Seconds{1e-6});
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::min(fit, 1e6)), 2 * jobs, whole);
}

bool Session::readable(const WorkItem& item) {
  const Workload& workload = *item.workload;
  const auto [entry, is_new] = unreadable_.try_emplace(workload.hash);
  if (is_new) entry->second = not_readable(workload, device_);
  return entry->second.empty();
}

std::optional<Prepared> Session::prepare(const WorkItem& item) {
  if (set_.holds(item.key())) {
    ++report_.known;
    ++settled_;
    return std::nullopt;
  }
  if (item.predicted > options_.longest) {
    skip(item, "too long",
         fmt::format("predicted {:.3g} s, longest {:.3g} s", item.predicted.value,
                     options_.longest.value));
    return std::nullopt;
  }
  if (!readable(item)) {
    skip(item, "not readable", unreadable_.at(item.workload->hash));
    return std::nullopt;
  }
  Bench::Generated made =
      bench_.generate(item.workload->kernel, item.tile, fmt::format("kernel_{}", functions_++));
  if (const auto* unsupported = std::get_if<Unsupported>(&made)) {
    skip(item, "unsupported", unsupported->reason);
    return std::nullopt;
  }
  CKernel code = std::get<CKernel>(std::move(made));
  code.source = unrolled(std::move(code.source), item.unroll);
  return Prepared{&item, std::move(code)};
}

std::vector<Prepared> Session::next_batch() {
  const Seconds begin = bench_.now();
  const std::size_t size = batch_size();
  std::vector<Prepared> batch;
  for (; next_ < queue_.size() && batch.size() < size && !must_end(); ++next_) {
    if (std::optional<Prepared> prepared = prepare(*queue_[next_])) {
      batch.push_back(std::move(*prepared));
    }
    events_.progress(settled_, budget_left());
  }
  report_.generating += bench_.now() - begin;
  return batch;
}

std::vector<Library> Session::compile(std::span<const Prepared> batch) {
  const std::size_t per_file = options_.kernels_per_file;
  const std::size_t jobs = static_cast<std::size_t>(std::max(options_.jobs, 1));
  const std::size_t files =
      std::min(batch.size(), std::max(jobs, (batch.size() + per_file - 1) / per_file));
  std::vector<std::span<const Prepared>> parts;
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < files; ++i) {
    const std::size_t begin = batch.size() * i / files, end = batch.size() * (i + 1) / files;
    parts.push_back(batch.subspan(begin, end - begin));
    sources.push_back(source_of(parts.back()));
  }
  std::vector<Compilation> made = bench_.compile(sources, options_.jobs);
  std::vector<Library> libraries;
  for (std::size_t i = 0; i < files; ++i) {
    if (made[i].library) {
      libraries.push_back({std::move(*made[i].library), parts[i]});
    } else if (!must_end()) {  // an interrupt also ends compilers; that is not a compile error
      compile_alone(parts[i], libraries);
    }
  }
  return libraries;
}

// A kernel that does not compile must not fail the others in its file.
void Session::compile_alone(std::span<const Prepared> kernels, std::vector<Library>& libraries) {
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    sources.push_back(source_of(kernels.subspan(i, 1)));
  std::vector<Compilation> made = bench_.compile(sources, options_.jobs);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (made[i].library) {
      libraries.push_back({std::move(*made[i].library), kernels.subspan(i, 1)});
    } else if (!must_end()) {
      skip(*kernels[i].item, "compile error", made[i].error);
    }
  }
}

void Session::time(std::span<const Library> libraries) {
  std::vector<RunJob> jobs;
  std::vector<const Prepared*> kernels;
  for (const Library& library : libraries) {
    for (const Prepared& prepared : library.kernels) {
      const CKernel& code = prepared.code;
      jobs.push_back({.function = code.function,
                      .inputs = code.inputs,
                      .outputs = code.outputs,
                      .scratch_bytes = code.scratch_bytes,
                      .library = library.compiled.path()});
      kernels.push_back(&prepared);
    }
  }
  bench_.run({}, jobs, options_.timing, [&](std::size_t i, const RunOutcome& outcome) {
    // An interrupt may also end the child, which is not the kernel's fault.
    if (outcome.status == RunStatus::kTimed || !events_.stop()) settle(*kernels[i], outcome);
    if (rows_.size() + skipped_.size() >= kRowsAtOnce) save();
    return !must_end();
  });
  save();
}

void Session::settle(const Prepared& prepared, const RunOutcome& outcome) {
  if (outcome.status == RunStatus::kTimed) {
    set_.add_kernel(prepared.item->workload->hash, ir::print_hlo(prepared.item->workload->module));
    rows_.push_back({prepared.item, outcome.timing, prepared.code.scratch_bytes});
    ++report_.measured;
    ++settled_;
  } else if (outcome.status == RunStatus::kUnstable && !again_) {
    unstable_.push_back(prepared.item);
  } else {
    skip(*prepared.item, reason(outcome.status), outcome.message);
  }
  events_.progress(settled_, budget_left());
}

void Session::skip(const WorkItem& item, std::string_view reason, const std::string& detail) {
  skipped_.push_back({&item, std::string(reason), detail});
  ++report_.skipped[std::string(reason)];
  ++settled_;
}

void Session::save() {
  set_.append(rows_, skipped_);
  rows_.clear();
  skipped_.clear();
}

void Session::run_queue() {
  while (next_ < queue_.size() && !must_end()) {
    const std::vector<Prepared> batch = next_batch();
    save();
    if (must_end()) break;
    const Seconds begin = bench_.now();
    const std::vector<Library> libraries = compile(batch);
    const Seconds compiled = bench_.now();
    report_.compiling += compiled - begin;
    if (!must_end()) time(libraries);
    save();
    report_.timing += bench_.now() - compiled;
  }
}

// Unstable items are retried after all others.
SessionReport Session::run() {
  run_queue();
  if (!must_end()) {
    queue_ = std::exchange(unstable_, {});
    again_ = true;
    next_ = 0;
    run_queue();
  }
  report_.unstable_once = unstable_.size();
  return report_;
}

}  // namespace

SessionReport measure(std::span<const WorkItem> plan, const hwdesc::Device& device, GrowingSet& set,
                      const Bench& bench, const SessionOptions& options,
                      const SessionEvents& events) {
  return Session(plan, device, set, bench, options, events).run();
}

std::string how_timed(const TimingOptions& options) {
  return fmt::format(
      "generated C on one pinned core, visited {} times or more, other kernels in between, until "
      "two visits agree within {:.3g} % (left out beyond {:.3g} %); a visit: up to {} groups of "
      "calls of at least {:.3g} ms; runtime: the fastest group; {}",
      options.visits, options.agree * 100, options.spread * 100, options.groups,
      options.group.value * 1e3,
      options.state == CacheState::kCold
          ? "caches cold: arrays in rotation over more memory than the last cache holds"
          : "caches warm: the same arrays in every call");
}

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
          .now = now};
}

}  // namespace tilecast::host
