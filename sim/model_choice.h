// What `--model` names, as a cost model.
//
//   analytical                 needs nothing; nor do its baselines
//   roofline | bottleneck
//   hybrid                     the shipped model that fits the device, else an Error that says what
//                              is shipped
//   learned                    its correction with full weight everywhere: for comparison
//   default                    hybrid where one fits every device, else analytical
//   DIR                        the folder of a trained model or of a hybrid; of one that was
//                              trained to rank tiles: physics' times of the tiles that it chooses
//
// Shipped models are the folders of configs/models that hold a hybrid. The first of these that
// exists holds them, as with device presets (hwdesc/device_yaml.h): $TILECAST_MODELS;
// ../share/tilecast/models beside the executable; configs/models of the source tree this was built
// from; share/tilecast/models under the install prefix. None is fine: then there are no models.
// One fits a device when it was trained on it, or on one of its lineage, else when it was trained
// on several devices of its kind (Execution); of several the one trained on the nearest, then the
// first by name. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hybrid/hybrid_model.h"
#include "learned/model_dir.h"
#include "search/tile_choice.h"

namespace tilecast::sim {

// Why a kernel's time was corrected as it was; nullopt where the model has no answer.
using CorrectionExplainer = std::function<std::optional<hybrid::CorrectionReasons>(
    const analytical::KernelQuery&, const hwdesc::Device&)>;

struct ChosenModel {
  std::unique_ptr<analytical::CostModel> model;
  std::string name = {};  // "analytical", "hybrid tpu (configs/models/tpu)"
  std::string note = {};  // what a report should say of it, or empty
  // Of one hybrid, as long as `model` lives; else empty.
  CorrectionExplainer explain = {};
  std::optional<learned::ModelCard> card = {};  // of one folder's model
  // What chooses tiles apart from what times them, as long as `model` lives; null: nothing does.
  const analytical::TileRanker* ranker = nullptr;
};

// Physics, the prior of every hybrid. Lives as long as the process.
[[nodiscard]] const analytical::CostModel& analytical_prior();

[[nodiscard]] std::vector<std::string> shipped_models();  // folders, sorted
[[nodiscard]] std::string shipped_advice();  // the folder of sim/advice.h beside them, or ""
[[nodiscard]] std::optional<std::string> shipped_model_for(const hwdesc::Device& device);

// Those that are no folders, as above.
[[nodiscard]] std::span<const std::string_view> model_names();
// Why `name` names no model; "" where it names one.
[[nodiscard]] std::string model_name_fault(const std::string& name);
// `devices`: those it will be asked about; all must fit where a shipped model is asked for. Throws
// Error.
[[nodiscard]] ChosenModel choose_model(const std::string& name,
                                       std::span<const hwdesc::Device> devices);

// What orders tiles by this name: any of the names above, or a model trained to rank. Throws Error.
[[nodiscard]] std::unique_ptr<const analytical::TileRanker> choose_ranker(
    const std::string& name, std::span<const hwdesc::Device> devices);
// The same times of other tiles (search/tile_choice.h): `ranker` may be null, then only those of
// `fixed` are others.
[[nodiscard]] ChosenModel with_tiles(ChosenModel times,
                                     std::unique_ptr<const analytical::TileRanker> ranker,
                                     const search::TileListing& listing = {},
                                     search::TileChoices fixed = {});

}  // namespace tilecast::sim
