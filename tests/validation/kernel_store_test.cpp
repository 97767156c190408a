// Searches over kernels that are timed once: what a program takes, and what a run's clock says.
#include "validation/tuning/kernel_store.h"

#include <gmock/gmock.h>

#include "host/workloads.h"
#include "hwdesc/device_yaml.h"
#include "ir/read_module.h"
#include "search/fusion_search.h"
#include "tests/support/folders.h"

namespace tilecast::validation {
namespace {

using search::HardwareJob;
using search::HardwareTime;
using search::TuningJournal;

// Compiling a kernel takes 2 s, timing it 1 s; the i-th that is timed takes i microseconds.
class KernelStoreTest : public ::testing::Test, protected support::Folder {
 protected:
  KernelStoreTest() {
    bench_.generate = host::generate_c;
    bench_.compile = [this](std::span<const std::string> sources, int) {
      std::vector<host::Compilation> made;
      for (std::size_t i = 0; i < sources.size(); ++i) {
        now_s_ += 2;
        made.push_back({host::CompiledLibrary((folder() / "none" / "none.so").string()), ""});
      }
      return made;
    };
    bench_.run = [this](const std::string&, std::span<const host::RunJob> jobs,
                        const host::TimingOptions& timing, const host::Bench::Done& done) {
      EXPECT_EQ(timing.state, host::CacheState::kWarm);
      ASSERT_EQ(jobs.size(), 1U);
      now_s_ += 1;
      const host::RunStatus status =
          jobs[0].function == crashes_ ? host::RunStatus::kCrashed : host::RunStatus::kTimed;
      done(0, {.status = status, .timing = {.minimum = Seconds{1e-6 * double(++timed_)}}});
    };
  }
  [[nodiscard]] KernelStore fresh_run() {
    return {device_, bench_, store_, {.program_s = 10, .now = [this] { return now_s_; }}};
  }
  [[nodiscard]] HardwareTime time(KernelStore& run, const ir::FusionConfiguration& chosen) const {
    const std::vector<HardwareJob> jobs = {{"p", space_.fused(chosen)}};
    return run.time(jobs).front();
  }

  hwdesc::Device device_ = hwdesc::load_device("cpu_generic");
  ir::FusionSpace space_{
      ir::read_module((support::source_dir() / "configs/programs/small_mlp_train.hlo").string())};
  ir::FusionConfiguration rules_ = space_.by_rules(),
                          other_ = ir::FusionConfiguration(rules_.size(), ir::FusionChoice::kKeep);
  host::Bench bench_;
  TuningJournal store_{"", "p"};
  double now_s_ = 0;
  std::size_t timed_ = 0;
  std::string crashes_;
};

TEST_F(KernelStoreTest, ARunSpendsWhatItWouldSpendWithoutTheStore) {
  KernelStore first = fresh_run(), second = fresh_run(), third = fresh_run();
  const HardwareTime rules = time(first, rules_);
  const double of_rules = 3.0 * double(store_.size());
  EXPECT_DOUBLE_EQ(first.clock_s(), 10 + of_rules);
  EXPECT_EQ(time(first, rules_).seconds, rules.seconds);
  EXPECT_DOUBLE_EQ(first.clock_s(), 20 + of_rules) << "its kernels are paid";
  (void)time(first, other_);
  const double of_both = 3.0 * double(store_.size());
  EXPECT_GT(of_both, of_rules);
  EXPECT_DOUBLE_EQ(first.clock_s(), 30 + of_both);
  // The store is full: nothing is compiled or timed, and the clocks say the same.
  const std::size_t timed = timed_;
  EXPECT_EQ(time(second, rules_).seconds, rules.seconds);
  EXPECT_DOUBLE_EQ(second.clock_s(), 10 + of_rules);
  (void)time(third, other_);
  (void)time(third, rules_);
  EXPECT_DOUBLE_EQ(third.clock_s(), 20 + of_both) << "whatever the order";
  EXPECT_EQ(timed_, timed);
}

TEST_F(KernelStoreTest, AProgramTakesTheSumOfItsLaunches) {
  KernelStore run = fresh_run();
  const auto program = std::get<host::CProgram>(
      host::make_c_program(host::laid_out(space_.fused(rules_), device_), device_));
  const double seconds = time(run, rules_).seconds.value();
  double sum = 0;
  for (const std::size_t call : program.calls) {
    sum += *store_.find(program.parts[call].code.function)->time.seconds;
  }
  EXPECT_DOUBLE_EQ(seconds, sum);
}

TEST_F(KernelStoreTest, KeepsDistinctProgramsFastestFirst) {
  KernelStore run = fresh_run();
  std::vector<double> seconds;
  for (const ir::FusionConfiguration& chosen : {other_, rules_, other_}) {
    seconds.push_back(time(run, chosen).seconds.value());
  }
  ASSERT_EQ(run.fastest().size(), 2U);
  EXPECT_EQ(run.fastest()[0].seconds, std::min(seconds[0], seconds[1]));
  EXPECT_EQ(run.fastest()[1].seconds, std::max(seconds[0], seconds[1]));
}

TEST_F(KernelStoreTest, AProgramFailsWithItsKernel) {
  const auto program = std::get<host::CProgram>(
      host::make_c_program(host::laid_out(space_.fused(rules_), device_), device_));
  crashes_ = program.parts.front().code.function;
  KernelStore run = fresh_run();
  EXPECT_FALSE(time(run, rules_).seconds);
  EXPECT_TRUE(run.fastest().empty());
  EXPECT_DOUBLE_EQ(run.clock_s(), 10 + 3.0 * double(store_.size())) << "a failure costs, too";
}

}  // namespace
}  // namespace tilecast::validation
