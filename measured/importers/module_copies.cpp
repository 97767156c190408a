#include "measured/importers/module_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/source_text.h"
#include "hwdesc/config_reader.h"
#include "ir/load_program.h"

namespace tilecast::measured {

namespace fs = std::filesystem;

std::string ModuleCopies::take(const std::string& folder, std::string_view cell) {
  const std::string_view file = cell.substr(0, cell.find('#'));
  const fs::path path(file);
  const std::string name = path.filename().string();
  if (name.empty() || name == "." || path.is_absolute() || std::ranges::count(path, "..") > 0) {
    throw Error(fmt::format("got {}, expected an HLO file beside the table or in a folder there",
                            hwdesc::show_text(cell)));
  }
  const std::string from = (fs::path(folder) / path.parent_path()).lexically_normal().string();
  const auto [known, is_new] = known_.emplace(name, from);
  if (!is_new && known->second != from) {
    throw Error(fmt::format("{} is in {} and in {}: the set can hold one file of a name", name,
                            known->second, from));
  }
  if (is_new) {
    const auto text = base::SourceText::read_file((fs::path(from) / name).string());
    static_cast<void>(ir::load_module(text.file(), {}));
    writer_.add_file("kernels/" + name, text.text());
  }
  return fmt::format("kernels/{}{}", name, cell.substr(file.size()));
}

}  // namespace tilecast::measured
