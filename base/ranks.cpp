#include "base/ranks.h"

#include <cstdlib>

#include "base/plugin.h"

namespace tilecast::base {
namespace {

constexpr Plugin kMpi = {"mpi", "the module of MPI", kMpiModuleAbi, "mpi"};

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
