// The module of the component `train`: the verbs train and validate.
#include "base/error.h"
#include "sim/cli/commands.h"
#include "sim/training.h"

namespace tilecast::sim::cli {
namespace {

void add(CLI::App& app, std::string_view verb) {
  verb == "train" ? add_train(app) : add_validate(app);
}

constexpr TrainModule kOffer = {{&add}, &train_model};

}  // namespace
}  // namespace tilecast::sim::cli

TILECAST_PLUGIN(train, tilecast::sim::kTrainPlugin.abi, &tilecast::sim::cli::kOffer)
