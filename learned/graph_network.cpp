#include "learned/graph_network.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "base/error.h"
#include "learned/graph_module_abi.h"

namespace tilecast::learned {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModuleFile = "libtilecast_torch.so";

// Where the module may be, in this order.
std::vector<fs::path> candidates() {
  std::vector<fs::path> files;
  if (const char* chosen = std::getenv("TILECAST_TORCH_MODULE"); chosen && *chosen) {
    files.emplace_back(chosen);
    return files;
  }
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    files.push_back(program.parent_path() / kModuleFile);
    files.push_back(program.parent_path().parent_path() / "lib/tilecast" / kModuleFile);
  }
  files.push_back(fs::path(TILECAST_INSTALLED_MODULE_DIR) / kModuleFile);
  files.push_back(fs::path(TILECAST_BUILT_MODULE_DIR) / kModuleFile);
  return files;
}

// Empty when there is none.
fs::path module_file() {
  for (const fs::path& file : candidates()) {
    std::error_code failed;
    if (fs::is_regular_file(file, failed)) return file;
  }
  return {};
}

[[noreturn]] void refuse_missing() {
  std::string tried;
  for (const fs::path& file : candidates()) {
    tried += fmt::format("{}{}", tried.empty() ? "" : ", ", file.string());
  }
  throw Error(
      fmt::format("graph networks: their module was not found; tried {}; a build with "
                  "TILECAST_WITH_TORCH=OFF has none; set TILECAST_TORCH_MODULE to one of this "
                  "build",
                  tried));
}

template <class Function>
Function* symbol(void* library, const fs::path& file, const char* name) {
  void* const found = dlsym(library, name);
  if (found == nullptr) {
    throw Error(fmt::format("{}: got a library without {}, expected the graph networks' module",
                            file.string(), name));
  }
  return reinterpret_cast<Function*>(found);
}

// Stays loaded: LibTorch cannot be unloaded safely.
GraphModule& load_module() {
  const fs::path file = module_file();
  if (file.empty()) refuse_missing();
  void* const library = dlopen(fs::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(fmt::format("{}: the graph networks' module cannot be loaded: {}", file.string(),
                            dlerror()));
  }
  const auto abi = symbol<std::uint64_t()>(library, file, "tilecast_graph_module_abi")();
  if (abi != kGraphModuleAbi) {
    throw Error(
        fmt::format("{}: the graph networks' module is of another build; got interface {:x}, "
                    "expected {:x}; build or install both together",
                    file.string(), abi, kGraphModuleAbi));
  }
  return *symbol<GraphModule*()>(library, file, "tilecast_graph_module")();
}

}  // namespace

const ParameterTable<NetworkSpec>& network_parameters() {
  static const ParameterTable<NetworkSpec> table = [] {
    ParameterTable<NetworkSpec> rows;
    rows.choice("graph", &NetworkSpec::graph, kGraphLayers, "What nodes learn from neighbours.")
        .number("hops", &NetworkSpec::hops, 0, 3, "How far neighbours are; layers of none.")
        .number("hidden", &NetworkSpec::hidden, 4, 1024, "Width of node embeddings.")
        .number("opcode_width", &NetworkSpec::opcode_width, 1, 256, "Width of opcode embeddings.")
        .number("heads", &NetworkSpec::heads, 1, 16,
                "Attention heads of gat and transformer; a divisor of hidden.")
        .number("neighbours", &NetworkSpec::neighbours, 1, 1000,
                "Neighbours per node and direction, at most: the first ones.")
        .choice("aggregate", &NetworkSpec::aggregate, kAggregates, "Over neighbours (sage).")
        .flag("l2_norm", &NetworkSpec::l2_norm, "Embeddings of length 1 after each hop (sage).")
        .choice("reduction", &NetworkSpec::reduction, kReductions, "Of nodes to a kernel.")
        .flag("pool_mean", &NetworkSpec::pool_mean, "Mean over nodes (column_wise).")
        .flag("pool_max", &NetworkSpec::pool_max, "Maximum over nodes (column_wise).")
        .flag("pool_sum", &NetworkSpec::pool_sum, "Sum over nodes (column_wise).")
        .number("reduction_layers", &NetworkSpec::reduction_layers, 1, 4,
                "Layers of the transformer.")
        .number("dropout", &NetworkSpec::dropout, 0, 0.9,
                "Share of the values that is zeroed after each layer, in training.");
    return rows;
  }();
  return table;
}

const ParameterTable<TrainingSpec>& training_parameters() {
  static const ParameterTable<TrainingSpec> table = [] {
    ParameterTable<TrainingSpec> rows;
    rows.choice("loss", &TrainingSpec::loss, kNetworkLosses, "What training minimises.")
        .number("epochs", &TrainingSpec::epochs, 1, 100000,
                "Each draws as many examples as there are.")
        .number("batch", &TrainingSpec::batch, 1, 65536, "Examples of a step; ranking: kernels.")
        .number("tiles", &TrainingSpec::tiles, 2, 4096, "Tiles of a kernel in a step, at most.")
        .number("learning_rate", &TrainingSpec::learning_rate, 1e-7, 1, "Of Adam, at the start.")
        .number("decay", &TrainingSpec::decay, 0.01, 1, "Of the learning rate, per epoch.")
        .number("clip", &TrainingSpec::clip, 0, 1e6, "Of the gradient's norm; 0: never.")
        .number("weight_decay", &TrainingSpec::weight_decay, 0, 1, "Of the weights, per step.")
        .number("patience", &TrainingSpec::patience, 0, 100000,
                "Epochs without a better validation until it stops; 0: never.")
        .choice("balance", &TrainingSpec::balance, kBalances, "How examples are drawn.")
        .flag("weigh_kernels", &TrainingSpec::weigh_kernels,
              "Every kernel counts the same, however many tiles it has.");
    return rows;
  }();
  return table;
}

GraphModule& graph_module() {
  static std::mutex loading;
  static GraphModule* module = nullptr;
  const std::lock_guard lock(loading);
  if (module == nullptr) module = &load_module();
  return *module;
}

bool has_graph_module() {
  return !module_file().empty();
}

}  // namespace tilecast::learned
