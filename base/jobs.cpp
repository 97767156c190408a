#include "base/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/parallel.h"
#include "base/plugin.h"

namespace tilecast::base {
namespace {

using JobEntry = Journal::Entry;
using Chunk = std::vector<std::size_t>;

// Messages between ranks: "tasks 3 4 5 ", "done" (no more), "failed MESSAGE", "results 3 LENGTH
// BYTES ...".
constexpr std::string_view kTasks = "tasks ", kDone = "done", kFailed = "failed ",
                           kResults = "results ";

std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  TC_CHECK(failed == std::errc() && end < text.data() + text.size(), "ranks of one build");
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return number;
}

std::string chunk_message(const Chunk& chunk) {
  std::string text(kTasks);
  for (const std::size_t task : chunk) text += fmt::format("{} ", task);
  return text;
}

Chunk chunk_of(std::string_view text) {
  Chunk chunk;
  text.remove_prefix(kTasks.size());
  while (!text.empty()) chunk.push_back(take_number(text));
  return chunk;
}

std::string results_message(const std::vector<JobEntry>& entries) {
  std::string text(kResults);
  for (const auto& [task, result] : entries) {
    text += fmt::format("{} {} ", task, result.size());
    text += result;
  }
  return text;
}

std::vector<JobEntry> results_of(std::string_view text) {
  std::vector<JobEntry> entries;
  text.remove_prefix(kResults.size());
  while (!text.empty()) {
    const std::size_t task = take_number(text);
    const std::size_t size = take_number(text);
    TC_CHECK(size <= text.size(), "ranks of one build");
    entries.emplace_back(task, text.substr(0, size));
    text.remove_prefix(size);
  }
  return entries;
}

// Tasks that are not taken yet. Thread-safe.
class Pool {
 public:
  Pool(Chunk open, std::size_t workers) : open_(std::move(open)), workers_(workers) {}
  // The next tasks for `threads` threads; empty if there are none left.
  Chunk take(std::size_t threads) {
    constexpr std::size_t kMost = 32, kRounds = 4;  // per thread
    const std::lock_guard lock(mutex_);
    const std::size_t left = open_.size() - next_;
    const std::size_t each = std::clamp<std::size_t>(left / (kRounds * workers_), 1, kMost);
    const std::size_t size = std::min(left, each * threads);
    const auto begin = open_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ += size;
    return {begin, begin + static_cast<std::ptrdiff_t>(size)};
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    next_ = open_.size();
  }

 private:
  std::mutex mutex_;
  Chunk open_;
  std::size_t next_ = 0, workers_;
};

// The threads of rank 0: they run tasks from the pool until it is empty and collect the results.
class Crew {
 public:
  Crew(const Jobs& jobs, Pool& pool) : jobs_(jobs), pool_(pool), running_(jobs.threads) {
    threads_ =
        start_threads(static_cast<std::size_t>(std::max(jobs.threads, 0)), [this] { work(); });
    if (threads_.empty())
      throw Error("cannot start a thread: too many are running, or memory is short");
    const std::lock_guard lock(mutex_);
    running_ -= jobs.threads - static_cast<int>(threads_.size());
  }
  ~Crew() { pool_.stop(); }  // then the threads are joined
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Results since the last call; waits at most `patience` for one.
  std::vector<JobEntry> collect(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    news_.wait_for(lock, patience, [&] { return !finished_.empty() || running_ == 0; });
    return std::exchange(finished_, {});
  }
  // Whether all threads have ended and all results are collected.
  bool ended() {
    const std::lock_guard lock(mutex_);
    if (running_ > 0 || !finished_.empty()) return false;
    return true;
  }
  std::exception_ptr failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  void work() {
    while (true) {
      const Chunk chunk = pool_.take(1);
      for (const std::size_t task : chunk) {
        if (stopped_) break;
        attempt(task);
      }
      if (chunk.empty() || stopped_) break;
    }
    const std::lock_guard lock(mutex_);
    --running_;
    news_.notify_all();
  }
  void attempt(std::size_t task) {
    try {
      std::string result = jobs_.run(task);
      const std::lock_guard lock(mutex_);
      finished_.emplace_back(task, std::move(result));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      stopped_ = true;
    }
    news_.notify_all();
  }

 public:
  void stop() { stopped_ = true; }

