// The command: errors become messages and exit codes (0 ok, 1 failed, 2 wrong usage).
#include <fcntl.h>
#include <fmt/format.h>

#include <new>

#include "base/error.h"
#include "sim/cli/run.h"
#include "sim/cli/tell.h"

namespace {

using tilecast::sim::cli::tell;

// What is opened first would take the number of a standard stream that is closed, and its bytes.
// Nothing can be written to a standard output that was closed, which is then an error.
void occupy_standard_streams() {
  for (const int stream : {0, 1, 2}) {
    if (::fcntl(stream, F_GETFD) < 0) {
      [[maybe_unused]] const int taken = ::open("/dev/null", stream == 1 ? O_RDONLY : O_RDWR);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  try {
    return tilecast::sim::cli::run(argc, argv);
  } catch (const tilecast::UsageError& error) {
    tell(fmt::format("error: {}", error.what()));
    return 2;
  } catch (const std::bad_alloc&) {
    tell("error: out of memory");
  } catch (const std::exception& error) {
    tell(fmt::format("error: {}", error.what()));
  }
  return 1;
}
