// What a training made, as text or as JSON, schema "tilecast.train/1": name, model, directory,
// seconds, split, data[], metrics[] (of roofline, analytical and the model, on the same held-out
// rows), notes[]; of a hybrid also chosen and candidates[] (error in its trials). Pure.
#pragma once

#include <string>

#include "hybrid/experiment_train.h"
#include "hybrid/train_hybrid.h"

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

// The same of hybrids.
[[nodiscard]] std::string hybrid_text(const hybrid::HybridTrainingResult& result,
                                      const hybrid::Experiment& experiment,
                                      const std::string& directory);
[[nodiscard]] std::string hybrid_json(const hybrid::HybridTrainingResult& result,
                                      const hybrid::Experiment& experiment,
                                      const std::string& directory);
[[nodiscard]] std::string hybrid_plan(const hybrid::HybridTraining& training);

}  // namespace tilecast::sim::views
