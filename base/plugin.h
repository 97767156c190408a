// A module of this build that is loaded on first use, because linking what it needs would cost
// every process time and memory at start.
//
// It exports two C symbols: `std::uint64_t abi_symbol()`, the interface it was built with, and
// `void* entry_symbol()`, what it offers. Both sides are built together and share libstdc++, so
// exceptions and containers may pass between them. Its other symbols stay apart from the program's.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilecast::base {

struct Plugin {
  std::string_view what;  // for messages: "the module of the graph networks"
  std::string_view file;  // "libtilecast_torch.so"
  const char* variable;   // environment variable that names the file to take instead
  std::string_view hint;  // added where it is not found; may be empty
  const char* abi_symbol;
  const char* entry_symbol;
  std::uint64_t abi;  // refused when the module's is another
};

// Looked for beside the program, in ../lib/tilecast of it, where it is installed, where it was
// built.
[[nodiscard]] bool has_plugin(const Plugin& plugin);
// What its entry gives; it stays loaded. Throws Error. Thread-safe.
[[nodiscard]] void* load_plugin(const Plugin& plugin);

}  // namespace tilecast::base
