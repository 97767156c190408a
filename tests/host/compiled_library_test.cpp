#include "host/compiled_library.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/errors.h"

namespace tilecast::host {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kGood = "int f(void) { return 1; }\n";
const std::string kBad = "int f(void) { return unknown_name; }\n";

// Changes an environment variable during the object's lifetime.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* set = std::getenv(name)) before_ = set;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// A private, empty $TMPDIR, so that leftover files are detected.
class CompiledLibraryTest : public ::testing::Test {
 protected:
  CompiledLibraryTest()
      : folder_(fs::path(::testing::TempDir()) /
                ("tilecast_compile_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    tmpdir_.emplace("TMPDIR", folder_.string());
  }
  ~CompiledLibraryTest() override { fs::remove_all(folder_); }

  fs::path folder_;
  std::optional<Environment> tmpdir_;
};

std::string error_of_making_a_compiler() {
  return support::error_of([&] { const Compiler compiler; });
}

TEST_F(CompiledLibraryTest, MakesALibraryPerSourceInOrder) {
  const std::vector<std::string> sources{kGood, kBad, kGood, kBad, kGood};
  const auto made = Compiler().compile(sources, 2);
  ASSERT_EQ(made.size(), sources.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (sources[i] == kGood) {
      ASSERT_TRUE(made[i].library) << made[i].error;
      EXPECT_TRUE(fs::exists(made[i].library->path()));
      EXPECT_THAT(made[i].error, IsEmpty());
    } else {
      EXPECT_FALSE(made[i].library);
      EXPECT_THAT(made[i].error, HasSubstr("unknown_name"));
    }
  }
}

TEST_F(CompiledLibraryTest, RemovesItsFiles) {
  const std::vector<std::string> sources{kGood, kBad, kGood};
  {
    auto made = Compiler().compile(sources, 3);
    EXPECT_FALSE(fs::is_empty(folder_));
    CompiledLibrary moved = std::move(*made[0].library);
    EXPECT_TRUE(fs::exists(moved.path()));
    moved = std::move(*made[2].library);
    EXPECT_TRUE(fs::exists(moved.path()));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(CompiledLibraryTest, ACompilerThatTakesTooLongIsKilled) {
  const Compiler compiler;
  // Each macro repeats the previous one ten times, over ten levels: 1e10 words.
  std::string source = "#define M0 int a;\n";
  for (int i = 1; i <= 10; ++i) {
    source += "#define M" + std::to_string(i);
    for (int k = 0; k < 10; ++k) source += " M" + std::to_string(i - 1);
    source += "\n";
  }
  source += "M10\n";
  const auto made = compiler.compile(std::span(&source, 1), 1, Seconds{0.1});
  EXPECT_FALSE(made[0].library);
  EXPECT_THAT(made[0].error, HasSubstr("took longer than 0.1 s"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(CompiledLibraryTest, DescribesTheCompilerAndItsFlags) {
  EXPECT_THAT(Compiler().description(), HasSubstr("; "));
  EXPECT_THAT(Compiler().description(), HasSubstr("-O3"));
  EXPECT_THAT(Compiler().description(), Not(HasSubstr("-ffast-math")));
}

TEST_F(CompiledLibraryTest, TakesTheCompilerOfTheEnvironmentWithItsArguments) {
  const Environment cc("CC", "cc -DNAMED=7");
  const std::string source = "int f(void) { return NAMED; }\n";
  const auto made = Compiler().compile(std::span(&source, 1), 1);
  EXPECT_TRUE(made[0].library) << made[0].error;
}

TEST_F(CompiledLibraryTest, SaysWhichPackageIsMissingWithoutACompiler) {
  const Environment cc("CC", "no_such_compiler");
  EXPECT_THAT(error_of_making_a_compiler(), HasSubstr("no_such_compiler: cannot be started"));
  EXPECT_THAT(error_of_making_a_compiler(), HasSubstr("apt-get install gcc"));
}

TEST_F(CompiledLibraryTest, SaysWhatACompilerSaidThatMakesNoLibrary) {
  const Environment cc("CC", "cc -DNAMED=7 --no-such-option");
  EXPECT_THAT(error_of_making_a_compiler(), HasSubstr("no-such-option"));
}

TEST_F(CompiledLibraryTest, NamesAFolderItCannotWriteTo) {
  const Environment tmpdir("TMPDIR", (folder_ / "not_there").string());
  EXPECT_THAT(error_of_making_a_compiler(), HasSubstr("not_there: cannot make a folder here"));
}

}  // namespace
}  // namespace tilecast::host
