#include "learned/torch/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace tilecast::learned::torch_module {
namespace {

// What stands behind libblas.so.3 on Debian when OpenBLAS is installed; null if it is not loaded.
void* openblas() {
  static void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_NOLOAD);
  return library;
}

template <class Function>
Function* openblas_function(const char* name) {
  return openblas() == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(openblas(), name));
}

}  // namespace

void set_threads(int threads) {
  at::set_num_threads(threads);
  if (auto* set = openblas_function<void(int)>("openblas_set_num_threads")) set(threads);
}

std::string blas_name() {
  if (openblas() != nullptr) return "OpenBLAS";
  Dl_info info;
  void* const multiply = dlsym(RTLD_DEFAULT, "sgemm_");
  if (multiply != nullptr && dladdr(multiply, &info) != 0 && info.dli_fname != nullptr) {
    const std::string path = info.dli_fname;
    if (path.find("libblas.so") == std::string::npos) return path.substr(path.rfind('/') + 1);
  }
  return "reference BLAS: slow, install libopenblas0-pthread";
}

}  // namespace tilecast::learned::torch_module
