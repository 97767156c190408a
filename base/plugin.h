// Loads a module of this build on first use, because linking its libraries would cost every process
// time and memory at start.
//
//   constexpr base::Plugin kZip = {"zip", "the module of zip archives", kZipModuleAbi};
//   auto* open = reinterpret_cast<decltype(&open_zip)>(base::load_plugin(kZip));
//
// The module ends with TILECAST_PLUGIN(zip, kZipModuleAbi, &open). It exports two C symbols:
// `std::uint64_t tilecast_NAME_module_abi()`, the interface it was built with, and `void*
// tilecast_NAME_module()`, a pointer to its function or object. Both sides are built together and
// share libstdc++, so exceptions and containers may pass between them. Other symbols of the module
// are not visible to the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace tilecast::base {

struct Plugin {
  std::string_view name;  // "zip": libtilecast_zip.so; $TILECAST_ZIP_MODULE names another file
  std::string_view what;  // for messages: "the module of zip archives"
  std::uint64_t abi = 0;  // a module with another one is refused
  // The build component that contains it (CMakeLists.txt), named in the message if it is missing.
  // Empty: part of every build.
  std::string_view component = {};
};

// Interface number from a version, to be raised when the meaning changes, and the sizes of the
// types that pass between the two sides.
[[nodiscard]] constexpr std::uint64_t plugin_abi(std::uint64_t version,
                                                 std::initializer_list<std::size_t> sizes) {
  std::uint64_t abi = version;
  for (const std::size_t size : sizes) abi = abi * 1000003 + size;
  return abi;
}

// Whether the module exists: in $TILECAST_MODULES if set, else next to the program (or the shared
// library that contains Tilecast), in its folder tilecast, or in ../lib/tilecast.
[[nodiscard]] bool has_plugin(const Plugin& plugin);
// The module's pointer; the module stays loaded. Throws Error. Thread-safe.
[[nodiscard]] void* load_plugin(const Plugin& plugin);

}  // namespace tilecast::base

// For modules, outside of namespaces. `offer`: a pointer to a function or an object.
// NOLINTBEGIN(bugprone-macro-parentheses): it defines two functions
#define TILECAST_PLUGIN(name, abi, offer)                                                          \
  extern "C" __attribute__((visibility("default"))) std::uint64_t tilecast_##name##_module_abi() { \
    return abi;                                                                                    \
  }                                                                                                \
  extern "C" __attribute__((visibility("default"))) void* tilecast_##name##_module() {             \
    return (void*)(offer);                                                                         \
  }
// NOLINTEND(bugprone-macro-parentheses)
