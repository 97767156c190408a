// A resumed training ends like an uninterrupted one, and a checkpoint of another training is
// rejected.
#include "learned/torch/checkpoint.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "learned/torch/train.h"
#include "random_examples.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::learned::torch_module {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Checkpoints : public ::testing::Test, protected support::Folder {
 protected:
  Checkpoints() : train_(1), validation_(2) {
    set_threads(1);
    for (int i = 0; i < 12; ++i) train_.add(3 + train_.below(6), 3, train_.below(2) == 0 ? 1 : 2);
    for (int i = 0; i < 4; ++i) validation_.add(5, 3);
  }

  // Trains with the checkpoint; the hook stops after `stop` epochs.
  std::string train(int stop) {
    const TrainingHooks hooks{.epoch =
                                  [&, stop](const EpochReport& report) {
                                    reports_.push_back(report);
                                    return report.epoch < stop;
                                  },
                              .checkpoint = path_.string()};
    return train(hooks);
  }
  std::string train(const TrainingHooks& hooks) {
    return save_weights(*train_network(spec_, RandomExamples::widths(), training_,
                                       train_.examples(), validation_.examples(), hooks));
  }
  std::string refusal() {
    return support::error_of([&] { return train(training_.epochs); }, "trained");
  }

  RandomExamples train_, validation_;
  NetworkSpec spec_ = {.hops = 1, .hidden = 8, .opcode_width = 4, .dropout = 0.2};
  TrainingSpec training_ = {.epochs = 6, .batch = 5, .learning_rate = 0.01, .patience = 0};
  fs::path path_ = at("checkpoint");
  std::vector<EpochReport> reports_;
};

TEST_F(Checkpoints, ResumeToTheSameBits) {
  const std::string at_once = train(TrainingHooks{});
  (void)train(3);
  EXPECT_EQ(reports_.size(), 3U);
  const std::vector<EpochReport> before = reports_;
  reports_.clear();
  EXPECT_EQ(train(6), at_once);
  ASSERT_EQ(reports_.size(), 6U);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(reports_[i].epoch, before[i].epoch);
    EXPECT_EQ(reports_[i].loss, before[i].loss);
    EXPECT_EQ(reports_[i].validation, before[i].validation);
    EXPECT_EQ(reports_[i].best, before[i].best);
    EXPECT_EQ(reports_[i].seconds, before[i].seconds);
  }
  EXPECT_GE(reports_[3].seconds, before[2].seconds);
}

TEST_F(Checkpoints, ResumeToTheSameBitsAndStepsOfATrainingByThem) {
  training_.steps = 37;  // 36 rows, 5 per batch: 8 per epoch
  const std::string at_once = train(TrainingHooks{});
  (void)train(2);
  reports_.clear();
  EXPECT_EQ(train(9), at_once);
  std::vector<int> steps;
  for (const EpochReport& report : reports_) steps.push_back(report.steps);
  EXPECT_EQ(steps, (std::vector{8, 16, 24, 32, 37}));
  training_.steps = 40;
  EXPECT_THAT(refusal(), HasSubstr("of another training"));
}

TEST_F(Checkpoints, ResumeToTheSameBitsWhenRanking) {
  training_.loss = NetworkLoss::kRankHinge;
  training_.weigh_kernels = true;
  const std::string at_once = train(TrainingHooks{});
  (void)train(2);
  EXPECT_EQ(train(6), at_once);
}

TEST_F(Checkpoints, GoOnForMoreEpochsThanWereAskedForFirst) {
  const std::string at_once = train(TrainingHooks{});
  training_.epochs = 4;
  (void)train(4);
  training_.epochs = 6;
  EXPECT_EQ(train(6), at_once);
  training_.epochs = 5;
  EXPECT_THAT(refusal(), HasSubstr("checkpoint of a longer training; got 6 epochs"));
}

TEST_F(Checkpoints, OfAFinishedTrainingGiveItsNetwork) {
  const std::string finished = train(6);
  reports_.clear();
  EXPECT_EQ(train(6), finished);
  EXPECT_EQ(reports_.size(), 6U);
}

TEST_F(Checkpoints, OfAStoppedTrainingStayWhereTheHookStops) {
  const std::string stopped = train(3);
  EXPECT_EQ(train(3), stopped);
}

TEST_F(Checkpoints, OfAStaleTrainingAreDone) {
  training_.epochs = 60;
  training_.patience = 2;
  const std::string stale = train(60);
  const std::size_t epochs = reports_.size();
  ASSERT_LT(epochs, 60U);
  reports_.clear();
  EXPECT_EQ(train(60), stale);
  EXPECT_EQ(reports_.size(), epochs);
}

TEST_F(Checkpoints, OfAnotherTrainingAreRefused) {
  (void)train(1);
  const auto expect_refused = [&](auto& value, auto other) {
    const auto old = std::exchange(value, other);
    EXPECT_THAT(refusal(), HasSubstr("checkpoint: of another training"));
    value = old;
  };
  expect_refused(spec_.dropout, 0.25);
  expect_refused(spec_.hidden, 16);
  expect_refused(training_.seed, 2);
  expect_refused(training_.learning_rate, 0.02);
  expect_refused(training_.loss, NetworkLoss::kHuber);
  expect_refused(train_.examples()[4].target, 7.0F);
  expect_refused(train_.examples()[4].kernel, 99U);
  expect_refused(train_.examples()[4].input.graph, train_.examples()[0].input.graph);
  expect_refused(validation_.examples()[1].input.at_nodes, train_.examples()[0].input.at_nodes);
  EXPECT_EQ(refusal(), "trained");
}

TEST_F(Checkpoints, ThatAreCorruptedOrTruncatedAreRefused) {
  (void)train(1);
  const std::string good = read("checkpoint");
  const auto refused_as = [&](const std::string& bytes) {
    write("checkpoint", bytes);
    return refusal();
  };
  for (std::size_t size = 0; size < good.size(); size += 1 + size / 3) {
    const std::string message = refused_as(good.substr(0, size));
    EXPECT_TRUE(message.find("truncated") != std::string::npos ||
                message.find("another kind of file") != std::string::npos)
        << size << message;
    EXPECT_THAT(message, HasSubstr(path_.string()));
  }
  for (std::size_t at = 30; at < good.size(); at += 1 + at / 3) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    EXPECT_THAT(refused_as(bytes), HasSubstr("corrupted")) << at;
  }
  EXPECT_THAT(refused_as(good + "x"), HasSubstr("corrupted"));
  EXPECT_EQ(refused_as(good), "trained");
}

TEST_F(Checkpoints, ThatCannotBeWrittenAreAnError) {
  path_ = at("no_such_folder/checkpoint");
  EXPECT_THAT(refusal(), HasSubstr("no_such_folder/checkpoint: cannot write it"));
}

}  // namespace
}  // namespace tilecast::learned::torch_module