 private:
  const Jobs& jobs_;
  Pool& pool_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<JobEntry> finished_;
  std::exception_ptr failure_;
  int running_;
  std::atomic<bool> stopped_ = false;
  std::vector<std::jthread> threads_;  // last: they use the rest
};

// Coordinates the work on rank 0: collects results, keeps the journal, serves the other ranks.
class Master {
 public:
  Master(const Jobs& jobs, Ranks* ranks, std::optional<Journal>& journal, Pool& pool)
      : jobs_(jobs), ranks_(ranks), journal_(journal), pool_(pool), results_(jobs.count) {
    if (journal_) {
      for (const auto& [task, result] : journal_->known()) results_[task] = result;
      done_ = journal_->known().size();
    }
    others_ = ranks_ ? ranks_->size() - 1 : 0;
  }

  JobResults run() {
    Crew crew(jobs_, pool_);
    std::exception_ptr failure;
    const auto patience = std::chrono::milliseconds(others_ > 0 ? 1 : 200);
    while (true) {
      try {
        keep(crew.collect(patience));
        if (jobs_.progress && !failure) jobs_.progress(done_);
        if (jobs_.stop && jobs_.stop()) throw Stopped();
        if (auto failed = crew.failure()) std::rethrow_exception(failed);
      } catch (const Stopped&) {
        halt(crew);
      } catch (...) {
        if (!failure) failure = std::current_exception();
        halt(crew);
      }
      if (auto failed = serve(); failed && !failure) {
        failure = std::make_exception_ptr(*failed);
        halt(crew);
      }
      if (crew.ended() && others_ == 0) break;
    }
    if (failure) std::rethrow_exception(failure);
    if (done_ < jobs_.count) return {};
    return {std::move(results_), true};
  }

 private:
  struct Stopped {};

  void halt(Crew& crew) {
    pool_.stop();
    crew.stop();
  }
  void keep(std::vector<JobEntry> entries) {
    if (entries.empty()) return;
    if (journal_) journal_->add(entries);
    for (auto& [task, result] : entries) results_[task] = std::move(result);
    done_ += entries.size();
  }
  // Answers messages of the other ranks; returns an error that one of them reported.
  std::optional<Error> serve() {
    std::optional<Error> failure;
    while (others_ > 0) {
      const auto message = ranks_->poll();
      if (!message) break;
      const std::string_view text = message->bytes;
      try {
        if (text.starts_with(kFailed)) throw Error(std::string(text.substr(kFailed.size())));
        keep(results_of(text));
      } catch (const Error& error) {
        failure = error;
        pool_.stop();
      }
      const Chunk chunk = pool_.take(static_cast<std::size_t>(jobs_.threads));
      ranks_->send(message->from, chunk.empty() ? std::string(kDone) : chunk_message(chunk));
      if (chunk.empty()) --others_;
    }
    return failure;
  }

  const Jobs& jobs_;
  Ranks* ranks_;
  std::optional<Journal>& journal_;
  Pool& pool_;
  std::vector<std::string> results_;
  std::size_t done_ = 0;
  int others_ = 0;
};

std::string computed(const Jobs& jobs, const Chunk& chunk) {
  std::vector<JobEntry> entries(chunk.size());
  try {
    parallel_for(chunk.size(), jobs.threads, [&](std::size_t i) {
      entries[i] = {chunk[i], jobs.run(chunk[i])};
    });
  } catch (const std::exception& error) {
    return std::string(kFailed) + error.what();
  }
  return results_message(entries);
}

// A rank above 0: requests tasks, computes them, sends the results.
void serve_master(const Jobs& jobs, Ranks& ranks) {
  std::string answer(kResults);
  while (true) {
    ranks.send(0, answer);
    std::optional<Ranks::Message> message = ranks.poll();
    for (; !message; message = ranks.poll()) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    if (message->bytes == kDone) return;
    answer = computed(jobs, chunk_of(message->bytes));
  }
}

}  // namespace

JobResults run_jobs(const Jobs& jobs, Ranks* ranks) {
  TC_CHECK(jobs.threads >= 1, "somebody works");
  if (ranks && ranks->rank() > 0) {
    serve_master(jobs, *ranks);
    return {};
  }
  std::optional<Journal> journal;
  std::exception_ptr failure;
  try {
    if (!jobs.journal.empty()) {
      journal.emplace(jobs.journal, jobs.identity, jobs.count, jobs.resume);
    }
  } catch (const Error&) {
    failure = std::current_exception();
  }
  Chunk open;
  for (std::size_t task = 0; task < jobs.count && !failure; ++task) {
    if (!journal || !journal->known().contains(task)) open.push_back(task);
  }
  const auto processes = static_cast<std::size_t>(ranks ? ranks->size() : 1);
  Pool pool(std::move(open), processes * static_cast<std::size_t>(jobs.threads));
  Master master(jobs, ranks, journal, pool);
  JobResults results = master.run();  // even if the journal failed: other ranks wait for an answer
  if (failure) std::rethrow_exception(failure);
  return results;
}

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '\n') {
      out += '\\';
      out += c == '\n' ? 'n' : '\\';
    } else {
      out += c;
    }
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      out += text[i] == 'n' ? '\n' : text[i];
    } else {
      out += text[i];
    }
  }
  return out;
}

