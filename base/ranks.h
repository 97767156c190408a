// The processes of one parallel run (mpirun -n 4 tilecast ...), as those that exchange messages.
//
//   std::unique_ptr<Ranks> ranks = launched_ranks();   // null: this process runs alone
//
// MPI is a module of its own (base/mpi), loaded only under mpirun, so that nobody else needs it.
// All ranks make and destroy theirs; used by the thread that made it. Throws Error.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tilecast::base {

class Ranks {
 public:
  struct Message {
    int from = 0;
    std::string bytes;
  };
  virtual ~Ranks() = default;  // waits for the others
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  virtual void send(int to, std::string_view bytes) = 0;    // below 2 GiB
  [[nodiscard]] virtual std::optional<Message> poll() = 0;  // never waits
};

// Whether mpirun (Open MPI) started this process among others; needs no MPI.
[[nodiscard]] bool under_mpirun();
[[nodiscard]] std::unique_ptr<Ranks> launched_ranks();

// What the program and the module agree on, exported as C symbols:
//   std::uint64_t tilecast_mpi_module_abi();   // kMpiModuleAbi of its build
//   void* tilecast_mpi_module();               // a RanksMaker
using RanksMaker = std::unique_ptr<Ranks>();
inline constexpr unsigned long kMpiModuleAbi = 1;

}  // namespace tilecast::base
