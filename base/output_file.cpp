#include "base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tilecast::base {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const std::string& path) {
  throw Error(fmt::format("{}: cannot write it: {}", path, std::strerror(errno)));
}

// The file behind symbolic links, whether it exists or not.
fs::path behind_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  std::error_code none;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, none); ++i) {
    path = path.parent_path() / fs::read_symlink(path, none);
  }
  return path;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// An unpredictable name next to the target.
fs::path name_beside(const fs::path& target) {
  static thread_local std::random_device random;
  return folder_of(target) / fmt::format(".{}.{:08x}{:08x}.tmp",
                                         target.filename().string().substr(0, 200), random(),
                                         random());
}

struct Claim {
  const OutputClaim* by;
  std::string named;
  fs::path path;  // canonical
  bool is_folder = false;
  dev_t device = 0;
  ino_t inode = 0;  // 0: it does not exist yet
};

struct Claims {
  std::mutex mutex;
  std::vector<Claim> all;
};
Claims& claims() {
  static Claims& kept = *new Claims;  // never destroyed: claims may be static
  return kept;
}

bool covers(const Claim& claim, const fs::path& path, const struct stat& status) {
  if (claim.inode != 0 && claim.inode == status.st_ino && claim.device == status.st_dev)
    return true;
  if (!claim.is_folder) return claim.path == path;
  return std::ranges::mismatch(claim.path, path).in1 == claim.path.end();
}

// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

void flush(int fd, const std::string& path) {
  if (::fsync(fd) != 0 && errno != EINVAL) cannot_write(path);  // EINVAL: cannot be synced
}

void write_new(const fs::path& file, const struct stat* replaced, std::string_view text,
               const std::string& path, bool durable) {
  Descriptor out(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (out.get() < 0) cannot_write(path);
  if (replaced != nullptr) {
    // The owner can only be kept with the right to do so; the mode always is.
    [[maybe_unused]] const int given = ::fchown(out.get(), replaced->st_uid, replaced->st_gid);
    if (::fchmod(out.get(), replaced->st_mode & 07777) != 0) cannot_write(path);
  }
  write_all(out.get(), text, path);
  if (durable) flush(out.get(), path);
  if (!out.close()) cannot_write(path);
}

void write_in_place(const fs::path& file, std::string_view text, const std::string& path) {
  Descriptor out(file, O_WRONLY | O_TRUNC);
  if (out.get() < 0) cannot_write(path);
  write_all(out.get(), text, path);
  if (!out.close()) cannot_write(path);
}

// Waits up to a second: a killed process holds its lock until it is gone.
bool is_locked(int fd) {
  constexpr std::chrono::milliseconds kStep{10}, kPatience{1000};
  for (std::chrono::milliseconds waited{0};; waited += kStep) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
    if (waited >= kPatience) return false;
    std::this_thread::sleep_for(kStep);
  }
}

}  // namespace

OutputClaim::OutputClaim(const std::string& path, Output kind) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  const bool is_folder = exists && S_ISDIR(status.st_mode);
  if (is_folder && kind == Output::kFile) {
    throw Error(fmt::format("{}: got a folder, expected a file to write", path));
  }
  if (exists && !is_folder && !S_ISREG(status.st_mode)) return;
  const fs::path file = behind_links(path);
  if (::access(exists ? file.c_str() : folder_of(file).c_str(), W_OK) != 0) cannot_write(path);
  refuse_claimed(path);
  std::error_code none;
  Claim claim{this, path, fs::weakly_canonical(file, none), kind == Output::kFolder};
  if (exists) {
    claim.device = status.st_dev;
    claim.inode = status.st_ino;
  }
  const std::scoped_lock lock(claims().mutex);
  claims().all.push_back(std::move(claim));
}

OutputClaim::~OutputClaim() {
  const std::scoped_lock lock(claims().mutex);
  std::erase_if(claims().all, [this](const Claim& claim) { return claim.by == this; });
}

