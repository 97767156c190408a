// Messages between the processes of a parallel run (mpirun -n 4 tilecast ...).
//
//   std::unique_ptr<Ranks> ranks = launched_ranks();   // null: this process runs alone
//
// MPI is a separate module (base/mpi), loaded only under mpirun. All ranks create and destroy their
// object; only the thread that created it may use it. Throws Error.
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

// Whether mpirun (Open MPI) started this process; does not need MPI.
[[nodiscard]] bool under_mpirun();
[[nodiscard]] std::unique_ptr<Ranks> launched_ranks();

// The interface of the module, exported as C symbols:
//   std::uint64_t tilecast_mpi_module_abi();   // kMpiModuleAbi of its build
//   void* tilecast_mpi_module();               // a RanksMaker
using RanksMaker = std::unique_ptr<Ranks>();
inline constexpr unsigned long kMpiModuleAbi = 1;

}  // namespace tilecast::base
