#include "base/ranks.h"

#include <cstdlib>

#include "base/plugin.h"

namespace tilecast::base {
namespace {

constexpr Plugin kMpi = {.what = "the module of MPI",
                         .file = "libtilecast_mpi.so",
                         .variable = "TILECAST_MPI_MODULE",
                         .hint = " builds with Open MPI have it;",
                         .abi_symbol = "tilecast_mpi_module_abi",
                         .entry_symbol = "tilecast_mpi_module",
                         .abi = kMpiModuleAbi};

}  // namespace

bool under_mpirun() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size != nullptr && *size != '\0';
}

std::unique_ptr<Ranks> launched_ranks() {
  if (!under_mpirun()) return nullptr;
  return reinterpret_cast<RanksMaker*>(load_plugin(kMpi))();
}

}  // namespace tilecast::base
