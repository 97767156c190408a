// Which files are read from a folder of XLA dumps.
#include "ir/dump_folder.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class DumpFolderTest : public testing::Test, protected support::Folder {
 protected:
  void dump(std::initializer_list<const char*> names) {
    for (const char* name : names) write(name, "x");
  }
  // `id name stage file` of the chosen modules.
  std::vector<std::string> chosen() {
    std::vector<std::string> lines;
    for (const DumpedModule& module : read_dump_folder(folder().string()).modules) {
      lines.push_back(std::to_string(module.id) + " " + module.name + " " + module.stage + " " +
                      fs::path(module.path).filename().string());
    }
    return lines;
  }
};

TEST_F(DumpFolderTest, PicksTheModulesAfterOptimisationAndListsTheRest) {
  dump({"module_0001.jit_f.cl_123.before_optimizations.txt",
        "module_0001.jit_f.cl_123.after_optimizations.txt",
        "module_0001.jit_f.cl_123.after_optimizations-buffer-assignment.txt",
        "module_0001.jit_f.cl_123.after_optimizations-memory-usage-report.txt",
        "module_0001.jit_f.cl_123.thunk_sequence.txt",
        "module_0001.jit_f.0002.simplification.after_algsimp.before_dce.txt",
        "module_0002.jit_g.before_optimizations.txt", "module_0001.jit_f.debug_options"});
  EXPECT_THAT(chosen(), ElementsAre("1 jit_f after_optimizations "
                                    "module_0001.jit_f.cl_123.after_optimizations.txt"));
  EXPECT_EQ(read_dump_folder(folder().string()).others.size(), 7U);
}

TEST_F(DumpFolderTest, KnowsTheNamesOfEveryBackend) {
  dump({"module_0001.jit_f.sm_8.0_gpu_after_optimizations.txt",
        "module_0002.jit_g.gfx942_gpu_after_optimizations.hlo.pb",
        "module_0003.jit_h.cpu_after_optimizations.txt",
        "module_0004.SyncTensorsGraph.17.after_optimizations.txt",
        "module_0005.after_optimizations.txt", "module_0006.jit_i.after_optimizations.hlo.pb.gz"});
  EXPECT_THAT(
      chosen(),
      ElementsAre(
          "1 jit_f after_optimizations module_0001.jit_f.sm_8.0_gpu_after_optimizations.txt",
          "2 jit_g after_optimizations module_0002.jit_g.gfx942_gpu_after_optimizations.hlo.pb",
          "3 jit_h after_optimizations module_0003.jit_h.cpu_after_optimizations.txt",
          "4 SyncTensorsGraph.17 after_optimizations "
          "module_0004.SyncTensorsGraph.17.after_optimizations.txt",
          "5  after_optimizations module_0005.after_optimizations.txt",
          "6 jit_i after_optimizations module_0006.jit_i.after_optimizations.hlo.pb.gz"));
}

TEST_F(DumpFolderTest, TakesTheLastStageAndTextBeforeProto) {
  dump({"module_0001.jit_f.after_optimizations_before_buffer_assignment.txt",
        "module_0001.jit_f.after_optimizations_after_buffer_assignment.txt",
        "module_0001.jit_f.after_optimizations_after_buffer_assignment.hlo.pb"});
  EXPECT_THAT(chosen(),
              ElementsAre("1 jit_f after_optimizations_after_buffer_assignment "
                          "module_0001.jit_f.after_optimizations_after_buffer_assignment.txt"));
}

TEST_F(DumpFolderTest, TakesModulesBeforeOptimisationWhereThereIsNoOther) {
  dump({"module_0001.jit_f.before_optimizations.txt"});
  EXPECT_THAT(chosen(), ElementsAre("1 jit_f before_optimizations "
                                    "module_0001.jit_f.before_optimizations.txt"));
}

TEST_F(DumpFolderTest, SaysHowToDumpWhereThereIsNoModule) {
  dump({"notes.txt"});
  EXPECT_THAT(support::error_of([&] { return read_dump_folder(folder().string()); }),
              testing::HasSubstr("--xla_dump_to"));
}

}  // namespace
}  // namespace tilecast::ir
