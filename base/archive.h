// Reads zip archives as folders: a path may lead into an archive, so `sets/host.zip/manifest.yaml`
// is the entry manifest.yaml of sets/host.zip. Nothing is unpacked to disk, so no entry can escape
// its archive. An archive stays open for later reads; it is opened again if the file changes.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

// Zip archives by libzip: a module loaded when the first archive is opened, because it brings in
// OpenSSL, which would cost 1 ms at every start.
//
// An archive may be used by one thread at a time. Failures throw Error with libzip's message;
// callers add the path.

class ZipArchive {
 public:
  virtual ~ZipArchive() = default;
  [[nodiscard]] virtual bool has(const std::string& entry) const = 0;
  [[nodiscard]] virtual std::string read(const std::string& entry, std::size_t max_bytes) = 0;
};

// The interface of the module, exported as C symbols:
//   std::uint64_t tilecast_zip_module_abi();   // kZipModuleAbi of its build
//   void* tilecast_zip_module();               // an OpenZip
using OpenZip = std::unique_ptr<ZipArchive>(const std::string& path);
inline constexpr std::uint64_t kZipModuleAbi = 2;

}  // namespace tilecast::base
