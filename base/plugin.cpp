#include "base/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/error.h"

namespace tilecast::base {
namespace {

namespace fs = std::filesystem;

// Where the module may be, in this order.
std::vector<fs::path> candidates(const Plugin& plugin) {
  if (const char* chosen = std::getenv(plugin.variable); chosen && *chosen) return {chosen};
  std::vector<fs::path> files;
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    files.push_back(program.parent_path() / plugin.file);
    files.push_back(program.parent_path().parent_path() / "lib/tilecast" / plugin.file);
  }
  files.push_back(fs::path(TILECAST_INSTALLED_MODULE_DIR) / plugin.file);
  files.push_back(fs::path(TILECAST_BUILT_MODULE_DIR) / plugin.file);
  return files;
}

// Empty when there is none.
fs::path plugin_file(const Plugin& plugin) {
  for (const fs::path& file : candidates(plugin)) {
    std::error_code failed;
    if (fs::is_regular_file(file, failed)) return file;
  }
  return {};
}

[[noreturn]] void refuse_missing(const Plugin& plugin) {
  std::vector<std::string> tried;
  for (const fs::path& file : candidates(plugin)) tried.push_back(file.string());
  throw Error(fmt::format("{} was not found; tried {};{} set {} to one of this build", plugin.what,
                          fmt::join(tried, ", "), plugin.hint, plugin.variable));
}

template <class Function>
Function* symbol(const Plugin& plugin, void* library, const fs::path& file, const char* name) {
  void* const found = dlsym(library, name);
  if (found == nullptr) {
    throw Error(
        fmt::format("{}: got a library without {}, expected {}", file.string(), name, plugin.what));
  }
  return reinterpret_cast<Function*>(found);
}

}  // namespace

bool has_plugin(const Plugin& plugin) {
  return !plugin_file(plugin).empty();
}

void* load_plugin(const Plugin& plugin) {
  const fs::path file = plugin_file(plugin);
  if (file.empty()) refuse_missing(plugin);
  void* const library = dlopen(fs::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(fmt::format("{}: {} cannot be loaded: {}", file.string(), plugin.what, dlerror()));
  }
  const auto abi = symbol<std::uint64_t()>(plugin, library, file, plugin.abi_symbol)();
  if (abi != plugin.abi) {
    throw Error(fmt::format(
        "{}: {} is of another build; got interface {:x}, expected {:x}; build or install both "
        "together",
        file.string(), plugin.what, abi, plugin.abi));
  }
  return symbol<void*()>(plugin, library, file, plugin.entry_symbol)();
}

}  // namespace tilecast::base
