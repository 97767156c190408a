// `tilecast report` as a user starts it, and its page as a browser shows it.
#include <gmock/gmock.h>

#include "tests/cli/command_test.h"

namespace tilecast::sim {
namespace {

class ReportCommand : public CommandTest {
 protected:
  ReportCommand() {
    write("dot.hlo",
          "HloModule m\n\nENTRY main {\n  a = bf16[256,512] parameter(0)\n"
          "  b = bf16[512,1024] parameter(1)\n"
          "  ROOT d = bf16[256,1024] dot(a, b), lhs_contracting_dims={1}, "
          "rhs_contracting_dims={0}\n}\n");
  }
};

TEST_F(ReportCommand, WrongUsageAndFilesThatAreNoResultsAreErrors) {
  expect_failure("report", 2, "results is required");
  expect_failure("report missing.json", 1, "missing.json");
  expect_failure("report dot.hlo", 1, "dot.hlo:1:1: error: neither a result in JSON");
}

}  // namespace
}  // namespace tilecast::sim
