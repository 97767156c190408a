#include "base/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "base/error.h"

namespace tilecast::base {
namespace {

namespace fs = std::filesystem;

std::string environment(const std::string& variable) {
  const char* const value = std::getenv(variable.c_str());
  return value != nullptr ? value : "";
}

std::string variable_of(const Plugin& plugin) {
  std::string name(plugin.name);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format("TILECAST_{}_MODULE", name);
}

// The folder of the program or shared library that contains this code; empty if unknown.
fs::path own_folder() {
  Dl_info info{};
  void* map = nullptr;
  std::error_code failed;
  if (::dladdr1(reinterpret_cast<void*>(&load_plugin), &info, &map, RTLD_DL_LINKMAP) == 0)
    return {};
  const std::string file = static_cast<const link_map*>(map)->l_name;  // empty for a program
  return fs::canonical(file.empty() ? "/proc/self/exe" : file, failed).parent_path();
}

// Possible files of the module, in search order.
std::vector<fs::path> candidates(const Plugin& plugin) {
  if (const std::string chosen = environment(variable_of(plugin)); !chosen.empty()) return {chosen};
  const std::string name = fmt::format("libtilecast_{}.so", plugin.name);
  if (const std::string chosen = environment("TILECAST_MODULES"); !chosen.empty()) {
    return {chosen / fs::path(name)};
  }
  const fs::path own = own_folder();
  if (own.empty()) return {};
  return {own / name, own / "tilecast" / name,
          own.parent_path() / TILECAST_LIBDIR / "tilecast" / name};
}

// The module's file; empty if there is none.
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
  const std::string remedy = plugin.component.empty()
                                 ? "build the whole with: scripts/build release"
                                 : fmt::format("add it with: scripts/build {}", plugin.component);
  throw Error(
      fmt::format("{} is not in this build; {} (tried {}; TILECAST_MODULES names "
                  "another folder, {} another file)",
                  plugin.what, remedy, fmt::join(tried, ", "), variable_of(plugin)));
}

template <class Function>
Function* symbol(const Plugin& plugin, void* library, const fs::path& file,
                 const std::string& name) {
  void* const found = dlsym(library, name.c_str());
  if (found == nullptr) {
    throw Error(
        fmt::format("{}: got a library without {}, expected {}", file.string(), name, plugin.what));
  }
  return reinterpret_cast<Function*>(found);
}

void* load(const Plugin& plugin) {
  const fs::path file = plugin_file(plugin);
  if (file.empty()) refuse_missing(plugin);
  void* const library = dlopen(fs::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(fmt::format("{}: {} cannot be loaded: {}", file.string(), plugin.what, dlerror()));
  }
  const std::string entry = fmt::format("tilecast_{}_module", plugin.name);
  const auto abi = symbol<std::uint64_t()>(plugin, library, file, entry + "_abi")();
  if (abi != plugin.abi) {
    throw Error(fmt::format(
        "{}: {} is of another build; got interface {:x}, expected {:x}; build or install both "
        "together",
        file.string(), plugin.what, abi, plugin.abi));
  }
  return symbol<void*()>(plugin, library, file, entry)();
}

}  // namespace

bool has_plugin(const Plugin& plugin) {
  return !plugin_file(plugin).empty();
}

void* load_plugin(const Plugin& plugin) {
  static std::mutex loading;
  static std::map<std::string_view, void*> loaded;
  const std::lock_guard lock(loading);
  void*& offer = loaded[plugin.name];
  if (offer == nullptr) offer = load(plugin);
  return offer;
}

}  // namespace tilecast::base
