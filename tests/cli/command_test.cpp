#include "tests/cli/command_test.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>
#include <utility>

namespace tilecast::sim {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

CommandTest::CommandTest(std::string verb) : verb_(std::move(verb)) {}

void CommandTest::write_manifest() const {
  write("set/manifest.yaml",
        "format: tilecast.measurements/1\nname: made_up\nsource: nobody\nlicence: none\n"
        "timing: device\ndevice: tpu_v3\n");
}

void CommandTest::write_product(const std::string& name, int m, int k, int n,
                                const std::string& layout) const {
  const auto array = [&](int rows, int columns) {
    return "bf16[" + std::to_string(rows) + "," + std::to_string(columns) + "]" + layout;
  };
  write(name, "HloModule m\n\nENTRY main {\n  a = " + array(m, k) + " parameter(0)\n  b = " +
                  array(k, n) + " parameter(1)\n  ROOT d = " + array(m, n) +
                  " dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
}

Answer CommandTest::run(const std::string& arguments) const {
  return tilecast(verb_ + " " + arguments);
}

Answer CommandTest::tilecast(const std::string& arguments) const {
  return start(TILECAST_BINARY, arguments);
}

Answer CommandTest::ok(const std::string& arguments) const {
  const Answer answer = run(arguments);
  EXPECT_EQ(answer.exit_code, 0) << arguments << "\n" << answer.err;
  return answer;
}

Answer CommandTest::tilecast_ok(const std::string& arguments) const {
  const Answer answer = tilecast(arguments);
  EXPECT_EQ(answer.exit_code, 0) << arguments << "\n" << answer.err;
  return answer;
}

Answer CommandTest::validate(const std::string& arguments) const {
  return start(fs::path(TILECAST_BINARY).replace_filename("validate").string(), arguments);
}

Answer CommandTest::start(const std::string& program, const std::string& arguments) const {
  const std::string command = "cd '" + folder().string() + "' && '" + program + "' " + arguments +
                              " >stdout.txt 2>stderr.txt </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("stdout.txt"), read("stderr.txt")};
}

void CommandTest::expect_failure(const std::string& arguments, int exit_code,
                                 const std::string& message) const {
  const Answer answer = run(arguments);
  EXPECT_EQ(answer.exit_code, exit_code) << arguments << "\n" << answer.err;
  EXPECT_THAT(answer.err, StartsWith("error: ")) << arguments;
  EXPECT_THAT(answer.err, HasSubstr(message)) << arguments;
  EXPECT_EQ(answer.out, "") << arguments;
}

}  // namespace tilecast::sim
