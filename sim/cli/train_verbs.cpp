// The module of the component `train`: its verb, and functions for other languages.
#include "sim/cli/commands.h"
#include "sim/cli/graphs.h"
#include "sim/training.h"

namespace tilecast::sim::cli {
namespace {

void add(CLI::App& app, std::string_view /*verb*/) {
  add_train(app);
}

constexpr TrainModule kOffer = {{&add}, &train_model, &evaluate_graphs};

}  // namespace
}  // namespace tilecast::sim::cli

TILECAST_PLUGIN(train, tilecast::sim::kTrainPlugin.abi, &tilecast::sim::cli::kOffer)
