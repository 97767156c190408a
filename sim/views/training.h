// The result of a training, as text or as JSON, schema "tilecast.train/1": name, model, directory,
// seconds, split, data[], metrics[] (of roofline, analytical and the model, on the same held-out
// rows), notes[]; for a target other than time also `quantity` (views/quantities.h); for a hybrid
// also trials (views/trials.h). Pure.
#pragma once

#include <string>

#include "sim/training/training.h"

namespace tilecast::sim::views {

// `directory`: the folder to which the model was written.
[[nodiscard]] std::string training_text(const training::Training& training,
                                        const training::TrainingResult& result,
                                        const std::string& directory);
[[nodiscard]] std::string training_json(const training::Training& training,
                                        const training::TrainingResult& result,
                                        const std::string& directory);
// A description of the training before it runs.
[[nodiscard]] std::string training_plan(const training::Training& training);

}  // namespace tilecast::sim::views