void require_writable(const std::string& path) {
  fs::path nearest = behind_links(path);
  std::error_code none;
  while (!fs::exists(nearest, none) && nearest.has_relative_path()) nearest = folder_of(nearest);
  if (::access(nearest.c_str(), W_OK) != 0) cannot_write(path);
  if (!fs::is_directory(nearest, none)) {
    throw Error(fmt::format("{}: cannot be created: {} is not a folder", path, nearest.string()));
  }
}

void refuse_claimed(const std::string& path) {
  const std::scoped_lock lock(claims().mutex);
  if (claims().all.empty()) return;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) status.st_ino = 0;
  std::error_code none;
  const fs::path canonical = fs::weakly_canonical(behind_links(path), none);
  for (const Claim& claim : claims().all) {
    if (!covers(claim, canonical, status)) continue;
    throw Error(fmt::format("{}: is the output {}, too, and would be lost; expected another output",
                            path, claim.named));
  }
}

void write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) cannot_write(path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void replace_file(const std::string& path, std::string_view text, bool durable) {
  const fs::path target = behind_links(path);
  struct stat old {};
  const bool exists = ::stat(target.c_str(), &old) == 0;
  if (exists && (!S_ISREG(old.st_mode) || old.st_nlink > 1)) {
    return write_in_place(target, text, path);
  }
  const fs::path fresh = name_beside(target);
  try {
    write_new(fresh, exists ? &old : nullptr, text, path, durable);
    if (::rename(fresh.c_str(), target.c_str()) != 0) cannot_write(path);
  } catch (const Error&) {
    ::unlink(fresh.c_str());
    throw;
  }
  if (!durable) return;
  const Descriptor folder(folder_of(target), O_RDONLY | O_DIRECTORY);
  if (folder.get() >= 0) ::fsync(folder.get());
}

FolderBeside::FolderBeside(const fs::path& target)
    : target_(behind_links(target)), path_(name_beside(target_)) {
  if (::mkdir(path_.c_str(), 0777) == 0) return;
  const std::string reason = std::strerror(errno);
  throw Error(
      fmt::format("{}: cannot make a folder here: {}", folder_of(target_).string(), reason));
}

FolderBeside::~FolderBeside() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void FolderBeside::take_place() {
  FolderBeside old(target_);
  const fs::path kept = old.path_ / "kept";
  std::error_code failure, stays;
  const bool replaces = fs::exists(target_, failure);
  if (replaces) fs::rename(target_, kept, failure);
  if (!failure) fs::rename(path_, target_, failure);
  if (!failure) return;
  if (replaces && fs::exists(kept, stays)) fs::rename(kept, target_, stays);
  if (stays) old.path_.clear();  // keep the old target under its temporary name
  throw Error(fmt::format("{}: cannot replace it: {}", target_.string(), failure.message()));
}

GrowingFile::GrowingFile(std::string path, Begin begin, std::string_view exists)
    : path_(std::move(path)) {
  const int flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | (begin == Begin::kNew ? O_EXCL : 0);
  fd_ = ::open(path_.c_str(), flags, 0666);
  if (fd_ < 0 && errno == EEXIST) throw Error(fmt::format("{}: {}", path_, exists));
  if (fd_ < 0) throw Error(fmt::format("{}: cannot open it: {}", path_, std::strerror(errno)));
  // Locked is the file that has this name now, which another may have written anew since.
  struct stat opened {
  }, named{};
  if (is_locked(fd_) && ::fstat(fd_, &opened) == 0 && ::stat(path_.c_str(), &named) == 0 &&
      opened.st_ino == named.st_ino) {
    return;
  }
  ::close(fd_);
  throw Error(fmt::format("{}: another process is writing it; wait for it", path_));
}

GrowingFile::~GrowingFile() {
  ::fsync(fd_);
  ::close(fd_);
}

std::string GrowingFile::contents() const {
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::pread(fd_, buffer, sizeof buffer, static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(fmt::format("{}: cannot read it: {}", path_, std::strerror(errno)));
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

void GrowingFile::cut(std::size_t bytes) {
  if (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0) cannot_write(path_);
}

void GrowingFile::flush() {
  base::flush(fd_, path_);
}

}  // namespace tilecast::base
