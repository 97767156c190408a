// What a training made, as text or as JSON, schema "tilecast.train/1": name, model, directory,
// seconds, split, data[], metrics[] (of roofline, analytical and the model, on the same held-out
// rows), notes[]; of a target that is no time `quantity` (views/quantities.h); of a hybrid also
// chosen and candidates[] (error in its trials). Pure.
#pragma once

#include <string>

#include "validation/experiment_train.h"
#include "validation/train_hybrid.h"

namespace tilecast::sim::views {

// `directory`: where the model was written.
[[nodiscard]] std::string training_text(const validation::TrainingResult& result,
                                        const validation::Experiment& experiment,
                                        const std::string& directory);
[[nodiscard]] std::string training_json(const validation::TrainingResult& result,
                                        const validation::Experiment& experiment,
                                        const std::string& directory);
// What would be trained.
[[nodiscard]] std::string training_plan(const validation::Training& training);

// The same of hybrids.
[[nodiscard]] std::string hybrid_text(const validation::HybridTrainingResult& result,
                                      const validation::Experiment& experiment,
                                      const std::string& directory);
[[nodiscard]] std::string hybrid_json(const validation::HybridTrainingResult& result,
                                      const validation::Experiment& experiment,
                                      const std::string& directory);
[[nodiscard]] std::string hybrid_plan(const validation::HybridTraining& training);

}  // namespace tilecast::sim::views
