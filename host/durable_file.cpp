#include "host/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/output_file.h"

namespace tilecast::host {

void cannot_write(const std::string& path) {
  throw Error(fmt::format("{}: cannot write it: {}", path, std::strerror(errno)));
}

void write_through(int fd, std::string_view text, const std::string& path) {
  base::write_all(fd, text, path);
  if (::fsync(fd) != 0 && errno != EINVAL) cannot_write(path);  // EINVAL: not on a disk
}

void sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

// Checks that the locked file still has this name; another session may have replaced it since it
// was opened.
int open_locked(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) cannot_write(path);
  struct stat opened {
  }, named{};
  const bool locked = ::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  if (locked && ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
      opened.st_ino == named.st_ino) {
    return fd;
  }
  ::close(fd);
  throw Error(
      fmt::format("{}: another session is writing it; wait for it, or measure into "
                  "another folder",
                  path));
}

}  // namespace tilecast::host
