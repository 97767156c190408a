// What a training made, as text or as JSON, schema "tilecast.train/1": name, model, directory,
// seconds, split, data[], metrics[] (of roofline, analytical and the model, on the same held-out
// rows), notes[]. Pure.
#pragma once

#include <string>

#include "hybrid/experiment_train.h"

namespace tilecast::sim::views {

// `directory`: where the model was written.
[[nodiscard]] std::string training_text(const hybrid::TrainingResult& result,
                                        const hybrid::Experiment& experiment,
                                        const std::string& directory);
[[nodiscard]] std::string training_json(const hybrid::TrainingResult& result,
                                        const hybrid::Experiment& experiment,
                                        const std::string& directory);
// What would be trained.
[[nodiscard]] std::string training_plan(const hybrid::Training& training);

}  // namespace tilecast::sim::views
