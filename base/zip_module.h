// Zip archives by libzip: a module loaded when the first archive is opened, because it brings in
// OpenSSL, which would cost 1 ms at every start. base/archive.h is what others use.
//
// An archive may be used by one thread at a time. Failures throw Error with libzip's message;
// callers add the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tilecast::base {

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
