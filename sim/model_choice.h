// Creates the cost model that `--model` names.
//
//   analytical                 needs no data, like its baselines
//   roofline | bottleneck
//   hybrid                     per device, the shipped model that fits it; Error if there is none
//   learned                    the same with full weight of all corrections; for comparison only
//   default                    hybrid if every device has a shipped model, else analytical
//   DIR                        the folder of a trained model or a hybrid; for a model trained to
//                              rank tiles: analytical times of the tiles that it chooses
//
// Shipped models are the folders of configs/models that contain a hybrid. They are searched in the
// first of these folders that exists, as with device presets (hwdesc/device_yaml.h):
// $TILECAST_MODELS; ../share/tilecast/models beside the executable; configs/models of the source
// tree of this build; share/tilecast/models under the install prefix. If none exists, there are no
// shipped models. A model fits a device if it was trained on the device or on one of its lineage,
// else if it was trained on several devices of its kind (Execution). If several fit, the one
// trained on the nearest device is chosen, then the first by name. Thread-safe.
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

// Explains the correction of a kernel's time; nullopt if the model has no estimate.
using CorrectionExplainer = std::function<std::optional<hybrid::CorrectionReasons>(
    const analytical::KernelQuery&, const hwdesc::Device&)>;

struct ChosenModel {
  std::unique_ptr<analytical::CostModel> model;
  std::string name = {};  // "analytical", "hybrid tpu (configs/models/tpu)"
  std::string note = {};  // a note for reports, or empty
  // Set for a single hybrid, else empty. Valid as long as `model` lives.
  CorrectionExplainer explain = {};
  std::optional<learned::ModelCard> card = {};  // if the model is a single folder's
  // Chooses tiles if that is not done by time; null otherwise. Valid as long as `model` lives.
  const analytical::TileRanker* ranker = nullptr;
};

// The analytical model, the prior of every hybrid. Lives as long as the process.
[[nodiscard]] const analytical::CostModel& analytical_prior();

[[nodiscard]] std::vector<std::string> shipped_models();  // folders, sorted
// The folder of this name beside them, "advice" (sim/advice.h) or "xla_tiles"; "" if there is none.
[[nodiscard]] std::string shipped_folder(const std::string& name);
[[nodiscard]] std::optional<std::string> shipped_model_for(const hwdesc::Device& device);

// The names above, without folders.
[[nodiscard]] std::span<const std::string_view> model_names();
// The error message for an unknown model name; "" for a valid one.
[[nodiscard]] std::string model_name_fault(const std::string& name);
[[nodiscard]] std::string ranker_name_fault(const std::string& name);  // of choose_ranker()
// `devices`: the devices of later estimates; a shipped model must fit each of them. Throws Error.
[[nodiscard]] ChosenModel choose_model(const std::string& name,
                                       std::span<const hwdesc::Device> devices);

// The ranker of this name: a name accepted above, the folder of a model trained to rank, or the
// name of a shipped one, which must know machines of the devices' kinds. Throws Error.
[[nodiscard]] std::unique_ptr<const analytical::TileRanker> choose_ranker(
    const std::string& name, std::span<const hwdesc::Device> devices);
// The times of `times` for other tiles (search/tile_choice.h): chosen by `ranker`, or only those of
// `fixed` if it is null.
[[nodiscard]] ChosenModel with_tiles(ChosenModel times,
                                     std::unique_ptr<const analytical::TileRanker> ranker,
                                     const search::TileListing& listing = {},
                                     search::TileChoices fixed = {});

}  // namespace tilecast::sim
