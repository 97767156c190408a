// Implements base::Ranks with MPI.
#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>

#include <climits>
#include <cstdint>

#include "base/error.h"
#include "base/jobs.h"
#include "base/plugin.h"

namespace tilecast::base {
namespace {

void check_mpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(
      fmt::format("MPI: {}: {}", what, std::string_view(text, static_cast<std::size_t>(length))));
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    // Open MPI loads components that expect its symbols to be global.
    dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    int provided = 0;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "start");
    if (provided < MPI_THREAD_FUNNELED) throw Error("MPI: it was built without threads");
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "size");
  }
  ~MpiRanks() override { MPI_Finalize(); }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void send(int to, std::string_view bytes) override {
    if (bytes.size() > INT_MAX) throw Error("MPI: a message of more than 2 GiB");
    check_mpi(
        MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, 0, MPI_COMM_WORLD),
        "send");
  }
  [[nodiscard]] std::optional<Message> poll() override {
    int there = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &status), "probe");
    if (there == 0) return std::nullopt;
    int size = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &size), "size of a message");
    Message message{status.MPI_SOURCE, std::string(static_cast<std::size_t>(size), '\0')};
    check_mpi(MPI_Recv(message.bytes.data(), size, MPI_BYTE, message.from, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE),
              "receive");
    return message;
  }

 private:
  int rank_ = 0, size_ = 1;
};

std::unique_ptr<Ranks> make_mpi_ranks() {
  return std::make_unique<MpiRanks>();
}

}  // namespace
}  // namespace tilecast::base

TILECAST_PLUGIN(mpi, tilecast::base::kMpiModuleAbi, &tilecast::base::make_mpi_ranks)
