#include "host/compiled_library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <list>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "host/child_process.h"

namespace tilecast::host {
namespace {

namespace fs = std::filesystem;
using Clock = ChildCommand::Clock;
using Words = std::vector<std::string>;

constexpr Seconds kTrialTimeout{60};  // for querying a compiler's version

// Flags for this machine's instructions; the first one that the compiler accepts is used.
constexpr std::array<const char*, 3> kNativeFlags{"-march=native", "-mcpu=native", ""};
constexpr const char* kFlags =
    "-fno-math-errno -fno-trapping-math -ffp-contract=fast -fPIC -shared -w";
constexpr const char* kTrial = "#include <math.h>\nfloat f(float x) { return sqrtf(x); }\n";

Words split_words(const std::string& text) {
  std::istringstream in(text);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// One source being compiled. The command is destroyed before its folder.
struct CompileTask {
  std::size_t source;  // index
  TemporaryFolder folder;
  ChildCommand command;
};

CompileTask start(Words command, const LinkedSource& text, std::size_t source, Seconds timeout) {
  TemporaryFolder folder;
  const std::string c_file = folder.write("kernels.c", text.text);
  command.insert(command.end(), {"-o", folder.file("kernels.so"), c_file});
  command.insert(command.end(), text.libraries.begin(), text.libraries.end());
  command.emplace_back("-lm");
  ChildCommand started(std::move(command), folder.path(), timeout);
  return {source, std::move(folder), std::move(started)};
}

Compilation finish(CompileTask task, Seconds timeout) {
  Compilation made;
  const auto status = task.command.wait();
  const std::string library = task.folder.file("kernels.so");
  if (status == 0 && fs::exists(library)) {
    fs::remove(task.folder.file("kernels.c"));
    made.library.emplace(library);
    task.folder.release();
    return made;
  }
  made.error = task.command.text();
  if (!status) {
    made.error = fmt::format("the compiler took longer than {} s", timeout.value);
  } else if (WIFSIGNALED(*status)) {
    made.error += fmt::format("{}the compiler was killed by signal {}",
                              made.error.empty() ? "" : "\n", WTERMSIG(*status));
  } else if (made.error.empty()) {
    made.error = fmt::format("the compiler ended with status {} and said nothing, but made nothing",
                             WEXITSTATUS(*status));
  }
  return made;
}

// Reads the compilers' output until one of them ends or times out, and returns it.
std::list<CompileTask>::iterator next_to_finish(std::list<CompileTask>& running) {
  for (;;) {
    Clock::time_point deadline = Clock::time_point::max();
    std::vector<pollfd> fds;
    for (const CompileTask& task : running) {
      fds.push_back({task.command.fd(), POLLIN, 0});
      deadline = std::min(deadline, task.command.deadline());
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    ::poll(fds.data(), fds.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
    auto fd = fds.begin();
    for (auto task = running.begin(); task != running.end(); ++task, ++fd) {
      if (fd->revents != 0 && !task->command.read_some()) return task;
      if (Clock::now() >= task->command.deadline()) return task;
    }
  }
}

std::vector<Compilation> compile_all(const Words& command, std::span<const LinkedSource> sources,
                                     std::size_t jobs, Seconds timeout) {
  std::vector<Compilation> made(sources.size());
  std::list<CompileTask> running;
  std::size_t next = 0;
  while (next < sources.size() || !running.empty()) {
    while (next < sources.size() && running.size() < jobs) {
      running.push_back(start(command, sources[next], next, timeout));
      ++next;
    }
    const auto task = next_to_finish(running);
    const std::size_t source = task->source;
    made[source] = finish(std::move(*task), timeout);
    running.erase(task);
  }
  return made;
}

// The first line of `compiler --version`.
std::string version_of(Words compiler) {
  compiler.push_back("--version");
  try {
    ChildCommand ask(compiler, "", kTrialTimeout);
    while (ask.read_some()) {
    }
    const std::string text = ask.text();
    return text.substr(0, text.find('\n'));
  } catch (const Error& error) {
    throw Error(
        fmt::format("C compiler: {}; install one (Debian: apt-get install gcc libc6-dev) or "
                    "name it in the environment variable CC",
                    error.what()));
  }
}

}  // namespace

CompiledLibrary::CompiledLibrary(CompiledLibrary&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

CompiledLibrary& CompiledLibrary::operator=(CompiledLibrary&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

CompiledLibrary::~CompiledLibrary() {
  remove();
}

void CompiledLibrary::remove() noexcept {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove(path_, ignored);
  fs::remove(fs::path(path_).parent_path(), ignored);  // only if empty
  path_.clear();
}

Compiler::Compiler(std::string_view optimise) {
  const char* set = std::getenv("CC");
  const Words compiler = split_words(set != nullptr && *set != '\0' ? set : "cc");
  if (compiler.empty()) throw Error("CC: got only blanks, expected a compiler command");
  const std::string version = version_of(compiler);
  std::string output;
  for (const char* native : kNativeFlags) {
    const Words flags = split_words(fmt::format("{} -std=c11 {} {}", native, optimise, kFlags));
    command_ = compiler;
    command_.insert(command_.end(), flags.begin(), flags.end());
    const LinkedSource trial{kTrial, {}};
    const auto made = compile_all(command_, std::span(&trial, 1), 1, kTrialTimeout);
    if (made.front().library) {
      description_ = fmt::format("{}; {}", version, fmt::join(flags, " "));
      if (*native == '\0') description_ += " (knows no flag for this machine's own instructions)";
      return;
    }
    output = made.front().error;
  }
  throw Error(
      fmt::format("C compiler: {} cannot make a shared library; it said: {}; install a "
                  "compiler with its headers (Debian: apt-get install gcc libc6-dev)",
                  fmt::join(compiler, " "), output));
}

std::vector<Compilation> Compiler::compile(std::span<const std::string> sources, int jobs,
                                           Seconds timeout) const {
  std::vector<LinkedSource> alone;
  for (const std::string& source : sources) alone.push_back({source, {}});
  return compile(alone, jobs, timeout);
}

std::vector<Compilation> Compiler::compile(std::span<const LinkedSource> sources, int jobs,
                                           Seconds timeout) const {
  return compile_all(command_, sources, static_cast<std::size_t>(std::max(jobs, 1)), timeout);
}

}  // namespace tilecast::host
