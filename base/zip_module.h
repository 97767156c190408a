// Zip archives by libzip: a module loaded when the first archive is opened, because it brings in
// OpenSSL, which would cost 1 ms at every start. base/archive.h reads whole entries.
//
//   std::unique_ptr<ZipArchive> zip = open_zip("graph.npz");
//   std::unique_ptr<ZipEntry> entry = zip->open("a.npy");   // null: there is none
//   entry->read(buffer, 512);
//
// An archive and its entries may be used by one thread at a time. Failures throw Error with
// libzip's message; callers add the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tilecast::base {

class ZipEntry {
 public:
  virtual ~ZipEntry() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;         // as stated in the archive
  [[nodiscard]] virtual std::uint64_t packed_size() const = 0;  // compressed; also as stated
  // Reads up to `count` of the next bytes; 0 at the end, where the checksum was correct.
  [[nodiscard]] virtual std::size_t read(char* to, std::size_t count) = 0;
};

class ZipArchive {
 public:
  virtual ~ZipArchive() = default;
  [[nodiscard]] virtual bool has(const std::string& entry) const = 0;
  [[nodiscard]] virtual std::unique_ptr<ZipEntry> open(const std::string& entry) = 0;
};

[[nodiscard]] std::unique_ptr<ZipArchive> open_zip(const std::string& path);

// The interface of the module, exported as C symbols:
//   std::uint64_t tilecast_zip_module_abi();   // kZipModuleAbi of its build
//   void* tilecast_zip_module();               // open_zip()
inline constexpr std::uint64_t kZipModuleAbi = 1;

}  // namespace tilecast::base
