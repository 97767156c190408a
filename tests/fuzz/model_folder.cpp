// Texts of a model's folder. Its card holds content hashes, so a folder that was changed as a whole
// is refused at once; here each reader gets its file without that check.
#include "hybrid/domain.h"
#include "learned/model_card_yaml.h"
#include "learned/vocabulary.h"
#include "tests/fuzz/targets.h"

void tilecast::fuzz::model_folder(Bytes bytes) {
  if (bytes.empty()) return;
  const std::string text(bytes.substr(1));
  answer_or_error([&] {
    switch (bytes.front()) {
      case 'v':
        static_cast<void>(learned::Vocabulary::from_csv(text, "vocabulary.csv"));
        break;
      case 'd':
        static_cast<void>(hybrid::Domain::load(text, "domain.csv"));
        break;
      default:
        static_cast<void>(learned::read_model_yaml(text, "model.yaml"));
    }
  });
}
