// Reads zip archives as folders: a path may lead into an archive, so `sets/host.zip/manifest.yaml`
// is the entry manifest.yaml of sets/host.zip. Nothing is unpacked to disk, so no entry can escape
// its archive. An archive stays open for later reads; it is opened again if the file changes.
// Thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tilecast::base {

// Whether the path is a regular file on disk that is a zip archive by its first bytes.
[[nodiscard]] bool is_archive(const std::string& path);

// Whether the path is a regular file, on disk or in an archive.
[[nodiscard]] bool is_file(const std::string& path);

// The bytes of an entry; nullopt if the path does not lead into an archive. Throws Error if the
// archive is damaged or has no such entry, or the entry is larger than `max_bytes`.
[[nodiscard]] std::optional<std::string> read_archived(const std::string& path,
                                                       std::size_t max_bytes);

}  // namespace tilecast::base
