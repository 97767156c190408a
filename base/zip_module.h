// Zip archives by libzip: a module that is loaded when the first archive is opened, because OpenSSL
// comes with it, 1 ms at every start. base/archive.h reads whole entries.
//
//   std::unique_ptr<ZipArchive> zip = open_zip("graph.npz");
//   std::unique_ptr<ZipEntry> entry = zip->open("a.npy");   // null: there is none
//   entry->read(buffer, 512);
//
// One archive and its entries in one thread at a time. Every failure throws Error with what libzip
// says; whoever knows the place names it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tilecast::base {

class ZipEntry {
 public:
  virtual ~ZipEntry() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;         // as the archive says
  [[nodiscard]] virtual std::uint64_t packed_size() const = 0;  // likewise
  // At most `count` of the next bytes; 0: the end, where the sum of all was right.
  [[nodiscard]] virtual std::size_t read(char* to, std::size_t count) = 0;
};

class ZipArchive {
 public:
  virtual ~ZipArchive() = default;
  [[nodiscard]] virtual bool has(const std::string& entry) const = 0;
  [[nodiscard]] virtual std::unique_ptr<ZipEntry> open(const std::string& entry) = 0;
};

[[nodiscard]] std::unique_ptr<ZipArchive> open_zip(const std::string& path);

// What the program and the module agree on, exported as C symbols:
//   std::uint64_t tilecast_zip_module_abi();   // kZipModuleAbi of its build
//   void* tilecast_zip_module();               // open_zip()
inline constexpr std::uint64_t kZipModuleAbi = 1;

}  // namespace tilecast::base