std::uint64_t checksum(std::size_t task, std::string_view result) {
  return fnv1a(result, fnv1a(fmt::format("{}", task)));
}

std::string journal_line(std::size_t task, const std::string& result) {
  return fmt::format("{} {:016x} {}\n", task, checksum(task, result), escaped(result));
}

// Parses a line without its LF; nullopt if it is damaged.
std::optional<Journal::Entry> entry_of(std::string_view line) {
  const std::size_t first = line.find(' ');
  constexpr std::size_t kDigits = 16;
  if (first == std::string_view::npos || line.size() < first + kDigits + 2) return std::nullopt;
  std::size_t task = 0;
  std::uint64_t sum = 0;
  const char* const begin = line.data();
  const char* const digits = begin + first + 1;
  const auto task_end = std::from_chars(begin, begin + first, task);
  const auto sum_end = std::from_chars(digits, digits + kDigits, sum, 16);
  if (task_end.ec != std::errc() || task_end.ptr != begin + first) return std::nullopt;
  if (sum_end.ec != std::errc() || sum_end.ptr != digits + kDigits) return std::nullopt;
  if (line[first + 1 + kDigits] != ' ') return std::nullopt;
  std::string result = unescaped(line.substr(first + kDigits + 2));
  if (checksum(task, result) != sum) return std::nullopt;
  return Journal::Entry{task, std::move(result)};
}

}  // namespace

std::uint64_t fnv1a(std::string_view text, std::uint64_t seed) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash = seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash;
}

Journal::Journal(std::string file, std::string_view identity, std::size_t tasks, bool resume)
    : file_(std::move(file), resume ? GrowingFile::Begin::kNewOrOn : GrowingFile::Begin::kNew,
            "this journal exists: --resume goes on with it; remove it to start over"),
      tasks_(tasks),
      flushed_(std::chrono::steady_clock::now()) {
  read(fmt::format("tilecast.journal/1 {:016x} {}\n", fnv1a(identity), tasks));
}

void Journal::read(std::string_view header) {
  const std::string text = file_.contents();
  if (std::string_view(text).substr(0, header.size()) != header) {
    if (!header.starts_with(text)) {
      throw Error(
          fmt::format("{}: the journal is of another study, program, device or version; remove it "
                      "to start over",
                      file_.path()));
    }
    file_.cut(0);
    file_.append(header);
    return;
  }
  std::size_t good = header.size();
  for (int line = 2; good < text.size(); ++line) {
    const std::size_t end = text.find('\n', good);
    const bool whole = end != std::string::npos;
    auto entry = entry_of(std::string_view(text).substr(good, whole ? end - good : text.size()));
    if (!whole) break;
    if (!entry || entry->first >= tasks_) {
      if (end + 1 == text.size()) break;
      throw Error(fmt::format("{}:{}: the line is damaged; remove the journal to start over",
                              file_.path(), line));
    }
    known_.insert_or_assign(entry->first, std::move(entry->second));
    good = end + 1;
  }
  if (good < text.size()) file_.cut(good);
}

void Journal::add(std::span<const Entry> entries) {
  std::string text;
  for (const auto& [task, result] : entries) {
    text += journal_line(task, result);
  }
  file_.append(text);
  const auto now = std::chrono::steady_clock::now();
  if (now - flushed_ < std::chrono::seconds(1)) return;
  flushed_ = now;
  file_.flush();
}

namespace {

constexpr Plugin kMpi = {"mpi", "the module of MPI", kMpiModuleAbi, "mpi"};

}  // namespace

bool under_mpirun() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size != nullptr && *size != '\0';
}

std::unique_ptr<Ranks> launched_ranks() {
  if (!under_mpirun()) return nullptr;
  return reinterpret_cast<RanksMaker*>(load_plugin(kMpi))();
}

}  // namespace tilecast::base
