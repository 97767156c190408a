// Files that outlive a crash of the machine: what was written is on the disk. All throw Error with
// the path and the system's reason. Thread-safe for different files.
#pragma once

#include <string>
#include <string_view>

namespace tilecast::host {

[[noreturn]] void cannot_write(const std::string& path);  // the Error of what failed last (errno)

// All of `text`, on the disk when this returns. `path` is for the message.
void write_through(int fd, std::string_view text, const std::string& path);

// So that files made, removed or renamed in it are so on the disk too; best effort.
void sync_folder(const std::string& folder);

// Open to append, locked against other sessions, which get an Error. The caller closes it.
[[nodiscard]] int open_locked(const std::string& path);

}  // namespace tilecast::host
