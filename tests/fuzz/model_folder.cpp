#include <array>
#include <cmath>

#include "hybrid/bands.h"
#include "hybrid/known_kernels.h"
#include "learned/gbt_model.h"
#include "learned/model_card_yaml.h"
#include "learned/vocabulary.h"
#include "tests/fuzz/targets.h"

// Files of a model's folder. The card contains content hashes, so a modified folder is rejected
// immediately; here each reader gets its file without that check.
void tilecast::fuzz::model_folder(Bytes bytes) {
  if (bytes.empty()) return;
  const std::string text(bytes.substr(1));
  answer_or_error([&] {
    switch (bytes.front()) {
      case 'v':
        (void)learned::Vocabulary::from_csv(text, "vocabulary.csv");
        break;
      case 'b':
        (void)hybrid::Bands::load(text, "bands.csv");
        break;
      case 'k':
        (void)hybrid::load_kernels(text, "known_0.csv");
        break;
      case 't': {
        const auto trees = learned::GbtModel::load(text, 4);
        float sum = 0;
        trees.predict(std::array<float, 4>{0, 1, -1, std::nanf("")}, {&sum, 1});
        if (std::isnan(sum)) broken("a sum that is no number");
        break;
      }
      default:
        (void)learned::read_model_yaml(text, "model.yaml");
    }
  });
}
