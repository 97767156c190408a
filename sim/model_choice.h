// What `--model` names, as a cost model.
//
//   roofline | analytical      need nothing
//   learned                    the shipped model's correction, believed everywhere: for comparison
//   hybrid                     the shipped model that fits the device, else an Error that lists
//   them default                    hybrid where one fits, else analytical; says which DIR a
//   trained model's or a hybrid's folder
//
// Shipped models are the folders of configs/models (found as configs/devices is:
// hwdesc/device_yaml.h, preset_names(); $TILECAST_MODELS comes first) that hold a hybrid. One fits
// a device when it was trained on it or on one of its lineage. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analytical/cost_model.h"

namespace tilecast::sim {

struct ChosenModel {
  std::unique_ptr<analytical::CostModel> model;
  std::string name;  // "analytical", "hybrid tpu_v3 (configs/models/tpu_v3)"
  std::string note;  // what a report should say of it, or empty
};

[[nodiscard]] std::vector<std::string> shipped_models();  // folders, sorted
[[nodiscard]] std::optional<std::string> shipped_model_for(const hwdesc::Device& device);
// `devices`: those it will be asked about; all must fit.
[[nodiscard]] ChosenModel choose_model(const std::string& name,
                                       std::span<const hwdesc::Device> devices);

}  // namespace tilecast::sim
