// File writes that survive a crash of the machine: data is on disk on return. All throw Error with
// the path and the system's reason. Thread-safe for different files.
#pragma once

#include <string>
#include <string_view>

namespace tilecast::host {

[[noreturn]] void cannot_write(const std::string& path);  // throws Error with the text of errno

// Writes all of `text` and syncs it to disk. `path` is for the error message.
void write_through(int fd, std::string_view text, const std::string& path);

// Syncs a folder, so that created, removed and renamed files are on disk; best effort.
void sync_folder(const std::string& folder);

// Opens a file to append and locks it; another session gets an Error. The caller closes it.
[[nodiscard]] int open_locked(const std::string& path);

}  // namespace tilecast::host
