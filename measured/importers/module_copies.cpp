#include "measured/importers/module_copies.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/source_text.h"
#include "hwdesc/config_reader.h"
#include "ir/load_program.h"

namespace tilecast::measured {

namespace fs = std::filesystem;

std::string ModuleCopies::take(const std::string& folder, std::string_view cell) {
  const std::string_view file = cell.substr(0, cell.find('#'));
  const std::string name(file);
  if (name.empty() || fs::path(name).filename() != name || name == "." || name == "..") {
    throw Error(fmt::format("got {}, expected the name of an HLO file, without folders",
                            hwdesc::show_text(cell)));
  }
  const auto [known, is_new] = known_.emplace(name, folder);
  if (!is_new && known->second != folder) {
    throw Error(fmt::format("{} is in {} and in {}: the set can hold one file of a name", name,
                            known->second, folder));
  }
  if (is_new) {
    const auto text = base::SourceText::read_file((fs::path(folder) / name).string());
    static_cast<void>(ir::load_module(text.file(), {}));
    writer_.add_file("kernels/" + name, text.text());
  }
  return fmt::format("kernels/{}", cell);
}

}  // namespace tilecast::measured
